// JSONL files: what is found, read and listed.
import assert from 'node:assert/strict';
import { mkdir, readFile, rename, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { suite, test } from 'node:test';
import { open, tree } from '../support/files.js';
import { openTurn, refusal, runTurn, say } from '../support/sessions.js';
import { whole } from '../support/setting.js';
import { WatchedFs, systemError, temporary } from '../support/storage.js';

suite('jsonl: reading', () => {
  test('finds a session whatever its working directory, unless there are several', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(root);
    say(store.create('a', { meta: { cwd: '/one' } }), 'one');
    say(store.create('b', { meta: { cwd: '/two' } }), 'two');
    await adapter.flush();
    store.detach(store.get('a') ?? assert.fail());
    say(store.create('a', { meta: { cwd: '/two' } }), 'two');
    await adapter.close();
    const later = open(root);
    assert.equal((await later.adapter.load('b')).header.cwd, '/two');
    await assert.rejects(later.adapter.load('a'), refusal('SESSION_COLLISION', /2 times/));
    assert.equal((await later.adapter.load('a', { cwd: '/one' })).header.cwd, '/one');
    await assert.rejects(later.adapter.load('c'), refusal('SESSION_NOT_FOUND'));
  });

  test('a file that holds another session is not the one that was asked for', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(root);
    const session = store.create('A');
    say(session, 'hi');
    await adapter.close();
    // As a file system that ignores case would answer.
    await writeFile(join(root, '_no-cwd/a.jsonl'), whole(session));
    await assert.rejects(open(root).adapter.load('a'), refusal('SESSION_NOT_FOUND', /holds session "A"/));
  });

  test('a log is appended to where it was found', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(root);
    say(store.create('a', { meta: { cwd: '/here' } }), 'hi');
    await adapter.close();
    await rename(join(root, dirname((await tree(root))[0] ?? '')), join(root, 'cwd-000000000000'));
    const later = open(root);
    const session = await later.adapter.load('a');
    say(session, 'more');
    await later.adapter.close();
    assert.deepEqual(await tree(root), ['cwd-000000000000/a.jsonl']);
    assert.equal(await readFile(join(root, 'cwd-000000000000/a.jsonl'), 'utf8'), whole(session));
  });

  test('a directory that can only be read is listed and read', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(root);
    runTurn(store.create('whole'));
    openTurn(store.create('crashed'), 1);
    await adapter.close();
    const files = await Promise.all((await tree(root)).map((path) => readFile(join(root, path), 'utf8')));
    const readOnly = new WatchedFs(({ name, run }) => (/^(open r|read|readdir|stat|close)$/.test(name) ? run() : Promise.reject(systemError('EROFS'))));
    const later = open(root, readOnly);
    assert.equal((await later.adapter.list()).sessions.length, 2);
    const session = await later.adapter.load('whole');
    assert.equal(session.seq, 6);
    assert.equal((await later.adapter.read('crashed')).closers.length, 2);
    await assert.rejects(later.adapter.load('crashed'), refusal('STORAGE_FAILED', /EROFS/));
    say(session, 'cannot be saved');
    await assert.rejects(later.store.flush(session), refusal('FLUSH_FAILED', /EROFS/));
    assert.deepEqual(await Promise.all((await tree(root)).map((path) => readFile(join(root, path), 'utf8'))), files);
  });
});

suite('jsonl: listing', () => {
  test('reads headers only, and not all files at once', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(root);
    for (let i = 0; i < 300; i++) {
      const session = store.create(`s${i}`, { meta: { createdAt: i, cwd: i % 2 ? '/odd' : undefined } });
      say(session, 'x'.repeat(20_000));
    }
    await adapter.close();
    const later = open(root);
    const { sessions, broken } = await later.adapter.list();
    assert.deepEqual(sessions.map(({ id }) => id), Array.from({ length: 300 }, (_, i) => `s${i}`));
    assert.deepEqual(broken, []);
    assert.ok(later.fs.bytesRead <= 300 * 4096, `${later.fs.bytesRead} bytes`);
    assert.ok(later.fs.mostOpenFiles <= 64);
  });

  test('is in order of creation, whatever the times of the files', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(root);
    for (const id of ['b', 'a', 'c']) say(store.create(id, { meta: { createdAt: 'bac'.indexOf(id) } }), id);
    await adapter.close();
    for (const [i, id] of ['c', 'b', 'a'].entries()) await utimes(join(root, `_no-cwd/${id}.jsonl`), i, i);
    assert.deepEqual((await open(root).adapter.list()).sessions.map(({ id }) => id), ['b', 'a', 'c']);
  });

  test('takes headers longer than a first read, and leaves other files alone', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(root);
    const cwd = `/${'deep/'.repeat(4000)}`;
    say(store.create('a', { meta: { cwd } }), 'hi');
    await adapter.close();
    const directory = dirname((await tree(root))[0] ?? '');
    for (const name of ['.half-made.tmp', 'notes.txt']) await writeFile(join(root, directory, name), 'x');
    await mkdir(join(root, 'elsewhere'));
    await writeFile(join(root, 'elsewhere/b.jsonl'), 'x');
    const { sessions, broken } = await open(root).adapter.list();
    assert.deepEqual([sessions.map((header) => header.cwd), broken], [[cwd], []]);
  });

  test('lists sessions whose id starts with a dot', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(root);
    for (const id of ['.hidden', '../x', '...']) say(store.create(id), 'hi');
    await adapter.close();
    const { sessions, broken } = await open(root).adapter.list();
    assert.deepEqual([sessions.map(({ id }) => id).sort(), broken], [['...', '../x', '.hidden'], []]);
  });
});
