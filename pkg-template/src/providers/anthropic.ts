/**
 * Anthropic's messages: `palimpsest/anthropic`.
 *
 * A request's conversion gives the body, a report of everything that was changed, and the aliases that the reader of the
 * answer needs. Nothing here calls the network, and the `@anthropic-ai/sdk` package is needed for its types only.
 */

import type {
  Base64ImageSource,
  ContentBlockParam,
  ImageBlockParam,
  MessageCreateParamsBase,
  TextBlockParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages';
import type { ToolSchema } from '../events.js';
import type { ModelRequest } from '../view.js';
import { type RequestOptions, present, settings } from './config.js';
import { type Exchange, type Item, type Part, type Result, exchange } from './exchange.js';
import type { Converted, Report } from './notice.js';
import { returnable } from './signed.js';
import { argumentsObject } from './text.js';

export { MessagesReader, messagesAnswer } from './anthropic-stream.js';
export { readChunks } from './notice.js';
export type { Aliases, Answer, ChunkReader, Converted, Notice, NoticeCode } from './notice.js';
export type { RequestOptions } from './config.js';
export type { SignedReasoning } from './signed.js';

interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: ContentBlockParam[];
}

const DEFAULT_MAX_TOKENS = 4096;

/**
 * A request as the body of a message call.
 *
 * Roles alternate: what follows in one role is merged. The results of a message's calls stand first in the message after
 * it. Reasoning goes back only with its signature, to the same model, and in an unchanged message. System messages of the
 * history join the system prompt. Ids and names keep to `[a-zA-Z0-9_-]`, 64 characters. All changes are reported.
 * @throws PalimpsestError `INVALID_PAYLOAD` when neither the header nor the options name a model
 */
export function messagesRequest(request: ModelRequest, options: RequestOptions<MessageCreateParamsBase> = {}): Converted<MessageCreateParamsBase> {
  const taken = exchange(request, {
    refusedText: 'blank',
    callId: { max: 64, refused: /[^a-zA-Z0-9_-]/g },
    toolName: { max: 64, refused: /[^a-zA-Z0-9_-]/g },
    imagesInResults: 'successes',
    imageTypes: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'],
    maxImage: 5 * 1024 * 1024,
  });
  const { items, tools, report } = taken;
  const { model, maxTokens, temperature, topP, stop } = settings(request.config, options as RequestOptions<never>, report);
  if (maxTokens === undefined && options.body?.max_tokens === undefined) {
    report.add('default-max-tokens', 'config.maxTokens', `the limit of output tokens is ${DEFAULT_MAX_TOKENS}, since none is named`);
  }
  const turns: Turn[] = [];
  for (const item of items) write(item, turns, model, report);
  frame(turns, report);
  const system = systemOf(taken);
  return taken.converted({
    model,
    max_tokens: maxTokens ?? DEFAULT_MAX_TOKENS,
    messages: turns,
    ...present({ system, temperature, top_p: topP, stop_sequences: stop }),
    ...(tools.length > 0 && { tools: tools.map((tool, at) => toolOf(tool, `tools[${at}]`, report)) }),
    ...options.body,
  });
}

function systemOf({ system, items, report }: Exchange): string | TextBlockParam[] | undefined {
  const moved = items.filter((item) => item.role === 'system');
  if (moved.length === 0) return system;
  for (const { path } of moved) report.add('system-moved', path, 'a system message joins the system prompt');
  return [...(system === undefined ? [] : [system]), ...moved.map(({ text }) => text)].map((text) => ({ type: 'text', text }));
}

function toolOf({ name, description, parameters }: ToolSchema, path: string, report: Report): { name: string; description?: string; input_schema: { type: 'object' } } {
  if (parameters.type !== 'object') report.add('schema-changed', path, 'the schema of a tool’s input has the type "object"');
  return { name, ...(description !== undefined && { description }), input_schema: { ...parameters, type: 'object' } };
}

function write(item: Item, turns: Turn[], model: string, report: Report): void {
  if (item.role === 'system') return;
  if (item.role === 'user') {
    add(turns, 'user', item.parts.map(partOf), item.path, report);
    return;
  }
  const content: ContentBlockParam[] = [];
  // Arguments first: a signature does not outlast a change of them either.
  const before = report.notices.length;
  const inputs = new Map(item.parts.flatMap((part) => (part.type === 'call' ? [[part.id, argumentsObject(part.arguments, report, part.path)]] : [])));
  const changed = item.changed || report.notices.length > before;
  for (const part of item.parts) {
    if (part.type === 'text') {
      content.push({ type: 'text', text: part.text });
    } else if (part.type === 'call') {
      content.push({ type: 'tool_use', id: part.id, name: part.name, input: inputs.get(part.id) });
    } else {
      const signed = returnable(part, 'anthropic', model, changed, report);
      if (signed) content.push(signed.redacted ? { type: 'redacted_thinking', data: signed.signature } : { type: 'thinking', thinking: part.text, signature: signed.signature });
    }
  }
  while (content.at(-1)?.type === 'thinking' || content.at(-1)?.type === 'redacted_thinking') {
    report.add('reasoning-dropped', item.path, 'reasoning was left out: nothing of its message follows it');
    content.pop();
  }
  if (content.length === 0) report.add('empty-message', item.path, 'a message that held nothing but reasoning was left out');
  else add(turns, 'assistant', content, item.path, report);
  if (item.results.length > 0) add(turns, 'user', item.results.map((result) => resultOf(result, report)), item.path, report);
}

/** Adds to the last turn where it is of the same role. Text behind results is how the format writes it; all else is said. */
function add(turns: Turn[], role: Turn['role'], content: ContentBlockParam[], path: string, report: Report): void {
  const last = turns.at(-1);
  if (last?.role !== role) {
    turns.push({ role, content });
    return;
  }
  if (last.content.at(-1)?.type !== 'tool_result') report.add('messages-merged', path, `a message joins the ${role} message before it`);
  last.content.push(...content);
}

function resultOf({ id, isError, parts, path }: Result, report: Report): ToolResultBlockParam {
  let content = parts.map(partOf);
  // An error without content is refused.
  if (isError && content.length === 0) {
    report.add('empty-result', path, 'an error without content says so');
    content = [{ type: 'text', text: '(no content)' }];
  }
  return { type: 'tool_result', tool_use_id: id, ...(content.length > 0 && { content }), ...(isError && { is_error: true }) };
}

function partOf(part: Part): TextBlockParam | ImageBlockParam {
  if (part.type === 'text') return { type: 'text', text: part.text };
  return { type: 'image', source: { type: 'base64', media_type: part.mimeType as Base64ImageSource['media_type'], data: part.data } };
}

/** A conversation begins with the user, and does not end in blanks of the assistant's. */
function frame(turns: Turn[], report: Report): void {
  if (turns[0]?.role !== 'user') {
    report.add('message-inserted', 'messages', 'the history does not begin with the user; a user message was put in');
    turns.unshift({ role: 'user', content: [{ type: 'text', text: turns.length === 0 ? '(no message)' : '(the conversation goes on)' }] });
  }
  const last = turns.at(-1);
  if (last?.role !== 'assistant') return;
  report.add('ends-with-assistant', 'messages', 'the history ends with the assistant: the model continues its words, or refuses to; blanks at the end were cut');
  const block = last.content.at(-1);
  if (block?.type === 'text') last.content[last.content.length - 1] = { ...block, text: block.text.trimEnd() };
}
