/**
 * A FILE on the command line, whatever it is, as sessions: a log of ours, a damaged one (what can be read of it, and a word
 * about that on standard error), another agent's log, a store of ours.
 */

import { stat } from 'node:fs/promises';
import { PalimpsestError } from '../errors.js';
import { SessionStore } from '../store.js';
import { type LoadedSession, SessionReader } from '../reader.js';
import type { Session } from '../session.js';
import { attach, jsonl, openFile } from '../persistence/jsonl.js';
import type { StorageBackend } from '../persistence/backend.js';
import { listStored } from '../persistence/stored.js';
import { salvage } from '../salvage/index.js';
import { type ByteSource, isSqlite, peeked, reading, source, STANDARD } from './bytes.js';
import { CliError, count, Exit, paintError, printable, warn } from './host.js';
import { Progress } from './progress.js';
import { isForeign, openForeign } from './foreign.js';

/** What a FILE turned out to be. */
export interface Opened {
  /** The session that is asked for; the first one where none is named. */
  readonly session: Session;
  /** All of them: forks and sub-agents stand behind the session that they belong to. */
  readonly sessions: readonly Session[];
  /** `palimpsest`, or the foreign format. */
  readonly format: string;
  /** Bytes of the file, where they are known. */
  readonly bytes: number | undefined;
  /** Whether only a part of it could be read. */
  readonly damaged: boolean;
}

/** Opens a FILE. `id` names one of its sessions. */
export async function openInput(path: string, id?: string): Promise<Opened> {
  const opened = await open(path, id);
  if (id === undefined) return opened;
  const session = opened.sessions.find((one) => one.id === id);
  if (session !== undefined) return { ...opened, session };
  throw new CliError(`${path} holds no session ${JSON.stringify(id)}`, { hint: `it holds ${opened.sessions.slice(0, 5).map((one) => JSON.stringify(one.id)).join(', ')}${opened.sessions.length > 5 ? ', …' : ''}`, exit: Exit.usage });
}

async function open(path: string, id: string | undefined): Promise<Opened> {
  if (path !== STANDARD && (await stat(path)).isDirectory()) return openStore(path, jsonl(path), id);
  const given = await source(path);
  const from = given.file === undefined ? await buffered(given) : given;
  const { first } = await peeked(from, FIRST);
  if (isSqlite(first)) {
    const { sqlite } = await import('../persistence/sqlite.js');
    return openStore(path, sqlite(path), id);
  }
  if (isForeign(first, path)) return openForeign(from);
  return openOwn(from);
}

/** Reads strictly, as a load does; and where a load refuses, reads what can be read. */
async function openOwn(from: ByteSource): Promise<Opened> {
  try {
    const { session, tornBytes } = from.file === undefined ? await read(from) : await openLarge(from.file);
    if (tornBytes > 0) tell(from.path, `its last record was cut off: ${tornBytes} bytes are left out`);
    return { session, sessions: [session], format: 'palimpsest', bytes: from.size, damaged: tornBytes > 0 };
  } catch (error) {
    if (!(error instanceof PalimpsestError) || error.code === 'UNSUPPORTED_VERSION') throw error;
    const { sessions, findings, lost, bytes } = await salvage(reading(from), { name: from.path });
    const [session] = sessions;
    if (session === undefined) throw error;
    const lostBytes = lost.reduce((sum, { from: start, to }) => sum + to - start, 0);
    tell(from.path, `it is damaged: ${count(findings.filter(({ severity }) => severity !== 'info').length, 'finding')}, ${count(lostBytes, 'byte')} unreadable; this is what can be read${sessions.length > 1 ? `, in ${sessions.length} sessions, of which a command takes the first or the one of --session ID` : ''}. \`palimpsest check\` lists the damage`);
    return { session, sessions, format: 'palimpsest', bytes, damaged: true };
  }
}

async function read(from: ByteSource): Promise<LoadedSession> {
  const reader = new SessionReader(from.path, from.size);
  try {
    for await (const chunk of from.chunks()) reader.push(chunk);
    return reader.finish();
  } catch (error) {
    reader.free();
    throw error;
  }
}

/** A file, whose bytes stay where they are. */
async function openLarge(path: string): Promise<LoadedSession> {
  const progress = new Progress('reading');
  try {
    return await openFile(path, { onProgress: (bytes, size) => progress.at(bytes, size) });
  } finally {
    progress.end();
  }
}

async function openStore(path: string, backend: StorageBackend, id: string | undefined): Promise<Opened> {
  const { sessions, broken } = await listStored(backend);
  const wanted = id ?? (sessions.length === 1 ? sessions[0]!.id : undefined);
  if (wanted === undefined) {
    const hint = sessions.length === 0 ? `as a store it holds none that can be read${broken.length > 0 ? `, and ${broken.length} broken ones` : ''}; name a log, \`palimpsest ls DIR\` lists those below a directory` : 'name one with --session ID; `palimpsest ls` lists them';
    throw new CliError(`${path} holds ${count(sessions.length, 'session')}`, { hint, exit: Exit.usage });
  }
  const store = new SessionStore();
  const adapter = attach(store, backend);
  try {
    const { session } = await adapter.read(wanted);
    return { session, sessions: [session], format: 'palimpsest', bytes: undefined, damaged: false };
  } finally {
    await adapter.close();
  }
}

/** Says something about a file on standard error. */
export function tell(path: string, what: string): void {
  warn(`${paintError('yellow', 'note:')} ${printable(path)}: ${printable(what)}`);
}

const FIRST = 64 * 1024;

/** What can be read once only is kept. */
async function buffered(from: ByteSource): Promise<ByteSource> {
  const kept: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of reading(from)) {
    kept.push(chunk.slice());
    length += chunk.length;
  }
  return {
    path: from.path,
    size: length,
    async *chunks() {
      yield* kept;
    },
  };
}
