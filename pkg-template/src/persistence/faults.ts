/** What storage reports, in one wording for all backends. */

import { PalimpsestError, SessionForkError } from '../errors.js';
import type { SessionId } from '../events.js';
import { messageOf, named } from '../wording.js';

/**
 * The error for a log that must be created and exists.
 * @param inPlace the name of what is there, where the storage takes two names for one
 */
export function collision(id: SessionId, location: string, inPlace?: string): PalimpsestError {
  const why =
    inPlace === undefined
      ? `is stored already (${location}) and is neither adopted nor overwritten: load it, or choose another id`
      : `cannot be stored at ${location}: the file system does not tell that name from ${inPlace}, which is another session's; choose another id`;
  return new PalimpsestError('SESSION_COLLISION', `${named(id)} ${why}`, { session: id, path: location });
}

/** The error for a log that does not end where its writer left it. */
export function conflict(id: SessionId, location: string, why: string): PalimpsestError {
  return new PalimpsestError('WRITE_CONFLICT', `${named(id)}: another writer has changed ${location}, ${why}; load it again`, {
    session: id,
    path: location,
  });
}

/** The error for an id that is stored under several working directories. */
export function ambiguous(id: SessionId, locations: readonly string[]): PalimpsestError {
  return new PalimpsestError('SESSION_COLLISION', `${named(id)} is stored ${locations.length} times (${locations.join(', ')}): say which cwd`, {
    session: id,
  });
}

/** Who writes to a session. */
export interface LockHolder {
  readonly pid?: number | undefined;
  readonly host?: string | undefined;
  /** Milliseconds since 1970. */
  readonly since?: number | undefined;
}

/** The error for a session that somebody else writes to. */
export function locked(id: SessionId, holder: LockHolder, location?: string): PalimpsestError {
  const { pid, host, since } = holder;
  const parts = [
    pid === undefined ? 'another writer' : `process ${pid}`,
    host === undefined ? '' : ` on ${host}`,
    since === undefined ? '' : `, since ${new Date(since).toISOString()}`,
  ];
  return new PalimpsestError('SESSION_LOCKED', `${named(id)} is being written by ${parts.join('')}; it can be read and followed, or try again later`, {
    session: id,
    path: location,
    cause: { ...(pid !== undefined && { pid }), ...(host !== undefined && { host }), ...(since !== undefined && { since }) },
  });
}

/** Refuses a fork boundary that is not the seq of one of `length` events. */
export function refuseBoundary(id: SessionId, boundary: number | undefined, length: number): void {
  if (boundary === undefined || (Number.isInteger(boundary) && boundary >= 0 && boundary < length)) return;
  throw new SessionForkError('INVALID_BOUNDARY', `${named(id)}: cannot be forked, ${boundary} is not the seq of one of its ${length} events`, {
    session: id,
  });
}

/** Refuses a fork whose last inherited event is not the end of a turn. */
export function refuseOpenTurn(id: SessionId, last: number, isTurnEnd: boolean): void {
  if (last < 0 || isTurnEnd) return;
  throw new SessionForkError('OPEN_TURN', `${named(id)}: cannot be forked, event ${last} is not a turn/end; fork at the end of a turn`, {
    session: id,
    seq: last,
  });
}

/** The error for a storage that failed; one that already says what it is stays as it is. */
export function storageError(error: unknown, id: SessionId, location?: string): PalimpsestError {
  if (error instanceof PalimpsestError) return error;
  const where = location === undefined ? '' : ` (${location})`;
  return new PalimpsestError('STORAGE_FAILED', `${named(id)} could not be stored or read${where}, try again: ${messageOf(error)}`, {
    session: id,
    path: location,
    cause: error,
  });
}
