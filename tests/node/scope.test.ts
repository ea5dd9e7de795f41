// Scopes: who owns a session, who hears it, and how an owner ends.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { FlushError, type Session, type SessionOwner, SessionStore } from 'palimpsest';
import { refusal, runTurn, say } from '../support/sessions.js';

function listen(owner: SessionOwner, name: string, heard: string[]): void {
  const note = (what: string) => ({ id }: Session): void => void heard.push(`${name}: ${what} ${id}`);
  owner.on('session/created', note('created'));
  owner.on('session/event', note('event'));
  owner.on('session/bytes', note('bytes'));
  owner.on('session/flush', note('flush'));
  owner.on('session/disposed', note('disposed'));
}

suite('scopes', () => {
  test('a scope hears the whole feed of its own sessions and no other, the store hears all', async () => {
    const store = new SessionStore();
    const [one, two] = [store.scope('one'), store.scope('two')];
    const heard: string[] = [];
    listen(store, 'store', heard);
    listen(one, 'one', heard);
    listen(two, 'two', heard);

    const session = one.create('a');
    say(session, 'hi');
    await one.flush(session);
    one.detach(session);
    const feed = ['created a', 'event a', 'bytes a', 'flush a', 'disposed a'];
    assert.deepEqual(heard, feed.flatMap((what) => [`one: ${what}`, `store: ${what}`]));

    heard.length = 0;
    say(store.create('b'), 'hi');
    await Promise.resolve();
    assert.deepEqual(heard, ['store: created b', 'store: event b', 'store: bytes b']);
  });

  test('a scope answers for its own sessions, the store for all', () => {
    const store = new SessionStore();
    const [one, two] = [store.scope(), store.scope()];
    const [a, b, c] = [one.create('a'), two.create('b'), store.create('c')];
    assert.deepEqual([one.list(), two.list(), store.list()], [[a], [b], [a, b, c]]);
    assert.deepEqual([one.get('a'), one.get('b'), one.get('c'), store.get('b')], [a, undefined, undefined, b]);
    assert.notEqual(one.name, two.name);
    assert.throws(() => two.create('a'), refusal('SESSION_ALREADY_EXISTS'));
  });

  test('ownership is settled at enter, by whoever enters', async () => {
    const store = new SessionStore();
    const [one, two] = [store.scope(), store.scope()];
    const session = one.prepare('a');
    two.enter(session);
    one.announce(session);
    assert.deepEqual([one.list(), two.list()], [[], [session]]);

    const heard: string[] = [];
    listen(one, 'one', heard);
    listen(two, 'two', heard);
    say(session, 'hi');
    await one.flush(session);
    assert.deepEqual(heard, ['two: event a', 'two: bytes a', 'two: flush a']);
  });

  test('a child belongs to the scope that forks it', () => {
    const store = new SessionStore();
    const [one, two] = [store.scope(), store.scope()];
    const source = one.create('a');
    runTurn(source);
    const child = two.fork('a', undefined, 'b');
    assert.deepEqual([one.list(), two.list()], [[source], [child]]);
    assert.equal(child.header.parentSession, 'a');
  });
});

suite('the end of a scope', () => {
  test('flushes, then detaches in order, then drops the listeners', async () => {
    const store = new SessionStore();
    const scope = store.scope('agent');
    const heard: string[] = [];
    scope.on('session/flush', async ({ id }) => {
      heard.push(`flushing ${id}`);
      await new Promise(setImmediate);
      heard.push(`flushed ${id}`);
    });
    scope.on('session/disposed', ({ id }) => heard.push(`disposed ${id}`));
    store.on('session/disposed', ({ id }) => heard.push(`store: disposed ${id}`));
    const [a, b] = [scope.create('a'), scope.create('b')];
    const other = store.create('c');
    await scope.dispose();
    assert.deepEqual(heard, [
      ...['flushing a', 'flushing b', 'flushed a', 'flushed b'],
      ...['disposed a', 'store: disposed a', 'disposed b', 'store: disposed b'],
    ]);
    assert.deepEqual(store.list(), [other]);
    assert.deepEqual([a.disposed, b.disposed], [false, false]);
    heard.length = 0;
    store.enter(a);
    store.announce(a);
    store.detach(a);
    assert.deepEqual(heard, ['store: disposed a']);
  });

  test('has nothing to do with a session that has left before', async () => {
    const store = new SessionStore();
    const scope = store.scope();
    const heard: string[] = [];
    const session = scope.create('a');
    scope.detach(session);
    listen(store, 'store', heard);
    store.enter(session);
    await scope.dispose();
    assert.deepEqual([heard, store.list()], [[], [session]]);
  });

  test('takes nothing new from the first moment, and ends once', async () => {
    const store = new SessionStore();
    const scope = store.scope('agent');
    let release = (): void => undefined;
    scope.on('session/flush', () => new Promise((resolve) => (release = resolve)));
    scope.create('a');
    const ends = [scope.dispose(), scope.dispose()];
    assert.equal(ends[0], ends[1]);
    for (const verb of [() => scope.create('b'), () => scope.prepare('b'), () => scope.fork('a'), () => scope.on('session/event', () => undefined)]) {
      assert.throws(verb, refusal('CLOSED', /agent/));
    }
    assert.throws(() => scope.enter(store.prepare('b')), refusal('CLOSED'));
    release();
    await Promise.all(ends);
    await scope.dispose();
  });

  test('is disposed once, also when its own listeners dispose it or its store', async () => {
    const store = new SessionStore();
    const [scope, other] = [store.scope('agent'), store.scope('other')];
    const heard: string[] = [];
    const ends = new Set<Promise<void>>();
    const refused: unknown[] = [];
    scope.on('session/flush', ({ id }) => {
      heard.push(`flush ${id}`);
      ends.add(scope.dispose());
      void store.dispose();
      for (const owner of [scope, store, other]) {
        try {
          owner.create(`${id} late`);
        } catch (error) {
          refused.push((error as { code?: unknown }).code);
        }
      }
    });
    scope.on('session/disposed', ({ id }) => {
      heard.push(`disposed ${id}`);
      ends.add(scope.dispose());
    });
    for (const id of ['a', 'b']) scope.create(id);
    ends.add(scope.dispose());
    await Promise.all(ends);
    await store.dispose();
    assert.deepEqual(heard, ['flush a', 'flush b', 'disposed a', 'disposed b']);
    assert.equal(ends.size, 1);
    assert.deepEqual(refused, Array<string>(6).fill('CLOSED'));
    assert.deepEqual(store.list(), []);
  });

  test('detaches even what could not be flushed, and says so', async () => {
    const store = new SessionStore();
    const scope = store.scope('agent');
    scope.on('session/flush', ({ id }) => (id === 'b' ? Promise.reject(new Error('disk full')) : undefined));
    for (const id of ['a', 'b', 'c']) scope.create(id);
    await assert.rejects(scope.dispose(), (error: unknown) => {
      assert.ok(error instanceof FlushError);
      assert.match(error.message, /agent.*session "b".*disk full/);
      assert.equal(error.errors.length, 1);
      return true;
    });
    assert.deepEqual(store.list(), []);
  });

  test('the store ends with all its scopes', async () => {
    const store = new SessionStore();
    const ends: string[] = [];
    store.on('session/disposed', ({ id }) => ends.push(id));
    store.create('a');
    store.scope().create('b');
    store.scope().create('c');
    await store.dispose();
    assert.deepEqual([ends, store.list()], [['b', 'c', 'a'], []]);
    assert.throws(() => store.create('d'), refusal('CLOSED'));
    assert.throws(() => store.scope(), refusal('CLOSED'));
  });

  test('`Symbol.asyncDispose` is the same end', async () => {
    const store = new SessionStore();
    const scope = store.scope();
    scope.create('a');
    await scope[Symbol.asyncDispose]();
    assert.deepEqual(store.list(), []);
  });
});
