/** What comes in place of a provider's answer, of a chunk, of an event: an answer, or a refusal of our own, and never the host's. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { inspect } from 'node:util';
import { BlockAssembler, isSurfaceEligibleType, isSurfaceEvent, PalimpsestError, Session, type StreamChunk } from 'palimpsest';
import { stepAnswer, StepReader } from 'palimpsest/ai-sdk';
import { messagesAnswer, MessagesReader } from 'palimpsest/anthropic';
import { summaryOf } from 'palimpsest/compaction';
import { findSecrets, redactSession } from 'palimpsest/redact';
import { toHtml, toMarkdown, toMessages } from 'palimpsest/export';
import { bytesSource, blobSource, detect, importLog } from 'palimpsest/import';
import { checkRequest, requestDifference } from 'palimpsest/invariants';
import { jsonl, openFile } from 'palimpsest/jsonl';
import { chatAnswer, ChatReader, responsesAnswer, ResponsesReader } from 'palimpsest/openai';
import { repaired, salvage } from 'palimpsest/salvage';
import { appendLoosely } from '../support/append.js';
import { openTurn } from '../support/sessions.js';

type Loose = (...args: unknown[]) => unknown;

function deep(levels = 100_000): unknown {
  let value: unknown = [];
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

const WRONG: readonly unknown[] = [undefined, null, 5, NaN, 'constructor', true, [], [null], {}, { type: 'constructor' }, 10n, Symbol('s'), () => 1, new Map(), deep()];

/** Sound events of each provider, in which one value after the other is replaced. */
const EVENTS: readonly (readonly [name: string, reader: () => Loose, events: readonly unknown[]])[] = [
  ['chat completions', () => loose(new ChatReader(), 'push'), [
    { choices: [{ index: 0, delta: { content: 'a', refusal: 'b', reasoning_content: 'c', tool_calls: [{ index: 0, id: 'i', function: { name: 'n', arguments: '{}' } }] }, finish_reason: 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1 } } },
  ]],
  ['responses', () => loose(new ResponsesReader(), 'push'), [
    { type: 'response.created', response: { model: 'm' } },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'a' },
    { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{}' },
    { type: 'response.reasoning_text.delta', output_index: 3, delta: 'r' },
    { type: 'response.output_item.added', output_index: 1, item: { type: 'function_call', call_id: 'c', name: 'n', arguments: '{}' } },
    { type: 'response.output_item.done', output_index: 2, item: { type: 'message', content: [{ type: 'output_text', text: 'x' }] } },
    { type: 'response.output_item.done', output_index: 4, item: { type: 'reasoning', id: 'r', summary: [{ text: 's' }], encrypted_content: 'e' } },
    { type: 'response.completed', response: { status: 'failed', error: { message: 'm', code: 'c' }, output: [{ type: 'message' }], usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: 'error', message: 'm', code: 'c' },
  ]],
  ['messages', () => loose(new MessagesReader(), 'push'), [
    { type: 'message_start', message: { model: 'm', usage: { input_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'i', name: 'n', input: {} } },
    { type: 'content_block_start', index: 1, content_block: { type: 'thinking', thinking: 't', signature: 's' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'thinking_delta', thinking: 't' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 't' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1, output_tokens_details: { thinking_tokens: 1 } } },
  ]],
  ['the AI SDK', () => loose(new StepReader(), 'push'), [
    { type: 'text-start', id: 'a' },
    { type: 'text-delta', id: 'a', text: 't' },
    { type: 'tool-input-start', id: 'b', toolName: 'n' },
    { type: 'tool-input-delta', id: 'b', delta: '{}' },
    { type: 'tool-call', toolCallId: 'c', toolName: 'n', input: {} },
    { type: 'error', error: 'e' },
    { type: 'finish-step', usage: { inputTokens: 1, outputTokens: 1 }, finishReason: 'stop' },
  ]],
  ['the assembler', () => {
    const assembler = new BlockAssembler();
    return (chunk) => {
      assembler.push(chunk as StreamChunk);
      return [];
    };
  }, [
    { type: 'block-start', index: 0, blockType: 'text' },
    { type: 'text-delta', index: 0, text: 't' },
    { type: 'tool-call-delta', index: 1, id: 'i', name: 'n', argumentsDelta: '{}' },
    { type: 'block-end', index: 1, block: { type: 'tool-call', id: 'i', name: 'n', arguments: '{}' } },
    { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } },
    { type: 'finish', reason: { kind: 'stop' } },
  ]],
];

const WHOLE: readonly (readonly [name: string, read: Loose, answer: unknown])[] = [
  ['a chat completion', chatAnswer as Loose, { choices: [{ message: { content: 'a', tool_calls: [{ type: 'function', id: 'i', function: { name: 'n', arguments: '{}' } }] }, finish_reason: 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 1 } }],
  ['a response', responsesAnswer as Loose, { model: 'm', status: 'completed', output: [{ type: 'message', content: [{ type: 'output_text', text: 't' }] }, { type: 'function_call', call_id: 'c', name: 'n', arguments: '{}' }], usage: { input_tokens: 1, output_tokens: 1 } }],
  ['a message', messagesAnswer as Loose, { model: 'm', content: [{ type: 'text', text: 't' }, { type: 'tool_use', id: 'i', name: 'n', input: { a: 1 } }], stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } }],
  ['a step', stepAnswer as Loose, { content: [{ type: 'text', text: 't' }, { type: 'tool-call', toolCallId: 'c', toolName: 'n', input: { a: 1 } }], usage: { inputTokens: 1, outputTokens: 1 }, finishReason: 'stop' }],
];

function loose<T extends object>(self: T, name: keyof T): Loose {
  return (...args) => Reflect.apply(self[name] as Loose, self, args);
}

/** The value with each of its parts, and itself, replaced by another. */
function* variants(value: unknown, by: unknown): Generator {
  yield by;
  if (typeof value !== 'object' || value === null) return;
  for (const key of Object.keys(value)) {
    for (const part of variants((value as Record<string, unknown>)[key], by)) yield Array.isArray(value) ? value.map((item: unknown, at) => (String(at) === key ? part : item)) : { ...value, [key]: part };
  }
}

/** What the call gives, or nothing where it refuses in the right way. */
function outcome(call: () => unknown, title: () => string): unknown {
  try {
    return call();
  } catch (error) {
    assert.ok(error instanceof PalimpsestError, `${title()}: ${inspect(error)}`);
    assert.equal(error.code, 'INVALID_ARGUMENT', `${title()}: ${error.message}`);
    return undefined;
  }
}

const short = (value: unknown): string => inspect(value, { depth: 4 }).slice(0, 300);

/** The chunks can be logged and put together. */
function usable(chunks: readonly StreamChunk[], title: () => string): void {
  const session = new Session('answer');
  openTurn(session, 1);
  const assembler = new BlockAssembler();
  for (const chunk of chunks) {
    const { seq } = session.append('assistant/chunk', { turn: 1, step: 1, chunk });
    assembler.push(chunk, seq);
  }
  for (const block of assembler.blocks) for (const key of ['text', 'id', 'name', 'arguments'] as const) assert.ok(['string', 'undefined'].includes(typeof (block as unknown as Record<string, unknown>)[key]), title());
  appendLoosely(session, 'assistant/message', assembler.message({ turn: 1, step: 1 }), assembler.intent);
  session.free();
}

suite('in place of an answer', () => {
  for (const [name, reader, events] of EVENTS) {
    test(`${name}: any part may be anything`, () => {
      for (const by of WRONG) {
        for (const event of events) {
          for (const variant of variants(event, by)) {
            const push = reader();
            const title = (): string => `${name}: ${short(variant)}`;
            const chunks = [...((outcome(() => push(variant), title) as StreamChunk[] | undefined) ?? [])];
            // The reader goes on.
            for (const sound of events) chunks.push(...((outcome(() => push(sound), title) as StreamChunk[] | undefined) ?? []));
            usable(chunks, title);
          }
        }
      }
    });
  }

  for (const [name, read, answer] of WHOLE) {
    test(`${name} that comes whole: any part may be anything`, () => {
      usable((read(answer) as { chunks: StreamChunk[] }).chunks, () => name);
      for (const by of WRONG) {
        for (const variant of variants(answer, by)) {
          const title = (): string => `${name}: ${short(variant)}`;
          const read1 = outcome(() => read(variant), title) as { chunks: StreamChunk[] } | undefined;
          if (read1) usable(read1.chunks, title);
        }
      }
    });
  }

  test('a reason to end that is not known is a stop', () => {
    const messages = new MessagesReader();
    const unknown = { type: 'message_delta', delta: { stop_reason: 'toString' }, usage: {} };
    assert.deepEqual((loose(messages, 'push')(unknown) as StreamChunk[]).at(-1), { type: 'finish', reason: { kind: 'stop' } });
    assert.deepEqual((loose(new StepReader(), 'push')({ type: 'finish-step', usage: {}, finishReason: '__proto__' }) as StreamChunk[]).at(-1), { type: 'finish', reason: { kind: 'stop' } });
  });
});

suite('in place of anything else', () => {
  test('guards say no', () => {
    for (const value of WRONG) {
      assert.equal((isSurfaceEvent as Loose)(value), false);
      assert.equal((isSurfaceEligibleType as Loose)(value), false);
      assert.equal((summaryOf as Loose)(value), undefined);
    }
  });

  test('what takes a session, a source or a directory refuses what is none', async () => {
    const calls: Readonly<Record<string, Loose>> = {
      toHtml: toHtml as Loose, toMarkdown: toMarkdown as Loose, toMessages: toMessages as Loose, findSecrets: findSecrets as Loose, redactSession: redactSession as Loose,
      checkRequest: checkRequest as Loose, requestDifference: requestDifference as Loose, repaired: repaired as Loose, salvage: salvage as Loose, bytesSource: bytesSource as Loose,
      blobSource: blobSource as Loose, detect: detect as Loose, importLog: importLog as Loose, jsonl: jsonl as Loose, openFile: openFile as Loose,
    };
    for (const [name, call] of Object.entries(calls)) {
      for (const value of WRONG) {
        if (typeof value === 'string' && (name === 'jsonl' || name === 'openFile')) continue;
        // A list without bytes in it is a source of none.
        if (name === 'salvage' && ((Array.isArray(value) && value.length === 0) || value instanceof Map)) continue;
        await assert.rejects(async () => call(value), (error: unknown) => error instanceof PalimpsestError && error.code === 'INVALID_ARGUMENT', `${name}(${short(value)})`);
      }
    }
  });

  test('seqs that are none are named', () => {
    const session = new Session('s');
    for (const value of WRONG) {
      if (value === undefined) continue;
      for (const call of [() => loose(session, 'at')(value), () => loose(session, 'jsonl')(value), () => loose(session, 'jsonl')(0, value)]) assert.throws(call, (error: unknown) => error instanceof PalimpsestError && error.code === 'INVALID_SEQ', short(value));
    }
    session.free();
  });
});
