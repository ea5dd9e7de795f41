/** A session through its public face: rules of append, the list of events, time travel. */

import assert from 'node:assert/strict';
import process from 'node:process';
import { describe, it } from 'node:test';
import {
  isSurfaceEligibleType,
  isSurfaceEvent,
  PalimpsestError,
  Session,
  SESSION_FORMAT_VERSION,
  SessionReader,
  SessionStore,
  type ChangeCursor,
  type EpochHeader,
  type ErrorCode,
  type Message,
  type SessionEvent,
} from 'palimpsest';
import { appendLoosely } from '../support/append.js';
import { Dice } from '../support/random.js';

const user = { kind: 'user' } as const;
const text = (content: string) => [{ type: 'text', text: content } as const];
const say = (session: Session, content: string): number => session.append('user/message', { content: text(content), source: user }, { surfaceOp: 'append' }).seq;
const answer = (session: Session, content: string): number => session.append('assistant/message', { turn: 1, step: 1, content: text(content) }, { surfaceOp: 'append' }).seq;
const texts = (messages: readonly Message[]): string[] => messages.map(({ content }) => content.map((block) => ('text' in block ? block.text : block.type)).join('|'));

function reload(session: Session): Session {
  const reader = new SessionReader();
  reader.push(session.headerLine());
  reader.push(session.jsonl());
  return reader.finish().session;
}

describe('append', () => {
  function fixture(): Session {
    const session = new Session('s');
    for (const content of ['zero', 'one', 'two', 'three']) say(session, content);
    session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', index: 0, text: 'four' } });
    // The summary has the highest seq and stands second.
    session.append('user/message', { content: text('summary'), source: user }, { surfaceOp: { op: 'replace', start: 1, end: 2 }, sourceEventSeqs: [1, 2] });
    return session;
  }
  const message = { content: [], source: user };
  const replace = (start: unknown, end: unknown) => ({ op: 'replace', start, end });
  const rules: [string, ErrorCode, unknown, unknown, unknown][] = [
    ['a surface type without intent', 'MISSING_SURFACE_OP', 'user/message', message, undefined],
    ['a surface type with an empty intent', 'MISSING_SURFACE_OP', 'user/message', message, {}],
    ['a log-only type with surfaceOp', 'UNEXPECTED_SURFACE_FIELDS', 'turn/start', { turn: 1 }, { surfaceOp: 'append' }],
    ['a chunk with surfaceOp', 'UNEXPECTED_SURFACE_FIELDS', 'assistant/chunk', {}, { surfaceOp: 'append' }],
    ['a custom type with sourceEventSeqs', 'UNEXPECTED_SURFACE_FIELDS', 'x/custom', {}, { sourceEventSeqs: [0] }],
    ['an unknown surfaceOp', 'INVALID_SURFACE_OP', 'user/message', message, { surfaceOp: 'prepend' }],
    ['a replace without end', 'INVALID_SURFACE_OP', 'user/message', message, { surfaceOp: { op: 'replace', start: 0 } }],
    ['a replace with half a seq', 'INVALID_SURFACE_OP', 'user/message', message, { surfaceOp: replace(0, 0.5) }],
    ['a source that is no seq', 'INVALID_SOURCES', 'user/message', message, { surfaceOp: 'append', sourceEventSeqs: ['0'] }],
    ['a source twice', 'INVALID_SOURCES', 'user/message', message, { surfaceOp: 'append', sourceEventSeqs: [1, 0, 1] }],
    ['the event itself as its source', 'INVALID_SOURCES', 'user/message', message, { surfaceOp: 'append', sourceEventSeqs: [6] }],
    ['a source to come', 'INVALID_SOURCES', 'user/message', message, { surfaceOp: 'append', sourceEventSeqs: [99] }],
    ['empty sources', 'INVALID_SOURCES', 'user/message', message, { surfaceOp: 'append', sourceEventSeqs: [] }],
    ['a replace from a shadowed node', 'INVALID_REPLACE', 'user/message', message, { surfaceOp: replace(1, 3), sourceEventSeqs: [1, 3, 5] }],
    ['a replace to a log-only event', 'INVALID_REPLACE', 'user/message', message, { surfaceOp: replace(0, 4), sourceEventSeqs: [0, 4] }],
    ['a replace to an event to come', 'INVALID_REPLACE', 'user/message', message, { surfaceOp: replace(0, 77), sourceEventSeqs: [0] }],
    ['a replace that is reversed by position, though not by seq', 'INVALID_REPLACE', 'user/message', message, { surfaceOp: replace(3, 5), sourceEventSeqs: [3, 5] }],
    ['a replace that does not name what it shadows', 'INVALID_SOURCES', 'user/message', message, { surfaceOp: replace(0, 3), sourceEventSeqs: [0, 3] }],
    ['a replace without sources', 'INVALID_SOURCES', 'user/message', message, { surfaceOp: replace(0, 0) }],
    ['content that is no list', 'INVALID_PAYLOAD', 'user/message', { content: 'text', source: user }, { surfaceOp: 'append' }],
    ['a payload that is no object', 'INVALID_PAYLOAD', 'assistant/message', [], { surfaceOp: 'append' }],
    ['a result without its call id', 'INVALID_PAYLOAD', 'tool/result', { content: [] }, { surfaceOp: 'append' }],
    ['context without a source kind', 'INVALID_PAYLOAD', 'context/message', { content: [], source: {} }, { surfaceOp: 'append' }],
    ['an empty type', 'INVALID_TYPE', '', {}, undefined],
    ['a type that is no string', 'INVALID_TYPE', 7, {}, undefined],
  ];
  for (const [what, code, type, data, intent] of rules) {
    it(`refuses ${what}: ${code}`, () => {
      const session = fixture();
      const before = { seq: session.seq, bytes: session.jsonl(), nodes: session.surface.nodes, messages: session.deriveMessages() };
      assert.throws(() => appendLoosely(session, type, data, intent), (error) => {
        assert.ok(error instanceof PalimpsestError);
        assert.equal(error.code, code);
        assert.ok(error.message.includes('"s"'), error.message);
        return true;
      });
      assert.deepEqual({ seq: session.seq, bytes: session.jsonl(), nodes: session.surface.nodes, messages: session.deriveMessages() }, before);
      say(session, 'goes on');
      assert.deepEqual(texts(session.deriveMessages()), ['zero', 'summary', 'three', 'goes on']);
    });
  }

  it('accepts empty sources on an assistant message: a stream that is known to be empty', () => {
    const session = new Session('s');
    session.append('assistant/message', { turn: 1, step: 1, content: [] }, { surfaceOp: 'append', sourceEventSeqs: [] });
    assert.deepEqual(session.events[0]?.sourceEventSeqs, []);
    assert.deepEqual(session.deriveMessages(), []);
    assert.equal(session.surface.nodes.length, 1);
  });

  it('writes the keys in the order of the format', () => {
    const session = new Session('s');
    say(session, 'a');
    const event = session.append('user/message', { content: [], source: user }, { sourceEventSeqs: [0], surfaceOp: { op: 'replace', start: 0, end: 0 } });
    assert.deepEqual(Object.keys(event), ['type', 'seq', 'time', 'data', 'sourceEventSeqs', 'surfaceOp']);
    assert.deepEqual(Object.keys(session.events.at(-1) as object), ['type', 'seq', 'time', 'data', 'sourceEventSeqs', 'surfaceOp']);
    assert.equal(JSON.stringify(event), JSON.stringify(JSON.parse(new TextDecoder().decode(session.jsonl(1)))));
  });

  it('reads the intent before it takes a seq: a getter in it that appends comes first', () => {
    const session = new Session('s');
    say(session, 'zero');
    const event = appendLoosely(session, 'user/message', { content: text('x'), source: user }, {
      surfaceOp: 'append',
      get sourceEventSeqs() {
        appendLoosely(session, 'x/inner', {});
        return [0];
      },
    });
    assert.equal(event.seq, 2);
    assert.equal(session.seq, 3);
    assert.deepEqual(session.events.map(({ type }) => type), ['user/message', 'x/inner', 'user/message']);
    assert.deepEqual(reload(session).events.map(({ seq }) => seq), [0, 1, 2]);
  });

  it('does not let sessions mix, whatever waits in either', () => {
    const sessions = Array.from({ length: 5 }, (_, index) => new Session(`s${index}`));
    const dice = new Dice(3);
    for (let round = 0; round < 3000; round++) {
      const session = dice.pick(sessions);
      if (dice.chance(0.8)) appendLoosely(session, 'x/custom', { of: session.id, at: session.seq, text: dice.text() });
      else if (dice.chance(0.5)) say(session, session.id);
      else assert.throws(() => appendLoosely(session, 'x/custom', { bad: undefined }));
    }
    for (const session of sessions) {
      const again = reload(session);
      assert.equal(again.seq, session.seq);
      for (const event of again.events) {
        const data = event.data as unknown as { of?: string; at?: number };
        if ((event.type as string) === 'x/custom') assert.deepEqual([data.of, data.at], [session.id, event.seq]);
      }
      assert.deepEqual(again.deriveMessages(), session.deriveMessages());
    }
  });
});

describe('seeds', () => {
  const event = (seq: number, more: object = {}): SessionEvent => ({ type: 'turn/start', seq, time: 1, data: { turn: 1, trigger: { kind: 'message', source: user } }, ...more });
  const refused: [string, ErrorCode, unknown[]][] = [
    ['a gap', 'SEQ_MISMATCH', [event(0), event(2)]],
    ['a seq twice', 'SEQ_MISMATCH', [event(0), event(0)]],
    ['a start at one', 'SEQ_MISMATCH', [event(1)]],
    ['a message without its marker', 'MISSING_SURFACE_OP', [{ ...event(0), type: 'user/message', data: { content: [], source: user } }]],
    ['a value that JSON loses', 'INVALID_JSON_VALUE', [event(0), event(1, { data: { turn: NaN } })]],
    ['a replace of nothing', 'INVALID_REPLACE', [{ ...event(0), type: 'user/message', data: { content: [], source: user }, surfaceOp: { op: 'replace', start: 0, end: 0 } }]],
    ['an event without a time', 'CORRUPT_LOG', [{ type: 'x', seq: 0, data: 1 }]],
    ['no event at all', 'CORRUPT_LOG', [7]],
  ];
  for (const [what, code, seed] of refused) {
    it(`with ${what} are refused: ${code}`, () => {
      assert.throws(() => new Session('s', seed as SessionEvent[]), { code });
    });
  }

  it('keep members that this build does not know', () => {
    const session = new Session('s', [event(0, { ignorable: true })]);
    assert.deepEqual({ ...session.events[0] }, event(0, { ignorable: true }));
    assert.ok(new TextDecoder().decode(session.jsonl()).includes('"ignorable":true'));
  });
});

describe('headers', () => {
  it('are made, frozen, and refused when they are not one', () => {
    const { header } = new Session('s');
    assert.equal(header.version, SESSION_FORMAT_VERSION);
    assert.equal(header.id, 's');
    assert.ok(Number.isInteger(header.createdAt));
    assert.ok(Object.isFrozen(header));
    assert.deepEqual(Object.keys(header), ['version', 'id', 'createdAt']);
    assert.throws(() => new Session('s', [], { version: 1, id: 's', createdAt: 0 }), { code: 'UNSUPPORTED_VERSION' });
    assert.throws(() => new Session('s', [], { version: 0, id: 't', createdAt: 0 }), { code: 'INVALID_HEADER' });
    assert.throws(() => new Session('s', [], { version: 0, id: 's', createdAt: 'now' } as never), { code: 'INVALID_HEADER' });
    assert.throws(() => new Session(''), { code: 'INVALID_ID' });
  });
});

describe('events', () => {
  it('behave as a read-only array', () => {
    const session = new Session('s');
    for (let n = 0; n < 1000; n++) appendLoosely(session, 'x/custom', n);
    const { events } = session;
    assert.equal(Array.isArray(events), true);
    for (const settle of [() => undefined, () => session.jsonl(0, 0)]) {
      settle();
      assert.equal(events.length, 1000);
      assert.equal(events.at(-1)?.data, 999 as never);
      assert.equal(events[1000], undefined);
      assert.equal(events[-1], undefined);
      assert.deepEqual(events.slice(3, 5).map((event) => event.seq), [3, 4]);
      assert.equal(events.filter((event) => event.seq % 2 === 0).length, 500);
      assert.equal([...events].length, 1000);
      assert.equal(events.find((event) => event.seq > 10)?.seq, 11);
      assert.deepEqual(JSON.parse(JSON.stringify(events)), [...events]);
      assert.deepEqual(events, [...events]);
      assert.equal(1000 in events, false);
      assert.equal(999 in events, true);
      assert.deepEqual(Object.keys(events).length, 1000);
    }
    assert.throws(() => { (events as SessionEvent[])[0] = events[1]!; }, TypeError);
    assert.throws(() => (events as SessionEvent[]).push(events[1]!), TypeError);
    const held = events[7];
    for (let n = 0; n < 1000; n++) assert.ok(events[n]);
    assert.equal(events[7], held, 'what is held is given out again');
  });

  it('are narrowed by their markers', () => {
    const session = new Session('s');
    say(session, 'a');
    session.append('turn/end', { turn: 1, reason: { kind: 'completed' } });
    assert.deepEqual(session.events.map((event) => isSurfaceEvent(event)), [true, false]);
    assert.equal(isSurfaceEligibleType('tool/result'), true);
    assert.equal(isSurfaceEligibleType('tool/call'), false);
  });
});

describe('derivation', () => {
  it('shares frozen messages in a fresh array, and projects each node once', () => {
    const session = new Session('s');
    say(session, 'a');
    const [first] = session.deriveMessages();
    say(session, 'b');
    const later = session.deriveMessages();
    assert.equal(later[0], first);
    assert.notEqual(later, session.deriveMessages());
    assert.ok(Object.isFrozen(first) && Object.isFrozen(first?.content) && Object.isFrozen(first?.content[0]));
    session.append('user/message', { content: text('ab'), source: user }, { surfaceOp: { op: 'replace', start: 1, end: 1 }, sourceEventSeqs: [1] });
    assert.equal(session.deriveMessages()[0], first, 'a replace re-projects the new node only');
    assert.deepEqual(texts(session.deriveMessages()), ['a', 'ab']);
  });

  it('tells a rewrite by the generation, which never falls', () => {
    const session = new Session('s');
    say(session, 'a');
    assert.equal(session.surface.replaceGeneration, 0);
    session.append('user/message', { content: text('b'), source: user }, { surfaceOp: { op: 'replace', start: 0, end: 0 }, sourceEventSeqs: [0] });
    assert.equal(session.surface.replaceGeneration, 1);
    session.surface.invalidate();
    assert.equal(session.surface.replaceGeneration, 2);
    assert.deepEqual(texts(session.deriveMessages()), ['b']);
    assert.deepEqual(session.surface.nodes, [{ seq: 1, prev: null, next: null }]);
  });

  it('tells what has changed, so that a copy can be patched', () => {
    const dice = new Dice(6);
    for (let round = 0; round < 200; round++) {
      const session = new Session('c');
      const readers = Array.from({ length: 3 }, () => ({ copy: [] as Message[], cursor: undefined as ChangeCursor | undefined }));
      for (let step = 0; step < 30; step++) {
        growRandomly(session, dice, 1 + dice.below(3));
        for (const reader of readers) {
          if (dice.chance(0.4)) continue;
          const { at, removed, inserted, cursor } = session.changesSince(reader.cursor);
          reader.copy.splice(at, removed, ...inserted);
          reader.cursor = cursor;
          assert.deepEqual(reader.copy, session.deriveMessages());
        }
      }
    }
    const session = new Session('c');
    for (let n = 0; n < 100; n++) say(session, `${n}`);
    const { cursor } = session.changesSince();
    assert.deepEqual(session.changesSince(cursor).inserted, []);
    session.append('user/message', { content: text('ten to nineteen'), source: user }, { surfaceOp: { op: 'replace', start: 10, end: 19 }, sourceEventSeqs: Array.from({ length: 10 }, (_, n) => n + 10) });
    const { at, removed, inserted } = session.changesSince(cursor);
    assert.deepEqual([at, removed, texts(inserted)], [10, 10, ['ten to nineteen']], 'no more than what has changed');
    const other = new Session('d');
    say(other, 'x');
    assert.deepEqual(texts(other.changesSince(cursor).inserted), ['x'], 'a cursor of another session starts anew');
    assert.equal(other.changesSince(cursor).removed, 100);
  });

  it('tells a change in time that does not grow with the surface, whether or not a node yields no message', () => {
    const session = new Session('c');
    session.append('assistant/message', { turn: 1, step: 1, content: [] }, { surfaceOp: 'append' });
    let { cursor } = session.changesSince();
    /** Processor time of 500 changes at the end of a surface of so many nodes: the least of three. */
    const changes = (nodes: number): number => {
      for (let n = session.surface.nodes.length; n < nodes; n++) say(session, 'a');
      ({ cursor } = session.changesSince());
      return Math.min(...[1, 2, 3].map(() => {
        const start = process.cpuUsage();
        for (let n = 0; n < 500; n++) {
          const seq = say(session, 'b');
          session.append('user/message', { content: text('c'), source: user }, { surfaceOp: { op: 'replace', start: seq, end: seq }, sourceEventSeqs: [seq] });
          const { removed, inserted, cursor: next } = session.changesSince(cursor);
          cursor = next;
          assert.equal(removed, 0);
          assert.deepEqual(texts(inserted), ['c']);
        }
        return process.cpuUsage(start).user;
      }));
    };
    changes(1000);
    const [short, long] = [changes(2000), changes(100_000)];
    // Where every node is looked at, it is fifty times as much.
    assert.ok(long < 10 * short, `${short} µs became ${long} µs`);
  });

  it('is the same on the snapshot and on the text, over random sessions', () => {
    const dice = new Dice(4);
    for (let round = 0; round < 300; round++) {
      const session = randomSession(dice, 40);
      const again = reload(session);
      assert.deepEqual(again.deriveMessages(), session.deriveMessages());
      assert.equal(JSON.stringify(again.deriveMessages()), JSON.stringify(session.deriveMessages()));
      assert.deepEqual(again.surface.nodes, session.surface.nodes);
      assert.deepEqual(session.deriveMessages(), session.at(session.seq - 1).messages());
      const cut = dice.below(session.seq);
      const prefix = new Session('p', session.events.slice(0, cut + 1));
      assert.deepEqual(session.at(cut).messages(), prefix.deriveMessages());
      assert.deepEqual(session.at(cut).surface.nodes, prefix.surface.nodes);
      assert.equal(session.at(cut).surface.replaceGeneration, prefix.surface.replaceGeneration);
      for (const one of [session, again, prefix]) one.free();
    }
  });
});

/** A session of random surface events and replaces. */
function randomSession(dice: Dice, length: number): Session {
  const session = new Session('r');
  growRandomly(session, dice, length);
  return session;
}

function growRandomly(session: Session, dice: Dice, by: number): void {
  const length = session.seq + by;
  while (session.seq < length) {
    const content = Array.from({ length: dice.below(3) }, () => ({ type: 'text' as const, text: dice.text(8) }));
    const source = { kind: dice.pick(['user', '"quoted"', 'é\ud83d']) } as never;
    const { nodes } = session.surface;
    let intent: unknown = { surfaceOp: 'append' };
    if (nodes.length > 0 && dice.chance(0.25)) {
      const from = dice.below(nodes.length);
      const to = Math.min(nodes.length - 1, from + dice.below(4));
      const seqs = nodes.slice(from, to + 1).map((node) => node.seq);
      intent = { surfaceOp: { op: 'replace', start: seqs[0], end: seqs.at(-1) }, sourceEventSeqs: seqs.reverse() };
    }
    const type = dice.pick(['user/message', 'assistant/message', 'tool/result', 'context/message', 'steering/message', 'x/custom']);
    if (type === 'x/custom') appendLoosely(session, type, dice.json(2));
    else if (type === 'assistant/message') appendLoosely(session, type, { turn: 1, step: 1, content }, intent);
    else if (type === 'tool/result') appendLoosely(session, type, { turn: 1, step: 1, callId: dice.text(4), content, isError: dice.chance(0.5) }, intent);
    else appendLoosely(session, type, { turn: 1, content, source }, intent);
    if (dice.chance(0.2)) session.deriveMessages();
  }
}

describe('forks', () => {
  it('share what they have in common and nothing after', () => {
    const dice = new Dice(5);
    for (let round = 0; round < 100; round++) {
      const store = new SessionStore();
      const parent = store.create('parent', { seed: randomSession(dice, 15).events });
      parent.append('turn/end', { turn: 1, reason: { kind: 'completed' } });
      if (dice.chance(0.7)) parent.deriveMessages();
      const boundary = parent.seq - 1;
      const expected = { messages: texts(parent.deriveMessages()), nodes: parent.surface.nodes };
      if (dice.chance(0.5)) say(parent, 'before the fork, after the boundary');
      const child = store.fork(parent, boundary);
      const order = dice.chance(0.5) ? [parent, child] : [child, parent];
      for (const one of order) {
        say(one, `of ${one.id}`);
        const [head] = one.surface.nodes;
        if (head !== undefined && dice.chance(0.5)) {
          one.append('user/message', { content: text(`replaced in ${one.id}`), source: user }, { surfaceOp: { op: 'replace', start: head.seq, end: head.seq }, sourceEventSeqs: [head.seq] });
        }
      }
      for (const one of [parent, child]) {
        const again = reload(one);
        assert.deepEqual(one.deriveMessages(), again.deriveMessages());
        assert.deepEqual(one.surface.nodes, again.surface.nodes);
      }
      assert.deepEqual(texts(child.at(boundary).messages()), expected.messages);
      assert.deepEqual(child.at(boundary).surface.nodes, expected.nodes);
      parent.free();
      assert.deepEqual(texts(child.at(boundary).messages()), expected.messages, 'a child outlives its parent');
    }
  });
});

describe('time travel', () => {
  const header: EpochHeader = { config: { model: 'm' }, system: 'You are.', tools: [{ name: 't', parameters: {} }], messagePrefix: [{ role: 'user', content: text('prefix') }] };
  function agent(): Session {
    const session = new Session('s');
    session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: user } });
    say(session, 'question');
    session.append('step/start', { turn: 1, step: 1 });
    session.recordRequestHeader(header);
    session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', index: 0, text: 'answer' } });
    answer(session, 'answer');
    session.append('step/end', { turn: 1, step: 1 });
    session.append('step/start', { turn: 1, step: 2 });
    session.recordRequestHeader({ ...header, system: 'You were.' });
    answer(session, 'more');
    session.append('step/end', { turn: 1, step: 2 });
    session.append('turn/end', { turn: 1, reason: { kind: 'completed' } });
    return session;
  }

  it("gives a step's request: its own header, and the messages from before it", () => {
    const session = agent();
    for (const seq of [2, 3, 4, 5]) {
      const { messages, ...rest } = session.at(seq).request();
      assert.deepEqual(texts(messages), ['prefix', 'question']);
      assert.deepEqual(rest, { config: header.config, system: 'You are.', tools: header.tools });
    }
    for (const seq of [7, 8, 9]) {
      const { messages, system } = session.at(seq).request();
      assert.deepEqual(texts(messages), ['prefix', 'question', 'answer']);
      assert.equal(system, 'You were.');
    }
    assert.deepEqual(texts(session.at(session.seq - 1).request().messages), ['prefix', 'question', 'answer', 'more']);
    assert.deepEqual(session.at(6).request().system, 'You are.');
    assert.deepEqual(session.at(-1).request(), { messages: [] });
  });

  it('is inclusive, and refuses what is outside the log', () => {
    const session = agent();
    assert.deepEqual(session.at(0).messages(), []);
    assert.deepEqual(texts(session.at(1).messages()), ['question']);
    assert.deepEqual(session.at(-1).surface.nodes, []);
    for (const seq of [-2, session.seq, 0.5, NaN]) assert.throws(() => session.at(seq), { code: 'INVALID_SEQ' });
  });

  it('records headers as the smallest event that says them', () => {
    const session = agent();
    assert.equal(session.recordRequestHeader({ ...header, system: 'You were.' }), undefined);
    assert.equal(session.recordRequestHeader({ ...header, system: 'You were.', tools: [], messagePrefix: [] })?.type, 'request/header-delta');
    assert.deepEqual(session.requestHeader(), { config: header.config, system: 'You were.' });
    const two = [{ name: 'a', parameters: {} }, { name: 'b', parameters: {} }];
    session.recordRequestHeader({ config: {}, tools: two });
    const swapped = session.recordRequestHeader({ config: {}, tools: [...two].reverse() });
    assert.equal(swapped?.type, 'request/header');
    assert.deepEqual(swapped.data, { header: { config: {}, tools: [...two].reverse() }, reason: 'fallback' });
    const again = reload(session);
    const resumed = again.recordRequestHeader({ config: { model: 'other' } });
    assert.deepEqual(resumed?.data, { header: { config: { model: 'other' } }, reason: 'resume' });
    assert.deepEqual(new Session('new').recordRequestHeader(header)?.data, { header, reason: 'initial' });
  });
});
