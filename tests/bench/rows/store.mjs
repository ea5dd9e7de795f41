// Durable storage: turns that are flushed each, and the listing of many sessions. Ours through `attach`, as an application
// uses it; the original's JSONL backend through its plugin; SQLite beside the plainest table that holds the same lines.
import Database from 'better-sqlite3';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { SessionStore } from 'palimpsest';
import { attach, jsonl } from 'palimpsest/jsonl';
import { sqlite } from 'palimpsest/sqlite';
import { log } from '../inputs.mjs';
import { figures, keep, measure } from '../measure.mjs';
import * as dsh from '../peers/dsh.mjs';
import * as palimpsest from '../peers/palimpsest.mjs';

/** Events of a turn in the inputs. */
const TURN = 200;
const SESSIONS = 3000;

/** A new directory for `use`, gone afterwards. */
async function inDirectory(use) {
  const directory = mkdtempSync(join(tmpdir(), 'palimpsest-bench-'));
  try {
    return await use(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Milliseconds that `each` takes for one of `items`, by the wall clock: what is waited for is the disk. */
async function timePer(items, each) {
  globalThis.gc?.();
  const start = performance.now();
  for (const item of items) await each(item);
  return (performance.now() - start) / items.length;
}

const turnsOf = (payload, count) => {
  const all = [...log(count * TURN)].map(payload);
  return Array.from({ length: count }, (_, turn) => all.slice(turn * TURN, (turn + 1) * TURN));
};

function ours(backend, turns) {
  return (directory) => {
    const store = new SessionStore();
    const saved = attach(store, backend(directory));
    const session = store.create('bench');
    return {
      turn: async (payloads) => {
        for (const payload of payloads) palimpsest.append(session, payload);
        await store.flush(session);
      },
      close: () => saved.close(),
      turns,
    };
  };
}

/** Each turn's events as rows of one transaction, durable at its end as ours are. */
function plainSqlite(turns) {
  return (directory) => {
    const db = new Database(join(directory, 'plain.db'));
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.exec('CREATE TABLE events (session TEXT NOT NULL, seq INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (session, seq)) WITHOUT ROWID');
    const insert = db.prepare('INSERT INTO events VALUES (?, ?, ?)');
    const write = db.transaction((events) => {
      for (const event of events) insert.run('bench', event.seq, JSON.stringify(event));
    });
    const session = dsh.create();
    return {
      turn: (payloads) => write(payloads.map((payload) => dsh.append(session, payload))),
      close: () => db.close(),
      turns,
    };
  };
}

/** The original's backend; undefined where it does not load, as on a Node without zstd. */
async function originalBackend() {
  try {
    const [{ Context }, { JsonlSessionPersistence }, sessions] = await Promise.all([
      import('@deepseek-ai/cordis'),
      import('@deepseek-ai/dsh-session-persistence-jsonl'),
      import('@deepseek-ai/dsh-session'),
    ]);
    return async (root) => {
      const ctx = new Context();
      await ctx.plugin(sessions.SessionStore);
      await ctx.plugin(JsonlSessionPersistence, { root, compression: 'none', packChunks: false });
      const { sessionPersistence } = ctx;
      return { backend: sessionPersistence, close: () => ctx.fiber.dispose?.() };
    };
  } catch (error) {
    console.error(`the original's backend does not run here: ${error.message}`);
    return undefined;
  }
}

const headerOf = (id) => ({ version: 0, id, createdAt: 1_700_000_000_000, delegationDepth: 0 });

function original(start, turns) {
  return async (directory) => {
    const { backend, close } = await start(directory);
    const session = dsh.create();
    await backend.create(headerOf('bench'));
    return {
      turn: (payloads) => backend.append('bench', payloads.map((payload) => dsh.append(session, payload))),
      close,
      turns,
    };
  };
}

/** @param contestants (count) => { name: directory => { turn, close, turns } } */
const flushing = (name, work, contestants) => ({
  name, work, unit: 'ms/turn', newer: true,
  async run({ short }) {
    const count = short ? 20 : 100;
    const makers = await contestants(count);
    const runs = Object.fromEntries(Object.entries(makers).map(([who, make]) => [who, () => inDirectory(async (directory) => {
      const { turn, close, turns } = await make(directory);
      try {
        return await timePer(turns, turn);
      } finally {
        await close();
      }
    })]));
    return figures(await measure(runs, { rounds: short ? 3 : 9, warmup: 1 }));
  },
});

/** @param contestants name => { prepare(directory), open(directory) => { list(): Promise<number>, close() } } */
const listing = (name, work, contestants) => ({
  name, work, unit: 'ms', newer: true, full: true,
  async run({ short }) {
    const makers = await contestants();
    const directories = [];
    const runs = {};
    let peak = 0;
    for (const [who, { prepare, open }] of Object.entries(makers)) {
      const directory = mkdtempSync(join(tmpdir(), 'palimpsest-bench-'));
      directories.push(directory);
      await prepare(directory);
      runs[who] = async () => {
        globalThis.gc?.();
        const before = process.memoryUsage().rss;
        const { list, close } = await open(directory);
        const start = performance.now();
        const found = keep(await list());
        const elapsed = performance.now() - start;
        if (who === 'ours') peak = Math.max(peak, process.memoryUsage().rss - before);
        await close();
        if (found !== SESSIONS) throw new Error(`${who} lists ${found} of ${SESSIONS} sessions`);
        return elapsed;
      };
    }
    try {
      const found = figures(await measure(runs, { rounds: short ? 3 : 9, warmup: 1 }));
      console.error(`${work}: the resident memory of ours grew by at most ${(peak / 1e6).toFixed(0)} MB`);
      return found;
    } finally {
      for (const directory of directories) rmSync(directory, { recursive: true });
    }
  },
});

const id = (i) => `session-${String(i).padStart(5, '0')}`;

/** Our 3,000 sessions: the lines are written by a live session, then stored under each id. */
function oursListed(backend) {
  return {
    async prepare(directory) {
      const store = new SessionStore();
      const saved = attach(store, backend(directory));
      const turns = turnsOf(palimpsest.payload, 1)[0];
      for (let i = 0; i < SESSIONS; i++) {
        const scope = store.scope();
        const session = scope.create(id(i));
        for (const payload of turns) palimpsest.append(session, payload);
        await store.flush(session);
        await scope.dispose();
      }
      await saved.close();
    },
    async open(directory) {
      const saved = attach(new SessionStore(), backend(directory));
      return { list: async () => (await saved.list()).sessions.length, close: () => saved.close() };
    },
  };
}

function originalListed(start) {
  return {
    prepare(directory) {
      const lines = [...log(TURN)].map(dsh.line).join('');
      for (let i = 0; i < SESSIONS; i++) {
        const home = join(directory, '_no-cwd', id(i));
        mkdirSync(home, { recursive: true });
        writeFileSync(join(home, 'session.jsonl'), `${JSON.stringify({ type: 'session', ...headerOf(id(i)) })}\n${lines}`);
      }
    },
    async open(directory) {
      const { backend, close } = await start(directory);
      return { list: async () => (await backend.list()).length, close };
    },
  };
}

const plainListed = {
  prepare(directory) {
    const db = new Database(join(directory, 'plain.db'));
    db.exec('CREATE TABLE sessions (id TEXT PRIMARY KEY, header TEXT NOT NULL); CREATE TABLE events (session TEXT NOT NULL, seq INTEGER NOT NULL, line TEXT NOT NULL, PRIMARY KEY (session, seq)) WITHOUT ROWID');
    const [session, event] = [db.prepare('INSERT INTO sessions VALUES (?, ?)'), db.prepare('INSERT INTO events VALUES (?, ?, ?)')];
    const lines = [...log(TURN)].map(dsh.line);
    db.transaction(() => {
      for (let i = 0; i < SESSIONS; i++) {
        session.run(id(i), JSON.stringify(headerOf(id(i))));
        lines.forEach((line, seq) => event.run(id(i), seq, line));
      }
    })();
    db.close();
  },
  open(directory) {
    const db = new Database(join(directory, 'plain.db'), { readonly: true });
    return { list: () => db.prepare('SELECT header FROM sessions').all().map(({ header }) => JSON.parse(header)).length, close: () => db.close() };
  },
};

const inFile = (directory) => sqlite({ file: join(directory, 'sessions.db') });

async function withOriginal(rows, peer) {
  const start = await originalBackend();
  return start === undefined ? rows : { ...rows, peer: peer(start) };
}

export default [
  flushing('store-jsonl', 'a turn of 200 events, durable, JSONL; peer: the original\'s backend', (count) =>
    withOriginal({ ours: ours(jsonl, turnsOf(palimpsest.payload, count)) }, (start) => original(start, turnsOf(dsh.payload, count)))),
  flushing('store-sqlite', 'the same, SQLite; peer: plain better-sqlite3 inserts', (count) =>
    ({ ours: ours(inFile, turnsOf(palimpsest.payload, count)), peer: plainSqlite(turnsOf(dsh.payload, count)) })),
  listing('list-jsonl', 'list 3,000 sessions, JSONL; peer: the original\'s backend', () =>
    withOriginal({ ours: oursListed(jsonl) }, originalListed)),
  listing('list-sqlite', 'list 3,000 sessions, SQLite; peer: plain better-sqlite3', () =>
    ({ ours: oursListed(inFile), peer: plainListed })),
];
