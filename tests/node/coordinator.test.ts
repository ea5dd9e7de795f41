// The coordinator: what it writes and when, what it adopts, loads and lists, how it ends. The storage is in memory.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type FlushError, SessionStore } from 'palimpsest';
import { memory } from 'palimpsest/memory';
import { type StoredHeader, attach } from 'palimpsest/persistence';
import { endTurn, openTurn, refusal, runTurn, say } from '../support/sessions.js';
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

  test("never continue another's", async () => {
    const at = setting();
    runTurn(at.store.create('a'));
    runTurn(at.store.create('b'));
    await at.adapter.close();
    const before = [await stored(at, 'a'), await stored(at, 'b')];

    const store = new SessionStore();
    const other = store.create('a');
    runTurn(other);
    // Empty when it was attached: a stored log cannot be its beginning.
    const empty = store.create('b', { meta: { createdAt: at.store.get('b')?.header.createdAt } });
    const adapter = attach(store, at.backend, { timers: at.timers });
    runTurn(empty);
    for (const session of [other, empty]) {
      await assert.rejects(store.flush(session), (error: unknown) => refusal('SESSION_COLLISION')((error as FlushError).errors[0]));
    }
    assert.equal(adapter.state('a')?.status, 'failing');
    assert.deepEqual([await stored(at, 'a'), await stored(at, 'b')], before);
  });
});

suite('coordinator: load', () => {
  test('gives back the session, live', async () => {
    const at = setting();
    const session = at.store.create('a', { meta: { cwd: '/project', parentSession: 'p', seedLength: 0, createdAt: 3 } });
    runTurn(session);
    await at.adapter.close();
    const { store, adapter, backend } = elsewhere(at);
    const created: string[] = [];
    store.on('session/created', ({ id }) => created.push(id));
    const loaded = await adapter.load('a');
    assert.equal(store.get('a'), loaded);
    assert.deepEqual(created, ['a']);
    assert.deepEqual(loaded.header, session.header);
    assert.deepEqual([...loaded.events], [...session.events]);
    assert.deepEqual(adapter.state('a'), { status: 'durable', durableSeq: 5 });
    runTurn(loaded, 2);
    await store.flush(loaded);
    assert.deepEqual(backend.writes, ['a 6+6']);
    assert.equal(await stored(at, 'a'), whole(loaded));
  });

  test('puts it into the scope that shall own it', async () => {
    const at = setting();
    runTurn(at.store.create('a'));
    await at.adapter.close();
    const { store, adapter } = elsewhere(at);
    const scope = store.scope();
    const session = await adapter.load('a', { scope });
    assert.deepEqual(scope.list(), [session]);
    await scope.dispose();
    await assert.rejects(adapter.load('a', { scope }), refusal('CLOSED'));
    assert.deepEqual(store.list(), []);
  });

  test('refuses an id that is not stored', async () => {
    const at = setting();
    await assert.rejects(at.adapter.load('a'), refusal('SESSION_NOT_FOUND', /session "a" is not stored/));
    say(at.store.create('a'), 'only here, not written yet');
    await assert.rejects(at.adapter.load('a'), refusal('SESSION_ALREADY_EXISTS'));
  });

  test('loads once, whoever asks', async () => {
    const at = setting();
    runTurn(at.store.create('a'));
    await at.adapter.close();
    const { store, adapter } = elsewhere(at);
    const [one, two] = await Promise.all([adapter.load('a'), adapter.load('a')]);
    assert.equal(one, two);
    assert.equal(await adapter.load('a'), one);
    assert.equal(await adapter.load('a', { cwd: null }), one);
    assert.equal(store.list().length, 1);
  });

  test('closes a turn that a crash left open, durably and once', async () => {
    const at = setting();
    const session = at.store.create('a');
    openTurn(session, 1);
    await at.adapter.close();

    const first = elsewhere(at);
    const repaired = await first.adapter.load('a');
    assert.deepEqual(first.backend.writes, ['a 3+2 repair']);
    assert.deepEqual(repaired.events.slice(3).map(({ type }) => type), ['step/end', 'turn/end']);
    assert.equal(await stored(at, 'a'), whole(repaired));
    assert.deepEqual(first.adapter.state('a'), { status: 'durable', durableSeq: 4 });

    const second = elsewhere(at);
    const again = await second.adapter.load('a');
    assert.deepEqual(second.backend.writes, []);
    assert.equal(whole(again), whole(repaired));
  });

  test('does not give out a session whose repair is not durable', async () => {
    const at = setting();
    openTurn(at.store.create('a'), 1);
    await at.adapter.close();
    const before = await stored(at, 'a');
    const { store, adapter, backend } = elsewhere(at);
    backend.before = () => Promise.reject(new Error('disk full'));
    await assert.rejects(adapter.load('a'), refusal('STORAGE_FAILED', /session "a".*disk full/));
    assert.deepEqual([store.list(), await stored(at, 'a')], [[], before]);

    const read = await adapter.read('a');
    assert.deepEqual([read.session.seq, read.closers.length, read.tornBytes], [3, 2, 0]);
    assert.equal(store.get('a'), undefined, 'reading leaves it out of the store');
    backend.before = () => undefined;
    assert.equal((await adapter.load('a')).seq, 5);
  });

  test('a listener that refuses the session leaves it stored and out of the store', async () => {
    const at = setting();
    runTurn(at.store.create('a'));
    await at.adapter.close();
    const { store, adapter } = elsewhere(at);
    const stop = store.on('session/created', () => {
      throw new Error('no room');
    });
    await assert.rejects(adapter.load('a'), /no room/);
    assert.deepEqual([store.list(), adapter.state('a')], [[], undefined]);
    stop();
    assert.equal((await adapter.load('a')).seq, 6);
  });

  test('waits for what an earlier instance has yet to save', async () => {
    const at = setting();
    const session = at.store.create('a');
    runTurn(session, 1);
    await at.store.flush(session);
    runTurn(session, 2);
    at.backend.before = settled;
    at.store.detach(session);
    const loaded = await at.adapter.load('a');
    assert.notEqual(loaded, session);
    assert.equal(whole(loaded), whole(session));
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
    await at.store.flush(session);
    assert.equal(at.backend.writes.length, 2);
    await assert.rejects(at.adapter.load('a'), refusal('CLOSED'));
    await assert.rejects(at.adapter.list(), refusal('CLOSED'));
    await assert.rejects(at.adapter.flush(), refusal('CLOSED'));
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

suite('coordinator: list', () => {
  test('is in order of creation, not of use', async () => {
    const at = setting();
    for (const [id, createdAt] of [['c', 3], ['a', 1], ['b', 3]] as const) say(at.store.create(id, { meta: { createdAt } }), id);
    await at.adapter.flush();
    const { sessions, broken } = await at.adapter.list();
    assert.deepEqual([sessions.map(({ id }) => id), broken], [['a', 'b', 'c'], []]);
  });

  test('names what is broken and shows the rest', async () => {
    const at = setting();
    say(at.store.create('a'), 'hi');
    await at.adapter.flush();
    const head = (text: string): Uint8Array => new TextEncoder().encode(text);
    const list = async function* (): AsyncGenerator<StoredHeader> {
      yield { location: 'empty', head: head('') };
      yield { location: 'zeros', head: new Uint8Array(413) };
      yield { location: 'newer', head: head('{"type":"session","version":1,"id":"x","createdAt":1}\n') };
      yield { location: 'unreadable', error: new Error('EIO') };
      yield* at.backend.inner.list();
    };
    const adapter = attach(new SessionStore(), Object.assign(new WatchedBackend(memory()), { list }));
    const { sessions, broken } = await adapter.list();
    assert.deepEqual(sessions.map(({ id }) => id), ['a']);
    const codes = broken.map(({ location, error }) => `${location} ${error.code}`);
    assert.deepEqual(codes, ['empty INVALID_HEADER', 'zeros INVALID_HEADER', 'newer UNSUPPORTED_VERSION', 'unreadable STORAGE_FAILED']);
  });
});
