/** Bytes in memory, and files of a browser, as sources. */

import type { ImportSource } from './types.js';

/** A `Blob` or `File`, which stays where it is and is read in pieces. */
export function blobSource(blob: Blob, name = 'name' in blob && typeof blob.name === 'string' ? blob.name : 'blob'): ImportSource {
  return {
    name,
    size: blob.size,
    read: async (offset, length) => new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer()),
  };
}

/** Bytes that are in memory anyway; they must not change during the import. */
export function bytesSource(bytes: Uint8Array, name = 'bytes'): ImportSource {
  return { name, size: bytes.length, read: (offset, length) => Promise.resolve(bytes.subarray(offset, offset + length)) };
}
