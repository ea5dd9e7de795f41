// The storages that the conformance suite runs on.
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { jsonl } from 'palimpsest/jsonl';
import { memory } from 'palimpsest/memory';
import { type SqlDatabase, type SqlDriver, type SqlStatement, type SqlValue, sqlite } from 'palimpsest/sqlite';
import type { StorageBackend } from 'palimpsest/persistence';
import type { Decide, StorageEntry, StorageUnderTest } from 'palimpsest/testing';
import { hasNodeSqlite, hostDriver } from './sqlite.js';
import { WatchedFs, systemError } from './storage.js';

// In memory where the system has such a directory: what counts here is the order of operations. The disk is for those
// tests that kill processes.
const ROOT = process.platform === 'linux' && existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** A storage below a directory that goes with it. */
async function below(open: (root: string, decide?: Decide) => StorageBackend): Promise<StorageUnderTest> {
  const root = await mkdtemp(join(ROOT, 'palimpsest-'));
  return {
    open: () => open(root),
    openFaulty: (decide) => open(root, decide),
    dispose: () => rm(root, { recursive: true, force: true }),
  };
}

/** A backend whose own operations are decided on. */
function decidedBackend(inner: StorageBackend, decide: Decide): StorageBackend {
  const decided = async <T>(name: string, run: () => T | Promise<T>): Promise<T> => {
    const verdict = decide(name);
    if (verdict === 'before') throw systemError('EIO');
    const result = await run();
    if (verdict === 'after') throw systemError('EIO');
    return result;
  };
  return {
    loadStored: (query) => decided('loadStored', () => inner.loadStored(query)),
    appendBatch: (batch) => decided('appendBatch', () => inner.appendBatch(batch)),
    commitRepair: (batch) => decided('commitRepair', () => inner.commitRepair(batch)),
    list: () => inner.list(),
    close: () => decided('close', () => inner.close?.()),
  };
}

/** Files whose operations are decided on. */
function decidedFs(decide: Decide | undefined, { links = true } = {}): WatchedFs {
  return new WatchedFs(async ({ name, run }) => {
    if (!links && name === 'link') throw systemError('EPERM');
    const verdict = decide?.(name) ?? 'run';
    if (verdict === 'before') throw systemError('EIO');
    const result = await run();
    if (verdict === 'after') throw systemError('EIO');
    return result;
  });
}

/** A library whose statements are decided on. */
function decidedDriver(driver: SqlDriver, decide: Decide): SqlDriver {
  const decided = <T>(name: string, run: () => T): T => {
    const verdict = decide(name);
    if (verdict === 'before') throw systemError('SQLITE_IOERR');
    const result = run();
    if (verdict === 'after') throw systemError('SQLITE_IOERR');
    return result;
  };
  return (file, options) => {
    const database = decided('open', () => driver(file, options));
    const wrapped: SqlDatabase = {
      exec: (sql) => decided(sql, () => database.exec(sql)),
      prepare: (sql) => {
        const statement = database.prepare(sql);
        const method = (name: keyof SqlStatement) => (...values: SqlValue[]) => decided(sql, () => statement[name](...values));
        return { run: method('run'), get: method('get'), all: method('all') as SqlStatement['all'] };
      },
      close: () => database.close(),
    };
    return wrapped;
  };
}

function sqliteEntry(name: 'better-sqlite3' | 'node:sqlite', title: string, journalMode?: 'delete'): StorageEntry {
  const setup = (): Promise<StorageUnderTest> =>
    below((root, decide) => sqlite({ file: join(root, 'sessions.db'), journalMode, driver: decide ? decidedDriver(hostDriver(name), decide) : name }));
  return { name: title, setup };
}

/** The registry. */
export const backends: readonly StorageEntry[] = [
  {
    name: 'memory',
    setup: () => {
      // Those who share the object see the same sessions; closing does nothing.
      const backend = memory();
      return { open: () => backend, openFaulty: (decide) => decidedBackend(backend, decide) };
    },
  },
  { name: 'jsonl', setup: () => below((root, decide) => jsonl(decide ? { root, fs: decidedFs(decide) } : root)) },
  { name: 'jsonl without hard links', setup: () => below((root, decide) => jsonl({ root, fs: decidedFs(decide, { links: false }) })) },
  sqliteEntry('better-sqlite3', 'sqlite by better-sqlite3'),
  sqliteEntry('better-sqlite3', 'sqlite without a write-ahead log', 'delete'),
  ...(hasNodeSqlite ? [sqliteEntry('node:sqlite', 'sqlite by node:sqlite')] : []),
];
