/** The two SQLite libraries of Node behind one interface, and what is asked of them. */

import { createRequire } from 'node:module';
import { PalimpsestError } from '../errors.js';
import { messageOf } from '../wording.js';

/** A value in a table. */
export type SqlValue = string | number | null;

/** A prepared statement, synchronous. */
export interface SqlStatement {
  run(...values: SqlValue[]): unknown;
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
}

/** An open database, synchronous. */
export interface SqlDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqlStatement;
  close(): unknown;
}

/** Opens a database file, which is made when it is not there unless `readonly` is set. */
export type SqlDriver = (file: string, options: { readonly readonly: boolean }) => SqlDatabase;

/** Which library to use: npm's `better-sqlite3`, or `node:sqlite` of Node 22.5 and later. */
export type SqlDriverName = 'better-sqlite3' | 'node:sqlite';

type BetterSqlite = new (file: string, options: { readonly: boolean }) => SqlDatabase;

interface NodeSqlite {
  readonly DatabaseSync: new (file: string, options: { readOnly: boolean }) => SqlDatabase;
}

const require = createRequire(import.meta.url);

const LOADERS: Record<SqlDriverName, () => SqlDriver> = {
  'better-sqlite3': () => {
    const Database = require('better-sqlite3') as BetterSqlite;
    // The native part is loaded with the first database.
    new Database(':memory:', { readonly: false }).close();
    return (file, { readonly }) => new Database(file, { readonly });
  },
  'node:sqlite': () => {
    const { DatabaseSync } = require('node:sqlite') as NodeSqlite;
    return (file, { readonly }) => new DatabaseSync(file, { readOnly: readonly });
  },
};

/**
 * The named library, or the first that is there.
 * @throws PalimpsestError `STORAGE_FAILED` when there is none, saying what each of them said
 */
export function sqlDriver(name?: SqlDriverName): SqlDriver {
  const failures: string[] = [];
  for (const candidate of name === undefined ? (Object.keys(LOADERS) as SqlDriverName[]) : [name]) {
    try {
      return LOADERS[candidate]();
    } catch (error) {
      failures.push(`${candidate}: ${messageOf(error).split('\n', 1)[0] ?? ''}`);
    }
  }
  throw new PalimpsestError('STORAGE_FAILED', `No SQLite library can be loaded; install better-sqlite3, or use Node 22.13 or later (${failures.join('; ')})`);
}
