/**
 * The scratch area: the part of the core's memory into which appends are written.
 *
 * Invariants:
 * - Any call into the core may move the area or grow the memory under it, which detaches every view. Views are
 *   therefore read from here each time after {@link reserve}, and never kept across a call into the core.
 * - Offsets count from the start of the area, so they survive a move.
 */

import { core } from './core.js';
import { outOfMemory } from './errors.js';

/** The area's bytes, at least as many as were last reserved. */
export let bytes = new Uint8Array(0);
/** The same bytes, for numbers. */
export let words = new DataView(bytes.buffer);

/** Makes sure that the area has `length` bytes and that the views are good. Contents are kept. */
export function reserve(length: number): void {
  if (bytes.byteLength < length) refresh(Math.max(length, bytes.byteLength * 2, 1 << 16));
}

/** Takes the views anew, after a call into the core that may have moved the area. @throws PalimpsestError `OUT_OF_MEMORY` */
export function refresh(length: number): void {
  // The upper half of the memory comes as a negative number.
  const at = core().scratch_reserve(length) >>> 0;
  if (at === 0) throw outOfMemory();
  const { buffer } = core().memory;
  bytes = new Uint8Array(buffer, at, length);
  words = new DataView(buffer, at, length);
}

/** End of the records that wait at the start of the area; other uses begin behind it. */
export let pending = 0;

/** Moves the end of the waiting records. */
export function setPending(end: number): void {
  pending = end;
}

/** What is kept between uses; a larger area is given back. */
const KEEP = 1 << 21;

/** Gives back an area that one large value has made large. Nothing may be pending. */
export function release(): void {
  if (bytes.byteLength <= KEEP) return;
  bytes = new Uint8Array(0);
  words = new DataView(bytes.buffer);
  core().scratch_release();
}

const encoder = new TextEncoder();

/** Writes text as UTF-8 at `at` (room for three bytes a unit must be reserved); the number of bytes. */
export function putUtf8(text: string, at: number): number {
  return encoder.encodeInto(text, at === 0 ? bytes : bytes.subarray(at)).written;
}
