/**
 * zstd: a log is frames one behind the other, each complete in itself and with a checksum, the last one perhaps cut.
 *
 * The decoder and the hash are loaded when a compressed log is met, and not before. The decoder looks at no checksums, so
 * they are checked here, where the frames are told apart as well.
 */

import { PalimpsestError } from '../../errors.js';
import { chunksOf } from '../lines.js';
import type { Report } from '../report.js';
import type { ImportSource } from '../types.js';

/** Most bytes that a frame may decode to: what is more is no batch of a log. */
const MOST = 512 * 1024 * 1024;

/** Whether bytes begin as a frame does. */
export function isZstd(bytes: Uint8Array): boolean {
  return bytes.length >= 4 && bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd;
}

/** The decoded bytes of a source, frame by frame. Frames that are damaged are left out and reported. */
export async function* inflate(source: ImportSource, report: Report, progress: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  const [{ Decompress }, { default: xxhash }] = await Promise.all([import('fzstd'), import('xxhash-wasm')]);
  const hashes = await xxhash();
  const decode = (frame: Uint8Array, name: string): { parts: Uint8Array[]; failed: boolean } => {
    const parts: Uint8Array[] = [];
    let size = 0;
    const decoder = new Decompress((part) => {
      size += part.length;
      if (size > MOST) throw new PalimpsestError('CORRUPT_LOG', `${name}: a frame decodes to more than ${MOST} bytes`, { path: name });
      parts.push(part.slice());
    });
    try {
      decoder.push(frame, true);
      return { parts, failed: false };
    } catch (error) {
      if (error instanceof PalimpsestError) throw error;
      return { parts, failed: true };
    }
  };
  let waiting = new Uint8Array(0);
  let start = 0;
  for await (const chunk of chunksOf(source)) {
    progress(chunk.length);
    const joined = new Uint8Array(waiting.length + chunk.length);
    joined.set(waiting);
    joined.set(chunk, waiting.length);
    let at = 0;
    for (let frame = frameAt(joined, at); frame !== undefined; frame = frameAt(joined, at)) {
      if (frame.end === NO_FRAME) {
        report.anomaly('not-a-frame', `byte ${start + at}: here should be a zstd frame, and is none; the rest is not read`, { byte: start + at });
        return;
      }
      if (!frame.skippable) {
        const { parts, failed } = decode(joined.subarray(at, frame.end), source.name);
        const hash = hashes.create64();
        for (const part of parts) hash.update(part);
        const good = !failed && (!frame.checksum || Number(hash.digest() & 0xffffffffn) === new DataView(joined.buffer).getUint32(frame.end - 4, true));
        if (good) yield* parts;
        else report.anomaly('damaged-frame', `byte ${start + at}: the zstd frame is ${failed ? 'damaged' : 'not what its checksum says'}; it is left out`, { byte: start + at });
      }
      at = frame.end;
    }
    waiting = joined.slice(at);
    start += at;
    if (waiting.length > MOST) throw new PalimpsestError('CORRUPT_LOG', `${source.name}, byte ${start}: a zstd frame is longer than ${MOST} bytes`, { path: source.name, byte: start });
  }
  if (waiting.length === 0) return;
  report.anomaly('cut-frame', `byte ${start}: the last zstd frame is cut; what can be decoded of it is read`, { byte: start });
  yield* decode(waiting, source.name).parts;
}

const NO_FRAME = -1;

interface Frame {
  /** Where it ends; {@link NO_FRAME} for what is no frame. */
  readonly end: number;
  readonly skippable: boolean;
  readonly checksum: boolean;
}

/** The frame that begins at `at`; `undefined` where it is not whole. */
function frameAt(bytes: Uint8Array, at: number): Frame | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (at + 8 > bytes.length) return undefined;
  const magic = view.getUint32(at, true);
  if (magic >>> 4 === 0x184d2a5) {
    const end = at + 8 + view.getUint32(at + 4, true);
    return end > bytes.length ? undefined : { end, skippable: true, checksum: false };
  }
  if (magic !== 0xfd2fb528) return { end: NO_FRAME, skippable: false, checksum: false };
  const flags = bytes[at + 4]!;
  const single = (flags >> 5) & 1;
  const sizeFlag = flags >> 6;
  const sizeBytes = sizeFlag === 0 ? single : 1 << sizeFlag;
  let end = at + 5 + (1 - single) + [0, 1, 2, 4][flags & 3]! + sizeBytes;
  for (let last = false; !last; ) {
    if (end + 3 > bytes.length) return undefined;
    const head = bytes[end]! | (bytes[end + 1]! << 8) | (bytes[end + 2]! << 16);
    last = (head & 1) === 1;
    end += 3 + (((head >> 1) & 3) === 1 ? 1 : head >>> 3);
  }
  const checksum = ((flags >> 2) & 1) === 1;
  if (checksum) end += 4;
  return end > bytes.length ? undefined : { end, skippable: false, checksum };
}
