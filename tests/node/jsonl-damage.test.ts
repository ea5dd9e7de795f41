// Damaged files: what is dropped, what is refused and where, and that opening changes nothing.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename, join } from 'node:path';
import process from 'node:process';
import { type TestContext, suite, test } from 'node:test';
import { PalimpsestError, SessionStore } from 'palimpsest';
import { fileSource } from 'palimpsest/import/node';
import { attach, jsonl, openFile } from 'palimpsest/jsonl';
import type { PersistenceAdapter } from 'palimpsest/persistence';
import { openTurn, refusal, runTurn, say } from '../support/sessions.js';
import { whole } from '../support/setting.js';
import { ManualTimers, WatchedBackend, temporary } from '../support/storage.js';

const H = '{"type":"session","version":0,"id":"a","createdAt":1}';
const U = (seq: number, words = `u${seq}`): string =>
  `{"type":"user/message","seq":${seq},"time":1,"data":{"content":[{"type":"text","text":"${words}"}],"source":{"kind":"user"}},"surfaceOp":"append"}`;
const END = (seq: number): string => `{"type":"turn/end","seq":${seq},"time":1,"data":{"turn":1,"reason":{"kind":"completed"}}}`;
const lines = (...texts: string[]): string => texts.map((text) => `${text}\n`).join('');
const bytes = (...parts: (string | readonly number[])[]): Buffer => Buffer.concat(parts.map((part) => Buffer.from(part as string)));

interface Opened {
  readonly store: SessionStore;
  readonly adapter: PersistenceAdapter;
  /** What the file holds now. */
  readonly now: () => Promise<string>;
}

/** A store on a directory whose session `a` is this file. */
async function opened(context: TestContext, content: string | Uint8Array): Promise<Opened> {
  const root = await temporary(context);
  const path = join(root, '_no-cwd/a.jsonl');
  await mkdir(join(root, '_no-cwd'));
  await writeFile(path, content);
  const store = new SessionStore();
  const adapter = attach(store, jsonl(root), { timers: new ManualTimers() });
  return { store, adapter, now: () => readFile(path, 'latin1') };
}

const latin1 = (content: string | Uint8Array): string => Buffer.from(content as string).toString('latin1');

/** The log is refused as a whole, with the place, and the file is left as it was. */
async function assertRefused(context: TestContext, content: string | Uint8Array, where: Partial<PalimpsestError>): Promise<void> {
  const { store, adapter, now } = await opened(context, content);
  for (const open of [() => adapter.load('a'), () => adapter.read('a')]) {
    await assert.rejects(open(), (error: unknown) => {
      assert.ok(error instanceof PalimpsestError, String(error));
      for (const [key, value] of Object.entries(where)) assert.equal(error[key as keyof PalimpsestError], value, `${key}: ${error.message}`);
      assert.match(error.message, /a\.jsonl/);
      return true;
    });
  }
  assert.equal(store.get('a'), undefined);
  assert.equal(await now(), latin1(content), 'opening changes nothing');
}

suite('jsonl: a turn that a crash left open', () => {
  const step = (turn: string, call: string): string => lines(
    H,
    `{"type":"turn/start","seq":0,"time":${turn},"data":{"turn":${turn}}}`,
    `{"type":"step/start","seq":1,"time":${turn},"data":{"turn":${turn},"step":1}}`,
    `{"type":"assistant/message","seq":2,"time":${turn},"data":{"turn":${turn},"step":1,"content":[{"type":"tool-call","id":${call},"name":"n","arguments":"{}"}]},"surfaceOp":"append"}`,
  );
  for (const turn of ['1', '1.0', '-0', '1e400', '9007199254740993'])
    for (const call of ['"a"', 'null', '1', '{"x":[]}'])
      test(`is closed for good, its turn being ${turn}, its call ${call}`, async (context) => {
        const log = step(turn, call);
        const { adapter, now } = await opened(context, log);
        const session = await adapter.load('a');
        const closed = call === '"a"' ? ['tool/result', 'step/end', 'turn/end'] : ['step/end', 'turn/end'];
        assert.deepEqual(session.events.slice(3).map(({ type }) => type), closed);
        assert.deepEqual(session.events.at(-1)?.data, { turn: Number(turn), reason: { kind: 'interrupted' } });
        await adapter.close();
        assert.ok((await now()).startsWith(log), 'what was there stands as it was');
        const again = await opened(context, await now());
        assert.deepEqual([...(await again.adapter.load('a')).events], [...session.events]);
        await again.adapter.close();
      });
});

suite('jsonl: torn logs', () => {
  test('a last record torn at any point is dropped, and only a write removes it', async (context) => {
    const last = U(3, 'é😀 \\ud83d "'.replace('"', '\\"'));
    const kept = lines(H, U(0), U(1), U(2));
    const record = Buffer.from(lines(last));
    for (let cut = 1; cut <= record.length; cut++) {
      const torn = record.subarray(0, record.length - cut);
      const file = bytes(kept, [...torn]);
      const { store, adapter, now } = await opened(context, file);
      const read = await adapter.read('a');
      assert.deepEqual([read.session.seq, read.committedBytes, read.tornBytes], [3, kept.length, torn.length], `cut ${cut}`);
      const session = await adapter.load('a');
      await store.flush(session);
      assert.equal(await now(), latin1(file), 'opening changes nothing');
      say(session, 'next');
      await store.flush(session);
      assert.equal(await now(), latin1(kept) + latin1(session.jsonl(3)), `cut ${cut}`);
      await adapter.close();
    }
  });

  test('a torn record goes in the same step as the turn is closed', async (context) => {
    const source = new SessionStore().create('a');
    runTurn(source, 1);
    openTurn(source, 2);
    const { adapter, now } = await opened(context, whole(source) + '{"type":"assist');
    const session = await adapter.load('a');
    assert.equal(session.seq, 11);
    assert.equal(await now(), latin1(whole(session)));
    assert.ok(whole(session).startsWith(whole(source)));
  });

  test('a header without its end, and an empty file, are no log', async (context) => {
    for (const content of ['', H, H.slice(0, 20), '\n', '\n\n']) await assertRefused(context, content, {});
  });

  test('a whole header alone is an empty log', async (context) => {
    const { store, adapter, now } = await opened(context, lines(H));
    const session = await adapter.load('a');
    assert.equal(session.seq, 0);
    runTurn(session);
    await store.flush(session);
    assert.equal(await now(), latin1(whole(session)));
  });
});

suite('jsonl: damage before the end', () => {
  const cases: [string, string | Uint8Array, Partial<PalimpsestError>][] = [
    ['a bad line in the middle', lines(H, U(0), '{"type":"user/mess', U(1), END(2)), { code: 'CORRUPT_LOG', line: 3, byte: lines(H, U(0)).length + '{"type":"user/mess'.length }],
    ['a block of zeros', bytes(lines(H, U(0)), Array<number>(512).fill(0), lines('', U(1), END(2))), { code: 'CORRUPT_LOG', line: 3 }],
    ['a block of zeros that runs into the next record', bytes(lines(H, U(0)), Array<number>(512).fill(0), lines(U(1), END(2))), { code: 'CORRUPT_LOG', line: 3 }],
    ['invalid UTF-8', bytes(lines(H, U(0)), U(1, 'x').slice(0, -60), [0xe6, 0x87], U(1, 'x').slice(-60), lines('', U(2), END(3))), { code: 'CORRUPT_LOG', line: 3 }],
    ['a byte order mark in the middle', lines(H, U(0), `\ufeff${U(1)}`, END(2)), { code: 'CORRUPT_LOG', line: 3 }],
    ['a line end inside a string', lines(H, U(0), '{"type":"x","seq":1,"time":1,"data":{"t":"a', 'b"}}', END(2)), { code: 'CORRUPT_LOG', line: 3 }],
    ['a gap', lines(H, U(0), U(1), U(2), U(4), END(5)), { line: 5 }],
    ['a sequence that starts again', lines(H, U(0), U(1), U(1), END(2)), { line: 4 }],
    ['a bare NaN', lines(H, '{"type":"x","seq":0,"time":1,"data":{"n":NaN}}', END(1)), { code: 'CORRUPT_LOG', line: 2 }],
    ['another version', lines(H.replace('"version":0', '"version":1'), U(0)), { code: 'UNSUPPORTED_VERSION' }],
    ['all zeros', new Uint8Array(413), {}],
  ];
  for (const [title, content, where] of cases) {
    test(`${title} is refused, with its place`, (context) => assertRefused(context, content, where));
  }
});

suite('jsonl: what is odd and not damaged', () => {
  const cases: [string, string, string[]][] = [
    ['blank lines, CRLF, trailing blanks', `${H}\n\n${U(0)}  \r\n \r\n${U(1)}\r\n`, ['u0', 'u1']],
    ['a byte order mark at the very start', `\ufeff${lines(H, U(0))}`, ['u0']],
    ['line ends of Unicode inside a string', lines(H, U(0, 'a\u2028b\u2029c\u0085d')), ['a\u2028b\u2029c\u0085d']],
    ['times that run backwards', lines(H, U(0).replace('"time":1', '"time":1000'), U(1).replace('"time":1', '"time":900')), ['u0', 'u1']],
  ];
  for (const [title, content, words] of cases) {
    test(title, async (context) => {
      const { store, adapter, now } = await opened(context, content);
      const session = await adapter.load('a');
      const read = session.deriveMessages().map(({ content: [block] }) => (block?.type === 'text' ? block.text : block));
      assert.deepEqual(read, words);
      assert.equal(await now(), latin1(content), 'opening changes nothing');
      say(session, 'next');
      await store.flush(session);
      assert.equal(await now(), latin1(content) + latin1(session.jsonl(session.seq - 1)));
    });
  }

  test('a line of 1 MB of three-byte characters', async (context) => {
    const words = '語'.repeat(350_000);
    const { adapter } = await opened(context, lines(H, U(0, words)));
    const [message] = (await adapter.load('a')).deriveMessages();
    assert.deepEqual(message?.content, [{ type: 'text', text: words }]);
  });
});

suite('jsonl: a root with broken files', () => {
  test('lists the good ones and names the bad ones, and touches none', async (context) => {
    const root = await temporary(context);
    const directory = join(root, '_no-cwd');
    await mkdir(join(directory, 'folder.jsonl'), { recursive: true });
    const bad: Record<string, string | Uint8Array> = {
      'empty.jsonl': '',
      'zeros.jsonl': new Uint8Array(413),
      'garbage.jsonl': 'hello\n',
      'headless.jsonl': lines(U(0)),
      'newer.jsonl': lines(H.replace('"version":0', '"version":7')),
      'half.jsonl': H.slice(0, -1),
      'endless.jsonl': 'x'.repeat(200_000),
    };
    for (const id of ['one', 'two', 'three']) await writeFile(join(directory, `${id}.jsonl`), lines(H.replace('"a"', `"${id}"`), U(0)));
    for (const [name, content] of Object.entries(bad)) await writeFile(join(directory, name), content);
    const adapter = attach(new SessionStore(), jsonl(root));
    const { sessions, broken } = await adapter.list();
    assert.deepEqual(sessions.map(({ id }) => id).sort(), ['one', 'three', 'two']);
    assert.deepEqual(broken.map(({ location }) => location), [...Object.keys(bad), 'folder.jsonl'].sort().map((name) => join(directory, name)));
    for (const { error, location } of broken) {
      assert.ok(error instanceof PalimpsestError);
      assert.ok(error.message.includes(location), error.message);
    }
    assert.equal(broken.find(({ location }) => location.endsWith('newer.jsonl'))?.error.code, 'UNSUPPORTED_VERSION');
    for (const [name, content] of Object.entries(bad)) assert.equal(await readFile(join(directory, name), 'latin1'), latin1(content));
    await assert.rejects(adapter.load('empty'), PalimpsestError);
  });

  test('lists what begins with a blank line or a byte order mark', async (context) => {
    for (const start of ['\n', ' \r\n\n', '\ufeff', '\ufeff\n']) {
      const { adapter } = await opened(context, start + lines(H, U(0)));
      assert.deepEqual((await adapter.list()).sessions.map(({ id }) => id), ['a'], JSON.stringify(start));
      assert.equal((await adapter.load('a')).seq, 1);
    }
  });
});

suite('jsonl: a stale writer', () => {
  test('cannot put a shorter log in the place of a longer one', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = storeOn(root);
    const session = store.create('a');
    runTurn(session, 1);
    await adapter.flush();
    const stale = storeOn(root);
    const old = await stale.adapter.load('a');
    for (let turn = 2; turn <= 20; turn++) runTurn(session, turn);
    await adapter.close();
    say(old, 'from the past');
    await assert.rejects(stale.store.flush(old), refusal('FLUSH_FAILED', /another writer/));
    const fresh = storeOn(root);
    say(fresh.store.create('a'), 'a fresh session over an old file');
    await assert.rejects(fresh.adapter.flush(), refusal('FLUSH_FAILED', /neither adopted nor overwritten/));
    assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), whole(session));
  });
});

/** A writer that knows nothing of locks. */
function storeOn(root: string): { store: SessionStore; adapter: PersistenceAdapter } {
  const store = new SessionStore();
  return { store, adapter: attach(store, new WatchedBackend(jsonl(root)), { timers: new ManualTimers() }) };
}

suite('jsonl: what has the name of a log and is none', () => {
  const pipes = process.platform !== 'win32' && spawnSync('mkfifo', ['--help']).error === undefined;

  test(`a named pipe, a socket and a directory are named, hold up nothing, and the others are listed${pipes ? '' : ' (skipped: no mkfifo here)'}`, { skip: !pipes }, async (context) => {
    const root = await temporary(context);
    const directory = join(root, '_no-cwd');
    await mkdir(join(directory, 'directory.jsonl'), { recursive: true });
    assert.equal(spawnSync('mkfifo', [join(directory, 'pipe.jsonl')]).status, 0);
    const server = createServer().listen(join(directory, 'socket.jsonl'));
    context.after(() => server.close());
    await symlink('pipe.jsonl', join(directory, 'link.jsonl'));
    await writeFile(join(directory, 'a.jsonl'), lines(H, U(0)));
    const store = new SessionStore();
    const adapter = attach(store, jsonl(root), { timers: new ManualTimers() });
    const { sessions, broken } = await adapter.list();
    assert.deepEqual(sessions.map(({ id }) => id), ['a']);
    assert.deepEqual(broken.map(({ location, error }) => [basename(location), error.code, error.message.includes('is no file')]), ['directory', 'link', 'pipe', 'socket'].map((name) => [`${name}.jsonl`, 'STORAGE_FAILED', true]));
    for (const id of ['pipe', 'socket', 'directory', 'link']) {
      for (const open of [() => adapter.load(id), () => adapter.read(id), () => adapter.export(id), () => adapter.follow(id).next(), () => adapter.delete(id)]) await assert.rejects(open(), refusal('STORAGE_FAILED', /is no file/));
      await assert.rejects(openFile(join(directory, `${id}.jsonl`)), refusal('STORAGE_FAILED', /is no file/));
      await assert.rejects(fileSource(join(directory, `${id}.jsonl`)), refusal('STORAGE_FAILED', /is no file/));
      // Nor does a new session of that name take its place.
      const session = store.create(id);
      runTurn(session);
      await assert.rejects(store.flush(session), refusal('FLUSH_FAILED', /is stored already|is no file/));
      store.detach(session);
    }
    await adapter.close({ abandon: true });
    assert.deepEqual((await readdir(directory)).filter((name) => !name.startsWith('.')).sort(), ['a.jsonl', 'directory.jsonl', 'link.jsonl', 'pipe.jsonl', 'socket.jsonl']);
  });
});
