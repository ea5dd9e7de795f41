/** Reading what a backend holds, without changing it. */

import { PalimpsestError } from '../errors.js';
import { type SessionHeader, SessionId } from '../events.js';
import { type LoadedSession, SessionReader, readHeaderLine } from '../reader.js';
import { messageOf, named } from '../wording.js';
import type { StorageBackend, StoredHeader } from './backend.js';
import { type Chunks, NEWLINE } from './bytes.js';
import { storageError } from './faults.js';

/** A stored log that was read but is not live: nothing was repaired, nothing written. */
export interface StoredSession extends LoadedSession {
  /** Where it is stored. */
  readonly location: string;
}

/** A stored log that cannot be opened. */
export interface BrokenLog {
  readonly location: string;
  readonly error: PalimpsestError;
}

/** What a storage holds. */
export interface SessionListing {
  /** Headers of all readable logs, oldest first. */
  readonly sessions: SessionHeader[];
  /** Logs without a readable header, by location. */
  readonly broken: BrokenLog[];
}

/** @throws (rejects) PalimpsestError, `SESSION_NOT_FOUND` among others */
export async function readStored(backend: StorageBackend, id: SessionId, cwd: string | null | undefined): Promise<StoredSession> {
  try {
    const stored = await backend.loadStored({ id: SessionId(id), cwd });
    const found = stored && (await readLog(stored.location, stored.chunks));
    if (found?.header.id !== id || !matches(found.header, cwd)) {
      found?.session.free();
      throw new PalimpsestError('SESSION_NOT_FOUND', `${named(id)} is not stored${whyNot(found, cwd)}`, { session: id });
    }
    return found;
  } catch (error) {
    throw storageError(error, id);
  }
}

/**
 * Where a session is stored, and its header; nothing else is read.
 * @throws (rejects) PalimpsestError, `SESSION_NOT_FOUND` among others
 */
export async function findStored(backend: StorageBackend, id: SessionId, cwd: string | null | undefined): Promise<{ location: string; header: SessionHeader }> {
  try {
    const stored = await backend.loadStored({ id: SessionId(id), cwd });
    const header = stored && headerOf({ location: stored.location, head: await headOf(stored.chunks) });
    if (!stored || header?.id !== id || !matches(header, cwd)) {
      throw new PalimpsestError('SESSION_NOT_FOUND', `${named(id)} is not stored${whyNot(stored && header && { location: stored.location, header }, cwd)}`, { session: id });
    }
    return { location: stored.location, header };
  } catch (error) {
    throw storageError(error, id);
  }
}

/** The first bytes of a log, through the header line if there is one. */
async function headOf(chunks: Chunks): Promise<Uint8Array> {
  const parts: number[] = [];
  for await (const chunk of chunks) {
    const end = chunk.findIndex((byte, at) => byte === NEWLINE && (parts.some(isInk) || chunk.subarray(0, at).some(isInk)));
    for (const byte of end < 0 ? chunk : chunk.subarray(0, end + 1)) parts.push(byte);
    if (end >= 0) break;
  }
  return Uint8Array.from(parts);
}

const isInk = (byte: number): boolean => byte > 0x20;

/**
 * Headers of all that is stored; whatever is broken is named and hides nothing.
 * @throws (rejects) PalimpsestError `STORAGE_FAILED` when the storage itself cannot be read
 */
export async function listStored(backend: StorageBackend): Promise<SessionListing> {
  const sessions: SessionHeader[] = [];
  const broken: BrokenLog[] = [];
  try {
    for await (const stored of backend.list()) {
      try {
        sessions.push(headerOf(stored));
      } catch (error) {
        broken.push({ location: stored.location, error: brokenError(error, stored.location) });
      }
    }
  } catch (error) {
    throw brokenError(error);
  }
  sessions.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  return { sessions, broken };
}

/** True when the header belongs to that working directory. */
export function matches(header: SessionHeader, cwd: string | null | undefined): boolean {
  return cwd === undefined || header.cwd === (cwd ?? undefined);
}

function whyNot(found: Pick<StoredSession, 'location' | 'header'> | undefined, cwd: string | null | undefined): string {
  if (found) return `: ${found.location} holds ${named(found.header.id)} of ${found.header.cwd ?? 'no working directory'}`;
  if (cwd === undefined) return '';
  return cwd === null ? ' without a working directory' : ` for the working directory ${cwd}`;
}

function headerOf(stored: StoredHeader): SessionHeader {
  if ('error' in stored) throw stored.error;
  const header = readHeaderLine(fromFirstLine(stored.head), stored.location);
  if (header) return header;
  throw new PalimpsestError('INVALID_HEADER', `${stored.location} does not begin with a whole header line`, { path: stored.location });
}

function brokenError(error: unknown, location?: string): PalimpsestError {
  if (error instanceof PalimpsestError) return error;
  return new PalimpsestError('STORAGE_FAILED', `${location ?? 'The storage'} cannot be read: ${messageOf(error)}`, { path: location, cause: error });
}

async function readLog(location: string, chunks: Chunks): Promise<StoredSession> {
  const reader = new SessionReader(location);
  try {
    for await (const chunk of chunks) reader.push(chunk);
    return { ...reader.finish(), location };
  } catch (error) {
    reader.free();
    throw error;
  }
}

/** Blank lines may stand before the header, and a byte order mark before them. */
function fromFirstLine(head: Uint8Array): Uint8Array {
  const mark = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0;
  const first = head.findIndex((byte, at) => at >= mark && byte > 0x20);
  const start = first < 0 ? -1 : head.lastIndexOf(NEWLINE, first) + 1;
  return start < 0 ? head.subarray(head.length) : head.subarray(start);
}
