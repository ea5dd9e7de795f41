/** Answers as providers send them, made from the blocks that must come out again, in pieces of any size. */

import type { Message as AnthropicMessage, RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import type { TextStreamPart, ToolSet } from 'ai';
import type { ChatCompletion, ChatCompletionChunk } from 'openai/resources/chat/completions';
import type { Response, ResponseOutputItem, ResponseStreamEvent } from 'openai/resources/responses/responses';
import type { ContentBlock } from 'palimpsest';
import type { SignedReasoning } from 'palimpsest/openai';
import type { Dice } from './random.js';

/** The text in pieces; a piece may end within a surrogate pair. */
export function pieces(text: string, dice: Dice): string[] {
  const out: string[] = [];
  for (let at = 0; at < text.length; ) {
    const size = 1 + dice.below(7);
    out.push(text.slice(at, at + size));
    at += size;
  }
  return out;
}

/** A random merge of the lists that keeps each one's order. */
export function interleave<T>(lists: readonly (readonly T[])[], dice: Dice): T[] {
  const rest = lists.map((list) => [...list]);
  const out: T[] = [];
  for (let open = rest.filter((list) => list.length > 0); open.length > 0; open = open.filter((list) => list.length > 0)) out.push(dice.pick(open).shift()!);
  return out;
}

const signatureOf = (block: ContentBlock): string | undefined => (block as Partial<SignedReasoning>).signature;

export function chatEvents(blocks: readonly ContentBlock[], dice: Dice): ChatCompletionChunk[] {
  const deltas: unknown[] = [{ role: 'assistant', content: '' }];
  const calls: unknown[][] = [];
  for (const block of blocks) {
    if (block.type === 'reasoning') deltas.push(...pieces(block.text, dice).map((text) => ({ reasoning_content: text })));
    if (block.type === 'text') deltas.push(...pieces(block.text, dice).map((text) => ({ content: text })));
    if (block.type !== 'tool-call') continue;
    const index = calls.length;
    const first = { tool_calls: [{ index, id: block.id, type: 'function', function: { name: block.name, arguments: '' } }] };
    calls.push([first, ...pieces(block.arguments, dice).map((text) => ({ tool_calls: [{ index, function: { arguments: text } }] }))]);
  }
  // The first pieces come in order; it is those that give the blocks their places.
  deltas.push(...calls.map((call) => call.shift()), ...interleave(calls, dice));
  const events: unknown[] = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }));
  const finish = { choices: [{ index: 0, delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }] };
  const usage = { choices: [], usage: { prompt_tokens: 10, completion_tokens: 7, total_tokens: 17, prompt_tokens_details: { cached_tokens: 4 }, completion_tokens_details: { reasoning_tokens: 2 } } };
  events.push(...(dice.chance(0.5) ? [finish, usage] : [usage, finish]));
  return events as ChatCompletionChunk[];
}

export function chatWhole(blocks: readonly ContentBlock[]): ChatCompletion {
  const joined = (type: string): string => blocks.flatMap((block) => (block.type === type && 'text' in block ? block.text : [])).join('');
  const tool_calls = blocks.flatMap((block) => (block.type === 'tool-call' ? { id: block.id, type: 'function' as const, function: { name: block.name, arguments: block.arguments } } : []));
  const message = { role: 'assistant', content: joined('text') || null, refusal: null, reasoning_content: joined('reasoning'), ...(tool_calls.length > 0 && { tool_calls }) };
  const usage = { prompt_tokens: 10, completion_tokens: 7, total_tokens: 17, prompt_tokens_details: { cached_tokens: 4 }, completion_tokens_details: { reasoning_tokens: 2 } };
  return { choices: [{ index: 0, message, finish_reason: tool_calls.length > 0 ? 'tool_calls' : 'stop' }], usage } as unknown as ChatCompletion;
}

const responseUsage = { input_tokens: 10, output_tokens: 7, total_tokens: 17, input_tokens_details: { cached_tokens: 4, cache_write_tokens: 0 }, output_tokens_details: { reasoning_tokens: 2 } };

function outputItem(block: ContentBlock): ResponseOutputItem {
  if (block.type === 'tool-call') return { type: 'function_call', id: 'fc_1', call_id: block.id, name: block.name, arguments: block.arguments, status: 'completed' };
  if (block.type === 'reasoning') return { type: 'reasoning', id: 'rs_1', summary: block.text === '' ? [] : [{ type: 'summary_text', text: block.text }], ...(signatureOf(block) && { encrypted_content: signatureOf(block) }) } as ResponseOutputItem;
  return { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: (block as { text: string }).text, annotations: [] }] };
}

export function responsesWhole(blocks: readonly ContentBlock[]): Response {
  return { model: 'm-1', status: 'completed', error: null, incomplete_details: null, output: blocks.map(outputItem), usage: responseUsage } as unknown as Response;
}

export function responsesEvents(blocks: readonly ContentBlock[], dice: Dice): ResponseStreamEvent[] {
  const items = blocks.map((block, output_index) => {
    const item = outputItem(block);
    const added = { type: 'response.output_item.added', output_index, item: { ...item, ...(item.type === 'function_call' && { arguments: '' }) } };
    const whole = block.type === 'tool-call' ? block.arguments : (block as { text: string }).text;
    const [type, place] = block.type === 'tool-call' ? ['response.function_call_arguments.delta', {}] : block.type === 'reasoning' ? ['response.reasoning_summary_text.delta', { summary_index: 0 }] : ['response.output_text.delta', { content_index: 0 }];
    // Some servers send the item whole and no delta.
    const deltas = dice.chance(0.2) ? [] : pieces(whole, dice).map((delta) => ({ type, output_index, ...place, delta }));
    return [added, ...deltas, { type: 'response.output_item.done', output_index, item }];
  });
  const response = responsesWhole(blocks);
  return [{ type: 'response.created', response }, ...items.flat(), { type: 'response.completed', response }] as unknown as ResponseStreamEvent[];
}

const messageUsage = { input_tokens: 6, cache_read_input_tokens: 4, cache_creation_input_tokens: null, output_tokens: 1 };

function anthropicBlock(block: ContentBlock, empty: boolean): unknown {
  if (block.type === 'tool-call') return { type: 'tool_use', id: block.id, name: block.name, input: empty ? {} : (JSON.parse(block.arguments) as unknown) };
  if (block.type === 'text') return { type: 'text', text: empty ? '' : block.text, citations: null };
  const signed = block as unknown as SignedReasoning;
  if (signed.redacted) return { type: 'redacted_thinking', data: signed.signature };
  return { type: 'thinking', thinking: empty ? '' : signed.text, signature: empty ? '' : signed.signature };
}

export function anthropicWhole(blocks: readonly ContentBlock[]): AnthropicMessage {
  const called = blocks.some(({ type }) => type === 'tool-call');
  return { model: 'm-1', content: blocks.map((block) => anthropicBlock(block, false)), stop_reason: called ? 'tool_use' : 'end_turn', usage: { ...messageUsage, output_tokens: 7, output_tokens_details: { thinking_tokens: 2 } } } as unknown as AnthropicMessage;
}

export function anthropicEvents(blocks: readonly ContentBlock[], dice: Dice): RawMessageStreamEvent[] {
  const events: unknown[] = [{ type: 'message_start', message: { model: 'm-1', usage: messageUsage } }];
  blocks.forEach((block, index) => {
    const deltas: unknown[] = [];
    if (block.type === 'tool-call') deltas.push({ type: 'input_json_delta', partial_json: '' }, ...pieces(block.arguments === '{}' ? '' : block.arguments, dice).map((partial_json) => ({ type: 'input_json_delta', partial_json })));
    else if (block.type === 'text') deltas.push(...pieces(block.text, dice).map((text) => ({ type: 'text_delta', text })));
    else if (!(block as unknown as SignedReasoning).redacted) deltas.push(...pieces((block as unknown as SignedReasoning).text, dice).map((thinking) => ({ type: 'thinking_delta', thinking })), { type: 'signature_delta', signature: signatureOf(block) });
    events.push({ type: 'content_block_start', index, content_block: anthropicBlock(block, true) });
    events.push(...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })), { type: 'content_block_stop', index });
  });
  const { stop_reason, usage } = anthropicWhole(blocks);
  const { output_tokens, output_tokens_details } = usage;
  events.push({ type: 'message_delta', delta: { stop_reason }, usage: { output_tokens, output_tokens_details, input_tokens: null } }, { type: 'message_stop' });
  return events as RawMessageStreamEvent[];
}

const stepUsage = { inputTokens: 10, outputTokens: 7, totalTokens: 17, inputTokenDetails: { noCacheTokens: 6, cacheReadTokens: 4, cacheWriteTokens: undefined }, outputTokenDetails: { textTokens: 5, reasoningTokens: 2 } };

export function stepWhole(blocks: readonly ContentBlock[]): { content: { type: string }[]; usage: typeof stepUsage; finishReason: 'stop' | 'tool-calls' } {
  const content = blocks.map((block) => (block.type === 'tool-call' ? { type: block.type, toolCallId: block.id, toolName: block.name, input: JSON.parse(block.arguments) as unknown } : block));
  return { content, usage: stepUsage, finishReason: blocks.some(({ type }) => type === 'tool-call') ? 'tool-calls' : 'stop' };
}

export function stepEvents(blocks: readonly ContentBlock[], dice: Dice): TextStreamPart<ToolSet>[] {
  const lists = blocks.map((block, index): unknown[] => {
    const id = `${index}`;
    if (block.type !== 'tool-call') return [{ type: `${block.type}-start`, id }, ...pieces((block as { text: string }).text, dice).map((text) => ({ type: `${block.type}-delta`, id, text })), { type: `${block.type}-end`, id }];
    const { id: toolCallId, name: toolName } = block;
    const call = { type: 'tool-call', toolCallId, toolName, input: JSON.parse(block.arguments) as unknown };
    // Not every provider streams the input.
    return dice.chance(0.3) ? [call] : [{ type: 'tool-input-start', id: toolCallId, toolName }, ...pieces(block.arguments, dice).map((delta) => ({ type: 'tool-input-delta', id: toolCallId, delta })), { type: 'tool-input-end', id: toolCallId }, call];
  });
  const { usage, finishReason } = stepWhole(blocks);
  return [{ type: 'start-step' }, ...lists.map((list) => list.shift()), ...interleave(lists, dice), { type: 'finish-step', usage, finishReason }] as TextStreamPart<ToolSet>[];
}
