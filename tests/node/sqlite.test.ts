// SQLite: the tables, what is refused and left as it was, what is in a row, what happens to a database that breaks.
import assert from 'node:assert/strict';
import { copyFile, mkdir, readFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, suite, test } from 'node:test';
import { type PalimpsestError, SessionStore } from 'palimpsest';
import type { PersistenceAdapter } from 'palimpsest/persistence';
import { type SqlDatabase, type SqliteOptions, attach, sqlite } from 'palimpsest/sqlite';
import { openTurn, refusal, runTurn, say } from '../support/sessions.js';
import { whole } from '../support/setting.js';
import { hasNodeSqlite, hostDriver } from '../support/sqlite.js';
import { ManualTimers, systemError, temporary } from '../support/storage.js';

interface Opened {
  readonly file: string;
  readonly store: SessionStore;
  readonly adapter: PersistenceAdapter;
}

function open(file: string, options: Partial<SqliteOptions> = {}): Opened {
  const store = new SessionStore({ onError: (error) => { throw error; } });
  return { file, store, adapter: attach(store, sqlite({ file, ...options }), { timers: new ManualTimers() }) };
}

async function fresh(context: TestContext, options: Partial<SqliteOptions> = {}): Promise<Opened> {
  return open(join(await temporary(context), 'sessions.db'), options);
}

/** Looks into a database, or changes it. */
function inside<T>(file: string, run: (database: SqlDatabase) => T): T {
  const database = hostDriver('better-sqlite3')(file, { readonly: false });
  try {
    return run(database);
  } finally {
    database.close();
  }
}

const rows = (file: string, sql: string): Record<string, unknown>[] => inside(file, (database) => database.prepare(sql).all()) as Record<string, unknown>[];

suite('sqlite: tables', () => {
  test('hold a session as the specification says', async (context) => {
    const { file, store, adapter } = await fresh(context);
    const session = store.create('a', { meta: { cwd: '/p', createdAt: 7, parentSession: 'p', seedLength: 0 } });
    runTurn(session);
    session.append('user/message', { content: [], source: { kind: 'user' } }, { surfaceOp: { op: 'replace', start: 1, end: 3 }, sourceEventSeqs: [1, 3] });
    await adapter.close();
    assert.deepEqual(rows(file, 'PRAGMA user_version'), [{ user_version: 4 }]);
    assert.deepEqual(rows(file, 'PRAGMA journal_mode'), [{ journal_mode: 'wal' }]);
    const [row] = rows(file, 'SELECT session_id, id, cwd, version, created_at, parent_session, seed_length FROM sessions');
    assert.deepEqual(row, { session_id: 'a', id: 'a', cwd: '/p', version: 0, created_at: 7, parent_session: 'p', seed_length: 0 });
    const columns = rows(file, 'PRAGMA table_info(events)').map(({ name }) => name);
    assert.deepEqual(columns, ['session_id', 'seq', 'type', 'time', 'data', 'source_event_seqs', 'surface_op', 'line']);
    const events = rows(file, 'SELECT * FROM events ORDER BY seq');
    for (const [seq, event] of [...session.events].entries()) {
      assert.deepEqual(events[seq], {
        session_id: 'a',
        seq,
        type: event.type,
        time: event.time,
        data: JSON.stringify(event.data),
        source_event_seqs: event.sourceEventSeqs ? JSON.stringify(event.sourceEventSeqs) : null,
        surface_op: event.surfaceOp ? JSON.stringify(event.surfaceOp) : null,
        line: null,
      });
    }
    assert.deepEqual(rows(file, 'PRAGMA foreign_key_check'), []);
  });

  test('what the columns do not say exactly is kept as a line beside them', async (context) => {
    const { file, adapter } = await fresh(context);
    const lines = [
      '{"type":"x","seq":0,"time":1,"data":{"n":9007199254740993}}',
      '{"type":"x","seq":1,"time":1,"data":{},"ignorable":true}',
      '{"type":"x","seq":2,"time":1.5,"data":{}}',
      '{"type":"x\\u0061","seq":3,"time":12345678901234567890,"data":{}}',
    ];
    await adapter.import(Buffer.from(['{"type":"session","version":0,"id":"a","createdAt":1}', ...lines, ''].join('\n')));
    assert.equal(Buffer.from(await adapter.export('a')).toString().split('\n').slice(1, -1).join('\n'), lines.join('\n'));
    await adapter.close();
    assert.deepEqual(rows(file, 'SELECT line FROM events ORDER BY seq').map(({ line }) => line), [null, ...lines.slice(1)]);
    assert.deepEqual(rows(file, 'SELECT data FROM events WHERE seq = 0'), [{ data: '{"n":9007199254740993}' }]);
  });

  test('nothing is made for a session without events, nor by reading', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(join(root, 'deep/sessions.db'));
    store.create('a');
    await adapter.flush();
    assert.deepEqual(await adapter.list(), { sessions: [], broken: [] });
    await assert.rejects(adapter.load('b'), refusal('SESSION_NOT_FOUND'));
    await adapter.close();
    assert.deepEqual(await readdir(root), []);
  });

  test('a fork shares its parent’s rows', async (context) => {
    const { file, store, adapter } = await fresh(context);
    const session = store.create('a');
    for (let turn = 1; turn <= 100; turn++) runTurn(session, turn);
    await adapter.flush();
    await adapter.fork('a', undefined, { childId: 'b' });
    assert.deepEqual(rows(file, 'SELECT session_id, count(*) AS count FROM events GROUP BY 1'), [{ session_id: 'a', count: 600 }]);
    store.detach(session);
    await adapter.delete('a');
    assert.deepEqual(rows(file, 'SELECT session_id, count(*) AS count FROM events GROUP BY 1'), [{ session_id: 'b', count: 600 }]);
    assert.deepEqual(rows(file, 'PRAGMA foreign_key_check'), []);
    await adapter.close();
  });

  for (const journalMode of ['delete', 'truncate', 'persist'] as const) {
    test(`journal mode ${journalMode}, also for a database that was made with another`, async (context) => {
      const { file, store, adapter } = await fresh(context);
      runTurn(store.create('a'));
      await adapter.close();
      const later = open(file, { journalMode });
      const session = await later.adapter.load('a');
      runTurn(session, 2);
      await later.adapter.close();
      assert.equal((await open(file, { journalMode }).adapter.load('a')).seq, 12);
    });
  }

  test('in memory', async () => {
    const { store, adapter } = open(':memory:');
    const session = store.create('a');
    runTurn(session);
    await adapter.flush();
    assert.equal(Buffer.from(await adapter.export('a')).toString(), whole(session));
    await adapter.close();
  });
});

suite('sqlite: what is refused and left byte for byte as it was', () => {
  const cases: [string, (file: string) => Promise<void> | void][] = [
    ...[1, 2, 3, 5, 17, -1, 2 ** 31 - 1].map((version): [string, (file: string) => void] => [
      `layout ${version}`,
      (file) => { inside(file, (database) => database.exec(`CREATE TABLE t (a); PRAGMA user_version = ${version}`)); },
    ]),
    ['another layout with a write-ahead log', (file) => { inside(file, (database) => database.exec('PRAGMA journal_mode = wal; CREATE TABLE t (a); PRAGMA user_version = 3')); }],
    ['tables without a number', (file) => { inside(file, (database) => database.exec('CREATE TABLE t (a)')); }],
    ['number 4 over other tables', (file) => { inside(file, (database) => database.exec('CREATE TABLE t (a); PRAGMA user_version = 4')); }],
    ['a file that is no database', (file) => writeFile(file, 'hello, '.repeat(100))],
    ['a short file that is no database', (file) => writeFile(file, 'x')],
  ];
  for (const [title, make] of cases) {
    test(title, async (context) => {
      const root = await temporary(context);
      const file = join(root, 'sessions.db');
      await make(file);
      const before = await readFile(file);
      const attempts: (() => unknown)[] = [
        () => open(file).adapter.list(),
        () => open(file).adapter.load('a'),
        async () => {
          const { store, adapter } = open(file);
          say(store.create('a'), 'hi');
          await adapter.flush().catch((error: unknown) => {
            throw (error as { errors: unknown[] }).errors[0];
          });
        },
      ];
      for (const attempt of attempts) {
        await assert.rejects(async () => attempt(), (error: unknown) => {
          refusal('UNSUPPORTED_VERSION', /not opened and was not changed/)(error);
          return (error as PalimpsestError).path === file;
        });
        assert.deepEqual(await readFile(file), before);
      }
    });
  }

  test('a number that only the write-ahead log has', async (context) => {
    const root = await temporary(context);
    const made = await fresh(context);
    runTurn(made.store.create('a'));
    await made.adapter.close();
    // A newer program has changed the number, and is still there.
    const newer = hostDriver('better-sqlite3')(made.file, { readonly: false });
    newer.exec('PRAGMA user_version = 5');
    const file = join(root, 'sessions.db');
    for (const suffix of ['', '-wal']) await copyFile(made.file + suffix, file + suffix);
    newer.close();
    const before = await Promise.all(['', '-wal'].map((suffix) => readFile(file + suffix)));
    assert.equal(before[0]?.readInt32BE(60), 4);
    await assert.rejects(open(file).adapter.list(), refusal('UNSUPPORTED_VERSION', /number 5/));
    assert.deepEqual(await Promise.all(['', '-wal'].map((suffix) => readFile(file + suffix))), before);
  });

  test('an empty file, and a database without tables, count as new', async (context) => {
    for (const content of ['', 'PRAGMA journal_mode = wal', 'PRAGMA application_id = 7']) {
      const { file, store, adapter } = await fresh(context);
      if (content === '') await writeFile(file, '');
      else inside(file, (database) => database.exec(content));
      say(store.create('a'), 'hi');
      await adapter.close();
      assert.equal((await open(file).adapter.list()).sessions.length, 1, content);
    }
  });
});

suite('sqlite: when things break', () => {
  test('a torn row at the end is dropped, and goes with the next write', async (context) => {
    const { file, store, adapter } = await fresh(context);
    openTurn(store.create('a'), 1);
    await adapter.close();
    inside(file, (database) => database.exec("UPDATE events SET data = substr(data, 1, 5) WHERE seq = 2"));
    const later = open(file);
    const read = await later.adapter.read('a');
    assert.ok(read.tornBytes > 0);
    const session = await later.adapter.load('a');
    assert.deepEqual([...session.events].map(({ type }) => type), ['turn/start', 'user/message', 'turn/end']);
    await later.adapter.close();
    assert.equal(Buffer.from(await open(file).adapter.export('a')).toString(), whole(session));
  });

  test('a row that is missing is a gap', async (context) => {
    const { file, store, adapter } = await fresh(context);
    runTurn(store.create('a'));
    await adapter.close();
    inside(file, (database) => database.exec('DELETE FROM events WHERE seq = 2'));
    await assert.rejects(open(file).adapter.load('a'), refusal('SEQ_MISMATCH'));
  });

  test('a full disk is told, and a later flush makes up for it', async (context) => {
    let full = false;
    const { store, adapter } = await fresh(context, {
      driver: (file, options) => {
        const database = hostDriver('better-sqlite3')(file, options);
        const prepare = database.prepare.bind(database);
        return {
          exec: (sql) => database.exec(sql),
          close: () => database.close(),
          prepare: (sql) => {
            const statement = prepare(sql);
            return {
              get: (...values) => statement.get(...values),
              all: (...values) => statement.all(...values),
              run: (...values) => {
                if (full && sql.startsWith('INSERT')) throw systemError('SQLITE_FULL');
                return statement.run(...values);
              },
            };
          },
        };
      },
    });
    const session = store.create('a');
    runTurn(session, 1);
    await adapter.flush();
    full = true;
    runTurn(session, 2);
    await assert.rejects(store.flush(session), refusal('FLUSH_FAILED', /SQLITE_FULL/));
    assert.equal(adapter.state('a')?.status, 'failing');
    full = false;
    await store.flush(session);
    assert.equal(Buffer.from(await adapter.export('a')).toString(), whole(session));
    await adapter.close();
  });

  test('the database is busy: a writer waits for its turn, and says when that was too long', async (context) => {
    const { file, store, adapter } = await fresh(context, { busyTimeout: 50 });
    const session = store.create('a');
    runTurn(session, 1);
    await adapter.flush();
    const other = hostDriver('better-sqlite3')(file, { readonly: false });
    other.exec('BEGIN IMMEDIATE');
    runTurn(session, 2);
    await assert.rejects(store.flush(session), refusal('FLUSH_FAILED', /locked/));
    assert.equal((await adapter.read('a')).session.seq, 6, 'readers do not wait');
    other.exec('COMMIT');
    other.close();
    await store.flush(session);
    assert.equal((await adapter.read('a')).session.seq, 12);
    await adapter.close();
  });

  test('a library that is not there is named', () => {
    const names = [...(hasNodeSqlite ? [] : ['node:sqlite']), 'none'];
    for (const name of names) assert.throws(() => sqlite({ file: 'x.db', driver: name as 'node:sqlite' }), refusal('STORAGE_FAILED', new RegExp(name)));
  });

  test('a directory in the way is told', async (context) => {
    const root = await temporary(context);
    await mkdir(join(root, 'sessions.db'));
    assert.throws(() => open(join(root, 'sessions.db')), refusal('STORAGE_FAILED', /sessions\.db.*directory/));
  });

  test('a database that cannot be read is told by every call in the same way', async (context) => {
    const { file, store, adapter } = await fresh(context);
    runTurn(store.create('a'));
    await adapter.close();
    const bytes = await readFile(file);
    await writeFile(file, bytes.fill(0, 4096, 8192));
    const broken = open(file);
    await assert.rejects(broken.adapter.list(), refusal('STORAGE_FAILED', /malformed/));
    await assert.rejects(broken.adapter.load('a'), refusal('STORAGE_FAILED', /malformed/));
    await broken.adapter.close();
  });

  test('rows of a parent that are gone, or go round in a circle, are told; a fork is never read short', async (context) => {
    const { file, store, adapter } = await fresh(context);
    runTurn(store.create('a'));
    await adapter.flush();
    await adapter.fork('a', undefined, { childId: 'b' });
    await adapter.close();
    const harm = [
      "DELETE FROM events WHERE session_id = 'a' AND seq = 5",
      "DELETE FROM events WHERE session_id = 'a'",
      "UPDATE sessions SET prefix_id = 'none' WHERE session_id = 'b'",
      "UPDATE sessions SET prefix_id = NULL WHERE session_id = 'b'",
      "UPDATE sessions SET prefix_id = 'b' WHERE session_id = 'b'",
      "UPDATE sessions SET prefix_id = 'b', prefix_length = 3 WHERE session_id = 'a'",
    ];
    for (const [at, sql] of harm.entries()) {
      const copy = `${file}.${at}`;
      await copyFile(file, copy);
      inside(copy, (database) => database.exec(`PRAGMA foreign_keys = OFF; ${sql}`));
      const broken = open(copy);
      await assert.rejects(broken.adapter.load('b'), refusal('CORRUPT_LOG', /#b, seq \d: the rows that it shares/), sql);
      assert.equal((await broken.adapter.list()).sessions.length, 2, sql);
      await broken.adapter.close();
    }
  });

  test('what is read while its parent is deleted is read whole', async (context) => {
    const { store, file, adapter } = await fresh(context);
    const session = store.create('a');
    for (let turn = 1; turn <= 60; turn++) runTurn(session, turn);
    await adapter.close();
    const first = open(file);
    await first.adapter.fork('a', undefined, { childId: 'b' });
    const backend = sqlite(file);
    const stored = await backend.loadStored({ id: 'b' });
    assert.ok(stored);
    let lines = -1;
    for await (const chunk of stored.chunks) {
      lines += chunk.filter((byte) => byte === 10).length;
      if (lines === 128) await first.adapter.delete('a');
    }
    assert.equal(lines, 360);
    await backend.close?.();
    await first.adapter.close();
  });

  test('a database that was deleted or replaced under its writer takes no more events', { skip: process.platform === 'win32' && 'an open file stays' }, async (context) => {
    for (const act of ['delete', 'replace']) {
      const { file, store, adapter } = await fresh(context);
      const session = store.create('a');
      runTurn(session, 1);
      await adapter.flush();
      if (act === 'delete') for (const name of [file, `${file}-wal`, `${file}-shm`]) await rm(name);
      else {
        const { file: another, store: others, adapter: theirs } = await fresh(context);
        runTurn(others.create('b'));
        await theirs.close();
        await rename(another, file);
        for (const name of [`${file}-wal`, `${file}-shm`]) await rm(name);
      }
      runTurn(session, 2);
      await assert.rejects(store.flush(session), refusal('FLUSH_FAILED', /there no more/), act);
      assert.deepEqual((await adapter.list()).sessions.map(({ id }) => id), act === 'delete' ? [] : ['b']);
      // A new session goes into the file that is there now.
      runTurn(store.create('c'));
      await adapter.flush('c');
      await adapter.close({ abandon: true });
      assert.equal((await open(file).adapter.read('c')).session.seq, 6);
    }
  });

  test('a database behind a link has one writer', async (context) => {
    const { file, store, adapter } = await fresh(context);
    runTurn(store.create('a'));
    await adapter.flush();
    const link = join(await temporary(context), 'link.db');
    await symlink(file, link);
    const other = open(link);
    await assert.rejects(other.adapter.load('a'), refusal('SESSION_LOCKED'));
    assert.equal((await other.adapter.read('a')).session.seq, 6);
    await other.adapter.close();
    await adapter.close();
  });
});
