// The coordinator where things go wrong: two logs under one id, two writers, a storage that fails, a creation undone.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { FlushError } from 'palimpsest';
import type { SaveState } from 'palimpsest/persistence';
import { openTurn, refusal, runTurn, say } from '../support/sessions.js';
import { elsewhere, setting, settled, stored, whole } from '../support/setting.js';

suite('coordinator: one log, one session', () => {
  test('a new session neither adopts nor overwrites what is stored under its id', async () => {
    const at = setting();
    const original = at.store.create('a');
    runTurn(original);
    await at.adapter.close();
    const { store, adapter, reported } = elsewhere(at);
    const intruder = store.create('a', { meta: { createdAt: original.header.createdAt } });
    say(intruder, 'mine');
    for (let attempt = 0; attempt < 2; attempt++) {
      await assert.rejects(store.flush(intruder), (error: unknown) => {
        assert.match((error as Error).message, /session "a" is stored already/);
        return refusal('SESSION_COLLISION')((error as FlushError).errors[0]);
      });
    }
    assert.equal(await stored(at, 'a'), whole(original));
    say(intruder, 'the log in memory can still be used');
    assert.equal(intruder.deriveMessages().length, 2);
    await assert.rejects(adapter.load('a'), refusal('SESSION_ALREADY_EXISTS'));

    // Once it has left, it is given up, and the stored one can be had.
    store.detach(intruder);
    assert.equal(adapter.state('a'), undefined);
    const loaded = await adapter.load('a');
    assert.equal(whole(loaded), whole(original));
    await adapter.close();
    assert.deepEqual(reported, []);
  });

  test('one that collides and leaves at once does not stand in the way of the stored one', async () => {
    const at = setting();
    const original = at.store.create('a');
    runTurn(original);
    await at.adapter.close();
    const { store, adapter, reported } = elsewhere(at);
    const intruder = store.create('a');
    say(intruder, 'mine');
    store.detach(intruder);
    assert.equal(whole(await adapter.load('a')), whole(original));
    await adapter.close();
    assert.deepEqual(reported.map((error) => refusal('SESSION_COLLISION')(error)), [true]);
  });

  test('a collision that nobody has waited for is reported', async () => {
    const at = setting();
    say(at.store.create('a'), 'first');
    await at.adapter.close();
    const { store, timers, reported } = elsewhere(at);
    say(store.create('a'), 'second');
    await settled();
    timers.fire();
    await settled();
    assert.equal(reported.length, 1);
    refusal('SESSION_COLLISION')(reported[0]);
  });

  test('a different working directory is a different session', async () => {
    const at = setting();
    for (const cwd of ['/one', '/two', undefined]) {
      const session = at.store.create('a', { meta: { cwd } });
      say(session, cwd ?? 'none');
      await at.store.flush(session);
      at.store.detach(session);
    }
    const { adapter, store } = elsewhere(at);
    assert.deepEqual((await adapter.list()).sessions.map(({ cwd }) => cwd).sort(), ['/one', '/two', undefined]);
    await assert.rejects(adapter.load('a'), refusal('SESSION_COLLISION', /3 times.*which cwd/));
    await assert.rejects(adapter.load('a', { cwd: '/three' }), refusal('SESSION_NOT_FOUND', /\/three/));
    for (const cwd of ['/one', '/two', null]) {
      const session = await adapter.load('a', { cwd });
      assert.equal(session.header.cwd, cwd ?? undefined);
      await assert.rejects(adapter.load('a', { cwd: '/three' }), refusal('SESSION_ALREADY_EXISTS'));
      store.detach(session);
    }
  });

  test('of two stores on one session, the second to write is refused and the sequence stays one', async () => {
    const at = setting();
    runTurn(at.store.create('a'));
    await at.adapter.close();
    const [one, two] = [elsewhere(at), elsewhere(at)];
    const [first, second] = [await one.adapter.load('a'), await two.adapter.load('a')];
    openTurn(first, 2);
    await one.store.flush(first);
    openTurn(second, 2);
    await assert.rejects(two.store.flush(second), (error: unknown) => refusal('WRITE_CONFLICT', /another writer/)((error as FlushError).errors[0]));
    assert.equal(await stored(at, 'a'), whole(first));
    assert.equal(second.seq, 9);
    two.store.detach(second);
    assert.equal((await two.adapter.load('a')).seq, 11, 'loaded again, with the turn that was left open closed');
  });
});

suite('coordinator: a storage that fails', () => {
  test('shows in the state, rejects the flush, loses nothing, and is tried again', async () => {
    const at = setting();
    const states: string[] = [];
    at.adapter.on('state', (id, { status, durableSeq }) => states.push(`${id} ${status} ${durableSeq}`));
    const session = at.store.create('a');
    say(session, 'one');
    await at.store.flush(session);
    at.backend.before = () => Promise.reject(new Error('disk full'));
    say(session, 'two');
    await assert.rejects(at.store.flush(session), (error: unknown) => {
      assert.ok(error instanceof FlushError);
      return refusal('STORAGE_FAILED', /disk full/)(error.errors[0]);
    });
    const state = at.adapter.state('a') as SaveState & { status: 'failing' };
    assert.deepEqual([state.status, state.durableSeq, state.error.code], ['failing', 0, 'STORAGE_FAILED']);
    assert.equal((state.error.cause as Error).message, 'disk full');
    say(session, 'three');
    await assert.rejects(at.adapter.flush(), (error: unknown) => refusal('FLUSH_FAILED', /1 of 1/)(error));
    at.backend.before = () => undefined;
    say(session, 'four');
    await at.store.flush(session);
    assert.equal(await stored(at, 'a'), whole(session));
    assert.deepEqual(states, ['a pending -1', 'a durable 0', 'a pending 0', 'a failing 0', 'a failing 0', 'a durable 3']);
    assert.deepEqual(at.backend.writes, ['a 0+1', 'a 1+1', 'a 1+2 retry', 'a 1+3 retry']);
    assert.deepEqual(at.reported, [], 'who flushed was told');
  });

  test('in the background it is reported once, and the next event tries again', async () => {
    const at = setting();
    const session = at.store.create('a');
    at.backend.before = () => Promise.reject(new Error('disk full'));
    for (const words of ['one', 'two', 'three']) {
      say(session, words);
      await settled();
      at.timers.fire();
      await settled();
    }
    assert.equal(at.reported.length, 1);
    refusal('STORAGE_FAILED', /disk full/)(at.reported[0]);
    at.backend.before = () => undefined;
    say(session, 'four');
    await settled();
    at.timers.fire();
    await settled();
    assert.deepEqual(at.adapter.state('a'), { status: 'durable', durableSeq: 3 });
    assert.equal(await stored(at, 'a'), whole(session));
  });

  test('one session that fails holds up no other', async () => {
    const at = setting();
    const [a, b] = [at.store.create('a'), at.store.create('b')];
    at.backend.before = ({ id }) => (id === 'a' ? Promise.reject(new Error('bad sector')) : undefined);
    say(a, 'lost?');
    say(b, 'kept');
    await assert.rejects(at.adapter.flush(), refusal('FLUSH_FAILED', /1 of 2.*bad sector/));
    assert.deepEqual([at.adapter.state('a')?.status, at.adapter.state('b')?.status], ['failing', 'durable']);
    await at.adapter.flush('b');
  });

  test('what a session has not saved when it leaves is saved later, even when it is freed', async () => {
    const at = setting();
    const source = at.store.create('source');
    for (let turn = 1; turn <= 100; turn++) runTurn(source, turn);
    await at.store.flush(source);
    const child = at.store.fork(source, undefined, 'child');
    runTurn(child, 101);
    const expected = whole(child);
    at.backend.before = () => Promise.reject(new Error('disk full'));
    at.store.detach(child);
    child.free();
    await settled();
    assert.equal(at.adapter.state('child')?.status, 'failing');
    assert.equal(at.reported.length, 1);
    await assert.rejects(at.adapter.load('child'), refusal('STORAGE_FAILED', /disk full/));
    at.backend.before = () => undefined;
    await at.adapter.flush();
    assert.equal(at.adapter.state('child'), undefined, 'forgotten once it is saved');
    assert.equal(await stored(at, 'child'), expected);
  });

  test('a write that was under way when the session left is not cut short', async () => {
    const at = setting();
    const source = at.store.create('source');
    for (let turn = 1; turn <= 100; turn++) runTurn(source, turn);
    const child = at.store.fork(source, undefined, 'child');
    const expected = whole(child);
    at.backend.before = ({ id }) => {
      if (id !== 'child') return;
      at.store.detach(child);
      child.free();
    };
    await at.store.flush(child);
    assert.equal(await stored(at, 'child'), expected);
  });

  test('a fork that is freed before anything of it was written, and was never detached, is saved whole', async () => {
    const at = setting();
    const source = at.store.create('source');
    for (let turn = 1; turn <= 100; turn++) runTurn(source, turn);
    const child = at.store.fork(source, undefined, 'child');
    await settled();
    say(child, 'not too late');
    const expected = whole(child);
    child.free();
    source.free();
    assert.deepEqual([at.store.get('child'), at.store.list()], [undefined, []], 'it has left the store');
    await at.adapter.flush();
    assert.deepEqual(at.reported, []);
    await at.adapter.close();
    assert.equal(await stored(at, 'child'), expected);
  });

  test('a listener that frees a session which is being freed harms nobody', async () => {
    const at = setting();
    at.store.on('session/disposed', (session) => {
      session.free();
    });
    const session = at.store.create('twice');
    runTurn(session);
    const expected = whole(session);
    session.free();
    session.free();
    await at.adapter.close();
    assert.deepEqual([at.reported, await stored(at, 'twice')], [[], expected]);
  });

  test('a state listener that throws harms nobody', async () => {
    const at = setting();
    let heard = 0;
    at.adapter.on('state', () => {
      throw new Error('listener');
    });
    const stop = at.adapter.on('state', () => heard++);
    const session = at.store.create('a');
    say(session, 'one');
    await at.store.flush(session);
    assert.equal(heard, 2);
    assert.deepEqual(at.reported.map((error) => (error as Error).message), ['listener', 'listener']);
    stop();
    say(session, 'two');
    await at.store.flush(session);
    assert.equal(heard, 2);
  });
});

suite('coordinator: sessions that are not to be', () => {
  test('a creation that a listener undoes leaves nothing behind', async () => {
    const at = setting();
    const source = at.store.create('a');
    runTurn(source);
    at.store.on('session/created', () => {
      throw new Error('no room');
    });
    assert.throws(() => at.store.fork(source, undefined, 'b'), /no room/);
    assert.throws(() => at.store.create('c', { seed: source.events }), /no room/);
    await at.adapter.close();
    assert.deepEqual(at.backend.writes, ['a 0+6']);
    assert.deepEqual(at.reported, []);
  });

  test('one that stays but a moment is saved when it has said something', async () => {
    const at = setting();
    const session = at.store.create('a');
    say(session, 'hello and goodbye');
    at.store.detach(session);
    await at.adapter.close();
    assert.deepEqual(at.backend.writes, ['a 0+1']);
  });
});
