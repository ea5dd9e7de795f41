// JSONL files where the file system makes trouble: names that it confuses, syncs that fail, renames that it refuses.
import assert from 'node:assert/strict';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { suite, test } from 'node:test';
import { FlushError, SessionStore } from 'palimpsest';
import { type JsonlFs, attach, jsonl } from 'palimpsest/jsonl';
import { open, openUnlocked, tree } from '../support/files.js';
import { refusal, runTurn, say } from '../support/sessions.js';
import { settled, whole } from '../support/setting.js';
import { ManualTimers, WatchedFs, systemError, temporary } from '../support/storage.js';

const firstCause = (error: unknown): unknown => (error instanceof FlushError ? error.errors[0] : error);

/** A file system that takes `A.jsonl` and `a.jsonl` for one name, and keeps the one that it was given first. */
class CaseBlindFs extends WatchedFs {
  readonly #names = new Map<string, string>();

  #known(path: string): string {
    const key = path.toLowerCase();
    const known = this.#names.get(key) ?? path;
    this.#names.set(key, known);
    return known;
  }

  override open(path: string, flags: 'r' | 'r+' | 'wx'): ReturnType<JsonlFs['open']> {
    return super.open(this.#known(path), flags);
  }

  override link(from: string, to: string): Promise<void> {
    return super.link(this.#known(from), this.#known(to));
  }

  override rename(from: string, to: string): Promise<void> {
    return super.rename(this.#known(from), this.#known(to));
  }

  override unlink(path: string): Promise<void> {
    return super.unlink(this.#known(path));
  }
}

suite('jsonl: names', () => {
  test('ids that the file system takes for one never share a log', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(root, new CaseBlindFs());
    const upper = store.create('Session');
    say(upper, 'upper');
    await store.flush(upper);
    const lower = store.create('session');
    say(lower, 'lower');
    await assert.rejects(store.flush(lower), (error: unknown) => refusal('SESSION_COLLISION', /session\.jsonl.*does not tell that name from Session\.jsonl/)(firstCause(error)));
    store.detach(lower);
    await assert.rejects(adapter.load('session'), refusal('SESSION_NOT_FOUND', /holds session "Session"/));
    await assert.rejects(adapter.delete('session'), refusal('SESSION_NOT_FOUND'));
    await assert.rejects(adapter.follow('session').next(), refusal('SESSION_NOT_FOUND'));
    await assert.rejects(adapter.fork('session'), refusal('SESSION_NOT_FOUND'));
    assert.deepEqual((await adapter.list()).sessions.map(({ id }) => id), ['Session']);
    say(upper, 'more');
    await adapter.close();
    assert.equal(await readFile(join(root, '_no-cwd/Session.jsonl'), 'utf8'), whole(upper));
  });

  test('a session that the file system can never take is told of, and need not keep the others from closing', async (context) => {
    const root = await temporary(context);
    const { store, adapter } = open(root);
    const never = store.create('x'.repeat(300));
    const other = store.create('other');
    runTurn(never);
    runTurn(other);
    await assert.rejects(adapter.close(), (error: unknown) => refusal('STORAGE_FAILED')(firstCause(error)));
    assert.equal(adapter.state(never.id)?.status, 'failing');
    await adapter.close({ abandon: true });
    assert.equal(never.events.length > 0, true, 'what could not be saved is still in memory');
    const again = open(root);
    assert.equal(whole(await again.adapter.load('other')), whole(other));
    await again.adapter.close();
  });

  test('a root behind a symbolic link is the same root', async (context) => {
    const root = await temporary(context);
    await mkdir(join(root, 'real'));
    await symlink('real', join(root, 'link'), 'dir');
    const [direct, linked] = [open(join(root, 'real')), open(join(root, 'link'))];
    const session = direct.store.create('a');
    runTurn(session);
    await direct.adapter.flush();
    assert.equal((await linked.adapter.read('a')).session.seq, 6);
    await assert.rejects(linked.adapter.load('a'), refusal('SESSION_LOCKED'));
    await direct.adapter.close();
    const loaded = await linked.adapter.load('a');
    say(loaded, 'more');
    await linked.adapter.close();
    assert.deepEqual(await tree(join(root, 'real')), ['_no-cwd/a.jsonl']);
    assert.equal(await readFile(join(root, 'real/_no-cwd/a.jsonl'), 'utf8'), whole(loaded));
  });
});

suite('jsonl: a file system that refuses', () => {
  test('after a failed sync the handle is given up, and a new one writes everything again', async (context) => {
    const root = await temporary(context);
    let failing = false;
    const fs = new WatchedFs(({ name, path, run }) => (failing && name === 'sync' && path.endsWith('.jsonl') ? Promise.reject(systemError('EIO')) : run()));
    const { store, adapter } = open(root, fs);
    const session = store.create('a');
    runTurn(session, 1);
    await store.flush(session);
    const before = whole(session);
    failing = true;
    fs.log.length = 0;
    runTurn(session, 2);
    await assert.rejects(store.flush(session), refusal('FLUSH_FAILED', /EIO/));
    assert.deepEqual(fs.log, ['open r+', 'stat', 'write', 'sync', 'close', 'open r+', 'truncate', 'close'], 'cut back through another handle');
    assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), before);
    failing = false;
    fs.log.length = 0;
    await store.flush(session);
    assert.deepEqual(fs.log, ['open r+', 'stat', 'write', 'sync', 'close']);
    await adapter.close();
    assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), whole(session));
  });

  for (const code of ['EPERM', 'EBUSY', 'EACCES']) {
    test(`a rename that is refused for a moment (${code}) is tried again, within a bound`, async (context) => {
      for (const refusals of [3, Infinity]) {
        const root = await temporary(context);
        let left = refusals;
        const fs = new WatchedFs(({ name, path, run }) => {
          if (name === 'link') return Promise.reject(systemError('ENOTSUP'));
          if (name === 'rename' && path.endsWith('.jsonl') && left-- > 0) return Promise.reject(systemError(code));
          return run();
        });
        const timers = new ManualTimers();
        const store = new SessionStore();
        const adapter = attach(store, jsonl({ root, fs, timers }), { timers: new ManualTimers() });
        const session = store.create('a');
        say(session, 'hi');
        const waits: number[] = [];
        let outcome: string | undefined;
        store.flush(session).then(() => (outcome = 'saved'), (error: unknown) => (outcome = (error as Error).message));
        while (outcome === undefined) {
          waits.push(...timers.fire());
          await settled();
        }
        if (refusals === 3) {
          assert.equal(outcome, 'saved');
          assert.equal(waits.length, 3);
          assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), whole(session));
          await adapter.close();
        } else {
          assert.match(outcome, new RegExp(code));
          assert.ok(waits.length > 3 && waits.reduce((sum, ms) => sum + ms, 0) < 2000, waits.join());
          assert.deepEqual(await tree(root), [], 'nothing is left in the way');
        }
      }
    });
  }

  test('a disk that fills up in the middle of a line leaves whole lines, and what is missing comes later', async (context) => {
    const root = await temporary(context);
    let room = Infinity;
    const fs = new WatchedFs(async ({ name, run, half }) => {
      if (name !== 'write' || room-- > 0) return run();
      await half?.();
      throw systemError('ENOSPC');
    });
    const { store, adapter } = openUnlocked(root, fs);
    const session = store.create('a');
    room = 0;
    runTurn(session, 1);
    await assert.rejects(store.flush(session), refusal('FLUSH_FAILED', /ENOSPC/));
    assert.deepEqual(await tree(root), [], 'no half-made file');
    room = Infinity;
    await store.flush(session);
    for (const turn of [2, 3]) {
      room = 0;
      runTurn(session, turn);
      await assert.rejects(store.flush(session), refusal('FLUSH_FAILED', /ENOSPC/));
      assert.equal(adapter.state('a')?.status, 'failing');
    }
    room = Infinity;
    await adapter.close();
    assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), whole(session));
  });

  test('a directory that becomes read-only later is told, and nothing is lost', async (context) => {
    const root = await temporary(context);
    let readOnly = false;
    const fs = new WatchedFs(({ name, run }) => (readOnly && !/^(open r|read|readdir|stat|close)$/.test(name) ? Promise.reject(systemError('EROFS')) : run()));
    const { store, adapter } = open(root, fs);
    const session = store.create('a');
    runTurn(session, 1);
    await adapter.flush();
    readOnly = true;
    runTurn(session, 2);
    await assert.rejects(adapter.flush(), refusal('FLUSH_FAILED', /EROFS/));
    assert.equal((await adapter.read('a')).session.seq, 6);
    readOnly = false;
    await adapter.close();
    assert.equal(await readFile(join(root, '_no-cwd/a.jsonl'), 'utf8'), whole(session));
  });

  test('a lock in a directory that only can be read is not needed to read', async (context) => {
    const root = await temporary(context);
    const first = open(root);
    runTurn(first.store.create('a'));
    await first.adapter.close();
    const fs = new WatchedFs(({ name, path, run }) => (/^(open r|read|readdir|stat|close)$/.test(name) ? run() : Promise.reject(systemError(dirname(path).endsWith('.writers') ? 'EACCES' : 'EROFS'))));
    const { adapter } = open(root, fs);
    assert.equal((await adapter.load('a')).seq, 6);
    await adapter.close();
  });
});
