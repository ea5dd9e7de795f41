/** What storage reports, in one wording for all backends. */

import { PalimpsestError } from '../errors.js';
import type { SessionId } from '../events.js';
import { messageOf, named } from '../wording.js';

/** The error for a log that must be created and exists. */
export function collision(id: SessionId, location: string): PalimpsestError {
  return new PalimpsestError(
    'SESSION_COLLISION',
    `${named(id)} is stored already (${location}) and is neither adopted nor overwritten: load it, or choose another id`,
    { session: id, path: location },
  );
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
