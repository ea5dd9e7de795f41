// Frames of zstd as anybody can write them: one uncompressed block each, and a checksum.
import xxhash from 'xxhash-wasm';

/** A frame for each part, one behind the other. */
export async function frames(parts: readonly Uint8Array[]): Promise<Uint8Array> {
  const hashes = await xxhash();
  const made = parts.map((part) => {
    const frame = new Uint8Array(4 + 1 + 4 + 3 + part.length + 4);
    const view = new DataView(frame.buffer);
    view.setUint32(0, 0xfd2fb528, true);
    frame[4] = 0b1010_0100;
    view.setUint32(5, part.length, true);
    const head = (part.length << 3) | 1;
    frame.set([head & 255, (head >> 8) & 255, head >> 16], 9);
    frame.set(part, 12);
    view.setUint32(12 + part.length, Number(hashes.h64Raw(part) & 0xffffffffn), true);
    return frame;
  });
  return new Uint8Array(Buffer.concat(made));
}
