// The coordinator: what it writes and when, what it adopts, how it ends. The storage is in memory.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type FlushError, SessionStore } from 'palimpsest';
import { memory } from 'palimpsest/memory';
import { attach } from 'palimpsest/persistence';
import { concat, endTurn, openTurn, refusal, runTurn, say } from '../support/sessions.js';
import { elsewhere, setting, settled, stored, whole } from '../support/setting.js';
import { ManualTimers, WatchedBackend } from '../support/storage.js';

suite('coordinator: what is written, and when', () => {
  test('nothing for a session without events', async () => {
    const at = setting();
    const session = at.store.create('a');
    await at.store.flush(session);
    await at.adapter.flush();
    assert.deepEqual([at.backend.writes, at.timers.waiting.size], [[], 0]);
    assert.deepEqual(at.adapter.state('a'), { status: 'durable', durableSeq: -1 });
    assert.deepEqual(await at.adapter.list(), { sessions: [], broken: [] });
  });

  test('the exact bytes of the session, once', async () => {
    const at = setting();
    const session = at.store.create('a', { meta: { cwd: '/project' } });
    runTurn(session, 1);
    await at.store.flush(session);
    runTurn(session, 2);
    say(session, 'lone \ud83d, nul \u0000, line \u2028');
    await at.adapter.flush('a');
    await at.adapter.flush();
    assert.deepEqual(at.backend.writes, ['a 0+6', 'a 6+7']);
    assert.equal(await stored(at, 'a'), whole(session));
  });

  test('one window opens with the first pending event, and closes with a write', async () => {
    const at = setting();
    const session = at.store.create('a');
    assert.equal(at.timers.waiting.size, 0);
    say(session, 'one');
    await settled();
    say(session, 'two');
    await settled();
    assert.deepEqual([at.timers.fire(), at.timers.waiting.size], [[200], 0]);
    await settled();
    assert.deepEqual(at.backend.writes, ['a 0+2']);

    say(session, 'three');
    await settled();
    await at.store.flush(session);
    assert.equal(at.timers.waiting.size, 0, 'a flush has nothing left for the window');
    assert.deepEqual(at.backend.writes, ['a 0+2', 'a 2+1']);
  });

  test('the window can be chosen', async () => {
    const at = setting({ flushWindow: 7 });
    say(at.store.create('a'), 'one');
    await settled();
    assert.deepEqual(at.timers.fire(), [7]);
  });

  test('what is appended during a write comes with the next one; one session never writes twice at a time', async () => {
    const at = setting();
    const [a, b] = [at.store.create('a'), at.store.create('b')];
    at.backend.before = settled;
    const flushes: Promise<void>[] = [];
    for (let i = 0; i < 5; i++) {
      say(a, `${i}`);
      say(b, `${i}`);
      flushes.push(at.store.flush(a), at.store.flush(b));
      await settled();
    }
    await Promise.all(flushes);
    assert.deepEqual(at.backend.most, { session: 1, all: 2 });
    assert.deepEqual([await stored(at, 'a'), await stored(at, 'b')], [whole(a), whole(b)]);
  });

  test('a flush covers what was appended before it, and not what comes later', async () => {
    const at = setting();
    const session = at.store.create('a');
    say(session, 'one');
    at.backend.before = () => {
      at.backend.before = () => undefined;
      say(session, 'two');
    };
    await at.store.flush(session);
    assert.deepEqual(at.adapter.state('a'), { status: 'pending', durableSeq: 0 });
    await at.store.flush(session);
    assert.deepEqual(at.backend.writes, ['a 0+1', 'a 1+1']);
  });

  test('the prefix of a fork is stored once, whatever its length', async () => {
    const at = setting();
    const source = at.store.create('a');
    for (let turn = 1; turn <= 200; turn++) runTurn(source, turn);
    await at.store.flush(source);
    const child = at.store.fork(source, 599, 'b');
    assert.deepEqual(at.adapter.state('b'), { status: 'pending', durableSeq: -1 });
    openTurn(child, 101);
    await at.store.flush(child);
    endTurn(child, 101);
    await at.store.flush(child);
    assert.deepEqual(at.backend.writes, ['a 0+1200', 'b 0+603', 'b 603+3']);
    assert.equal(await stored(at, 'b'), whole(child));
  });

  test('a session keeps its storage when it leaves the store and comes back', async () => {
    const at = setting();
    const session = at.store.create('a');
    runTurn(session, 1);
    at.store.detach(session);
    await at.adapter.flush();
    runTurn(session, 2);
    at.store.enter(session);
    runTurn(session, 3);
    at.store.announce(session);
    runTurn(session, 4);
    await at.store.flush(session);
    assert.deepEqual(at.backend.writes, ['a 0+6', 'a 6+18']);
    assert.equal(await stored(at, 'a'), whole(session));
  });

  test('a session that comes back is caught up with, even when it says no more', async () => {
    const at = setting();
    const session = at.store.create('a');
    runTurn(session, 1);
    at.store.detach(session);
    await at.adapter.flush();
    runTurn(session, 2);
    at.store.enter(session);
    at.store.announce(session);
    assert.deepEqual(at.adapter.state('a'), { status: 'pending', durableSeq: 5 });
    await at.store.flush(session);
    assert.equal(await stored(at, 'a'), whole(session));
  });

  test('a scope is saved without the rest of the store', async () => {
    const store = new SessionStore();
    const scope = store.scope();
    const backend = new WatchedBackend(memory());
    const adapter = attach(scope, backend);
    say(scope.create('a'), 'in');
    say(store.create('b'), 'out');
    await scope.dispose();
    await adapter.close();
    assert.deepEqual(backend.writes, ['a 0+1']);
  });

  test('10,000 sessions are saved', async () => {
    const at = setting();
    for (let i = 0; i < 10_000; i++) say(at.store.create(), 'hi');
    await at.adapter.close();
    assert.equal(at.backend.writes.length, 10_000);
    assert.equal((await elsewhere(at).adapter.list()).sessions.length, 10_000);
  });
});

suite('coordinator: sessions that are live already', () => {
  test('are saved from their beginning', async () => {
    const store = new SessionStore();
    const session = store.create('a');
    runTurn(session, 1);
    const backend = new WatchedBackend(memory());
    const adapter = attach(store, backend, { timers: new ManualTimers() });
    assert.deepEqual(adapter.state('a'), { status: 'pending', durableSeq: -1 });
    runTurn(session, 2);
    await store.flush(session);
    assert.deepEqual(backend.writes, ['a 0+12']);
  });

  test('are saved once, though others had yet to be told of their last events', async () => {
    const store = new SessionStore();
    const backend = new WatchedBackend(memory());
    store.on('session/bytes', () => undefined);
    const session = store.create('a');
    runTurn(session, 1);
    const adapter = attach(store, backend, { timers: new ManualTimers() });
    runTurn(session, 2);
    await settled();
    runTurn(session, 3);
    await adapter.flush();
    const log = await backend.loadStored({ id: 'a' });
    assert.equal(concat([...(log?.chunks as Iterable<Uint8Array>)]), whole(session));
  });

  test('continue their own log', async () => {
    const at = setting();
    const session = at.store.create('a');
    runTurn(session, 1);
    await at.adapter.close();
    runTurn(session, 2);
    const again = attach(at.store, at.backend, { timers: at.timers });
    runTurn(session, 3);
    await again.flush();
    await again.flush();
    assert.deepEqual(at.backend.writes, ['a 0+6', 'a 6+12']);
    assert.equal(await stored(at, 'a'), whole(session));
    assert.deepEqual(again.state('a'), { status: 'durable', durableSeq: 17 });
  });

  test("never continue another's", async (context) => {
    context.mock.method(Date, 'now', () => 5);
    const at = setting();
    runTurn(at.store.create('a'));
    runTurn(at.store.create('b'));
    await at.adapter.close();
    const before = [await stored(at, 'a'), await stored(at, 'b')];

    const store = new SessionStore();
    const other = store.create('a');
    runTurn(other, 2);
    // The same events at the same time, but none when it was attached: what is stored cannot be its beginning.
    const late = store.create('b');
    const adapter = attach(store, at.backend, { timers: at.timers });
    runTurn(late);
    for (const session of [other, late]) {
      await assert.rejects(store.flush(session), (error: unknown) => refusal('SESSION_COLLISION')((error as FlushError).errors[0]));
    }
    assert.equal(adapter.state('a')?.status, 'failing');
    assert.deepEqual([await stored(at, 'a'), await stored(at, 'b')], before);
  });
});

suite('coordinator: close', () => {
  test('waits until all is durable, then lets go of store and storage', async () => {
    const at = setting();
    const session = at.store.create('a');
    say(session, 'one');
    let first = true;
    at.backend.before = async () => {
      await settled();
      if (first) say(session, 'while it closes');
      first = false;
    };
    const closing = [at.adapter.close(), at.adapter.close()];
    assert.equal(closing[0], closing[1]);
    await Promise.all(closing);
    await at.adapter.close();
    assert.deepEqual([at.backend.closed, at.timers.waiting.size], [1, 0]);
    assert.equal(await stored(at, 'a'), whole(session));

    say(session, 'nobody listens');
    assert.equal(at.adapter.state('a'), undefined, 'nobody says that this is durable');
    await at.store.flush(session);
    assert.equal(at.backend.writes.length, 2);
    await assert.rejects(at.adapter.load('a'), refusal('CLOSED'));
    await assert.rejects(at.adapter.list(), refusal('CLOSED'));
    await assert.rejects(at.adapter.flush(), refusal('CLOSED'));
  });

  test('waits for a load that is under way', async () => {
    const at = setting();
    openTurn(at.store.create('a'), 1);
    await at.adapter.close();
    const { adapter, backend, store } = elsewhere(at);
    let closedBefore: number | undefined;
    backend.before = async () => {
      await settled();
      closedBefore = backend.closed;
    };
    const loading = adapter.load('a');
    await adapter.close();
    assert.deepEqual([closedBefore, backend.closed, store.get('a')], [0, 1, await loading]);
  });

  test('rejects while something cannot be saved, and can be tried again', async () => {
    const at = setting();
    const session = at.store.create('a');
    say(session, 'one');
    at.backend.before = () => Promise.reject(new Error('disk full'));
    await assert.rejects(at.adapter.close(), refusal('FLUSH_FAILED', /disk full/));
    assert.equal(at.backend.closed, 0);
    say(session, 'still attached');
    at.backend.before = () => undefined;
    await at.adapter[Symbol.asyncDispose]();
    assert.equal(at.backend.closed, 1);
    assert.equal(await stored(at, 'a'), whole(session));
  });

  test('a store that ends first leaves nothing unsaved', async () => {
    const at = setting();
    runTurn(at.store.create('a'));
    runTurn(at.store.scope().create('b'));
    await at.store.dispose();
    await at.adapter.close();
    assert.deepEqual(at.backend.writes, ['b 0+6', 'a 0+6']);
  });
});
