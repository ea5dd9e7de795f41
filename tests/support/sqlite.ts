// SQLite as the host has it, for tests that look into a database or break it.
import { createRequire } from 'node:module';
import process from 'node:process';
import type { SqlDatabase, SqlDriver } from 'palimpsest/sqlite';

const require = createRequire(import.meta.url);

/** Whether this Node has an SQLite of its own, without a flag. */
export const hasNodeSqlite = Number(process.versions.node.split('.')[0]) >= 23;

type Constructor = new (file: string, options: object) => SqlDatabase;

/** The library of that name, by itself. */
export function hostDriver(name: 'better-sqlite3' | 'node:sqlite'): SqlDriver {
  if (name === 'node:sqlite') {
    const { DatabaseSync } = require('node:sqlite') as { DatabaseSync: Constructor };
    return (file, { readonly }) => new DatabaseSync(file, { readOnly: readonly });
  }
  const Database = require('better-sqlite3') as Constructor;
  return (file, { readonly }) => new Database(file, { readonly });
}
