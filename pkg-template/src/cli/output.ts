/** Writing new files. Nothing that exists is ever overwritten, and nothing half-written is left behind. */

import { unlinkSync } from 'node:fs';
import { open, stat, unlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { piecesOf } from '../pieces.js';
import type { Session } from '../session.js';
import { jsonl } from '../persistence/jsonl.js';
import { STANDARD } from './bytes.js';
import { CliError, Exit, onInterrupt, write } from './host.js';

type Pieces = Iterable<Uint8Array | string>;

/** Writes a new file, or standard output for `-`. @throws CliError where the file exists */
export async function writeNew(path: string, pieces: Pieces): Promise<void> {
  if (path === STANDARD) {
    for (const piece of gathered(pieces)) await write(piece);
    return;
  }
  const file = await open(path, 'wx').catch((error: unknown) => {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new CliError(`${path}: there is no directory ${dirname(path)}`, { hint: 'make it first, or name a file elsewhere', cause: error });
    if (code !== 'EEXIST') throw error;
    throw new CliError(`${path} exists already`, { hint: 'nothing is ever overwritten; name another file, or move this one away', cause: error });
  });
  const release = onInterrupt(() => unlinkSync(path));
  try {
    for (const piece of gathered(pieces)) await file.writeFile(piece);
    await file.sync();
  } catch (error) {
    await unlink(path).catch(() => undefined);
    throw error;
  } finally {
    release();
    await file.close();
  }
}

/** Text that is written at once. */
const AT_ONCE = 1 << 18;

/** The same with short texts joined. */
function* gathered(pieces: Pieces): Pieces {
  let text = '';
  for (const piece of pieces) {
    if (typeof piece === 'string') text += piece;
    else {
      yield text;
      text = '';
      yield piece;
    }
    if (text.length < AT_ONCE) continue;
    yield text;
    text = '';
  }
  yield text;
}

/** The bytes of a session's log. */
export function* logOf(session: Session): Generator<Uint8Array> {
  yield session.headerLine();
  yield* eventsOf(session);
}

function* eventsOf(session: Session): Generator<Uint8Array> {
  for (const { bytes } of piecesOf(session)) yield bytes;
}

/**
 * Writes a session where the person wants it: to a new file, to standard output (`-`), or into the store whose root a
 * directory is.
 * @returns where it is now
 */
export async function writeSession(session: Session, target: string): Promise<string> {
  if (!(await isDirectory(target))) {
    await writeNew(target, logOf(session));
    return target === STANDARD ? 'standard output' : target;
  }
  const { id, header, seq } = session;
  const backend = jsonl(resolve(target));
  const batch = { id, cwd: header.cwd, header: session.headerLine(), count: seq, lines: { [Symbol.iterator]: () => eventsOf(session) }, retry: false };
  await backend.appendBatch(batch);
  const stored = await backend.loadStored({ id, cwd: header.cwd ?? null });
  await backend.close?.();
  return stored?.location ?? target;
}

/** Whether the path names a directory, or would. */
export async function isDirectory(path: string): Promise<boolean> {
  if (path === STANDARD) return false;
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() ?? /[\\/]$/.test(path);
}

/** Refuses to write to the file that is read. */
export function notItself(from: string, to: string): void {
  if (from !== STANDARD && resolve(from) === resolve(to)) throw new CliError(`${to} is the file that is read`, { hint: 'the original is never changed; name a new file', exit: Exit.usage });
}
