// The store: lifecycle, metadata, feed, flush.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type FailureContext, FlushError, type Session, SessionStore } from 'palimpsest';
import { concat, decode, openTurn, refusal, runTurn, say } from '../support/sessions.js';

interface Reported {
  readonly error: unknown;
  readonly feed: FailureContext['feed'];
  readonly id: string;
}

/** A store whose contained failures can be looked at. */
function watchedStore(): { store: SessionStore; reported: Reported[] } {
  const reported: Reported[] = [];
  const store = new SessionStore({ onError: (error, { feed, session }) => reported.push({ error, feed, id: session.id }) });
  return { store, reported };
}

const fail = (message: string): never => {
  throw new Error(message);
};

suite('store: ids and lifecycle', () => {
  test('names sessions session-<n>, past every id that is taken', () => {
    const store = new SessionStore();
    store.create('session-2');
    const ids = [store.create(), store.create(), store.create(undefined, {})].map((session) => session.id);
    assert.deepEqual(ids, ['session-1', 'session-3', 'session-4']);
    assert.deepEqual(store.list().map((session) => session.id), ['session-2', ...ids]);
    assert.equal(store.get('session-3')?.id, 'session-3');
    assert.equal(store.get('session-5'), undefined);
  });

  test('refuses an id that is live, at prepare and again at enter', () => {
    const store = new SessionStore();
    const early = store.prepare('a');
    const live = store.create('a');
    assert.throws(() => store.prepare('a'), refusal('SESSION_ALREADY_EXISTS', /session "a" is live/));
    assert.throws(() => store.create('a'), refusal('SESSION_ALREADY_EXISTS'));
    assert.throws(() => store.enter(early), refusal('SESSION_ALREADY_EXISTS'));
    assert.equal(store.get('a'), live);
    assert.throws(() => store.create(''), refusal('INVALID_ID'));
  });

  test('a prepared session is unknown until it is entered, and unheard of until it is announced', () => {
    const store = new SessionStore();
    const heard: string[] = [];
    store.on('session/created', ({ id }) => heard.push(`created ${id}`));
    store.on('session/event', ({ id }, event) => heard.push(`event ${id} ${event.seq}`));
    store.on('session/disposed', ({ id }) => heard.push(`disposed ${id}`));

    const session = store.prepare('a');
    say(session, 'before');
    assert.equal(store.get('a'), undefined);
    assert.throws(() => { store.announce(session); }, refusal('SESSION_NOT_LIVE'));
    const detach = store.enter(session);
    assert.equal(store.get('a'), session);
    say(session, 'between');
    store.announce(session);
    store.announce(session);
    detach();
    detach();
    say(session, 'after');
    assert.deepEqual(heard, ['event a 1', 'created a', 'disposed a']);
    assert.equal(session.seq, 3);
  });

  test('nobody hears of the end of a session that was never announced', () => {
    const store = new SessionStore();
    let heard = 0;
    store.on('session/disposed', () => heard++);
    store.enter(store.prepare('a'))();
    assert.equal(heard, 0);
  });

  test('a stale detach leaves a later session of the same id alone', () => {
    const store = new SessionStore();
    const first = store.prepare('a');
    const detach = store.enter(first);
    store.detach(first);
    const second = store.create('a');
    detach();
    store.detach(first);
    assert.equal(store.get('a'), second);
    assert.deepEqual(store.list(), [second]);
  });

  test('a listener that throws at created takes the session out again', () => {
    const { store, reported } = watchedStore();
    const heard: string[] = [];
    store.on('session/created', (session) => heard.push(`first ${session.id}`));
    const stop = store.on('session/created', () => fail('no room'));
    store.on('session/created', () => heard.push('third'));
    store.on('session/disposed', (session) => heard.push(`disposed ${session.id}`));
    let undone: Session | undefined;
    store.on('session/disposed', (session) => (undone = session));
    assert.throws(() => store.create('a'), /no room/);
    assert.deepEqual(heard, ['first a', 'disposed a']);
    assert.equal(undone?.disposed, true, 'nobody else could give its memory back');
    assert.deepEqual([store.get('a'), store.list()], [undefined, []]);

    stop();
    runTurn(store.create('a'));
    store.on('session/created', () => fail('no room for forks'));
    assert.throws(() => store.fork('a', undefined, 'b'), /no room for forks/);
    assert.deepEqual(store.list().map(({ id }) => id), ['a']);
    assert.deepEqual(reported, []);
  });

  test('a session is live in one store only, and enters again after it has left', () => {
    const [one, two] = [new SessionStore(), new SessionStore()];
    const session = one.create('a');
    assert.throws(() => two.enter(session), refusal('SESSION_ALREADY_EXISTS', /another store/));
    one.detach(session);
    two.enter(session);
    assert.equal(two.get('a'), session);
  });

  test('a session that is freed leaves the store', () => {
    const store = new SessionStore();
    const ends: string[] = [];
    store.on('session/disposed', ({ id }) => ends.push(id));
    const session = store.create('a');
    session.free();
    assert.deepEqual([store.get('a'), store.list(), ends], [undefined, [], ['a']]);
    assert.throws(() => store.enter(session), refusal('DISPOSED'));
    assert.equal(store.create('a').disposed, false);
  });

  test('holds 10,000 sessions', () => {
    const store = new SessionStore();
    const sessions = Array.from({ length: 10_000 }, () => store.create());
    assert.equal(new Set(store.list()).size, 10_000);
    for (const session of sessions) say(session, session.id);
    assert.equal(store.get('session-9999')?.deriveMessages().length, 1);
    for (const session of sessions) {
      store.detach(session);
      session.free();
    }
    assert.deepEqual(store.list(), []);
  });
});

suite('store: metadata', () => {
  test('makes the header from what it is given', () => {
    const store = new SessionStore();
    const before = Date.now();
    const { header } = store.create('a');
    assert.ok(header.createdAt >= before && header.createdAt <= Date.now());
    assert.deepEqual(header, { version: 0, id: 'a', createdAt: header.createdAt });
    const meta = { cwd: '/project', parentSession: 'p', createdAt: 5, seedLength: 0 };
    assert.deepEqual(store.create('b', { meta }).header, { version: 0, id: 'b', ...meta });
    assert.ok(Object.isFrozen(header));
  });

  for (const cwd of ['/', '/project', 'C:\\work', 'c:/work', '\\\\server\\share', '\\\\server\\share\\deep', '/ünï']) {
    test(`takes ${cwd} as a working directory`, () => {
      assert.equal(new SessionStore().create('a', { meta: { cwd } }).header.cwd, cwd);
    });
  }

  for (const cwd of ['', '.', 'project', './project', '~/project', 'C:', 'C:project', '\\project', '\\\\server', '\\\\server\\']) {
    test(`refuses ${JSON.stringify(cwd)} as a working directory`, () => {
      const store = new SessionStore();
      assert.throws(() => store.create('a', { meta: { cwd } }), refusal('INVALID_CWD', /session "a"/));
      assert.deepEqual(store.list(), []);
    });
  }

  test('refuses times and lengths that are none', () => {
    const store = new SessionStore();
    assert.throws(() => store.create('a', { meta: { createdAt: 1.5 } }), refusal('INVALID_HEADER', /createdAt/));
    assert.throws(() => store.create('a', { meta: { createdAt: NaN } }), refusal('INVALID_HEADER', /createdAt/));
    assert.throws(() => store.create('a', { meta: { seedLength: -1 } }), refusal('INVALID_HEADER', /seedLength/));
  });

  test('a seed is replayed, and a wrong one refused', () => {
    const store = new SessionStore();
    const source = store.create('a');
    runTurn(source);
    const copy = store.create('b', { seed: source.events });
    assert.deepEqual([...copy.events], [...source.events]);
    assert.deepEqual(copy.deriveMessages(), source.deriveMessages());
    assert.throws(() => store.create('c', { seed: source.events.slice(1) }), refusal('SEQ_MISMATCH'));
    assert.equal(store.get('c'), undefined);
  });
});

suite('store: feed', () => {
  test('tells each append once, after the commit, in order', () => {
    const store = new SessionStore();
    const heard: [string, number, number][] = [];
    store.on('session/event', (session, event) => heard.push([session.id, event.seq, session.seq]));
    const [a, b] = [store.create('a'), store.create('b')];
    say(a, '0');
    say(b, '0');
    say(a, '1');
    assert.deepEqual(heard, [['a', 0, 1], ['b', 0, 1], ['a', 1, 2]]);
  });

  test("a listener's failure reaches neither the appender nor other listeners, and is reported", async () => {
    const { store, reported } = watchedStore();
    let heard = 0;
    store.on('session/event', () => fail('sync'));
    store.on('session/event', () => Promise.reject(new Error('async')) as unknown as undefined);
    store.on('session/bytes', () => fail('bytes'));
    store.on('session/disposed', () => fail('end'));
    store.on('session/event', () => heard++);
    store.on('session/bytes', () => heard++);
    const session = store.create('a');
    assert.equal(say(session, 'hi').seq, 0);
    await store.flush(session);
    store.detach(session);
    assert.equal(heard, 2);
    const lines = reported.map(({ error, feed, id }) => `${feed} ${id} ${(error as Error).message}`);
    assert.deepEqual(lines.sort(), ['session/bytes a bytes', 'session/disposed a end', 'session/event a async', 'session/event a sync']);
  });

  test('an onError that throws harms nobody', (context) => {
    const printed = context.mock.method(console, 'error', () => undefined);
    const store = new SessionStore({ onError: () => fail('handler') });
    store.on('session/event', () => fail('listener'));
    assert.equal(say(store.create('a'), 'hi').seq, 0);
    assert.equal(printed.mock.callCount(), 1);
  });

  test('a listener that appends to the same session gets a clear error, and the log is whole', () => {
    const { store, reported } = watchedStore();
    const seqs: number[] = [];
    store.on('session/event', (session) => say(session, 'again'));
    store.on('session/event', (_session, { seq }) => seqs.push(seq));
    const session = store.create('a');
    say(session, 'one');
    say(session, 'two');
    assert.deepEqual(seqs, [0, 1]);
    assert.equal(session.deriveMessages().length, 2);
    for (const { error } of reported) refusal('REENTRANT_APPEND')(error);
    assert.equal(reported.length, 2);
  });

  test('a listener may append to another session', () => {
    const { store, reported } = watchedStore();
    const audit = store.create('audit');
    store.on('session/event', (session) => session !== audit && say(audit, session.id));
    say(store.create('a'), 'hi');
    assert.deepEqual([audit.seq, reported], [1, []]);
  });

  test('a listener that is taken off in the middle of a dispatch is not called any more', () => {
    const store = new SessionStore();
    const heard: string[] = [];
    store.on('session/event', () => {
      stop();
      stop();
      store.on('session/event', () => heard.push('late'));
    });
    const stop = store.on('session/event', () => heard.push('stopped'));
    const session = store.create('a');
    say(session, 'hi');
    assert.deepEqual(heard, []);
    say(session, 'hi');
    assert.deepEqual(heard, ['late']);
  });

  test('hands out the exact bytes in order, at the latest in a microtask', async () => {
    const store = new SessionStore();
    const got: Uint8Array[] = [];
    let next = 0;
    store.on('session/bytes', (_session, firstSeq, count, bytes) => {
      assert.equal(firstSeq, next);
      assert.equal(decode(bytes).split('\n').length, count + 1);
      next += count;
      got.push(bytes);
    });
    const session = store.create('a');
    runTurn(session, 1);
    await Promise.resolve();
    assert.equal(next, 6);
    runTurn(session, 2);
    await store.flush(session);
    assert.equal(next, 12);
    runTurn(session, 3);
    store.detach(session);
    assert.equal(next, 18);
    assert.equal(concat(got), decode(session.jsonl()));
  });

  test('bytes come to whoever listens, from the next append on', () => {
    const store = new SessionStore();
    const session = store.create('a');
    runTurn(session, 1);
    const firsts: number[] = [];
    const stop = store.on('session/bytes', (_session, firstSeq) => firsts.push(firstSeq));
    openTurn(session, 2);
    store.detach(session);
    stop();
    assert.deepEqual(firsts, [6]);
  });
});

suite('store: flush', () => {
  test('waits for every listener', async () => {
    const store = new SessionStore();
    const steps: string[] = [];
    let release = (): void => undefined;
    store.on('session/flush', async () => {
      await new Promise<void>((resolve) => (release = resolve));
      steps.push('slow');
    });
    store.on('session/flush', () => void steps.push('quick'));
    const flushed = store.flush(store.create('a')).then(() => steps.push('flushed'));
    await new Promise(setImmediate);
    assert.deepEqual(steps, ['quick']);
    release();
    await flushed;
    assert.deepEqual(steps, ['quick', 'slow', 'flushed']);
  });

  test('rejects with every failure once all have settled', async () => {
    const store = new SessionStore();
    let settled = false;
    store.on('session/flush', () => fail('disk'));
    store.on('session/flush', async () => {
      await new Promise(setImmediate);
      settled = true;
    });
    store.on('session/flush', () => Promise.reject(new Error('network')));
    await assert.rejects(store.flush(store.create('a')), (error: unknown) => {
      assert.ok(error instanceof FlushError && settled);
      assert.deepEqual(error.errors.map((cause) => (cause as Error).message), ['disk', 'network']);
      assert.ok(error.cause instanceof AggregateError);
      assert.deepEqual([error.code, error.session], ['FLUSH_FAILED', 'a']);
      assert.match(error.message, /disk; network/);
      return true;
    });
  });

  test('refuses what is not the live instance: prepared, detached, replaced, freed', async () => {
    const store = new SessionStore();
    const session = store.prepare('a');
    await assert.rejects(store.flush(session), refusal('SESSION_NOT_LIVE'));
    store.enter(session);
    await store.flush(session);
    store.detach(session);
    await assert.rejects(store.flush(session), refusal('SESSION_NOT_LIVE'));
    const later = store.create('a');
    await assert.rejects(store.flush(session), refusal('SESSION_NOT_LIVE', /not the live session/));
    later.free();
    await assert.rejects(store.flush(later), refusal('SESSION_NOT_LIVE'));
    await assert.rejects(new SessionStore().flush(store.create('b')), refusal('SESSION_NOT_LIVE'));
  });
});
