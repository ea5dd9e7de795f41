/** OpenAI's responses API, with the whole history in each request. */

import type {
  Response,
  ResponseCreateParamsBase,
  ResponseInputContent,
  ResponseInputItem,
  ResponseOutputItem,
  ResponseStreamEvent,
  ResponseUsage,
} from 'openai/resources/responses/responses';
import { needObject } from '../arguments.js';
import { textOf } from '../depth.js';
import type { FinishReason, StreamChunk, Usage } from '../events.js';
import type { ModelRequest } from '../view.js';
import { type RequestOptions, present, settings } from './config.js';
import { type Item, type Part, type Result, exchange } from './exchange.js';
import { type Aliases, type Answer, type ChunkReader, type Converted, Report, count, nameOf, reading } from './notice.js';
import { returnable, signedBlock } from './signed.js';
import { argumentsText } from './text.js';

/**
 * A request as the body of a response. `store` is false: the log is what is stored.
 *
 * Reasoning goes back when it was sealed for the same model (ask for `reasoning.encrypted_content` by `options.body.include`)
 * and is followed by what it led to. Call ids keep to 64 printable ASCII characters, tool names to 64 of `[a-zA-Z0-9_-]`;
 * a result's error flag has no place in the format. All this is reported.
 * @throws PalimpsestError `INVALID_PAYLOAD` when neither the header nor the options name a model
 */
export function responsesRequest(request: ModelRequest, options: RequestOptions<ResponseCreateParamsBase> = {}): Converted<ResponseCreateParamsBase> {
  const { items, system, tools, report, converted } = exchange(request, {
    refusedText: 'empty',
    callId: { max: 64, refused: /[^\x21-\x7e]/g },
    toolName: { max: 64, refused: /[^a-zA-Z0-9_-]/g },
    imagesInResults: 'all',
    maxImage: 20 * 1024 * 1024,
  });
  const { model, maxTokens, temperature, topP, stop } = settings(request.config, options as RequestOptions<never>, report);
  if (stop) report.add('unknown-config', 'config.stop', 'the responses API has no stop sequences');
  const input: ResponseInputItem[] = [];
  for (const item of items) write(item, input, model, report);
  if (input.length === 0) {
    report.add('message-inserted', 'messages', 'there is no message to answer; a user message was put in');
    input.push({ role: 'user', content: '(no message)' });
  }
  return converted({
    model,
    input,
    store: false,
    ...present({ instructions: system, max_output_tokens: maxTokens, temperature, top_p: topP }),
    // Strict mode asks more of a schema than JSON Schema does.
    ...(tools.length > 0 && { tools: tools.map(({ parameters, ...rest }) => ({ type: 'function' as const, ...rest, parameters: { ...parameters }, strict: false })) }),
    ...options.body,
  });
}

function write(item: Item, input: ResponseInputItem[], model: string, report: Report): void {
  if (item.role === 'system') {
    input.push({ role: 'system', content: item.text });
  } else if (item.role === 'user') {
    const [first] = item.parts;
    input.push({ role: 'user', content: item.parts.length === 1 && first?.type === 'text' ? first.text : item.parts.map(partOf) });
  } else {
    assistant(item, input, model, report);
    for (const result of item.results) input.push({ type: 'function_call_output', call_id: result.id, output: output(result, report) });
  }
}

function assistant({ parts, path, changed }: Item & { role: 'assistant' }, input: ResponseInputItem[], model: string, report: Report): void {
  const from = input.length;
  for (const part of parts) {
    if (part.type === 'text') {
      input.push({ role: 'assistant', content: part.text });
    } else if (part.type === 'call') {
      input.push({ type: 'function_call', call_id: part.id, name: part.name, arguments: argumentsText(part.arguments, report, part.path) });
    } else {
      const signed = returnable(part, 'openai', model, changed, report);
      if (signed?.id === undefined) {
        if (signed) report.add('reasoning-dropped', part.path, 'reasoning was left out: it has no id');
      } else {
        input.push({ type: 'reasoning', id: signed.id, summary: part.text === '' ? [] : [{ type: 'summary_text', text: part.text }], encrypted_content: signed.signature });
      }
    }
  }
  // Reasoning that leads to nothing is refused.
  for (let last = input.at(-1); input.length > from && last?.type === 'reasoning'; last = input.at(-1)) {
    report.add('reasoning-dropped', path, 'reasoning was left out: nothing of its message follows it');
    input.pop();
  }
  if (input.length === from) report.add('empty-message', path, 'a message that held nothing but reasoning was left out');
}

function output({ parts, isError, path }: Result, report: Report): string | ResponseInputContent[] {
  if (isError) report.add('error-flag-lost', path, 'a function call’s output cannot be marked as an error');
  if (parts.length === 0) report.add('empty-result', path, 'a result without content says so');
  const [first] = parts;
  if (first === undefined) return '(no content)';
  return parts.length === 1 && first.type === 'text' ? first.text : parts.map(partOf);
}

function partOf(part: Part): ResponseInputContent {
  if (part.type === 'text') return { type: 'input_text', text: part.text };
  return { type: 'input_image', detail: 'auto', image_url: `data:${part.mimeType};base64,${part.data}` };
}

function usageOf({ input_tokens, output_tokens, input_tokens_details, output_tokens_details }: ResponseUsage): Usage {
  // Servers that only speak like OpenAI leave the details out.
  const details = input_tokens_details as Partial<ResponseUsage.InputTokensDetails> | undefined;
  const cached = count(details?.cached_tokens);
  const written = count(details?.cache_write_tokens);
  const reasoning = count((output_tokens_details as Partial<ResponseUsage.OutputTokensDetails> | undefined)?.reasoning_tokens);
  return {
    inputTokens: count(input_tokens - cached - written),
    outputTokens: count(output_tokens - reasoning),
    ...(cached > 0 && { cacheReadTokens: cached }),
    ...(written > 0 && { cacheWriteTokens: written }),
    ...(reasoning > 0 && { reasoningTokens: reasoning }),
  };
}

/** Reads one streamed response. */
export class ResponsesReader implements ChunkReader<ResponseStreamEvent> {
  readonly #report = new Report();
  readonly #aliases: Aliases | undefined;
  readonly #blocks = new Map<string, number>();
  /** What each call's or text's deltas have brought, so that the final item does not bring it again. */
  readonly #seen = new Set<string>();
  readonly #callIds = new Map<number, string>();
  #model: string | undefined;
  #next = 0;

  /**
   * @param aliases from the request's conversion, so that tools come back under their own names
   * @param model the model that was asked, where it goes by another name than the answer's; reasoning is sealed for it
   */
  constructor(aliases?: Aliases, model?: string) {
    this.#aliases = aliases;
    this.#model = model;
  }

  get report(): Answer['report'] {
    return this.#report.notices;
  }

  push(event: ResponseStreamEvent): StreamChunk[] {
    return reading('the event', event, () => this.#read(event));
  }

  #read(event: ResponseStreamEvent): StreamChunk[] {
    const chunks: StreamChunk[] = [];
    switch (event.type) {
      case 'response.created':
        this.#model ??= nameOf(event.response.model);
        break;
      case 'response.output_item.added':
        if (event.item.type === 'function_call') this.#call(event.item, event.output_index, chunks);
        break;
      case 'response.output_text.delta':
        this.#text(event, event.delta, chunks);
        break;
      case 'response.refusal.delta':
        if (!this.#seen.has(key(event))) this.#report.add('refusal-as-text', `output[${event.output_index}]`, 'the model refuses; its words stand as text');
        this.#text(event, event.delta, chunks);
        break;
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        chunks.push({ type: 'reasoning-delta', index: this.#block(`${event.output_index}`, 'reasoning', chunks), text: event.delta });
        break;
      case 'response.function_call_arguments.delta': {
        const place = `${event.output_index}`;
        this.#seen.add(place);
        const id = this.#callIds.get(event.output_index) ?? '';
        chunks.push({ type: 'tool-call-delta', index: this.#block(place, 'tool-call', chunks), id, argumentsDelta: event.delta });
        break;
      }
      case 'response.output_item.done':
        this.#done(event.item, event.output_index, chunks);
        break;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        this.#finish(event.response, chunks);
        break;
      case 'error':
        chunks.push({ type: 'finish', reason: { kind: 'error', failure: failureOf(event) } });
        break;
      default:
    }
    return chunks;
  }

  #block(place: string, blockType: string, chunks: StreamChunk[]): number {
    let index = this.#blocks.get(place);
    if (index === undefined) {
      index = this.#next++;
      this.#blocks.set(place, index);
      chunks.push({ type: 'block-start', index, blockType });
    }
    return index;
  }

  #text(at: { output_index: number; content_index: number }, text: string, chunks: StreamChunk[]): void {
    this.#seen.add(key(at));
    chunks.push({ type: 'text-delta', index: this.#block(key(at), 'text', chunks), text });
  }

  #call({ call_id, name }: ResponseOutputItem & { type: 'function_call' }, place: number, chunks: StreamChunk[]): void {
    const id = this.#aliases?.calls.get(call_id) ?? call_id;
    if (this.#callIds.has(place)) return;
    this.#callIds.set(place, id);
    chunks.push({ type: 'tool-call-delta', index: this.#block(`${place}`, 'tool-call', chunks), id, name: this.#aliases?.tools.get(name) ?? name, argumentsDelta: '' });
  }

  #done(item: ResponseOutputItem, place: number, chunks: StreamChunk[]): void {
    if (item.type === 'message') {
      item.content.forEach((part, content_index) => {
        const at = { output_index: place, content_index };
        if (this.#seen.has(key(at))) return;
        if (part.type === 'refusal') this.#report.add('refusal-as-text', `output[${place}]`, 'the model refuses; its words stand as text');
        this.#text(at, part.type === 'refusal' ? part.refusal : part.text, chunks);
      });
    } else if (item.type === 'function_call') {
      this.#call(item, place, chunks);
      if (!this.#seen.has(`${place}`)) {
        chunks.push({ type: 'tool-call-delta', index: this.#block(`${place}`, 'tool-call', chunks), id: this.#callIds.get(place)!, argumentsDelta: item.arguments });
      }
    } else if (item.type === 'reasoning') {
      const text = [...item.summary, ...(item.content ?? [])].map((part) => part.text).join('\n\n');
      const index = this.#block(`${place}`, 'reasoning', chunks);
      const sealed = item.encrypted_content;
      const block = sealed ? signedBlock({ type: 'reasoning', text, provider: 'openai', ...(this.#model !== undefined && { model: this.#model }), id: item.id, signature: sealed }) : { type: 'reasoning' as const, text };
      if (text !== '' || sealed) chunks.push({ type: 'block-end', index, block });
    } else {
      this.#report.add('answer-part-dropped', `output[${place}]`, `an item of type ${JSON.stringify(item.type)} was left out`);
    }
  }

  #finish({ usage, status, error, incomplete_details, output }: Response, chunks: StreamChunk[]): void {
    if (usage) chunks.push({ type: 'usage', usage: usageOf(usage) });
    const called = this.#callIds.size > 0 || output.some(({ type }) => type === 'function_call');
    let reason: FinishReason = { kind: called ? 'tool-calls' : 'stop' };
    if (status === 'failed') reason = { kind: 'error', failure: failureOf(error) };
    else if (status === 'incomplete') reason = { kind: incomplete_details?.reason === 'content_filter' ? 'content-filter' : 'max-tokens' };
    chunks.push({ type: 'finish', reason });
  }
}

function failureOf(error: unknown): { message: string; code?: string } {
  const { message, code } = Object(error) as { message?: unknown; code?: unknown };
  return { message: textOf(message) || 'the response failed', ...(typeof code === 'string' && { code }) };
}

function key({ output_index, content_index }: { output_index: number; content_index: number }): string {
  return `${output_index}.${content_index}`;
}

/** A response that came whole. */
export function responsesAnswer(response: Response, aliases?: Aliases, model?: string): Answer {
  needObject('the response', response);
  const reader = new ResponsesReader(aliases, model ?? nameOf(response.model));
  const chunks = reading('the response', response, () => [
    ...response.output.flatMap((item, output_index) => reader.push({ type: 'response.output_item.done', item, output_index, sequence_number: 0 })),
    ...reader.push({ type: 'response.completed', response, sequence_number: 0 }),
  ]);
  return { chunks, report: reader.report };
}
