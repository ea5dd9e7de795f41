/** Images in a log, in the shapes that providers and programs give them. Raster only: an SVG is a document. */

import { field } from './describe.js';

const RASTER = /^image\/(?:png|jpeg|gif|webp|avif|bmp)$/;
const BASE64 = /^[A-Za-z0-9+/=\s]+$/;

/** A `data:` URL for an image block; undefined for anything else. */
export function imageOf(block: unknown): string | undefined {
  const source = field(block, 'source');
  const url = text(field(block, 'url')) ?? text(field(block, 'image')) ?? text(field(field(block, 'image_url'), 'url')) ?? text(field(block, 'image_url'));
  const match = url === undefined ? undefined : /^data:(image\/[a-z]+);base64,([A-Za-z0-9+/=\s]+)$/.exec(url);
  const type = match?.[1] ?? text(field(block, 'mediaType')) ?? text(field(block, 'mimeType')) ?? text(field(source, 'media_type')) ?? text(field(source, 'mediaType'));
  const data = match?.[2] ?? text(field(block, 'data')) ?? text(field(source, 'data'));
  return type !== undefined && data !== undefined && RASTER.test(type) && BASE64.test(data) ? `data:${type};base64,${data}` : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
