/** Session ids as names of files. */

import { PalimpsestError } from '../errors.js';

/**
 * A session id as one path segment that every file system takes: `A-Z a-z 0-9 . _ -` stay, every other UTF-16 unit is
 * written as `~XXXX`, and so are the dots of `.` and `..`. Different ids give different segments.
 * @throws PalimpsestError `INVALID_ID` when the id is empty
 */
export function encodeSegment(id: string): string {
  if (id === '') throw new PalimpsestError('INVALID_ID', 'A session id must be a non-empty string');
  return id.replace(id === '.' || id === '..' ? /\./g : /[^A-Za-z0-9._-]/g, escapeUnit);
}

// The patterns above have no `u` flag, so each match is one UTF-16 unit, and lone surrogates are kept apart.
function escapeUnit(unit: string): string {
  return `~${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`;
}
