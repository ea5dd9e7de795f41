/** OpenAI's chat completions, which many other servers speak as well. */

import type {
  ChatCompletion,
  ChatCompletionAssistantMessageParam,
  ChatCompletionChunk,
  ChatCompletionContentPart,
  ChatCompletionContentPartText,
  ChatCompletionCreateParamsBase,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions';
import type { FinishReason, StreamChunk, Usage } from '../events.js';
import type { ModelRequest } from '../view.js';
import { type RequestOptions, present, settings } from './config.js';
import { type Item, type Part, type Result, exchange } from './exchange.js';
import { type Aliases, type Answer, type ChunkReader, type Converted, Report, count, finishOf, reading } from './notice.js';
import { argumentsText } from './text.js';

/**
 * A request as the body of a chat completion.
 *
 * Reasoning is left out. Call ids keep to 40 printable ASCII characters, tool names to 64 of `[a-zA-Z0-9_-]`. A result's
 * error flag has no place in the format; images stand in users' messages only. All this is reported.
 * @throws PalimpsestError `INVALID_PAYLOAD` when neither the header nor the options name a model
 */
export function chatRequest(request: ModelRequest, options: RequestOptions<ChatCompletionCreateParamsBase> = {}): Converted<ChatCompletionCreateParamsBase> {
  const { items, system, tools, report, converted } = exchange(request, {
    refusedText: 'empty',
    callId: { max: 40, refused: /[^\x21-\x7e]/g },
    toolName: { max: 64, refused: /[^a-zA-Z0-9_-]/g },
    imagesInResults: 'none',
    maxImage: 20 * 1024 * 1024,
  });
  const { model, maxTokens, temperature, topP, stop } = settings(request.config, options as RequestOptions<never>, report);
  const messages: ChatCompletionMessageParam[] = system === undefined ? [] : [{ role: 'system', content: system }];
  for (const item of items) write(item, messages, report);
  if (!messages.some(({ role }) => role !== 'system')) {
    report.add('message-inserted', 'messages', 'there is no message to answer; a user message was put in');
    messages.push({ role: 'user', content: '(no message)' });
  }
  return converted({
    model,
    messages,
    ...present({ max_completion_tokens: maxTokens, temperature, top_p: topP, stop }),
    ...(tools.length > 0 && { tools: tools.map(({ parameters, ...rest }) => ({ type: 'function' as const, function: { ...rest, parameters: { ...parameters } } })) }),
    ...options.body,
  });
}

function write(item: Item, messages: ChatCompletionMessageParam[], report: Report): void {
  if (item.role === 'system') {
    messages.push({ role: 'system', content: item.text });
  } else if (item.role === 'user') {
    messages.push({ role: 'user', content: compact(item.parts.map(partOf)) });
  } else {
    const message = assistant(item, report);
    if (message) messages.push(message);
    for (const result of item.results) messages.push({ role: 'tool', tool_call_id: result.id, content: resultContent(result, report) });
  }
}

function assistant({ parts, path }: Item & { role: 'assistant' }, report: Report): ChatCompletionAssistantMessageParam | undefined {
  const texts: ChatCompletionContentPartText[] = [];
  const calls: NonNullable<ChatCompletionAssistantMessageParam['tool_calls']> = [];
  for (const part of parts) {
    if (part.type === 'reasoning') {
      report.add('reasoning-dropped', part.path, 'chat completions have no place for reasoning');
    } else if (part.type === 'text') {
      if (calls.length > 0) report.add('order-changed', path, 'a text that followed a call stands before it');
      texts.push({ type: 'text', text: part.text });
    } else {
      calls.push({ id: part.id, type: 'function', function: { name: part.name, arguments: argumentsText(part.arguments, report, part.path) } });
    }
  }
  if (texts.length === 0 && calls.length === 0) {
    report.add('empty-message', path, 'a message that held nothing but reasoning was left out');
    return undefined;
  }
  return { role: 'assistant', content: texts.length === 0 ? null : compact(texts), ...(calls.length > 0 && { tool_calls: calls }) };
}

function resultContent({ parts, isError, path }: Result, report: Report): string | ChatCompletionContentPartText[] {
  if (isError) report.add('error-flag-lost', path, 'a tool message cannot be marked as an error');
  if (parts.length === 0) report.add('empty-result', path, 'a result without content says so');
  const texts = parts.flatMap((part) => (part.type === 'text' ? { type: 'text' as const, text: part.text } : []));
  return texts.length === 0 ? '(no content)' : compact(texts);
}

function partOf(part: Part): ChatCompletionContentPart {
  if (part.type === 'text') return { type: 'text', text: part.text };
  return { type: 'image_url', image_url: { url: `data:${part.mimeType};base64,${part.data}` } };
}

/** One text alone as a string, which every server takes. */
function compact<T extends { type: string }>(parts: T[]): string | T[] {
  const [first] = parts;
  return parts.length === 1 && first?.type === 'text' ? (first as unknown as ChatCompletionContentPartText).text : parts;
}

const FINISH: Readonly<Record<string, FinishReason>> = {
  stop: { kind: 'stop' },
  length: { kind: 'max-tokens' },
  tool_calls: { kind: 'tool-calls' },
  function_call: { kind: 'tool-calls' },
  content_filter: { kind: 'content-filter' },
};

type ChunkUsage = NonNullable<ChatCompletion['usage']>;

function usageOf({ prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details }: ChunkUsage): Usage {
  const cached = count(prompt_tokens_details?.cached_tokens);
  const reasoning = count(completion_tokens_details?.reasoning_tokens);
  return {
    inputTokens: count(prompt_tokens - cached),
    outputTokens: count(completion_tokens - reasoning),
    ...(cached > 0 && { cacheReadTokens: cached }),
    ...(reasoning > 0 && { reasoningTokens: reasoning }),
  };
}

/** Reads one streamed chat completion. Only the first choice counts. Servers' `reasoning_content` is read as reasoning. */
export class ChatReader implements ChunkReader<ChatCompletionChunk> {
  readonly #report = new Report();
  readonly #aliases: Aliases | undefined;
  readonly #blocks = new Map<string, number>();
  /** The call that grows under each index of the provider's. */
  readonly #calls = new Map<number, { index: number; id: string }>();
  #next = 0;

  /** @param aliases from the request's conversion, so that tools come back under their own names */
  constructor(aliases?: Aliases) {
    this.#aliases = aliases;
  }

  get report(): Answer['report'] {
    return this.#report.notices;
  }

  push(chunk: ChatCompletionChunk): StreamChunk[] {
    return reading('the chunk', chunk, () => this.#read(chunk));
  }

  #read({ choices, usage }: ChatCompletionChunk): StreamChunk[] {
    const chunks: StreamChunk[] = [];
    // Absent in what some servers send, whatever the types say.
    for (const choice of (choices as typeof choices | undefined) ?? []) {
      if (choice.index > 0) {
        this.#report.add('answer-part-dropped', `choices[${choice.index}]`, 'only the first choice is read');
        continue;
      }
      const { delta } = choice as { delta?: ChatCompletionChunk.Choice.Delta };
      if (delta) this.#delta(delta, chunks);
      if (choice.finish_reason) chunks.push({ type: 'finish', reason: finishOf(FINISH, choice.finish_reason) });
    }
    if (usage) chunks.push({ type: 'usage', usage: usageOf(usage) });
    return chunks;
  }

  #delta(delta: ChatCompletionChunk.Choice.Delta & { reasoning_content?: string | null; reasoning?: string | null }, chunks: StreamChunk[]): void {
    const reasoning = delta.reasoning_content ?? delta.reasoning;
    if (typeof reasoning === 'string' && reasoning !== '') chunks.push({ type: 'reasoning-delta', index: this.#block('reasoning', chunks), text: reasoning });
    if (delta.content) chunks.push({ type: 'text-delta', index: this.#block('text', chunks), text: delta.content });
    if (delta.refusal) {
      this.#report.add('refusal-as-text', 'choices[0].delta.refusal', 'the model refuses; its words stand as text');
      chunks.push({ type: 'text-delta', index: this.#block('text', chunks), text: delta.refusal });
    }
    for (const call of delta.tool_calls ?? []) this.#call(call, chunks);
  }

  #block(kind: string, chunks: StreamChunk[]): number {
    let index = this.#blocks.get(kind);
    if (index === undefined) {
      index = this.#next++;
      this.#blocks.set(kind, index);
      chunks.push({ type: 'block-start', index, blockType: kind });
    }
    return index;
  }

  #call({ index: place, id = '', function: part }: ChatCompletionChunk.Choice.Delta.ToolCall, chunks: StreamChunk[]): void {
    // Some servers leave the index out, or give all calls the same one.
    const at = (place as number | undefined) ?? 0;
    let call = this.#calls.get(at);
    const fresh = call === undefined || (id !== '' && id !== call.id);
    if (fresh) {
      const known = this.#aliases?.calls.get(id) ?? id;
      call = { index: this.#next++, id };
      this.#calls.set(at, call);
      chunks.push({ type: 'block-start', index: call.index, blockType: 'tool-call' });
      const name = part?.name ?? '';
      chunks.push({ type: 'tool-call-delta', index: call.index, id: known, name: this.#aliases?.tools.get(name) ?? name, argumentsDelta: part?.arguments ?? '' });
    } else if (call && part?.arguments) {
      chunks.push({ type: 'tool-call-delta', index: call.index, id: this.#aliases?.calls.get(call.id) ?? call.id, argumentsDelta: part.arguments });
    }
  }
}

/** A chat completion that came whole. */
export function chatAnswer(completion: ChatCompletion, aliases?: Aliases): Answer {
  const reader = new ChatReader(aliases);
  const report = new Report();
  const chunks = reading('the completion', completion, () => chunksOf(completion, reader, report));
  return { chunks, report: [...reader.report, ...report.notices] };
}

function chunksOf({ choices, usage }: ChatCompletion, reader: ChatReader, report: Report): StreamChunk[] {
  const [choice, ...others] = choices;
  if (others.length > 0) report.add('answer-part-dropped', 'choices', 'only the first choice is read');
  if (!choice) return [];
  const { message, finish_reason } = choice;
  const { tool_calls, ...delta } = message;
  const calls = (tool_calls ?? []).flatMap((call, index) => (call.type === 'function' ? { index, id: call.id, type: call.type, function: call.function } : []));
  for (const key of ['audio', 'annotations', 'function_call'] as const) {
    const part: unknown = message[key];
    if (part !== undefined && part !== null && !(Array.isArray(part) && part.length === 0)) report.add('answer-part-dropped', `choices[0].message.${key}`, `the answer's ${key} was left out`);
  }
  if (calls.length < (tool_calls?.length ?? 0)) report.add('answer-part-dropped', 'choices[0].message.tool_calls', 'a call that is not of a function was left out');
  const event = { choices: [{ index: 0, delta: { ...delta, tool_calls: calls }, finish_reason }], ...(usage && { usage }) };
  return reader.push(event as unknown as ChatCompletionChunk);
}
