/** The command line with what a script, a careless or a hostile person gives it: it says what is wrong, and never why it broke. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { Session, SessionStore } from 'palimpsest';
import { attach, sqlite } from 'palimpsest/sqlite';
import { BIN, cli, cliJson, type Folder, folder, interruptedImport } from '../support/cli.js';
import { runTurn } from '../support/sessions.js';

let place: Folder;
let log: string;
let database: string;
before(async () => {
  place = await folder();
  const session = new Session('s');
  for (let turn = 1; turn <= 3; turn++) runTurn(session, turn);
  log = await place.save('s.jsonl', session);
  database = join(place.path, 'sessions.db');
  const store = new SessionStore();
  const adapter = attach(store, sqlite(database));
  for (const id of ['one', 'two']) runTurn(store.create(id), 1);
  await adapter.close();
});
after(() => place[Symbol.asyncDispose]());

const HEADER = '{"type":"session","version":0,"id":"odd","createdAt":1}';
const lines = (...records: unknown[]): string => `${HEADER}\n${records.map((record) => `${typeof record === 'string' ? record : JSON.stringify(record)}\n`).join('')}`;
const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const nested = (levels: number): string => '{"type":"tool-result","toolCallId":"a","content":['.repeat(levels) + ']}'.repeat(levels);

/** Logs that are odd in one way each. */
const ODD: Readonly<Record<string, string>> = {
  'payloads of every wrong kind': lines(
    null, [], '"x"', 1,
    { type: 'user/message', seq: 0, time: 1, data: null, surfaceOp: 'append' },
    { type: 'assistant/message', seq: 1, time: 1, data: { turn: 1, step: 1, content: null, usage: 'x' }, surfaceOp: 'append' },
    { type: 'tool/result', seq: 2, time: 1, data: { content: [null, 1, { type: 5 }], callId: {} }, surfaceOp: 'append' },
    { type: 'tool/call', seq: 3, time: 1, data: { name: { a: 1 }, arguments: 7, callId: [] } },
    { type: 'request/header', seq: 4, time: 1, data: { header: { tools: [null, 3, { name: 7 }], system: 7, config: 'x', messagePrefix: [null] } } },
    { type: 'step/start', seq: 5, time: 1, data: 7 },
    { type: 'turn/end', seq: 6, time: 1, data: { reason: null } },
    { type: 'compact/summary', seq: 7, time: 1, data: {} },
    { type: 'todo/write', seq: 8, time: 1, data: { todos: 7 } },
    { type: 'assistant/chunk', seq: 9, time: 1, data: { chunk: [] } },
    { type: 'request/header', seq: 10, time: 1, data: { header: { tools: 7, config: {} } } },
    `{"type":"x/y","seq":11,"time":1,"data":${deep(200_000)}}`,
    { type: 'x/y', seq: 12, time: 1, data: { words: 'x'.repeat(4 << 20) } },
  ),
  'a message of 20,000 levels': lines(`{"type":"user/message","seq":0,"time":1,"data":{"content":[${nested(20_000)}],"source":{"kind":"user"}},"surfaceOp":"append"}`),
  'names of Object.prototype, times that are none': '{"type":"session","version":0,"id":"__proto__","createdAt":1e300}\n{"type":"constructor","seq":0,"time":1e300,"data":{"__proto__":1,"turn":1e300}}\n',
  'zero bytes': '\0'.repeat(1 << 20),
  text: 'hello\nworld',
  'only a header': `${HEADER}\n`,
};

const READERS = [['show'], ['show', '--as', 'events'], ['show', '--as', 'request'], ['show', '--as', 'surface'], ['show', '--as', 'request', '--json'], ['stats'], ['check'], ['tail'], ['export'], ['export', '--as', 'html'], ['export', '--as', 'openai'], ['export', '--as', 'anthropic'], ['export', '--as', 'messages'], ['redact', '--dry-run']];

describe('logs that are odd', () => {
  for (const [name, bytes] of Object.entries(ODD)) {
    it(`${name}: each command reads them, or says what is wrong`, async () => {
      const file = await place.write('odd.jsonl', bytes);
      for (const [command, ...options] of READERS) {
        const { code, out, err } = await cli([command!, file, ...options]);
        const label = `${command!} ${options.join(' ')}: ${err.slice(0, 300)}`;
        assert.ok([0, 1, 2, 3].includes(code ?? -1), label);
        assert.doesNotMatch(err, /fault of palimpsest|^ {4}at |RangeError|TypeError/m, label);
        assert.doesNotMatch(out.slice(0, 100_000), /\[object Object\]|undefined/, label);
        if (code === 3) assert.match(err, /^error: .*\nhint: /m, label);
      }
      assert.equal(await readFile(file, 'utf8'), bytes);
    });
  }
});

describe('where there is nothing to do', () => {
  it('a script is told: check and import fail in a directory without logs, and ls lists nothing', async () => {
    const empty = join(place.path, 'empty');
    await mkdir(empty);
    const { code, err } = await cli(['check', empty]);
    assert.equal(code, 3);
    assert.match(err, /^error: .*empty holds no logs\nhint: /);
    const both = await cli(['check', empty, log]);
    assert.equal(both.code, 3);
    assert.match(both.out, /s\.jsonl {2}nothing found/);
    const imported = await cli(['import', empty, '-o', `${join(place.path, 'imported')}/`]);
    assert.equal(imported.code, 3);
    assert.match(imported.err, /empty holds no logs of another agent\nhint: /);
    assert.deepEqual(await cli(['ls', empty]), { code: 0, out: 'no sessions\n', err: '' });
    const listed = await cliJson<{ sessions: unknown[] }>(['ls', empty]);
    assert.deepEqual([listed.sessions, listed.exit], [[], 0]);
    assert.equal((await cli(['ls', join(place.path, 'missing')])).code, 3);
  });
});

describe('standard input', () => {
  it('is read wherever a log is read from its beginning', async () => {
    const input = await readFile(log);
    for (const args of [['show', '-'], ['stats', '-'], ['check', '-'], ['search', 'question', '-'], ['tail', '-'], ['export', '-'], ['redact', '-', '--dry-run'], ['fork', '-', '-o', '-'], ['repair', '-', '-o', '-']]) {
      const { code, err } = await cli(args, { input });
      assert.equal(code, 0, `${args.join(' ')}: ${err}`);
    }
  });

  it('another agent’s log is imported from there, and checked as what it is', async () => {
    const record = { parentUuid: null, uuid: 'u1', sessionId: 'c-1', type: 'user', cwd: '/work', isSidechain: false, userType: 'external', version: '2', timestamp: '2026-01-02T03:04:05.000Z', message: { role: 'user', content: 'What is here?' } };
    const input = `${JSON.stringify(record)}\n`;
    const checked = await cliJson<{ files: { format: string }[] }>(['check', '-'], { input });
    assert.deepEqual(checked.files.map(({ format }) => format), ['claude-code']);
    const target = join(place.path, 'from-stdin.jsonl');
    const imported = await cliJson<{ imported: { format: string; sessions: { file: string }[] }[] }>(['import', '-', '-o', target], { input });
    assert.deepEqual([imported.exit, imported.imported.map(({ format, sessions }) => [format, sessions.map(({ file }) => file)])], [0, [['claude-code', [target]]]]);
    assert.equal((await cli(['check', target])).code, 0);
  });

  it('is refused with a hint where something else is wanted', async () => {
    for (const args of [['ls', '-'], ['view', '-'], ['import', log, '-o', '-']]) {
      const { code, err } = await cli(args, { input: '' });
      assert.equal(code, 2, args.join(' '));
      assert.match(err, /^error: .*\nhint: /, args.join(' '));
    }
  });
});

describe('a database', () => {
  it('is checked session by session', async () => {
    const { files, exit } = await cliJson<{ files: { file: string; records: number; findings: unknown[] }[] }>(['check', database]);
    assert.deepEqual(files.map(({ file, records, findings }) => [file, records, findings]), [[`${database}: one`, 6, []], [`${database}: two`, 6, []]]);
    assert.equal(exit, 0);
  });

  it('is no log: what reads lines says how to get one out of it', async () => {
    for (const args of [['repair', database, '-o', join(place.path, 'new.jsonl')], ['tail', database]]) {
      const { code, err } = await cli(args);
      assert.equal(code, 2, args[0]);
      assert.match(err, /is a database\nhint: .*export FILE --session ID --as jsonl/, args[0]);
    }
    assert.match((await cli(['search', 'question', database])).err, /is a database/);
  });
});

describe('ls', () => {
  it('marks the damage that it sees at both ends of a log', async () => {
    const root = join(place.path, 'damaged');
    await mkdir(root);
    const sound = await readFile(log, 'utf8');
    const [header, ...events] = sound.trimEnd().split('\n');
    const damages: Readonly<Record<string, string>> = {
      sound,
      torn: sound.slice(0, -5),
      zeros: `${sound}${'\0'.repeat(300)}`,
      swapped: `${[header, events[0], events[2], events[1], ...events.slice(3)].join('\n')}\n`,
      bad: `${[header, events[0], '{"type":"user/mess', ...events.slice(1)].join('\n')}\n`,
    };
    for (const [name, bytes] of Object.entries(damages)) await writeFile(join(root, `${name}.jsonl`), bytes);
    const { sessions } = await cliJson<{ sessions: { file: string; damage?: string }[] }>(['ls', root]);
    assert.deepEqual(Object.fromEntries(sessions.map(({ file, damage }) => [file.slice(root.length + 1, -6), damage])), { sound: undefined, torn: 'torn tail', zeros: 'zero bytes', swapped: 'out of sequence', bad: 'bad line' });
    const { out, code } = await cli(['ls', root]);
    assert.equal(code, 0);
    assert.match(out, /^.* torn tail .*torn\.jsonl$/m);
    assert.match(out, /5 sessions, 4 damaged\n$/);
  });

  it('follows a link to a log, and names what has the name of one and is none', { skip: process.platform === 'win32' }, async () => {
    const root = join(place.path, 'links');
    await mkdir(root);
    await symlink(log, join(root, 'link.jsonl'));
    await symlink('nowhere', join(root, 'dead.jsonl'));
    await symlink('.', join(root, 'again'));
    const server = createServer().listen(join(root, 'socket.jsonl'));
    await once(server, 'listening');
    try {
      const { sessions, broken } = await cliJson<{ sessions: { id: string }[]; broken: { file: string }[] }>(['ls', root]);
      assert.deepEqual([sessions.map(({ id }) => id), broken.map(({ file }) => file.slice(root.length + 1))], [['s'], ['dead.jsonl', 'socket.jsonl']]);
      const { code, out, err } = await cli(['search', 'question 2', root, join(place.path, 'missing'), log]);
      assert.equal(code, 3, 'something was not searched');
      assert.deepEqual([out.match(/seq 7/g)?.length, err.match(/^error: /gm)?.length], [2, 3]);
    } finally {
      server.close();
    }
  });

  it('names a file whose name is not UTF-8, instead of passing it over', { skip: process.platform !== 'linux' }, async () => {
    const root = join(place.path, 'names');
    await mkdir(root);
    await writeFile(Buffer.concat([Buffer.from(`${root}/b`), Buffer.of(0xff, 0xfe), Buffer.from('.jsonl')]), await readFile(log));
    const { sessions, broken } = await cliJson<{ sessions: unknown[]; broken: { file: string; error: string }[] }>(['ls', root]);
    assert.deepEqual([sessions.length + broken.length, broken.every(({ error }) => error.length > 5)], [1, true]);
    assert.equal((await cli(['check', root])).code, broken.length > 0 ? 3 : 0);
  });
});

describe('a reader that stops reading', () => {
  it('ends each command quietly', async () => {
    const session = new Session('long');
    for (let turn = 1; turn <= 3000; turn++) runTurn(session, turn);
    const long = await place.save('long.jsonl', session);
    for (const args of [['show', long, '--as', 'events'], ['show', long, '--json'], ['tail', long, '-n', '20000'], ['export', long], ['search', 'question', long], ['repair', long, '-o', '-']]) {
      const child = spawn(process.execPath, [BIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
      let err = '';
      child.stderr.setEncoding('utf8').on('data', (words: string) => (err += words));
      child.stdout.once('data', () => child.stdout.destroy());
      const code = await new Promise((resolve) => child.on('close', resolve));
      assert.deepEqual([code, err], [0, ''], args.join(' '));
    }
  });
});

describe('an interrupted write', () => {
  it('by SIGTERM leaves nothing half-written', { skip: process.platform === 'win32' }, async () => {
    const store = join(place.path, 'interrupted');
    await mkdir(store);
    const session = new Session('big');
    for (let turn = 1; turn <= 40_000; turn++) runTurn(session, turn);
    const big = await place.save('big.jsonl', session);
    assert.equal(await interruptedImport(big, store, 'SIGTERM'), 143);
    assert.deepEqual(await readdir(store), []);
  });
});
