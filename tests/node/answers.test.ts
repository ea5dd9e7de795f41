// Answers of providers, streamed and whole, become messages.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { BlockAssembler, type ContentBlock, Session, SessionStore, type StreamChunk, type Usage } from 'palimpsest';
import { StepReader, stepAnswer } from 'palimpsest/ai-sdk';
import { MessagesReader, messagesAnswer } from 'palimpsest/anthropic';
import { attachInvariants } from 'palimpsest/invariants';
import { type Answer, ChatReader, type ChunkReader, ResponsesReader, chatAnswer, chatRequest, readChunks, responsesAnswer } from 'palimpsest/openai';
import { anthropicEvents, anthropicWhole, chatEvents, chatWhole, interleave, pieces, responsesEvents, responsesWhole, stepEvents, stepWhole } from '../support/provider-streams.js';
import { Dice } from '../support/random.js';

const USAGE: Usage = { inputTokens: 6, outputTokens: 5, cacheReadTokens: 4, reasoningTokens: 2 };
const at = { turn: 1, step: 1 };

async function* stream<T>(events: readonly T[]): AsyncGenerator<T> {
  for (const event of events) yield await Promise.resolve(event);
}

function words(dice: Dice): string {
  return Array.from({ length: 1 + dice.below(8) }, () => dice.pick(['word ', '漢字', '😀😀', '\n', '"', '\\', 'x'])).join('');
}

/** Blocks of an answer; `sign` makes the reasoning that the provider would sign. */
function blocks(dice: Dice, sign?: (text: string) => ContentBlock): ContentBlock[] {
  const out: ContentBlock[] = [];
  if (dice.chance(0.5)) out.push(sign?.(words(dice)) ?? { type: 'reasoning', text: words(dice) });
  if (out.length === 0 || dice.chance(0.6)) out.push({ type: 'text', text: words(dice) });
  for (let n = dice.below(4); n > 0; n--) out.push({ type: 'tool-call', id: `call_${n}`, name: 'read_file', arguments: dice.pick(['{}', JSON.stringify({ path: words(dice), n: 7 })]) });
  return out;
}

const sealed = (provider: 'anthropic' | 'openai') => (text: string): ContentBlock =>
  ({ type: 'reasoning', text: provider === 'anthropic' && text.length > 20 ? '' : text, provider, model: 'm-1', ...(provider === 'openai' && { id: 'rs_1' }), signature: 'c2lnbmVk', ...(provider === 'anthropic' && text.length > 20 && { redacted: true as const }) }) as unknown as ContentBlock;

/** What each provider streams and sends whole, and how it is read. */
const PROVIDERS: Readonly<Record<string, { blocks(dice: Dice): ContentBlock[]; streamed(content: ContentBlock[], dice: Dice): [readonly unknown[], ChunkReader<never>]; whole(content: ContentBlock[]): Answer }>> = {
  chat: { blocks: (dice) => blocks(dice), streamed: (content, dice) => [chatEvents(content, dice), new ChatReader()], whole: (content) => chatAnswer(chatWhole(content)) },
  responses: { blocks: (dice) => blocks(dice, sealed('openai')), streamed: (content, dice) => [responsesEvents(content, dice), new ResponsesReader()], whole: (content) => responsesAnswer(responsesWhole(content)) },
  anthropic: { blocks: (dice) => blocks(dice, sealed('anthropic')), streamed: (content, dice) => [anthropicEvents(content, dice), new MessagesReader()], whole: (content) => messagesAnswer(anthropicWhole(content)) },
  'ai-sdk': { blocks: (dice) => blocks(dice), streamed: (content, dice) => [stepEvents(content, dice), new StepReader()], whole: (content) => stepAnswer(stepWhole(content)) },
};

suite('answers', () => {
  for (const [name, provider] of Object.entries(PROVIDERS)) {
    test(`of ${name}: 500 streamed in random pieces, and the same whole`, async () => {
      for (let seed = 0; seed < 500; seed++) {
        const dice = new Dice(seed);
        const content = provider.blocks(dice);
        const [events, reader] = provider.streamed(content, dice);
        const assembler = new BlockAssembler();
        for await (const chunk of readChunks(stream(events as never[]), reader)) assembler.push(chunk);
        const finish = { kind: content.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop' };
        const expected = { ...at, content, usage: USAGE };
        assert.deepEqual(assembler.message(at), expected, `seed ${seed}`);
        assert.deepEqual([assembler.finish, reader.report], [finish, []]);
        const { chunks, report } = provider.whole(content);
        const whole = BlockAssembler.of(chunks);
        assert.deepEqual(whole.message(at), expected, `seed ${seed}, whole`);
        assert.deepEqual([whole.finish, report], [finish, []]);
      }
    });
  }

  test('come back under the names of the session’s own tools and calls', () => {
    const session = new Session('s');
    const call = { type: 'tool-call' as const, id: 'x'.repeat(50), name: 'fs/read', arguments: '{}' };
    session.append('assistant/message', { ...at, content: [call] }, { surfaceOp: 'append' });
    const { body, aliases } = chatRequest(session.at(0).request(), { model: 'm' });
    const [sent] = (body.messages[0] as { tool_calls: { id: string; function: { name: string } }[] }).tool_calls;
    assert.notEqual(sent!.function.name, call.name);
    const back = BlockAssembler.of(chatAnswer(chatWhole([{ ...call, id: sent!.id, name: sent!.function.name }]), aliases).chunks);
    assert.deepEqual(back.blocks, [call]);
  });

  test('of servers that number their calls badly keep them apart', () => {
    const reader = new ChatReader();
    const delta = (tool_calls: unknown): never => ({ choices: [{ index: 0, delta: { tool_calls }, finish_reason: null }] }) as never;
    const chunks = [
      delta([{ index: 0, id: 'a', function: { name: 'one', arguments: '{"x":' } }]),
      delta([{ index: 0, function: { arguments: '1}' } }]),
      delta([{ index: 0, id: 'b', function: { name: 'two', arguments: '{}' } }]),
      delta([{ id: 'c', function: { name: 'three', arguments: '{}' } }]),
    ].flatMap((event) => reader.push(event));
    assert.deepEqual(BlockAssembler.of(chunks).blocks.map((block) => block.type === 'tool-call' && `${block.id} ${block.name} ${block.arguments}`), ['a one {"x":1}', 'b two {}', 'c three {}']);
  });
});

suite('the assembler', () => {
  test('puts 500 random streams together, whatever of their starts and ends is missing', () => {
    for (let seed = 0; seed < 500; seed++) {
      const dice = new Dice(seed);
      const content = blocks(dice);
      const lists = content.map((block, index): StreamChunk[] => {
        const start: StreamChunk[] = dice.chance(0.5) ? [{ type: 'block-start', index, blockType: block.type }] : [];
        const end: StreamChunk[] = dice.chance(0.5) ? [{ type: 'block-end', index, block }] : [];
        if (block.type === 'tool-call') return [...start, { type: 'tool-call-delta', index, id: block.id, name: block.name, argumentsDelta: '' }, ...pieces(block.arguments, dice).map((argumentsDelta) => ({ type: 'tool-call-delta' as const, index, id: block.id, argumentsDelta })), ...end];
        const type = block.type === 'text' ? 'text-delta' : 'reasoning-delta';
        return [...start, ...pieces((block as { text: string }).text, dice).map((text) => ({ type, index, text }) as const), ...end];
      });
      lists.push([{ type: 'usage', usage: { inputTokens: 1, outputTokens: 2 } }, { type: 'finish', reason: { kind: 'stop' } }]);
      assert.deepEqual(BlockAssembler.of(interleave(lists, dice)).message(at), { ...at, content, usage: { inputTokens: 1, outputTokens: 2 } }, `seed ${seed}`);
    }
  });

  test('joins a surrogate pair that two chunks share', () => {
    const chunks: StreamChunk[] = [{ type: 'text-delta', index: 0, text: 'a\ud83d' }, { type: 'text-delta', index: 0, text: '\ude00' }];
    assert.deepEqual(BlockAssembler.of(chunks).blocks, [{ type: 'text', text: 'a😀' }]);
  });

  test('leaves out what holds nothing, and keeps blocks that it does not know', () => {
    const image = { type: 'image', data: '', mimeType: 'image/png' } as unknown as ContentBlock;
    const chunks: StreamChunk[] = [
      { type: 'block-start', index: 0, blockType: 'text' },
      { type: 'block-end', index: 1, block: { type: 'reasoning', text: '' } },
      { type: 'block-start', index: 2, blockType: 'image' },
      { type: 'block-end', index: 2, block: image },
    ];
    assert.deepEqual(BlockAssembler.of(chunks).blocks, [image]);
  });

  test('loses nothing of a delta behind its block’s end, or of two blocks under one index', () => {
    const chunks: StreamChunk[] = [
      { type: 'reasoning-delta', index: 0, text: 'hm' },
      { type: 'text-delta', index: 0, text: 'so' },
      { type: 'block-end', index: 0, block: { type: 'text', text: 'so' } },
      { type: 'text-delta', index: 0, text: ' late' },
      { type: 'tool-call-delta', index: 0, id: 'a', name: 'f', argumentsDelta: '{' },
      { type: 'tool-call-delta', index: 0, id: 'b', name: 'g', argumentsDelta: '[' },
      { type: 'tool-call-delta', index: 0, id: 'a', argumentsDelta: '}' },
    ];
    assert.deepEqual(BlockAssembler.of(chunks).blocks, [
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'so' },
      { type: 'text', text: ' late' },
      { type: 'tool-call', id: 'a', name: 'f', arguments: '{}' },
      { type: 'tool-call', id: 'b', name: 'g', arguments: '[' },
    ]);
  });

  test('names the logged chunks as the sources of the message', () => {
    const session = new Session('s');
    const assembler = new BlockAssembler();
    for (const text of ['he', 'llo']) {
      const chunk = { type: 'text-delta', index: 0, text } as const;
      assembler.push(chunk, session.append('assistant/chunk', { ...at, chunk }).seq);
    }
    const { sourceEventSeqs } = session.append('assistant/message', assembler.message(at), assembler.intent);
    assert.deepEqual(sourceEventSeqs, [0, 1]);
    assert.deepEqual(new BlockAssembler().intent, { surfaceOp: 'append' });
  });

  test('gives a call that came without id or name one that the rules take, the same at every look and no other’s', () => {
    const store = new SessionStore();
    attachInvariants(store);
    const session = store.create();
    session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } });
    const ids: string[] = [];
    const streams: readonly StreamChunk[][] = [
      [{ type: 'tool-call-delta', index: 0, id: '', argumentsDelta: '{' }, { type: 'tool-call-delta', index: 1, id: '', name: 'read', argumentsDelta: '{}' }],
      [{ type: 'tool-call-delta', index: 0, argumentsDelta: '{}' } as unknown as StreamChunk],
      [{ type: 'block-end', index: 0, block: { type: 'tool-call', id: '', name: '', arguments: '{}' } }],
    ];
    for (const [number, chunks] of [...streams, ...streams].entries()) {
      const step = number + 1;
      session.append('step/start', { turn: 1, step });
      const assembler = new BlockAssembler();
      const logged = number < streams.length;
      for (const chunk of chunks) assembler.push(chunk, logged ? session.append('assistant/chunk', { turn: 1, step, chunk }).seq : undefined);
      const { data } = session.append('assistant/message', assembler.message({ turn: 1, step }), assembler.intent);
      assert.deepEqual(assembler.blocks, data.content);
      for (const block of data.content) {
        assert.ok(block.type === 'tool-call');
        assert.equal(block.name, number % 3 === 0 && block !== data.content[0] ? 'read' : 'unnamed_tool');
        ids.push(block.id);
        session.append('tool/call', { turn: 1, step, callId: block.id, name: block.name, arguments: block.arguments });
        session.append('tool/result', { turn: 1, step, callId: block.id, content: [{ type: 'text', text: 'no' }], isError: true }, { surfaceOp: 'append' });
      }
      session.append('step/end', { turn: 1, step });
      if (logged) {
        const again = new BlockAssembler();
        for (const event of session.events) if (event.type === 'assistant/chunk' && event.data.step === step) again.push(event.data.chunk, event.seq);
        assert.deepEqual(again.blocks, data.content);
      }
    }
    assert.equal(new Set(ids).size, 8);
  });
});
