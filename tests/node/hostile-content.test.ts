// Content that is no content: a log may hold it, so everything that reads messages must bear it.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type ContentBlock, type ModelRequest, PalimpsestError, Session, SessionReader, SessionStore } from 'palimpsest';
import { modelMessages } from 'palimpsest/ai-sdk';
import { messagesRequest } from 'palimpsest/anthropic';
import { compactIfNeeded, compactRegion, estimateTokens, pruneToolResults } from 'palimpsest/compaction';
import { requestDifference } from 'palimpsest/invariants';
import { PalimpsestSaver } from 'palimpsest/langgraph';
import { type Notice, chatRequest, responsesRequest } from 'palimpsest/openai';
import { AgentsSession } from 'palimpsest/openai-agents';
import { appendLoosely } from '../support/append.js';
import { Dice } from '../support/random.js';
import { refusal } from '../support/sessions.js';
import { anthropicFaults, chatFaults, modelMessageFaults, responsesFaults } from '../support/validators.js';

const LEVELS = 100_000;
const MODEL = { model: 'm-1' };
const APPEND = { surfaceOp: 'append' };

/** Arrays in arrays, or objects in objects, around a value. */
function nested(kind: 'array' | 'object', levels = LEVELS, core: unknown = 'core'): unknown {
  let value = core;
  for (let level = 0; level < levels; level++) value = kind === 'array' ? [value] : { a: value };
  return value;
}

const DEEP = [nested('array'), nested('object')];

/** Deep enough to end whoever is recursive, and quicker to make. */
const RATHER_DEEP = [nested('array', LEVELS / 10), nested('object', LEVELS / 10)];

/** Anything that JSON can hold; deep only where it is asked for, since it is slow. */
function junk(dice: Dice): unknown {
  return dice.chance(0.005) ? dice.pick(RATHER_DEEP) : dice.pick([null, 1, true, 'text', '', '\ud83d', [], {}, [null], { type: 5 }, { type: null }, { __proto__: null, type: 'text' }, dice.json(2)]);
}

/** A block of a type that is known, each of whose fields is right, wrong or missing. */
function block(dice: Dice, depth = 2): unknown {
  if (dice.chance(0.2)) return junk(dice);
  const type = dice.pick(['text', 'reasoning', 'tool-call', 'tool-result', 'image', 'audio', '', '__proto__']);
  const id = (): unknown => dice.pick(['call_1', 'call_2', '', 'half \ud83d', junk(dice)]);
  const fields: Record<string, () => unknown> = {
    text: () => dice.pick(['words', '', ' ', '\udc00', junk(dice)]),
    id,
    toolCallId: id,
    name: () => dice.pick(['read', 'a b', '\ud83d', junk(dice)]),
    arguments: () => dice.pick(['{}', '{"a":1}', '', ...(dice.chance(0.05) ? ['['.repeat(LEVELS / 10) + ']'.repeat(LEVELS / 10)] : []), junk(dice)]),
    content: () => (depth > 0 && dice.chance(0.7) ? Array.from({ length: dice.below(3) }, () => block(dice, depth - 1)) : junk(dice)),
    isError: () => dice.pick([true, false, junk(dice)]),
    mimeType: () => dice.pick(['image/png', 'image/\ud83d', junk(dice)]),
    data: () => dice.pick(['AAAA', '\ud83d', junk(dice)]),
    provider: () => dice.pick(['openai', 'anthropic', junk(dice)]),
    model: () => dice.pick(['m-1', junk(dice)]),
    signature: () => dice.pick(['c2ln', '\ud83d', junk(dice)]),
    redacted: () => dice.pick([true, junk(dice)]),
  };
  return { type, ...Object.fromEntries(Object.entries(fields).flatMap(([key, make]) => (dice.chance(0.7) ? [[key, make()]] : []))) };
}

const blocks = (dice: Dice): unknown[] => Array.from({ length: dice.below(5) }, () => block(dice));

function header(dice: Dice): object {
  const fields: Record<string, () => unknown> = {
    config: () => dice.pick([{ model: 'm-1' }, { model: junk(dice), maxTokens: junk(dice), stop: junk(dice), temperature: junk(dice) }, { maxTokens: -1, stop: ['\ud83d', 1] }, junk(dice)]),
    system: () => dice.pick(['Be brief.', '\ud83d', junk(dice)]),
    tools: () => (dice.chance(0.2) ? junk(dice) : Array.from({ length: dice.below(4) }, () => dice.pick([junk(dice), { name: dice.pick(['read', 'read', 'x y', junk(dice)]), description: junk(dice), parameters: junk(dice) }]))),
    messagePrefix: () => (dice.chance(0.2) ? junk(dice) : Array.from({ length: dice.below(3) }, () => dice.pick([junk(dice), { role: dice.pick(['user', 'assistant', 'system', junk(dice)]), content: dice.chance(0.8) ? blocks(dice) : junk(dice) }]))),
  };
  return Object.fromEntries(Object.entries(fields).flatMap(([key, make]) => (dice.chance(0.7) ? [[key, make()]] : [])));
}

/** A log whose structure is right and whose content is anything. */
function hostile(dice: Dice): Session {
  const session = new Session('hostile');
  const source = { kind: 'user' };
  appendLoosely(session, 'turn/start', { turn: 1, trigger: { kind: 'message', source } });
  if (dice.chance(0.7)) appendLoosely(session, 'request/header', dice.chance(0.95) ? { header: header(dice), reason: 'initial' } : junk(dice));
  for (let n = 1 + dice.below(8); n > 0; n--) {
    const [type, data] = dice.pick([
      ['user/message', { source }],
      ['assistant/message', { turn: 1, step: 1 }],
      ['tool/result', { turn: 1, step: 1, callId: dice.pick(['call_1', 'call_2', '', '\ud83d']), isError: junk(dice) }],
      ['context/message', { source }],
    ] as const);
    appendLoosely(session, type, { ...data, content: blocks(dice), ...(dice.chance(0.2) && { item: junk(dice) }) }, APPEND);
  }
  appendLoosely(session, 'turn/end', { turn: 1, reason: { kind: 'completed' } });
  return session;
}

/** Every converter's faults and report; the body must be such as `JSON.stringify` can write. */
const CONVERTERS: Readonly<Record<string, (request: ModelRequest) => { faults: readonly string[]; report: readonly Notice[] }>> = {
  chat: (request) => {
    const { body, report } = chatRequest(request, MODEL);
    return { faults: (JSON.stringify(body), chatFaults(body)), report };
  },
  responses: (request) => {
    const { body, report } = responsesRequest(request, MODEL);
    return { faults: (JSON.stringify(body), responsesFaults(body)), report };
  },
  anthropic: (request) => {
    const { body, report } = messagesRequest(request, MODEL);
    return { faults: (JSON.stringify(body), anthropicFaults(body)), report };
  },
  'ai-sdk': (request) => {
    const { body, report } = modelMessages(request);
    return { faults: (JSON.stringify(body), modelMessageFaults(body.messages)), report };
  },
};

function loaded(session: Session): Session {
  const reader = new SessionReader('hostile');
  reader.push(session.headerLine());
  reader.push(session.jsonl());
  return reader.finish().session;
}

/** Does to a session all that reads its messages. */
async function readAll(session: Session): Promise<void> {
  const request = session.at(session.seq - 1).request();
  for (const [name, convert] of Object.entries(CONVERTERS)) assert.deepEqual(convert(request).faults, [], name);
  assert.ok(estimateTokens(session.deriveMessages()) >= 0);
  assert.equal(requestDifference(session, request), undefined);
  await new AgentsSession(session).getItems();
  pruneToolResults(session, { olderThan: 0, keep: 0, maxChars: 100 });
  const options = { summarize: ({ prompt }: { prompt: string }): string => `${prompt.length}` };
  const { nodes } = session.surface;
  try {
    await compactIfNeeded(session, { ...options, triggerTokens: 0, retainTokens: 10 });
    await compactRegion(session, nodes[0]!.seq, nodes.at(-1)!.seq, options);
  } catch (error) {
    assert.ok(error instanceof PalimpsestError && ['COMPACTION_FAILED', 'INVALID_REPLACE', 'UNBALANCED_REGION'].includes(error.code), String((error as Error).stack));
  }
}

suite('content that is no content', () => {
  test('harms nobody who reads it: 400 random logs, as they were made and as they are loaded', async () => {
    for (let seed = 0; seed < 400; seed++) {
      const dice = new Dice(seed);
      try {
        using session = hostile(dice);
        if (dice.chance(0.3)) {
          using again = loaded(session);
          await readAll(again);
        } else {
          await readAll(session);
        }
      } catch (error) {
        throw new Error(`seed ${seed}: ${error instanceof Error ? error.stack : 'no error'}`, { cause: error });
      }
    }
  });

  const single = (...content: unknown[]): ModelRequest => {
    const session = new Session('one');
    appendLoosely(session, 'assistant/message', { turn: 1, step: 1, content: [{ type: 'text', text: 'kept' }, ...content] }, APPEND);
    return session.at(0).request();
  };

  for (const [what, content, code] of [
    ['null', null, 'malformed'],
    ['a number', 1, 'malformed'],
    ['a text', 'text', 'malformed'],
    ['an array', [], 'malformed'],
    ['an object without a type', {}, 'malformed'],
    ['a text block without a text', { type: 'text' }, 'unknown-block'],
    ['a call without anything', { type: 'tool-call' }, 'call-id-changed'],
    ['a result without anything', { type: 'tool-result' }, 'orphan-result'],
    ['an unknown block of a hundred thousand levels', { type: 'graph', root: DEEP[1] }, 'unknown-block'],
    ['results in results, a hundred thousand of them', Array.from({ length: LEVELS }).reduce<unknown>((inner) => ({ type: 'tool-result', toolCallId: 'a', content: [inner] }), { type: 'text', text: 'core' }), 'unknown-block'],
    ['arguments that are a value of as many levels', { type: 'tool-call', id: 'a', name: 'b', arguments: DEEP[0] }, 'too-deep'],
  ] as const) {
    test(`is left out and told: ${what}`, () => {
      for (const [name, convert] of Object.entries(CONVERTERS)) {
        const { faults, report } = convert(single(content));
        assert.deepEqual(faults, [], name);
        assert.ok(report.some((notice) => notice.code === code && notice.path.startsWith('messages[0].content[1]')), `${name}: ${JSON.stringify(report)}`);
      }
      const before = estimateTokens(single().messages);
      assert.ok(estimateTokens(single(content).messages) - before <= 1700);
    });
  }

  test('arguments and schemas of a hundred thousand levels cost the request nothing else', () => {
    const text = '{"a":'.repeat(LEVELS) + '1' + '}'.repeat(LEVELS);
    const request = single({ type: 'tool-call', id: 'a', name: 'b', arguments: text });
    const { body, report } = messagesRequest(request, MODEL);
    assert.deepEqual(anthropicFaults(body), []);
    assert.deepEqual(report.find(({ code }) => code === 'arguments-wrapped')?.message, 'arguments that are nested too deep stand under "raw"');
    assert.ok(JSON.stringify(chatRequest(request, MODEL).body).includes('{\\"a\\":{\\"a\\":'));

    const session = new Session('tools');
    const tools = [{ name: 'deep', parameters: { properties: DEEP[1] } }, { name: 'plain', parameters: { type: 'object' } }] as never;
    session.recordRequestHeader({ config: MODEL, tools });
    const asked = session.at(0).request();
    const { body: chat, report: told } = chatRequest(asked);
    assert.deepEqual(chat.tools?.map((tool) => tool.type === 'function' && tool.function), [{ name: 'deep', parameters: {} }, { name: 'plain', parameters: { type: 'object' } }]);
    assert.deepEqual(told.filter(({ code }) => code === 'too-deep').map(({ path }) => path), ['tools[0]']);
    assert.equal(requestDifference(session, asked), undefined);
    assert.match(requestDifference(session, { ...asked, tools: [{ name: 'deep', parameters: { properties: nested('object', LEVELS, 'other') } }] as never })!, /^tools\[0\]\.parameters\.properties\.a.*… .*the request holds "other", the log "core"$/);
  });

  test('a graph’s thread passes over checkpoints and writes that no saver wrote', async () => {
    const store = new SessionStore();
    const session = store.create('langgraph-thread');
    const state = { type: 'json', text: '{}' };
    for (const type of ['langgraph/checkpoint', 'langgraph/writes']) {
      for (const data of [null, 5, 'text', [], {}, { ns: '', id: 'a' }, { ns: '', id: 'a', checkpoint: state, metadata: state, values: [null], taskId: 't', taskPath: '', writes: [null] }, { ns: DEEP[0], id: DEEP[1] }]) appendLoosely(session, type, data);
    }
    const saver = new PalimpsestSaver(store);
    assert.equal(await saver.getTuple({ configurable: { thread_id: 'thread' } }), undefined);
  });

  test('a request that is none is refused', () => {
    for (const request of [undefined, null, 5, 'text', {}, { messages: 'text' }, { messages: {} }]) {
      for (const [name, convert] of Object.entries(CONVERTERS)) assert.throws(() => convert(request as never), refusal('INVALID_ARGUMENT', /request/), name);
      assert.throws(() => requestDifference(new Session('s'), request as never), refusal('INVALID_ARGUMENT', /request/));
    }
    const request: ModelRequest = { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' } satisfies ContentBlock] }] };
    for (const options of [null, 5, { maxTokens: NaN }, { maxTokens: -1 }]) assert.throws(() => chatRequest(request, options as never), refusal('INVALID_ARGUMENT', /options/));
  });
});
