// The logs that make providers refuse every later request, one by one.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type ContentBlock, type ModelRequest, Session } from 'palimpsest';
import { modelMessages } from 'palimpsest/ai-sdk';
import { messagesRequest } from 'palimpsest/anthropic';
import { type NoticeCode, chatRequest, responsesRequest } from 'palimpsest/openai';
import { appendLoosely } from '../support/append.js';
import { anthropicFaults, chatFaults, modelMessageFaults, responsesFaults } from '../support/validators.js';

const APPEND = { surfaceOp: 'append' };
const MODEL = { model: 'm-1' };
const text = (words: string): ContentBlock => ({ type: 'text', text: words });
/** A call; `null` for one without arguments. */
const call = (id: string, args: string | null = '{}', name = 'read'): ContentBlock => ({ type: 'tool-call', id, name, ...(args !== null && { arguments: args }) }) as ContentBlock;

/** Writes a log in a few words; U user, A assistant, TR result, R replace. */
class Log {
  readonly session = new Session('s');
  #add(type: string, data: object, intent: unknown = APPEND): this {
    appendLoosely(this.session, type, data, intent);
    return this;
  }
  U(content: string | unknown[]): this {
    return this.#add('user/message', { content: typeof content === 'string' ? [text(content)] : content, source: { kind: 'user' } });
  }
  A(...content: unknown[]): this {
    return this.#add('assistant/message', { turn: 1, step: 1, content });
  }
  TR(callId: string, content: unknown[] = [text('out')], isError = false): this {
    return this.#add('tool/result', { turn: 1, step: 1, callId, content, isError });
  }
  R(start: number, end: number, ...sources: number[]): this {
    return this.#add('user/message', { content: [text('summary')], source: { kind: 'user' } }, { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: sources });
  }
  log(type: string, data: object): this {
    appendLoosely(this.session, type, data);
    return this;
  }
  get request(): ModelRequest {
    return this.session.at(this.session.seq - 1).request();
  }
}

/** Converts for every provider; each must take it. The codes that all of them report. */
function convert(request: ModelRequest): { codes: Set<NoticeCode>; bodies: string[] } {
  const chat = chatRequest(request, MODEL);
  const responses = responsesRequest(request, MODEL);
  const anthropic = messagesRequest(request, { ...MODEL, maxTokens: 9 });
  const sdk = modelMessages(request);
  const faults = { chat: chatFaults(chat.body), responses: responsesFaults(responses.body), anthropic: anthropicFaults(anthropic.body), sdk: modelMessageFaults(sdk.body.messages) };
  assert.deepEqual(faults, { chat: [], responses: [], anthropic: [], sdk: [] });
  const all = [chat, responses, anthropic, sdk];
  const [first, ...rest] = all.map(({ report }) => new Set(report.map(({ code }) => code)));
  return { codes: new Set([...first!].filter((code) => rest.every((codes) => codes.has(code)))), bodies: all.map(({ body }) => JSON.stringify(body)) };
}

const image = (characters: number): ContentBlock => ({ type: 'image', mimeType: 'image/png', data: 'A'.repeat(characters) }) as unknown as ContentBlock;

/** What is in the log, what every converter says of it, and what every body holds. */
const CASES: readonly [fault: string, log: Log, codes: NoticeCode[], ...held: RegExp[]][] = [
  ['32: a compaction kept a result whose call it removed', new Log().U('q').A(call('a')).TR('a').U('go on').R(0, 1, 0, 1), ['orphan-result'], /Result of tool call/, /out/],
  ['34: a compaction kept a call whose result never came', new Log().U('q').A(call('a')).R(0, 0, 0), ['no-result-recorded'], /No result was recorded/],
  ['35: a result on another branch than its call', new Log().U('q').TR('a').U('next'), ['orphan-result'], /out/],
  ['37: the assistant’s record was dropped, its result written', new Log().U('q').TR('a'), ['orphan-result'], /out/],
  ['38: two calls of one id in a message, one answered', new Log().U('q').A(call('a'), call('a')).TR('a'), ['call-id-changed', 'no-result-recorded']],
  ['38: one id in two turns', new Log().U('q').A(call('a')).TR('a', [text('first')]).U('q2').A(call('a')).TR('a', [text('second')]), ['call-id-changed'], /first.*second/],
  ['38: a second result for one call', new Log().U('q').A(call('a')).TR('a').TR('a', [text('again')]), ['duplicate-result'], /again/],
  ['40: a call that waits for an approval', new Log().U('q').A(call('a')).log('tool/call', { turn: 1, step: 1, callId: 'a', name: 'read', arguments: '{}' }).log('approval/asked', { callId: 'a' }), ['no-result-recorded']],
  ['41: a call without arguments', new Log().U('q').A(call('a', null)).TR('a'), ['arguments-missing'], /\{\}/],
  ['41: a call with empty arguments', new Log().U('q').A(call('a', '')).TR('a'), ['arguments-missing'], /\{\}/],
  ['42: the user’s words between a call and its result', new Log().U('q').A(call('a')).U('wait').TR('a'), ['result-moved'], /out.*wait/],
  ['43: the process was killed during a tool', new Log().U('q').A(text('let me see'), call('a')).log('tool/call', { turn: 1, step: 1, callId: 'a', name: 'read', arguments: '{}' }), ['no-result-recorded'], /let me see/],
  ['44: an orphan in a closed turn', new Log().U('q').A(call('a')).log('step/end', { turn: 1, step: 1 }).log('turn/end', { turn: 1, reason: { kind: 'completed' } }).U('q2'), ['no-result-recorded'], /q2/],
  ['45: a result in a result', new Log().U('q').A(call('a')).TR('a', [{ type: 'tool-result', toolCallId: 'a', content: [] }, text('kept')]), ['unknown-block'], /kept/],
  ['48: half an emoji in a text', new Log().U('a\ud83d').A(text('\ude00b')).U('c'), ['lone-surrogate'], /a\ufffd/, /\ufffdb/],
  ['48: half an emoji in arguments and a result', new Log().U('q').A(call('a', '{"t":"\ud83d"}')).TR('a', [text('\ud83d')]), ['lone-surrogate']],
  ['50: an empty text beside a call', new Log().U('q').A(text(''), call('a')).TR('a'), ['empty-text']],
  ['50: a result of an empty text', new Log().U('q').A(call('a')).TR('a', [text('')]), ['empty-text']],
  ['51: a message without content', new Log().U('q').A().U([]).U('q2'), ['empty-message'], /q2/],
  ['53: signed reasoning in a message that was changed', new Log().U('q').A({ type: 'reasoning', text: 'hm', provider: 'anthropic', model: 'm-1', signature: 's' }, text(''), text('so')).U('q2'), ['empty-text'], /so/],
  ['54: an image of six megabytes', new Log().U([text('look'), image(6_000_000)]), [], /look/],
  ['57: an integer beyond 2^53', new Log().U('q').A(call('a', '{"id":2512292042121000001}')).TR('a'), [], /2512292042121000001/],
];

suite('faults from the field', () => {
  for (const [fault, { request }, codes, ...held] of CASES) {
    test(fault, () => {
      const { codes: said, bodies } = convert(request);
      for (const code of codes) assert.ok(said.has(code), `${code} is not reported by all: ${[...said].join()}`);
      for (const body of bodies) for (const pattern of held) assert.match(body, pattern);
    });
  }

  test('40: the same call is not answered twice once its result is there', () => {
    const { codes } = convert(new Log().U('q').A(call('a')).TR('a').request);
    assert.deepEqual([...codes], []);
  });

  test('41, 57: arguments for those who want an object', () => {
    const input = (args: string | null): unknown => {
      const { body, report } = messagesRequest(new Log().U('q').A(call('a', args)).TR('a').request, { ...MODEL, maxTokens: 9 });
      const [block] = body.messages[1]!.content as { input: unknown }[];
      return [block!.input, ...report.map(({ code }) => code)];
    };
    assert.deepEqual(input(null), [{}, 'arguments-missing']);
    assert.deepEqual(input('null'), [{}, 'arguments-missing']);
    assert.deepEqual(input('{"a":'), [{ raw: '{"a":' }, 'arguments-wrapped']);
    assert.deepEqual(input('[1]'), [{ raw: '[1]' }, 'arguments-wrapped']);
    assert.deepEqual(input('{"id":2512292042121000001,"ok":9007199254740992,"s":"\\"12345678901234567890"}'), [{ id: '2512292042121000001', ok: 9007199254740992, s: '"12345678901234567890' }, 'number-as-text']);
    assert.deepEqual(input('{"n":-1e999}'), [{ n: '-1e999' }, 'number-as-text']);
    assert.deepEqual(input('{"__proto__":{"a":"\\ud83d"}}'), [JSON.parse('{"__proto__":{"a":"\ufffd"}}'), 'lone-surrogate']);
    const deep = '{"a":'.repeat(100_000) + '1' + '}'.repeat(100_000);
    assert.deepEqual((input(deep) as unknown[]).at(-1), 'arguments-wrapped');
  });

  test('53: signed reasoning goes back whole, to its own model, in an unchanged message', () => {
    const signed = { type: 'reasoning', text: 'hm', provider: 'anthropic', model: 'm-1', signature: 's' };
    const sent = (model: string, ...more: unknown[]): unknown[] => {
      const { body, report } = messagesRequest(new Log().U('q').A(signed, text('so'), ...more).U('q2').request, { model, maxTokens: 9 });
      return [(body.messages[1]!.content as { type: string }[])[0]!.type, ...report.map(({ code }) => code)];
    };
    assert.deepEqual(sent('m-1'), ['thinking']);
    assert.deepEqual(sent('m-2'), ['text', 'reasoning-dropped']);
    assert.deepEqual(sent('m-1', text('')), ['text', 'empty-text', 'reasoning-dropped']);
    assert.deepEqual(sent('m-1', call('c', '')), ['text', 'no-result-recorded', 'arguments-missing', 'reasoning-dropped']);
    assert.deepEqual(sent('m-1', call('bad id')), ['text', 'call-id-changed', 'no-result-recorded', 'reasoning-dropped']);
  });

  test('54: an image over the limit is left out with a word, and goes where there is no limit', () => {
    const { request } = new Log().U([text('look'), image(6_000_000)]);
    const anthropic = messagesRequest(request, { ...MODEL, maxTokens: 9 });
    assert.deepEqual(anthropic.report.map(({ code, path }) => [code, path]), [['image-dropped', 'messages[0].content[1]']]);
    assert.match(JSON.stringify(anthropic.body), /was left out/);
    assert.deepEqual(chatRequest(request, MODEL).report, []);
  });

  test('names and ids stay the same while a history grows', () => {
    const log = new Log().U('q').A(call('ж', '{}', 'fs/read')).TR('ж');
    const early = chatRequest(log.request, MODEL).body.messages;
    log.A(call('ж', '{}', 'fs.read')).TR('ж').U('more');
    assert.deepEqual(chatRequest(log.request, MODEL).body.messages.slice(0, early.length), early);
  });

  test('a request without a model is refused, settings that are not known are named', () => {
    const session = new Session('s');
    session.recordRequestHeader({ config: { maxTokens: 5, stop: 'x', seed: 1 } });
    assert.throws(() => chatRequest(session.at(0).request()), /names no model/);
    const { body, report } = chatRequest(session.at(0).request(), { model: 'm', body: { n: 1 } });
    assert.deepEqual(body, { model: 'm', messages: [{ role: 'user', content: '(no message)' }], max_completion_tokens: 5, stop: ['x'], n: 1 });
    assert.deepEqual(report.map(({ code, path }) => [code, path]), [['unknown-config', 'config.seed'], ['message-inserted', 'messages']]);
  });
});
