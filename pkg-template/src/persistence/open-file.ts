/** Opening one file by its path, for Node. */

import '../entry/start-node.js';
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { need } from '../arguments.js';
import { PalimpsestError } from '../errors.js';
import { openSource, type OpenLogOptions } from '../open.js';
import type { LoadedSession } from '../reader.js';
import { messageOf } from '../wording.js';
import { noFile } from './jsonl-files.js';

/**
 * Opens a JSONL log without holding it: its bytes stay in the file and are read again when somebody looks at an event.
 * For logs of any size, to read; whoever goes on with a session loads it through an adapter. The file is not changed,
 * must not be changed meanwhile, and stays open until the session is freed.
 * @throws PalimpsestError `STORAGE_FAILED` where the file cannot be read, and as `SessionReader`
 */
export async function openFile(path: string, options: OpenLogOptions = {}): Promise<LoadedSession> {
  need(typeof path === 'string', 'path', path, 'a text');
  let descriptor: number;
  let size: number;
  try {
    // A named pipe would hold up the whole program until somebody writes to it.
    if (!statSync(path).isFile()) throw noFile(path);
    descriptor = openSync(path, 'r');
    size = fstatSync(descriptor).size;
  } catch (error) {
    if (error instanceof PalimpsestError) throw error;
    throw new PalimpsestError('STORAGE_FAILED', `${path} cannot be opened: ${messageOf(error)}`, { path, cause: error });
  }
  const read = (offset: number, into: Uint8Array): void => {
    for (let done = 0; done < into.length; ) {
      const count = readSync(descriptor, into, done, into.length - done, offset + done);
      if (count === 0) throw new Error(`it ends at byte ${offset + done}, where it was longer before`);
      done += count;
    }
  };
  const close = (): void => {
    closeSync(descriptor);
  };
  return openSource({ size, read, close }, path, options);
}
