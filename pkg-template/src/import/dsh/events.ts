/** Payloads of events as ours, in any of the four dialects. What ours has no place for is `rest`. */

import type { ContentBlock, EpochHeader, MessageSource, TurnEndReason } from '../../events.js';
import type { JsonValue } from '../../ids.js';
import { idOf, isObject, listOf, objectOf, type Raw, stringOf } from '../json.js';

/** A payload and what is left of it. */
export interface Mapped<T> {
  readonly data: T;
  readonly rest: Raw;
}

/** Event types of the harness, as far as files and notes show them; others are unknown, and kept as well. */
export const KNOWN_TYPES = new Set([
  'turn/start', 'turn/end', 'step/start', 'step/end', 'user/message', 'context/message', 'steering/message', 'prompt/blocked',
  'assistant/chunk', 'assistant/message', 'tool/call', 'tool/result', 'todo/write', 'request/header', 'request/header-delta', 'request/context',
  'session/end-seed', 'session/title', 'compaction/start', 'compaction/summary', 'compaction/end', 'compaction/prune', 'compact/start', 'compact/summary', 'compact/end',
  'hook/invoked', 'hook/result', 'agent/inbox/spliced', 'approval/policy', 'subagent/descriptor',
]);

/** Blocks that are objects with a type, which is all that ours asks; the others are set aside. */
export function blocksOf(content: unknown): { content: ContentBlock[]; odd: JsonValue[] } {
  const blocks: ContentBlock[] = [];
  const odd: JsonValue[] = [];
  for (const block of listOf(content)) {
    if (isObject(block) && isWhole(block)) blocks.push(block as unknown as ContentBlock);
    else odd.push(block);
  }
  return { content: blocks, odd };
}

/** Whether a block has what its type promises. */
function isWhole(block: Raw): boolean {
  switch (block.type) {
    case 'text':
    case 'reasoning':
      return typeof block.text === 'string';
    case 'tool-call':
      return typeof block.id === 'string' && typeof block.name === 'string' && typeof block.arguments === 'string';
    default:
      return typeof block.type === 'string' && block.type !== '';
  }
}

/** A user's, a context's or a steering message. */
export function messageOf(data: Raw): Mapped<{ content: ContentBlock[]; source: MessageSource }> | undefined {
  const { content: raw, source, ...rest } = data;
  if (!Array.isArray(raw)) return undefined;
  const { content, odd } = blocksOf(raw);
  const whole = isObject(source) && idOf(source.kind) !== undefined;
  return {
    data: { content, source: (whole ? source : { kind: 'injected', label: 'unknown' }) as MessageSource },
    rest: { ...rest, ...(!whole && source !== undefined && { source }), ...(odd.length > 0 && { content: odd }) },
  };
}

/** An assistant's message: wrapped with an id, or not. */
export function assistantOf(data: Raw): Mapped<{ content: ContentBlock[]; usage?: JsonValue }> | undefined {
  const { turn: _turn, step: _step, usage, message, ...others } = data;
  const wrapped = isObject(message);
  const { content: raw, ...about } = wrapped ? message : others;
  if (!Array.isArray(raw)) return undefined;
  const { content, odd } = blocksOf(raw);
  const rest = wrapped ? { ...others, message: { ...about, ...(odd.length > 0 && { content: odd }) } } : { ...about, ...(odd.length > 0 && { content: odd }) };
  return isUsage(usage) ? { data: { content, usage }, rest } : { data: { content }, rest: { ...rest, ...(usage !== undefined && { usage }) } };
}

function isUsage(usage: unknown): usage is Raw & JsonValue {
  return isObject(usage) && Object.values(usage).every((count) => typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) && usage.inputTokens !== undefined && usage.outputTokens !== undefined;
}

/** A result: one block in a wrapped message, or its parts. */
export function resultOf(data: Raw): Mapped<{ callId: string; content: ContentBlock[]; isError: boolean; error?: { name: string; code: string }; meta?: JsonValue }> | undefined {
  const { turn: _turn, step: _step, error, meta, message, ...others } = data;
  const block = isObject(message) ? objectOf(listOf(message.content)[0]) : others;
  const { type: _type, toolCallId, content: raw, isError, callId, ...about } = block;
  const id = stringOf(toolCallId) ?? stringOf(callId) ?? stringOf(objectOf(objectOf(message).source).callId);
  if (id === undefined || !Array.isArray(raw)) return undefined;
  const { content, odd } = blocksOf(raw);
  const { name, code } = objectOf(error);
  const whole = typeof name === 'string' && typeof code === 'string';
  const { content: _, ...outer } = objectOf(message);
  const extra = isObject(message) ? listOf(message.content).slice(1) : [];
  return {
    data: { callId: id, content, isError: isError === true, ...(whole && { error: { name, code } }), ...(meta !== undefined && { meta }) },
    rest: {
      ...(isObject(message) ? { ...others, message: { ...outer, ...(extra.length > 0 && { content: extra }) } } : {}),
      ...about,
      ...(odd.length > 0 && { content: odd }),
      ...(error !== undefined && !whole && { error }),
    },
  };
}

/** Why a turn ended, in our words. */
export function reasonOf(reason: unknown, step: number): Mapped<TurnEndReason> {
  const { kind, ...more } = objectOf(reason);
  switch (kind) {
    case 'aborted': {
      const why = stringOf(more.reason) ?? stringOf(objectOf(more.reason).kind);
      return { data: { kind, ...(why !== undefined && { reason: why }) }, rest: typeof more.reason === 'string' || more.reason === undefined ? {} : more };
    }
    case 'error': {
      const { message, code } = isObject(more.error) ? more.error : more;
      const text = stringOf(message) ?? stringOf(more.error) ?? 'the model call failed';
      return { data: { kind, step: typeof more.step === 'number' ? more.step : step, message: text, ...(typeof code === 'string' && { code }) }, rest: isObject(more.error) ? more : {} };
    }
    case 'blocked':
    case 'rejected':
      return { data: { kind: 'rejected', reason: stringOf(more.reason) ?? 'blocked' }, rest: kind === 'blocked' ? { kind, ...more } : {} };
    case 'completed':
    case 'disposed':
    case 'max-tokens':
    case 'interrupted':
      return { data: { kind }, rest: more };
    default:
      return { data: { kind: 'completed' }, rest: { kind, ...more } };
  }
}

/** A request header; `undefined` where it is not formed like one. */
export function requestHeaderOf(header: unknown): Mapped<EpochHeader> | undefined {
  if (!isObject(header) || !isObject(header.config)) return undefined;
  const { config, system, tools, messagePrefix, ...rest } = header;
  if (system !== undefined && typeof system !== 'string') return undefined;
  if (tools !== undefined && !areTools(tools)) return undefined;
  if (messagePrefix !== undefined && !areMessages(messagePrefix)) return undefined;
  const data = { config, ...(system !== undefined && { system }), ...(tools !== undefined && { tools }), ...(messagePrefix !== undefined && { messagePrefix }) };
  return { data: data as unknown as EpochHeader, rest };
}

function areTools(tools: unknown): boolean {
  return Array.isArray(tools) && tools.every((tool) => isObject(tool) && typeof tool.name === 'string' && isObject(tool.parameters));
}

function areMessages(messages: unknown): boolean {
  return Array.isArray(messages) && messages.every((message) => isObject(message) && typeof message.role === 'string' && Array.isArray(message.content) && message.content.every((block) => isObject(block) && isWhole(block)));
}
