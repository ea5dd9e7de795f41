/**
 * `palimpsest/import/node`: files as sources, and a sink that writes files.
 */

import { open, stat, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Session } from '../session.js';
import { headerToRecord } from '../header.js';
import { noFile } from '../persistence/jsonl-files.js';
import { encodeSegment } from '../persistence/segments.js';
import type { ImportSink, ImportSource } from './types.js';

/** A file, which is opened once and read in pieces. */
export interface FileSource extends ImportSource, AsyncDisposable {
  /** Closes the file. */
  close(): Promise<void>;
}

/**
 * Opens a file as a source. It is only read.
 * @throws (rejects) what opening the file throws; PalimpsestError `STORAGE_FAILED` for what is no file
 */
export async function fileSource(path: string): Promise<FileSource> {
  if (!(await stat(path)).isFile()) throw noFile(path);
  const file = await open(path, 'r');
  const { size } = await file.stat();
  return {
    name: path,
    size,
    read: async (offset, length) => {
      const bytes = new Uint8Array(Math.max(0, Math.min(length, size - offset)));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, offset);
      return bytes.subarray(0, bytesRead);
    },
    close: () => file.close(),
    [Symbol.asyncDispose]: () => file.close(),
  };
}

/** What {@link fileSink} has written. */
export interface FileSink extends ImportSink {
  /** Paths by session id, in the order in which they were begun. */
  readonly files: ReadonlyMap<string, string>;
}

/**
 * A sink that writes each session to `<id>.jsonl` in a folder, as it is made. A file that is there already is refused;
 * what an import that fails has written stays, and may end in the middle of a turn.
 * @param folder an existing folder
 */
export function fileSink(folder: string): FileSink {
  const files = new Map<string, string>();
  return {
    files,
    async begin(header, { seed }) {
      const path = join(folder, `${encodeSegment(header.id)}.jsonl`);
      const file = await open(path, 'wx');
      files.set(header.id, path);
      await file.writeFile(`${headerToRecord(header.id, header)}\n`);
      if (seed !== undefined) await copyEvents(files.get(seed.session)!, seed.length, file);
      return {
        append: async (lines) => file.writeFile(lines),
        abort: () => file.close(),
        finish: async (): Promise<Session | undefined> => {
          await file.sync();
          await file.close();
          return undefined;
        },
      };
    },
  };
}

/** Copies the first `count` events of a stored log. */
async function copyEvents(from: string, count: number, to: FileHandle): Promise<void> {
  const source = await open(from, 'r');
  try {
    const buffer = new Uint8Array(1 << 20);
    // The header line is not counted.
    let left = count + 1;
    let first = true;
    while (left > 0) {
      const { bytesRead } = await source.read(buffer, 0, buffer.length);
      if (bytesRead === 0) return;
      let start = 0;
      let at = -1;
      while (left > 0 && (at = buffer.subarray(0, bytesRead).indexOf(0x0a, at + 1)) >= 0) {
        left--;
        if (first) {
          first = false;
          start = at + 1;
        }
      }
      const end = left === 0 ? at + 1 : bytesRead;
      if (!first || left === 0) await to.writeFile(buffer.slice(start, end));
    }
  } finally {
    await source.close();
  }
}
