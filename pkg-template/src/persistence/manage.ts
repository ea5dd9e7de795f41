/** Stored sessions as wholes: forked, removed, taken out and brought in, none of them live. */

import { PalimpsestError } from '../errors.js';
import { SESSION_FORMAT_VERSION, type SessionHeader, type SessionId } from '../events.js';
import { headerToRecord } from '../header.js';
import { SessionReader } from '../reader.js';
import { piecesOf } from '../pieces.js';
import { type Session, forkSession, isTurnEnd } from '../session.js';
import { named } from '../wording.js';
import type { ImportedLog } from './adapter.js';
import type { StorageBackend } from './backend.js';
import type { Chunks } from './bytes.js';
import { refuseBoundary, refuseOpenTurn, storageError } from './faults.js';
import { type StoredSession, findStored, readStored } from './stored.js';

type Cwd = string | null | undefined;

/** Stores a child of a stored session. */
export async function forkStored(backend: StorageBackend, id: SessionId, cwd: Cwd, boundary: number | undefined, childId = newId()): Promise<SessionHeader> {
  const headerOf = (source: SessionHeader, seedLength: number): SessionHeader => ({
    version: SESSION_FORMAT_VERSION,
    id: childId,
    createdAt: Date.now(),
    ...(source.cwd !== undefined && { cwd: source.cwd }),
    parentSession: id,
    seedLength,
  });
  if (!backend.fork) {
    const { session } = await readStored(backend, id, cwd);
    try {
      return await copy(backend, session, boundary, (seedLength) => headerOf(session.header, seedLength));
    } finally {
      session.free();
    }
  }
  const { header, location } = await findStored(backend, id, cwd);
  let child: SessionHeader | undefined;
  const lineOf = (seedLength: number): Uint8Array => {
    child = headerOf(header, seedLength);
    return new TextEncoder().encode(`${headerToRecord(childId, child)}\n`);
  };
  try {
    await backend.fork({ source: location, sourceId: id, boundary, id: childId, cwd: header.cwd, header: lineOf });
  } catch (error) {
    throw storageError(error, childId);
  }
  return Object.freeze(child ?? headerOf(header, 0));
}

async function copy(backend: StorageBackend, source: Session, boundary: number | undefined, headerOf: (seedLength: number) => SessionHeader): Promise<SessionHeader> {
  refuseBoundary(source.id, boundary, source.seq);
  const last = boundary ?? source.seq - 1;
  refuseOpenTurn(source.id, last, last >= 0 && isTurnEnd(source, last));
  const child = forkSession(source, last, headerOf(last + 1));
  try {
    await store(backend, child);
    return child.header;
  } finally {
    child.free();
  }
}

/** Removes a stored session, which the caller has locked. */
export async function deleteStored(backend: StorageBackend, id: SessionId, cwd: Cwd): Promise<void> {
  if (!backend.delete) throw new PalimpsestError('STORAGE_FAILED', `${named(id)}: this storage cannot delete`, { session: id });
  const { header, location } = await findStored(backend, id, cwd);
  try {
    await backend.delete({ id, cwd: header.cwd, location });
  } catch (error) {
    throw storageError(error, id, location);
  }
}

/** A session's bytes. Gives back the memory of what was read. */
export function exportStored({ session }: StoredSession): Uint8Array {
  try {
    const parts = [session.headerLine(), session.jsonl()];
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
    return bytes;
  } finally {
    session.free();
  }
}

/** Stores a log from elsewhere. */
export async function importLog(backend: StorageBackend, chunks: Chunks, check: (header: SessionHeader) => void): Promise<ImportedLog> {
  const reader = new SessionReader('the imported log');
  try {
    for await (const chunk of chunks) reader.push(chunk);
    const { session, header, tornBytes } = reader.finish();
    try {
      check(header);
      await store(backend, session);
      return { header, events: session.seq, tornBytes };
    } finally {
      session.free();
    }
  } finally {
    reader.free();
  }
}

/** Writes a whole log, which must not exist. */
async function store(backend: StorageBackend, session: Session): Promise<void> {
  const { id, header, seq } = session;
  const lines = {
    *[Symbol.iterator]() {
      for (const { bytes } of piecesOf(session, 0, seq)) yield bytes;
    },
  };
  try {
    await backend.appendBatch({ id, cwd: header.cwd, header: session.headerLine(), count: seq, lines, retry: false });
  } catch (error) {
    throw storageError(error, id);
  }
}

function newId(): SessionId {
  const random = crypto.getRandomValues(new Uint8Array(12));
  return `session-${Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
