// The coordinator: what it loads and lists.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { SessionStore } from 'palimpsest';
import { memory } from 'palimpsest/memory';
import { type StoredHeader, attach } from 'palimpsest/persistence';
import { openTurn, refusal, runTurn, say } from '../support/sessions.js';
import { elsewhere, setting, settled, stored, whole } from '../support/setting.js';
import { WatchedBackend } from '../support/storage.js';

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

  test('what is no id is told to be none, whatever is asked for it', async () => {
    const { adapter } = setting();
    for (const id of ['', 7, undefined] as string[]) {
      for (const call of [adapter.load(id), adapter.read(id), adapter.export(id), adapter.delete(id), adapter.fork(id), adapter.follow(id).next()]) {
        await assert.rejects(call, refusal('INVALID_ID'), JSON.stringify(id));
      }
    }
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
    const ends: string[] = [];
    store.on('session/disposed', ({ id, disposed }) => ends.push(`${id} ${disposed}`));
    const stop = store.on('session/created', () => {
      throw new Error('no room');
    });
    await assert.rejects(adapter.load('a'), /no room/);
    assert.deepEqual(ends, ['a false'], 'those who hear of the end can still read the session');
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
