/** What the first bytes of a file say, and which files a directory holds. Nothing here reads a file to its end. */

import { type Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { SessionHeader } from '../events.js';
import { noFile } from '../persistence/jsonl-files.js';
import { readHeaderLine } from '../reader.js';
import { PalimpsestError } from '../errors.js';

/** The header with which a log of ours begins; undefined where the file does not begin with one, or with a whole one. */
export function ownHeader(first: Uint8Array, path: string): SessionHeader | undefined {
  const mark = first[0] === 0xef && first[1] === 0xbb && first[2] === 0xbf ? 3 : 0;
  try {
    return readHeaderLine(first.subarray(mark), path);
  } catch (error) {
    if (error instanceof PalimpsestError) return undefined;
    throw error;
  }
}

/** Deepest nesting of directories that is looked into. */
const DEEPEST = 8;

/** Whether a name may be a session log's. */
export function isLogName(name: string): boolean {
  return /\.(?:jsonl|json|jsonl\.zst|jsonl\.zstd)$/.test(name) && !name.startsWith('.');
}

/**
 * The files below a directory that may be logs, in order of their names. What has a log's name and cannot be read, and
 * directories that cannot, are given to `failed`.
 */
export async function* logsBelow(root: string, failed: (path: string, error: unknown) => void, depth = 0): AsyncGenerator<string> {
  let entries: Dirent[];
  try {
    entries = await readdir(root, { withFileTypes: true });
  } catch (error) {
    if (depth === 0) throw error;
    failed(root, error);
    return;
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(root, entry.name);
    if (isLogName(entry.name) && !entry.isDirectory()) {
      // A link may lead to a log; a pipe is none, and reading one may never end.
      const error = entry.isFile() ? undefined : await stat(path).then((found) => (found.isFile() ? undefined : noFile(path)), (thrown: unknown) => thrown);
      if (error === undefined) yield path;
      else failed(path, error);
    } else if (entry.isDirectory() && depth < DEEPEST && entry.name !== 'node_modules' && entry.name !== '.git' && entry.name !== '.writers') yield* logsBelow(path, failed, depth + 1);
  }
}
