/** Bytes in memory, and files of a browser, as sources. */

import { isObject, need, needBytes } from '../arguments.js';
import type { ImportSource } from './types.js';

/** A `Blob` or `File`, which stays where it is and is read in pieces. */
export function blobSource(blob: Blob, name?: string): ImportSource {
  need(isObject(blob) && typeof blob.slice === 'function' && typeof blob.stream === 'function', 'blob', blob, 'a Blob or a File');
  return {
    name: name ?? ('name' in blob && typeof blob.name === 'string' ? blob.name : 'blob'),
    size: blob.size,
    read: async (offset, length) => new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer()),
  };
}

/** Bytes that are in memory anyway; they must not change during the import. */
export function bytesSource(bytes: Uint8Array, name = 'bytes'): ImportSource {
  needBytes('bytes', bytes);
  return { name, size: bytes.length, read: (offset, length) => Promise.resolve(bytes.subarray(offset, offset + length)) };
}
