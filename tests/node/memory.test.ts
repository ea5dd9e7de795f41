/** A session's memory: given back, bounded, and used up without harm. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { freemem } from 'node:os';
import process from 'node:process';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type Message, Session, SessionStore } from 'palimpsest';
import { appendLoosely } from '../support/append.js';
import { say } from '../support/sessions.js';

const texts = (messages: readonly Message[]): string[] => messages.map(({ content }) => content.map((block) => ('text' in block ? block.text : block.type)).join('|'));

describe('memory', () => {
  it('says so when a freed session is used', () => {
    const session = new Session('s');
    say(session, 'a');
    session.free();
    session.free();
    assert.equal(session.disposed, true);
    for (const use of [() => say(session, 'b'), () => session.deriveMessages(), () => session.events[0], () => session.surface.nodes, () => session.jsonl(), () => session.at(0).messages()]) {
      assert.throws(use, { code: 'DISPOSED' });
    }
  });

  it('is given back: 200 rounds of create, append, dispose do not grow it', () => {
    const gc = globalThis.gc as () => void;
    const round = (): void => {
      const store = new SessionStore();
      const session = store.create();
      for (let n = 0; n < 200; n++) {
        session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', index: 0, text: 'x'.repeat(1000) } });
        say(session, 'y'.repeat(1000));
      }
      session.append('turn/end', { turn: 1, reason: { kind: 'completed' } });
      const child = store.fork(session);
      session.deriveMessages();
      child.deriveMessages();
      session.free();
      child.free();
    };
    for (let n = 0; n < 50; n++) round();
    gc();
    const before = process.memoryUsage();
    for (let n = 0; n < 200; n++) round();
    gc();
    const after = process.memoryUsage();
    assert.ok(after.arrayBuffers + after.external - before.arrayBuffers - before.external < 8e6, 'wasm memory');
    assert.ok(after.heapUsed - before.heapUsed < 8e6, 'heap');
  });

  it('holds 10,000 sessions, and 1,000,000 events in one', () => {
    const store = new SessionStore();
    for (let n = 0; n < 10_000; n++) say(store.create(), `session ${n}`);
    assert.equal(store.list().length, 10_000);
    assert.deepEqual(texts(store.get('session-7000')?.deriveMessages() ?? []), ['session 6999']);
    for (const session of store.list()) session.free();

    const session = new Session('large');
    for (let n = 0; n < 1_000_000; n++) {
      session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', index: 0, text: 'word ' } });
    }
    say(session, 'end');
    assert.equal(session.seq, 1_000_001);
    let seen = 0;
    for (const event of session.events) {
      if (event.seq !== seen++) assert.fail(`event ${event.seq} stands at ${seen - 1}`);
    }
    assert.equal(seen, 1_000_001);
    assert.deepEqual(texts(session.deriveMessages()), ['end']);
    session.free();
  });

  it('reads events of any size, though all of them together are more than a string holds', () => {
    const session = new Session('screenshots');
    const picture = 'x'.repeat(5_000_000);
    for (let n = 0; n < 110; n++) appendLoosely(session, 'x/picture', { n, picture });
    let seen = 0;
    for (const { seq, data } of session.events) {
      assert.equal(seq, seen++);
      assert.equal((data as unknown as { picture: string }).picture.length, picture.length);
    }
    assert.equal(seen, 110);
    session.free();
  });

  const room = 8e9;
  const enough = freemem() > room;
  it(`that is used up refuses what is new and harms nothing${enough ? '' : ` (skipped: it needs ${room / 1e9} GB free)`}`, { skip: !enough }, async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['target/tests/processes/memory-filler.js']);
    assert.deepEqual(JSON.parse(stdout), {
      appended: { alone: 'OUT_OF_MEMORY', waiting: 'OUT_OF_MEMORY', copied: 'OUT_OF_MEMORY', kept: true, other: true },
      read: { code: 'OUT_OF_MEMORY', kept: true },
      after: [0, 1, 2],
    });
  });
});
