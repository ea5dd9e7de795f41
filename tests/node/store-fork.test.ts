// Forks through the store.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Session, SessionForkError, SessionStore } from 'palimpsest';
import { openTurn, refusal, runTurn, say } from '../support/sessions.js';

suite('store: fork', () => {
  test('begins with the events through the boundary, and goes its own way', () => {
    const store = new SessionStore();
    const source = store.create('a', { meta: { cwd: '/project' } });
    runTurn(source, 1);
    runTurn(source, 2);
    const child = store.fork('a', 5, 'b');
    assert.equal(store.get('b'), child);
    const { createdAt } = child.header;
    assert.deepEqual(child.header, { version: 0, id: 'b', createdAt, cwd: '/project', parentSession: 'a', seedLength: 6 });
    assert.deepEqual([...child.events], source.events.slice(0, 6));
    runTurn(child, 2);
    runTurn(source, 3);
    assert.deepEqual([child.seq, source.seq], [12, 18]);
    assert.equal(child.deriveMessages().length, 4);
    assert.equal(store.fork(source).header.seedLength, 18);
  });

  test('keeps its lineage when the fork is forked', () => {
    const store = new SessionStore();
    runTurn(store.create('a'));
    const grandchild = store.fork(store.fork('a', undefined, 'b'), 5, 'c');
    const { parentSession, seedLength } = grandchild.header;
    assert.deepEqual([parentSession, seedLength], ['b', 6]);
  });

  test('an empty session has an empty child', () => {
    const store = new SessionStore();
    const child = store.fork(store.create('a'));
    assert.deepEqual([child.seq, child.header.parentSession, child.header.seedLength], [0, 'a', 0]);
  });

  test('refuses in the order of its codes', () => {
    const store = new SessionStore();
    const source = store.create('a');
    runTurn(source, 1);
    openTurn(source, 2);
    const stranger = new SessionStore().create('a');
    const wrong: [SessionForkError['code'], () => unknown][] = [
      ['SESSION_ALREADY_EXISTS', () => store.fork('nobody', -7, 'a')],
      ['SESSION_ALREADY_EXISTS', () => store.fork(stranger, 99, 'a')],
      ['SESSION_NOT_FOUND', () => store.fork('nobody', 99, 'b')],
      ['SESSION_NOT_LIVE', () => store.fork(stranger, 99, 'b')],
      ['SESSION_NOT_LIVE', () => store.fork(new Session('a'))],
      ['INVALID_BOUNDARY', () => store.fork('a', 9)],
      ['INVALID_BOUNDARY', () => store.fork('a', -1)],
      ['INVALID_BOUNDARY', () => store.fork('a', 5.5)],
      ['INVALID_BOUNDARY', () => store.fork('a', NaN)],
      ['OPEN_TURN', () => store.fork('a', 4)],
      ['OPEN_TURN', () => store.fork('a')],
    ];
    for (const [code, fork] of wrong) {
      assert.throws(fork, (error: unknown) => error instanceof SessionForkError && refusal(code)(error));
    }
    assert.deepEqual(store.list(), [source]);
    assert.equal(store.fork('a', 5).seq, 6);
  });

  test('shares the storage of its source: 3,000 forks of a log of 20 MB', () => {
    const store = new SessionStore();
    const source = store.create('a');
    source.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } });
    for (let i = 0; i < 20; i++) say(source, 'x'.repeat(1_000_000));
    source.append('turn/end', { turn: 1, reason: { kind: 'completed' } });
    // Copies would need 60 GB, and the core can have 4.
    const forks = Array.from({ length: 3000 }, () => store.fork(source));
    assert.equal(forks.at(-1)?.seq, 22);
    for (const fork of forks) fork.free();
  });
});
