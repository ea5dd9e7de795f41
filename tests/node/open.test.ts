// openFile, openSource, openBlob: sessions whose bytes stay where they are.
import assert from 'node:assert/strict';
import { appendFile, mkdtemp, open as openHandle, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { openAsBlob } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, suite, test } from 'node:test';
import { openBlob, openSource, type PalimpsestError, Session, SessionReader, SessionStore } from 'palimpsest';
import { openFile } from 'palimpsest/jsonl';

const user = { kind: 'user' } as const;
const text = (text: string) => [{ type: 'text', text } as const];

/** A log of a few megabytes with turns, chunks, headers and compactions. */
function long(turns: number): Session {
  const session = new Session('long', undefined, { version: 0, id: 'long', createdAt: 1, cwd: '/work' });
  for (let turn = 1; turn <= turns; turn++) {
    session.append('turn/start', { turn, trigger: { kind: 'message', source: user } });
    session.append('user/message', { content: text(`question ${turn} \ud83d \u0000 é日`), source: user }, { surfaceOp: 'append' });
    session.append('step/start', { turn, step: 1 });
    session.recordRequestHeader({ system: `You are number ${Math.ceil(turn / 10)}.`, config: { provider: 'p', model: 'm' } });
    for (let i = 0; i < 20; i++) session.append('assistant/chunk', { turn, step: 1, chunk: { type: 'text-delta', index: 0, text: `part ${i} `.repeat(10) } });
    session.append('assistant/message', { turn, step: 1, content: text(`answer ${turn} `.repeat(400)) }, { surfaceOp: 'append' });
    session.append('step/end', { turn, step: 1 });
    session.append('turn/end', { turn, reason: { kind: 'completed' } });
    if (turn % 50 !== 0) continue;
    const nodes = session.surface.nodes.slice(0, -4).map((node) => node.seq);
    session.append('user/message', { content: text(`summary of ${turn}`), source: user },
      { surfaceOp: { op: 'replace', start: nodes[0]!, end: nodes.at(-1)! }, sourceEventSeqs: nodes });
  }
  return session;
}

/** A child of a session that no store knows. */
function forked(session: Session, boundary: number): Session {
  const store = new SessionStore();
  const detach = store.enter(session);
  const child = store.fork(session, boundary, 'child');
  detach();
  return child;
}

suite('a session whose bytes stay where they are', () => {
  let directory: string;
  let path: string;
  let whole: Session;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'palimpsest-open-'));
    path = join(directory, 'long.jsonl');
    whole = long(600);
    await writeFile(path, Buffer.concat([whole.headerLine(), whole.jsonl()]));
    assert.ok((await readFile(path)).length > 3_000_000);
  });
  after(() => rm(directory, { recursive: true }));

  function sameAs(session: Session): void {
    assert.equal(session.seq, whole.seq);
    assert.deepEqual(session.header, whole.header);
    for (const seq of [0, 1, 4321, 4320, whole.seq - 1]) assert.deepEqual(session.events[seq], whole.events[seq]);
    assert.deepEqual(session.deriveMessages(), whole.deriveMessages());
    for (const seq of [-1, 3, 1234, 7000]) {
      assert.deepEqual(session.at(seq).messages(), whole.at(seq).messages());
      assert.deepEqual(session.at(seq).request(), whole.at(seq).request());
      assert.deepEqual(session.at(seq).surface, whole.at(seq).surface);
    }
    assert.deepEqual(session.jsonl(100, 200), whole.jsonl(100, 200));
    assert.deepEqual(session.requestHeader(), whole.requestHeader());
  }

  test('a file opened by its path shows all that the session showed', async () => {
    const progress: number[] = [];
    const opened = await openFile(path, { onProgress: (bytes, size) => progress.push(bytes / size) });
    assert.equal(progress.at(-1), 1);
    assert.deepEqual(opened.closers, []);
    sameAs(opened.session);
    opened.session.free();
  });

  test('what is appended, and a fork, go on in memory', async () => {
    const { session } = await openFile(path);
    const end = session.events.findIndex((event, seq) => seq > 5000 && event.type === 'turn/end');
    const fork = forked(session, end);
    const wanted = forked(whole, end);
    session.append('user/message', { content: text('more'), source: user }, { surfaceOp: 'append' });
    fork.append('user/message', { content: text('other'), source: user }, { surfaceOp: 'append' });
    wanted.append('user/message', { content: text('other'), source: user }, { surfaceOp: 'append' });
    session.free();
    assert.deepEqual(fork.deriveMessages(), wanted.deriveMessages());
    assert.deepEqual(fork.events[17], whole.events[17]);
    // Later tests count the files that are open: none may be left to the garbage collector.
    fork.free();
  });

  test('the file is closed with the last session that needs it', async () => {
    const open = async (): Promise<number> => (process.platform === 'linux' ? (await readdir('/proc/self/fd')).length : 0);
    const before = await open();
    const { session } = await openFile(path);
    const end = session.events.findIndex((event) => event.type === 'turn/end');
    const fork = forked(session, end);
    session.free();
    assert.ok(fork.events[3] !== undefined);
    if (process.platform === 'linux') assert.equal(await open(), before + 1);
    fork.free();
    if (process.platform === 'linux') assert.equal(await open(), before);
  });

  test('a refused log leaves nothing open, and a missing one is named', async () => {
    const open = async (): Promise<number> => (process.platform === 'linux' ? (await readdir('/proc/self/fd')).length : 0);
    const before = await open();
    const bad = join(directory, 'bad.jsonl');
    await writeFile(bad, `${(await readFile(path, 'utf8')).slice(0, 2000)}\n{"oops":1}\n`);
    await assert.rejects(openFile(bad), (error: PalimpsestError) => error.code === 'CORRUPT_LOG' && error.message.includes(bad) && error.line !== undefined);
    await assert.rejects(openFile(join(directory, 'none.jsonl')), (error: PalimpsestError) => error.code === 'STORAGE_FAILED' && error.message.includes('none.jsonl'));
    await assert.rejects(openFile(directory), (error: PalimpsestError) => error.code === 'STORAGE_FAILED' && error.path === directory);
    assert.equal(await open(), before);
  });

  test('an abort gives up', async () => {
    const big = join(directory, 'big.jsonl');
    const bytes = await readFile(path);
    await writeFile(big, bytes);
    const pad = JSON.stringify({ type: 'my/pad', seq: whole.seq, time: 0, data: 'x'.repeat(20 << 20) });
    await appendFile(big, `${pad}\n`);
    const controller = new AbortController();
    const opening = openFile(big, { signal: controller.signal, onProgress: () => controller.abort(new Error('enough')) });
    await assert.rejects(opening, /enough/);
    await assert.rejects(openFile(path, { signal: AbortSignal.abort(new Error('before')) }), /before/);
  });

  test('a file that changes is told from one that did not', async () => {
    const copy = join(directory, 'copy.jsonl');
    await writeFile(copy, await readFile(path));
    const { session } = await openFile(copy);
    await truncate(copy, 1_000_000);
    assert.throws(() => session.events[whole.seq >> 1], (error: PalimpsestError) => error.code === 'STORAGE_FAILED' && error.message.includes(copy));
    session.free();

    await writeFile(copy, await readFile(path));
    const other = (await openFile(copy)).session;
    const handle = await openHandle(copy, 'r+');
    await handle.write(Buffer.alloc(400_000, 'x'), 0, 400_000, 1_000_000);
    await handle.close();
    assert.throws(() => other.events.slice(500), (error: PalimpsestError) => error.code === 'STORAGE_FAILED' && error.message.includes('changed'));
    other.free();
  });

  test('a source of one\'s own, and a Blob', async () => {
    const bytes = await readFile(path);
    let closed = 0;
    const { session } = await openSource({
      size: bytes.length,
      read: (offset, into) => into.set(bytes.subarray(offset, offset + into.length)),
      close: () => closed++,
    }, 'mine');
    sameAs(session);
    session.free();
    assert.equal(closed, 1);
    sameAs((await openBlob(await openAsBlob(path), { name: path })).session);
  });

  test('what onProgress throws is thrown, and blames nobody else', async () => {
    const session = long(2);
    const bytes = Buffer.concat([session.headerLine(), session.jsonl()]);
    const read = (offset: number, into: Uint8Array): void => into.set(bytes.subarray(offset, offset + into.length));
    const mine = new Error('mine');
    await assert.rejects(openSource({ size: bytes.length, read }, 'told', { onProgress: () => { throw mine; } }), (error) => error === mine);
  });

  test('a source that gives less than its size is not taken for a torn log', async () => {
    const session = long(2);
    const bytes = Buffer.concat([session.headerLine(), session.jsonl()]);
    const read = (offset: number, into: Uint8Array): void => into.set(bytes.subarray(offset, offset + into.length));
    async function* chunks(): AsyncGenerator<Uint8Array> {
      yield bytes.subarray(0, 1000);
    }
    await assert.rejects(openSource({ size: bytes.length, read, chunks }, 'short'), (error: PalimpsestError) => {
      assert.equal(error.code, 'STORAGE_FAILED');
      assert.match(error.message, /^short cannot be read: it gave 1000 bytes in place of \d+$/);
      return true;
    });
  });

  test('an open turn is closed by the same closers', async () => {
    const torn = join(directory, 'torn.jsonl');
    const bytes = await readFile(path);
    const cut = bytes.subarray(0, 2_000_001);
    await writeFile(torn, cut);
    const reader = new SessionReader('torn');
    reader.push(cut);
    const wanted = reader.finish();
    const found = await openFile(torn);
    assert.ok(wanted.closers.length > 0);
    assert.deepEqual(found.closers, wanted.closers);
    assert.deepEqual([found.committedBytes, found.tornBytes], [wanted.committedBytes, wanted.tornBytes]);
    found.session.free();
  });
});
