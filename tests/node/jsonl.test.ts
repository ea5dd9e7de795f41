// JSONL files: where they are, what is in them, how they come to be.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { suite, test } from 'node:test';
import { FlushError } from 'palimpsest';
import type { JsonlFile } from 'palimpsest/jsonl';
import { encodeSegment } from 'palimpsest/persistence';
import { open, openUnlocked, tree } from '../support/files.js';
import { openTurn, refusal, runTurn, say } from '../support/sessions.js';
import { whole } from '../support/setting.js';
import { WatchedFs, systemError, temporary } from '../support/storage.js';

suite('jsonl: layout', () => {
  const vectors = process.cwd() + '/tests/fixtures/vectors/segments.json';

  test('session ids become path segments as the vectors say', async (context) => {
    const pairs = JSON.parse(await readFile(vectors, 'utf8')) as [string, string][];
    for (const [literal, segment] of pairs) assert.equal(encodeSegment(JSON.parse(literal) as string), segment, literal);
    context.diagnostic(`${pairs.length} ids`);
    assert.ok(pairs.length > 10);
    assert.throws(() => encodeSegment(''), refusal('INVALID_ID'));
  });

  test('different ids never share a segment', () => {
    const units = ['~', '.', 'a', '0', '/', '\u002e', 'é', '\ud83d', '\ude00', '~002E'];
    const ids = units.flatMap((a) => units.flatMap((b) => [a + b, a + b + a]));
    const distinct = new Set(ids);
    assert.equal(new Set([...distinct].map(encodeSegment)).size, distinct.size);
    for (const id of distinct) assert.match(encodeSegment(id), /^(?!\.\.?$)[A-Za-z0-9._~-]+$/);
  });

  test('a session is a file in the directory of its working directory', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(join(root, 'deep', 'root'));
    runTurn(store.create('a/b', { meta: { cwd: '/project' } }));
    runTurn(store.create('..'));
    await adapter.close();
    const sha = createHash('sha256').update('/project').digest('hex').slice(0, 12);
    assert.deepEqual(await tree(root), ['deep/root/_no-cwd/~002E~002E.jsonl', `deep/root/cwd-${sha}/a~002Fb.jsonl`]);
  });

  test('its first line is the header with its type first, the others are the events verbatim', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(root);
    const session = store.create('a', { meta: { cwd: '/p', parentSession: 'p', seedLength: 0, createdAt: 9 } });
    say(session, '\ud83d \u0000 \u2028 😀');
    await store.flush(session);
    say(session, 'more');
    await adapter.close();
    const text = await readFile(join(root, (await tree(root))[0] ?? ''), 'utf8');
    assert.equal(text, whole(session));
    assert.match(text, /^\{"type":"session","version":0,"id":"a","createdAt":9,"cwd":"\/p","parentSession":"p","seedLength":0\}\n/);
  });

  test('nothing is made for a session without events, not even the root', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(join(root, 'sessions'));
    store.create('a');
    await adapter.flush();
    assert.deepEqual(await adapter.list(), { sessions: [], broken: [] });
    await assert.rejects(adapter.load('a'), refusal('SESSION_ALREADY_EXISTS'));
    await assert.rejects(adapter.load('b'), refusal('SESSION_NOT_FOUND'));
    await adapter.close();
    assert.deepEqual(await readdir(root), []);
  });

  test('a relative root stays where it was when the process moves', async (context) => {
    const root = await temporary(context);
    const home = process.cwd();
    context.after(() => { process.chdir(home); });
    process.chdir(root);
    const { store, adapter } = open('sessions');
    process.chdir(home);
    say(store.create('a'), 'hi');
    await adapter.close();
    assert.deepEqual(await tree(root), ['sessions/_no-cwd/a.jsonl']);
  });
});

suite('jsonl: writing', () => {
  test('the first write is temporary file, sync, name, directory sync; later ones are one write and one sync', async (context) => {
    const root = await temporary(context);
    const { store, adapter, fs } = open(root);
    const session = store.create('a');
    runTurn(session, 1);
    await store.flush(session);
    const steps = fs.steps.filter((name) => name !== 'close' && name !== 'mkdir');
    assert.deepEqual(steps, ['open r', 'sync', 'open r', 'sync', 'open wx', 'write', 'sync', 'link', 'unlink', 'open r', 'sync']);

    fs.log.length = 0;
    runTurn(session, 2);
    await store.flush(session);
    assert.deepEqual(fs.log, ['open r+', 'stat', 'write', 'sync', 'close']);
    await adapter.close();
    assert.deepEqual(await tree(root), ['_no-cwd/a.jsonl']);
    assert.deepEqual(await readdir(join(root, '.writers')), [], 'nothing is left of the lock');
    assert.equal(fs.openFiles, 0);
  });

  test('short writes are continued', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(root, new ShortWrites());
    const session = store.create('a');
    runTurn(session, 1);
    await store.flush(session);
    runTurn(session, 2);
    await adapter.close();
    assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), whole(session));
  });

  test('a big fork is written without being one array', async (context) => {
    const root = await temporary(context);
    const { store, adapter, fs } = open(root);
    const source = store.create('a');
    source.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } });
    for (let i = 0; i < 3000; i++) say(source, 'x'.repeat(1000));
    source.append('turn/end', { turn: 1, reason: { kind: 'completed' } });
    await store.flush(source);
    fs.log.length = 0;
    await store.flush(store.fork(source, undefined, 'b'));
    assert.ok(fs.log.filter((name) => name === 'write').length >= 3, fs.log.join());
    const child = store.get('b');
    assert.ok(child);
    assert.equal(await readFile(join(root, '_no-cwd/b.jsonl'), 'utf8'), whole(child));
    await adapter.close();
  });

  test('a failed append is cut back at once', async (context) => {
    const root = await temporary(context);
    let full = false;
    const fs = new WatchedFs(async ({ name, run, half }) => {
      if (!full || name !== 'write') return run();
      await half?.();
      throw systemError('ENOSPC');
    });
    const { store, adapter } = open(root, fs);
    const session = store.create('a');
    runTurn(session, 1);
    await store.flush(session);
    const before = whole(session);
    full = true;
    runTurn(session, 2);
    await assert.rejects(store.flush(session), refusal('FLUSH_FAILED', /ENOSPC/));
    assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), before);
    full = false;
    await adapter.close();
    assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), whole(session));
  });

  test('what another writer has put there after a failure is not taken for our own', async (context) => {
    const root = await temporary(context);
    let broken = true;
    const fs = new WatchedFs(({ name, run }) => (broken && /write|link/.test(name) ? Promise.reject(systemError('EIO')) : run()));
    const { store } = openUnlocked(root, fs);
    const session = store.create('a');
    say(session, 'mine');
    await assert.rejects(store.flush(session), refusal('FLUSH_FAILED', /EIO/));
    const other = openUnlocked(root);
    const theirs = other.store.create('a');
    say(theirs, 'theirs');
    await other.store.flush(theirs);
    broken = false;
    await assert.rejects(store.flush(session), collides);

    broken = true;
    const third = openUnlocked(root, fs);
    const again = await third.adapter.load('a');
    say(again, 'mine');
    await assert.rejects(third.store.flush(again), refusal('FLUSH_FAILED', /EIO/));
    say(theirs, 'theirs');
    await other.store.flush(theirs);
    broken = false;
    await assert.rejects(third.store.flush(again), refusal('FLUSH_FAILED', /another writer/));
    assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), whole(theirs));
  });

  test('a name that was given before the failure keeps its log, without hard links as well', async (context) => {
    for (const link of ['link', 'rename']) {
      const root = await temporary(context);
      const fs = new WatchedFs(async ({ name, path, run }) => {
        if (link === 'rename' && name === 'link') throw systemError('EPERM');
        await (name === link && path.endsWith('.jsonl') ? run().then(() => Promise.reject(systemError('EIO'))) : undefined);
        return run();
      });
      const { store } = open(root, fs);
      const session = store.create('a');
      say(session, 'hi');
      await assert.rejects(store.flush(session), refusal('FLUSH_FAILED', /EIO/));
      assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), whole(session), link);
    }
  });

  test('without hard links, a log that could not get its name leaves none behind', async (context) => {
    const root = await temporary(context);
    const fs = new WatchedFs(({ name, run }) => (/^(link|rename)$/.test(name) ? Promise.reject(systemError('EPERM')) : run()));
    const { store } = open(root, fs);
    const session = store.create('a');
    say(session, 'hi');
    await assert.rejects(store.flush(session), refusal('FLUSH_FAILED', /EPERM/));
    assert.deepEqual(await tree(root), []);
  });

  for (const code of ['EPERM', 'ENOTSUP', 'ENOSYS']) {
    test(`works on a file system without hard links (${code})`, async (context) => {
      const root = await temporary(context);
      const withoutLinks = (): WatchedFs => new WatchedFs(({ name, run }) => (name === 'link' ? Promise.reject(systemError(code)) : run()));
      const { store, adapter } = open(root, withoutLinks());
      const session = store.create('a');
      runTurn(session, 1);
      await store.flush(session);
      runTurn(session, 2);
      await adapter.close();
      assert.deepEqual(await tree(root), ['_no-cwd/a.jsonl']);
      assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), whole(session));

      const other = open(root, withoutLinks());
      const intruder = other.store.create('a');
      say(intruder, 'mine');
      await assert.rejects(other.store.flush(intruder), collides);
      assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), whole(session));
    });
  }

  test('of two that create one session at the same time, one wins and the other is refused', async (context) => {
    const root = await temporary(context);
    const both = [openUnlocked(root), openUnlocked(root)].map(({ store }, index) => {
      const session = store.create('a');
      say(session, `${index}`);
      return { store, session };
    });
    const results = await Promise.allSettled(both.map(({ store, session }) => store.flush(session)));
    assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    const winner = both[results.findIndex(({ status }) => status === 'fulfilled')];
    assert.ok(winner);
    assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), whole(winner.session));
    assert.deepEqual(await tree(root), ['_no-cwd/a.jsonl']);
  });

  test('of two that continue one session at the same time, one wins and the other is refused', async (context) => {
    const root = await temporary(context);
    const first = open(root);
    runTurn(first.store.create('a'));
    await first.adapter.close();
    const both = await Promise.all(
      [openUnlocked(root), openUnlocked(root)].map(async ({ store, adapter }) => ({ store, session: await adapter.load('a') })),
    );
    for (const { session } of both) openTurn(session, 2);
    const results = await Promise.allSettled(both.map(({ store, session }) => store.flush(session)));
    const winner = both[results.findIndex(({ status }) => status === 'fulfilled')];
    const refused = results.find((result) => result.status === 'rejected');
    assert.ok(winner && refused);
    refusal('WRITE_CONFLICT', /bytes long/)((refused.reason as FlushError).errors[0]);
    assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), whole(winner.session));
  });

  test('a file that is not known is not written over, whatever it is', async (context) => {
    for (const content of ['', 'not a log', '{"type":"session","version":0,"id":"a","createdAt":1}\n']) {
      const root = await temporary(context);
      await mkdir(join(root, '_no-cwd'));
      await writeFile(join(root, '_no-cwd/a.jsonl'), content);
      const { store } = open(root);
      const session = store.create('a');
      say(session, 'mine');
      await assert.rejects(store.flush(session), collides);
      assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), content);
      assert.deepEqual(await tree(root), ['_no-cwd/a.jsonl']);
    }
  });

  test('2,000 sessions at once stay within the files that a process may open', async (context) => {
    const root = await temporary(context);
    const { store, adapter, fs } = open(root);
    for (let i = 0; i < 2000; i++) say(store.create(), 'hi');
    await adapter.flush();
    for (const session of store.list()) say(session, 'again');
    await adapter.close();
    assert.ok(fs.mostOpenFiles <= 64, `${fs.mostOpenFiles} open files`);
    const later = open(root);
    await Promise.all(Array.from({ length: 2000 }, (_, i) => later.adapter.load(`session-${i + 1}`)));
    assert.ok(later.fs.mostOpenFiles <= 64, `${later.fs.mostOpenFiles} open files`);
    assert.ok(later.store.list().every(({ seq }) => seq === 2));
    assert.deepEqual([fs.openFiles, later.fs.openFiles], [0, 0]);
  });
});

function collides(error: unknown): true {
  assert.ok(error instanceof FlushError);
  return refusal('SESSION_COLLISION')(error.errors[0]);
}

/** Files that take at most 7 bytes at a time. */
class ShortWrites extends WatchedFs {
  override async open(path: string, flags: 'r' | 'r+' | 'wx'): Promise<JsonlFile> {
    const file = await super.open(path, flags);
    return { ...file, write: (buffer, offset, length, position) => file.write(buffer, offset, Math.min(7, length), position) };
  }
}
