/**
 * The words of the format itself: names of members that the library reads, and values that say what an object is. A log
 * without them would be no log, so they stay where they stand, also where a user's own word or pattern matches them.
 */

import type { ContentBlock, EpochHeader, FinishReason, HeaderDelta, Message, MessageSource, SessionEventMap, StreamChunk, ToolSchema, TurnEndReason, TurnTrigger, Usage } from '../events.js';
import type { StringToken } from './strings.js';

/** Members by name, over all forms of a union. */
type Names<T> = T extends unknown ? keyof T & string : never;

type Field = Names<SessionEventMap[keyof SessionEventMap] | ContentBlock | EpochHeader | FinishReason | HeaderDelta | Message | MessageSource | StreamChunk | ToolSchema | TurnEndReason | TurnTrigger | Usage>;
type Tag = Message['role'] | (ContentBlock | StreamChunk)['type'] | (FinishReason | MessageSource | TurnEndReason | TurnTrigger)['kind'];

const FIELDS: Readonly<Record<Field, true>> = {
  arguments: true, argumentsDelta: true, block: true, blockType: true, byte: true, bytes: true,
  cacheReadTokens: true, cacheWriteTokens: true, callId: true, checkpoint: true, chunk: true, code: true,
  config: true, content: true, decision: true, description: true, dialect: true, done: true, durationMs: true,
  error: true, excerpt: true, exitCode: true, failure: true, handlerId: true, header: true, id: true, index: true,
  inputTokens: true, isError: true, kept: true, kind: true, label: true, line: true, matcher: true, maxTokens: true,
  message: true, messagePrefix: true, meta: true, metadata: true, model: true, name: true, ns: true,
  outputTokens: true, parameters: true, parent: true, plugin: true, point: true, raw: true, reason: true,
  reasoningTokens: true, record: true, role: true, shadowedRange: true, shadowedSeqs: true, shadowedTokenCount: true,
  source: true, stderrSummary: true, step: true, summary: true, system: true, taskId: true, taskPath: true,
  text: true, todos: true, toolCallId: true, tools: true, trigger: true, turn: true, type: true, unreadable: true,
  usage: true, values: true, writes: true,
};

const TAGS: Readonly<Record<Tag, true>> = {
  aborted: true, assistant: true, 'block-end': true, 'block-start': true, completed: true, 'content-filter': true,
  disposed: true, error: true, finish: true, injected: true, injection: true, interrupted: true, 'max-tokens': true,
  message: true, plugin: true, reasoning: true, 'reasoning-delta': true, rejected: true, stop: true, system: true,
  task: true, text: true, 'text-delta': true, 'tool-call': true, 'tool-call-delta': true, 'tool-calls': true,
  'tool-result': true, usage: true, user: true,
};

/** Members whose values say what the object around them is. */
const TAGGED: ReadonlySet<string | number | undefined> = new Set(['type', 'kind', 'role', 'blockType']);

/** Whether a string of a payload is a word of the format. */
export function isOfFormat({ isKey, value, path }: StringToken): boolean {
  if (isKey) return Object.hasOwn(FIELDS, value);
  return TAGGED.has(path[path.length - 1]) && Object.hasOwn(TAGS, value);
}
