/** The rules over live sessions, the faults that were seen in the field, and the requests of a model. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PalimpsestError, positionOf, Session, SessionReader, SessionStore } from 'palimpsest';
import { attachInvariants, checkLog, checkRequest, type Finding, InvariantError, requestDifference } from 'palimpsest/invariants';
import { Dice } from '../support/random.js';
import { answer, asks, block, bytesOf, call, chunk, compacting, custom, endStep, endTurn, type Entry, liveLog, logOf, replace, result, say, step, turn, write } from '../support/rules.js';
import { randomAgentSession, refusal } from '../support/sessions.js';

const open = [turn(1), step(1)];
const breaks = (rule: string) => (error: unknown): true => {
  assert.ok(error instanceof InvariantError, String(error));
  assert.equal(error.rule, rule);
  return true;
};

describe('attachInvariants', () => {
  it('replays the sessions that are there, and attaches to none when one is broken', () => {
    const store = new SessionStore();
    const right = liveLog(store, [turn(1), say(), endTurn(1)]);
    const wrong = liveLog(store, [turn(7)]);
    assert.throws(() => attachInvariants(store), breaks('TURN_NUMBER'));
    write(right, [turn(9)]);
    store.detach(wrong);
    store.detach(right);
    const reported: string[] = [];
    liveLog(store, [turn(1), endTurn(1)]);
    const detach = attachInvariants(store, { onFinding: ({ code }) => reported.push(code) });
    assert.throws(() => write(store.list()[0]!, [turn(1)]), breaks('TURN_NUMBER'));
    detach();
    write(store.list()[0]!, [turn(1)]);
    assert.deepEqual(reported, []);
  });

  it('reports what it replays in mode report', () => {
    const store = new SessionStore();
    const wrong = liveLog(store, [turn(7), say('')]);
    const reported: [string, Session][] = [];
    attachInvariants(store, { mode: 'report', onFinding: ({ code }, session) => reported.push([code, session]) });
    assert.deepEqual(reported, [['TURN_NUMBER', wrong], ['EMPTY_TEXT', wrong]]);
  });

  it('refuses a session that is created with a broken seed', () => {
    const store = new SessionStore();
    attachInvariants(store);
    const seed = logOf([turn(2)]).events;
    assert.throws(() => store.create('bad', { seed }), breaks('TURN_NUMBER'));
    assert.equal(store.get('bad'), undefined);
    assert.equal(store.create('good', { seed: logOf([turn(1)]).events }).seq, 1);
  });

  it('knows of a scope only what belongs to it', () => {
    const store = new SessionStore();
    const scope = store.scope();
    attachInvariants(scope);
    assert.throws(() => write(scope.create(), [turn(2)]), breaks('TURN_NUMBER'));
    write(store.create(), [turn(2)]);
  });

  it('checks forks, which begin with their parent', () => {
    const store = new SessionStore();
    attachInvariants(store);
    const parent = liveLog(store, [turn(1), say(), endTurn(1), turn(2), endTurn(2)]);
    const child = store.fork(parent, 2);
    assert.throws(() => write(child, [turn(3)]), breaks('TURN_NUMBER'));
    write(child, [turn(2), say()]);
    write(parent, [turn(3)]);
  });

  it('looks at each event alone, whatever waits', () => {
    const store = new SessionStore();
    const waiting = store.create();
    write(waiting, open);
    for (let n = 0; n < 100; n++) write(waiting, [chunk()]);
    attachInvariants(store);
    for (let n = 0; n < 100; n++) write(waiting, [chunk()]);
    assert.throws(() => write(waiting, [chunk(2)]), breaks('WRONG_STEP'));
    const other = new Session('detached');
    write(other, [custom()]);
    write(waiting, [chunk()]);
    assert.equal(waiting.seq, 203);
    assert.deepEqual(JSON.parse(new TextDecoder().decode(waiting.jsonl(202))), waiting.events[202]);
  });

  it("lets the session's own refusals come first", () => {
    const store = new SessionStore();
    attachInvariants(store);
    const session = liveLog(store, [turn(1), endTurn(1)]);
    assert.throws(() => write(session, [say('x', replace(0, 0))]), refusal('INVALID_REPLACE'));
    assert.throws(() => write(session, [['user/message', { content: [], source: { kind: 'user' } }, {}]]), refusal('MISSING_SURFACE_OP'));
    assert.throws(() => write(session, [['x/custom', { x: undefined }]]), refusal('INVALID_JSON_VALUE'));
    write(session, [turn(2)]);
  });

  it('contains a handler that throws, and refuses one that appends', async () => {
    const store = new SessionStore();
    const thrown: unknown[] = [];
    const uncaught = (error: unknown): void => void thrown.push(error);
    process.on('uncaughtException', uncaught);
    const console_ = console.error;
    console.error = (...parts: unknown[]) => thrown.push(parts.at(-1));
    try {
      attachInvariants(store, {
        mode: 'report',
        onFinding: (_, session) => {
          write(session, [custom()]);
        },
      });
      const session = liveLog(store, [turn(1), say('')]);
      assert.equal(session.seq, 2);
      await new Promise(setImmediate);
    } finally {
      console.error = console_;
      process.off('uncaughtException', uncaught);
    }
    assert.equal(thrown.length, 1);
    assert.ok(thrown[0] instanceof PalimpsestError && thrown[0].code === 'REENTRANT_APPEND', String(thrown[0]));
  });

  it('warns on the console when nobody listens', () => {
    const lines: string[] = [];
    const warn = console.warn;
    console.warn = (line: string) => lines.push(line);
    try {
      const store = new SessionStore();
      attachInvariants(store);
      liveLog(store, [turn(1), say('')]);
    } finally {
      console.warn = warn;
    }
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, /^palimpsest: session "session-1", seq 1: warning EMPTY_TEXT/);
  });

  it('may be attached twice', () => {
    const store = new SessionStore();
    const reported: string[] = [];
    const detach = attachInvariants(store, { mode: 'report', onFinding: ({ code }) => reported.push(code) });
    attachInvariants(store);
    const session = store.create();
    assert.throws(() => write(session, [turn(2)]), breaks('TURN_NUMBER'));
    write(session, [turn(1)]);
    detach();
    write(session, [endTurn(1)]);
    assert.deepEqual(reported, []);
  });

  it('lets go of sessions that leave', () => {
    const store = new SessionStore();
    attachInvariants(store);
    const session = liveLog(store, [turn(1)]);
    store.detach(session);
    write(session, [turn(5)]);
    const freed = liveLog(store, [turn(1)]);
    freed.free();
    assert.equal(store.list().length, 0);
  });
});

describe('faults from the field', () => {
  const paired = [turn(1), step(1), asks('a'), call('a'), result('a'), endStep(1)];
  const faults: [string, string, Entry[]][] = [
    ['32: a compaction keeps a result whose call it removes', 'REPLACE_SPLITS_PAIR', [turn(1), say(), step(1), asks('a'), call('a'), result('a'), endStep(1), say(), say('summary', replace(1, 3, [1, 3]))]],
    ['34: a compaction takes what stands before a call that waits', '', [turn(1), say(), step(1), asks('a'), say('summary', replace(1, 1))]],
    ['35: a result lands on another branch', 'RESULT_WITHOUT_CALL', [turn(1), endTurn(1), turn(2), step(1, 2), result('a', [1, 2])]],
    ['37: the message is lost, the result is not', 'RESULT_WITHOUT_CALL', [turn(1), step(1), result('a')]],
    ['38: two calls of one message have one id', 'CALL_ID_DUPLICATE', [turn(1), step(1), asks('a', 'a')]],
    ['38: two calls of two turns have one id', 'CALL_ID_DUPLICATE', [...paired, endTurn(1), turn(2), step(1, 2), answer([block('a')], [1, 2])]],
    ['40: a call that waits for approval is never answered', 'CALL_WITHOUT_RESULT', [turn(1), step(1), asks('a'), call('a'), ['approval/asked', { callId: 'a' }], endStep(1)]],
    ['41: a call without arguments', 'CALL_MALFORMED', [turn(1), step(1), answer([{ type: 'tool-call', id: 'a', name: 'run' }])]],
    ['42: a word between a call and its result', '', [turn(1), step(1), asks('a'), call('a'), say('wait'), result('a')]],
    ['44: a plugin is reloaded during a call', 'CALL_WITHOUT_RESULT', [turn(1), step(1), asks('a'), call('a'), endStep(1)]],
    ['45: a result holds text', '', paired],
    ['50: an empty text beside a call', 'EMPTY_TEXT', [turn(1), step(1), answer([{ type: 'text', text: '' }, block('a')])]],
    ['50: an empty result', 'EMPTY_TEXT', [turn(1), step(1), asks('a'), call('a'), result('a', [1, 1], { content: [{ type: 'text', text: '' }] })]],
    ['51: an answer without content', '', [turn(1), step(1), answer([])]],
    ['53: a call is dropped out of its message', 'REPLACE_SPLITS_PAIR', [...paired, answer([{ type: 'reasoning', text: 'signed' }], [1, 1], replace(2, 2))]],
    ['54: a picture of 6 MB', 'OVERSIZED_BLOB', [turn(1), ['user/message', { content: [{ type: 'image', data: 'A'.repeat(6_000_000) }], source: { kind: 'user' } }, { surfaceOp: 'append' }]]],
  ];
  for (const [name, code, log] of faults) {
    it(name, () => {
      const found = checkLog(logOf(log)).filter((finding: Finding) => !finding.code.endsWith('_AT_END'));
      assert.deepEqual(found.map((finding) => finding.code), code === '' ? [] : [code]);
    });
  }
});

describe('checkRequest', () => {
  const system = { role: 'system', content: [{ type: 'text', text: 'before all' }] } as const;

  /** A session in an open step, whose header was recorded. */
  function asking(): Session {
    const session = logOf([turn(1), say('one'), say('two'), step(1)]);
    session.recordRequestHeader({ config: { model: 'm' }, system: 'Be brief.', tools: [{ name: 't', parameters: { type: 'object', a: 1 } }], messagePrefix: [system] });
    return session;
  }

  it('accepts what the log reconstructs', () => {
    const session = asking();
    const request = session.at(session.seq - 1).request();
    checkRequest(session, request);
    checkRequest(session, structuredClone(request));
    // The prefix may stand apart, and what is absent may be undefined.
    const [, ...messages] = request.messages;
    assert.equal(requestDifference(session, { ...request, messagePrefix: [system], messages }), undefined);
    write(session, [asks('a')]);
    checkRequest(session, request);
    checkRequest(logOf([turn(1), step(1)]), { messages: [] });
    checkRequest(logOf([turn(1), step(1)]), { messages: [], system: '', tools: [] });
  });

  for (const [name, path, alter] of [
    ['another text', 'messages[1].content[0].text', (request) => (request.messages[1].content[0].text = 'uno')],
    ['a message less', 'messages[2]', (request) => request.messages.pop()],
    ['a message more', 'messages[3]', (request) => request.messages.push(structuredClone(system))],
    ['another order', 'messages[1].content[0].text', (request) => request.messages.push(request.messages.splice(1, 1)[0])],
    ['a block more', 'messages[1].content[1]', (request) => request.messages[1].content.push({ type: 'text', text: 'x' })],
    ['another role', 'messages[1].role', (request) => (request.messages[1].role = 'assistant')],
    ['another model', 'config.model', (request) => (request.config.model = 'n')],
    ['an option more', 'config.temperature', (request) => (request.config.temperature = 0)],
    ['another system prompt', 'system', (request) => (request.system = 'Be kind.')],
    ['no tools', 'tools', (request) => delete request.tools],
    ['a schema with other keys', 'tools[0].parameters.a', (request) => (request.tools![0].parameters = { type: 'object' })],
    ['a schema with its keys in another order', 'tools', (request) => (request.tools![0].parameters = { a: 1, type: 'object' })],
  ] as [string, string, (request: LooseRequest) => unknown][]) {
    it(`refuses ${name}`, () => {
      const session = asking();
      const request = structuredClone(session.at(session.seq - 1).request()) as unknown as LooseRequest;
      alter(request);
      assert.throws(() => checkRequest(session, request as never), (error) => {
        assert.ok(breaks('REQUEST_MISMATCH')(error));
        assert.ok((error as Error).message.includes(`: ${path}: `), (error as Error).message);
        return true;
      });
    });
  }

  it('holds at every step of random sessions', () => {
    let requests = 0;
    for (let seed = 0; seed < 300; seed++) {
      const session = randomAgentSession(new Dice(seed));
      for (const { type, seq } of session.events) {
        if (type !== 'step/start') continue;
        checkRequest(session, JSON.parse(JSON.stringify(session.at(seq).request())) as never, seq);
        requests++;
      }
      session.free();
    }
    assert.ok(requests > 1000);
  });
});

interface LooseRequest {
  config: Record<string, unknown>;
  system?: string;
  tools?: [{ parameters: object }, ...object[]];
  messages: [unknown, { role: string; content: [{ text: string }, ...object[]] }, ...unknown[]];
}

it('positionOf says where a log stands', () => {
  const at = (...entries: Entry[]) => positionOf(logOf(entries));
  const none = { turn: 0, turnOpen: false, step: 0, stepOpen: false, compaction: undefined };
  assert.deepEqual(at(), none);
  assert.deepEqual(at(turn(1)), { ...none, turn: 1, turnOpen: true });
  assert.deepEqual(at(turn(1), step(1), endStep(1)), { ...none, turn: 1, turnOpen: true, step: 1 });
  assert.deepEqual(at(turn(1), step(1), chunk()), { ...none, turn: 1, turnOpen: true, step: 1, stepOpen: true });
  assert.deepEqual(at(turn(1), compacting()), { ...none, turn: 1, turnOpen: true, compaction: 1 });
  assert.deepEqual(at(turn(1), compacting(), endTurn(1)), { ...none, turn: 1 });
  const reader = new SessionReader();
  reader.push(bytesOf(logOf([turn(1), step(1)])));
  assert.equal(positionOf(reader.finish().session).stepOpen, true);
});
