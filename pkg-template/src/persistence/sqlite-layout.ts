/**
 * The tables, and whether a file may be opened at all.
 *
 * A database of another layout is refused before SQLite opens it for writing, since even closing it may change the file.
 */

import { closeSync, existsSync, lstatSync, openSync, readSync, realpathSync } from 'node:fs';
import { PalimpsestError } from '../errors.js';
import { messageOf } from '../wording.js';
import type { SqlDatabase, SqlDriver } from './sqlite-driver.js';

/** Number of the layout, kept in `PRAGMA user_version`. Any other one is refused, never converted. */
export const LAYOUT = 4;

// `session_id` is the session's id wherever that can be (see `keyOf` in sqlite.ts). `header` is the exact header line;
// the columns before it repeat it for queries. Events before seq `prefix_length` are those of the session `prefix_id`.
// `line` is set where the other columns do not give back the exact line (see sqlite-lines.ts).
const TABLES = `
  CREATE TABLE sessions (
    session_id TEXT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL,
    cwd TEXT,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    parent_session TEXT,
    seed_length INTEGER,
    header TEXT NOT NULL,
    prefix_id TEXT REFERENCES sessions (session_id),
    prefix_length INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX sessions_by_id ON sessions (id);
  CREATE INDEX sessions_by_prefix ON sessions (prefix_id) WHERE prefix_id IS NOT NULL;
  CREATE TABLE events (
    session_id TEXT NOT NULL REFERENCES sessions (session_id),
    seq INTEGER NOT NULL,
    type TEXT NOT NULL,
    time INTEGER NOT NULL,
    data TEXT NOT NULL,
    source_event_seqs TEXT,
    surface_op TEXT,
    line TEXT,
    PRIMARY KEY (session_id, seq)
  );
  PRAGMA user_version = ${LAYOUT};
`;

/** Where a link leads: by whatever name a database is opened, its locks are in one place. */
export function placeOf(file: string): string {
  return lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true && existsSync(file) ? realpathSync(file) : file;
}

/**
 * Refuses a file that is no database of this layout, by its first bytes.
 * @returns false when there is nothing yet
 * @throws PalimpsestError `UNSUPPORTED_VERSION`; `STORAGE_FAILED` when it cannot be read
 */
export function checkFile(file: string): boolean {
  if (!existsSync(file)) return false;
  const head = Buffer.alloc(100);
  const length = beginningOf(file, head);
  if (length === 0) return false;
  if (length < head.length || head.toString('latin1', 0, 16) !== 'SQLite format 3\0') throw refused(file, 'it is not an SQLite database');
  const version = head.readInt32BE(60);
  // A new database may still have its number in the write-ahead log.
  if (version !== LAYOUT && version !== 0) throw refusedVersion(file, version);
  return true;
}

function beginningOf(file: string, head: Buffer): number {
  try {
    const descriptor = openSync(file, 'r');
    try {
      return readSync(descriptor, head, 0, head.length, 0);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw new PalimpsestError('STORAGE_FAILED', `${file} cannot be opened as a database: ${messageOf(error)}`, { path: file, cause: error });
  }
}

/**
 * Refuses a database of another layout by what SQLite says, which sees the write-ahead log too, without writing.
 * @throws PalimpsestError `UNSUPPORTED_VERSION`
 */
export function checkDatabase(driver: SqlDriver, file: string): void {
  // What a crash has left in a rollback journal can only be undone for writing; the first bytes have to do.
  if (!checkFile(file) || existsSync(`${file}-journal`)) return;
  const database = driver(file, { readonly: true });
  try {
    checkOpen(database, file);
  } finally {
    database.close();
  }
}

/** True when the tables are there. @throws PalimpsestError `UNSUPPORTED_VERSION` */
export function checkOpen(database: SqlDatabase, file: string): boolean {
  // In one statement: another process may be making the tables.
  const { version, count } = database
    .prepare('SELECT (SELECT user_version FROM pragma_user_version) AS version, (SELECT count(*) FROM sqlite_master) AS count')
    .get() as { version: number; count: number };
  if (version === LAYOUT) {
    try {
      database.prepare('SELECT header, prefix_id, prefix_length FROM sessions');
      database.prepare('SELECT session_id, seq, type, time, data, source_event_seqs, surface_op, line FROM events');
    } catch {
      throw refused(file, `its tables are not those of layout ${LAYOUT} that this package makes`);
    }
    return true;
  }
  if (version === 0 && count === 0) return false;
  throw version === 0 ? refused(file, 'it has tables, and no layout number') : refusedVersion(file, version);
}

/** Makes the tables, unless somebody else has done so by now. */
export function makeTables(database: SqlDatabase, file: string): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    if (!checkOpen(database, file)) database.exec(TABLES);
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

function refusedVersion(file: string, version: number): PalimpsestError {
  return refused(file, `its layout has the number ${version}, and only ${LAYOUT} is known`);
}

function refused(file: string, why: string): PalimpsestError {
  return new PalimpsestError('UNSUPPORTED_VERSION', `${file} is not opened and was not changed: ${why}; give another file, or use the program that made it`, { path: file });
}
