/**
 * The AI SDK's messages: `palimpsest/ai-sdk`.
 *
 * `modelMessages` gives what `streamText` and `generateText` take; the tools stay the program's own. Nothing here calls
 * the network, and the `ai` package is needed for its types only.
 */

import type { FinishReason as SdkFinishReason, LanguageModelUsage, ModelMessage, TextStreamPart, ToolModelMessage, ToolSet } from 'ai';
import type { FinishReason, StreamChunk, Usage } from '../events.js';
import type { ModelRequest } from '../view.js';
import { type Item, type Result, exchange } from './exchange.js';
import { type Answer, type ChunkReader, type Converted, Report, count, finishOf, reading } from './notice.js';
import { argumentsObject } from './text.js';

export { readChunks } from './notice.js';
export type { Aliases, Answer, ChunkReader, Converted, Notice, NoticeCode } from './notice.js';

/** The part of a call's options that comes from the log. */
export interface ModelPrompt {
  system?: string;
  messages: ModelMessage[];
}

type ToolOutput = Extract<ToolModelMessage['content'][number], { type: 'tool-result' }>['output'];

/**
 * A request as messages of the AI SDK. The header's config and tools are the caller's to pass on.
 *
 * Every call has its result in the tool message that follows; ids are unique. Errors of several parts lose their flag.
 * Signatures of reasoning are not passed on: what the SDK's providers keep there is their own. All changes are reported.
 * @throws PalimpsestError `INVALID_ARGUMENT` where it is no request
 */
export function modelMessages(request: ModelRequest): Converted<ModelPrompt> {
  // Half a surrogate pair is the one thing that no body may hold.
  const any = { max: Infinity, refused: /\p{Surrogate}/gu };
  const { items, system, report, converted } = exchange({ ...request, tools: [] }, {
    refusedText: 'empty',
    callId: any,
    toolName: any,
    imagesInResults: 'all',
    maxImage: Infinity,
  });
  const messages: ModelMessage[] = [];
  for (const item of items) write(item, messages, report);
  if (!messages.some(({ role }) => role !== 'system')) {
    report.add('message-inserted', 'messages', 'there is no message to answer; a user message was put in');
    messages.push({ role: 'user', content: '(no message)' });
  }
  return converted({ ...(system !== undefined && { system }), messages });
}

function write(item: Item, messages: ModelMessage[], report: Report): void {
  if (item.role === 'system') {
    messages.push({ role: 'system', content: item.text });
  } else if (item.role === 'user') {
    const content = item.parts.map((part) => (part.type === 'text' ? { type: part.type, text: part.text } : { type: part.type, image: part.data, mediaType: part.mimeType }));
    messages.push({ role: 'user', content });
  } else {
    const content = item.parts.flatMap((part) => {
      if (part.type === 'call') return { type: 'tool-call' as const, toolCallId: part.id, toolName: part.name, input: argumentsObject(part.arguments, report, part.path) };
      if (part.type === 'text' || part.text !== '') return { type: part.type, text: part.text };
      report.add('reasoning-dropped', part.path, 'reasoning without a text was left out');
      return [];
    });
    if (content.length > 0) messages.push({ role: 'assistant', content });
    else report.add('empty-message', item.path, 'a message that held nothing but sealed reasoning was left out');
    if (item.results.length > 0) messages.push({ role: 'tool', content: item.results.map((result) => ({ type: 'tool-result', toolCallId: result.id, toolName: result.name, output: outputOf(result, report) })) });
  }
}

function outputOf({ parts, isError, path }: Result, report: Report): ToolOutput {
  const [first] = parts;
  if (first === undefined) report.add('empty-result', path, 'a result without content says so');
  if (first === undefined || (parts.length === 1 && first.type === 'text')) return { type: isError ? 'error-text' : 'text', value: first?.type === 'text' ? first.text : '(no content)' };
  if (isError) report.add('error-flag-lost', path, 'an error of several parts cannot be marked as one');
  return { type: 'content', value: parts.map((part) => (part.type === 'text' ? { type: part.type, text: part.text } : { type: 'image-data', data: part.data, mediaType: part.mimeType })) };
}

const FINISH: Readonly<Record<SdkFinishReason, FinishReason>> = {
  stop: { kind: 'stop' },
  length: { kind: 'max-tokens' },
  'content-filter': { kind: 'content-filter' },
  'tool-calls': { kind: 'tool-calls' },
  error: { kind: 'error', failure: { message: 'the model call failed' } },
  other: { kind: 'stop' },
};

function usageOf(usage: LanguageModelUsage): Usage {
  const { inputTokens, outputTokens } = usage;
  // Absent before version 6.
  const { inputTokenDetails, outputTokenDetails } = usage as Partial<LanguageModelUsage>;
  const read = count(inputTokenDetails?.cacheReadTokens);
  const written = count(inputTokenDetails?.cacheWriteTokens);
  const reasoning = count(outputTokenDetails?.reasoningTokens);
  return {
    inputTokens: count(inputTokenDetails?.noCacheTokens ?? count(inputTokens) - read - written),
    outputTokens: count(outputTokenDetails?.textTokens ?? count(outputTokens) - reasoning),
    ...(read > 0 && { cacheReadTokens: read }),
    ...(written > 0 && { cacheWriteTokens: written }),
    ...(reasoning > 0 && { reasoningTokens: reasoning }),
  };
}

/** Reads one step of a `fullStream`. Use a reader for each step. */
export class StepReader implements ChunkReader<TextStreamPart<ToolSet>> {
  readonly #report = new Report();
  readonly #blocks = new Map<string, number>();
  readonly #streamed = new Set<string>();
  #failure: string | undefined;

  get report(): Answer['report'] {
    return this.#report.notices;
  }

  push(part: TextStreamPart<ToolSet>): StreamChunk[] {
    return reading('the part', part, () => this.#read(part));
  }

  #read(part: TextStreamPart<ToolSet>): StreamChunk[] {
    const chunks: StreamChunk[] = [];
    switch (part.type) {
      case 'text-start':
        this.#block(`text ${part.id}`, 'text', chunks);
        break;
      case 'text-delta':
        chunks.push({ type: 'text-delta', index: this.#block(`text ${part.id}`, 'text', chunks), text: part.text });
        break;
      case 'reasoning-start':
        this.#block(`reasoning ${part.id}`, 'reasoning', chunks);
        break;
      case 'reasoning-delta':
        chunks.push({ type: 'reasoning-delta', index: this.#block(`reasoning ${part.id}`, 'reasoning', chunks), text: part.text });
        break;
      case 'tool-input-start':
        chunks.push({ type: 'tool-call-delta', index: this.#block(`call ${part.id}`, 'tool-call', chunks), id: part.id, name: part.toolName, argumentsDelta: '' });
        break;
      case 'tool-input-delta':
        this.#streamed.add(part.id);
        chunks.push({ type: 'tool-call-delta', index: this.#block(`call ${part.id}`, 'tool-call', chunks), id: part.id, argumentsDelta: part.delta });
        break;
      case 'tool-call':
        // The text was streamed already, or the input came whole.
        if (this.#streamed.has(part.toolCallId)) break;
        chunks.push({ type: 'tool-call-delta', index: this.#block(`call ${part.toolCallId}`, 'tool-call', chunks), id: part.toolCallId, name: part.toolName, argumentsDelta: JSON.stringify(part.input ?? {}) });
        break;
      case 'error':
        this.#failure = part.error instanceof Error ? part.error.message : String(part.error);
        chunks.push({ type: 'finish', reason: { kind: 'error', failure: { message: this.#failure } } });
        break;
      case 'finish-step':
        chunks.push({ type: 'usage', usage: usageOf(part.usage) });
        if (this.#failure === undefined) chunks.push({ type: 'finish', reason: finishOf(FINISH, part.finishReason) });
        break;
      case 'source':
      case 'file':
        this.#report.add('answer-part-dropped', part.type, `a part of type ${JSON.stringify(part.type)} was left out`);
        break;
      default:
    }
    return chunks;
  }

  #block(key: string, blockType: string, chunks: StreamChunk[]): number {
    let index = this.#blocks.get(key);
    if (index === undefined) {
      index = this.#blocks.size;
      this.#blocks.set(key, index);
      chunks.push({ type: 'block-start', index, blockType });
    }
    return index;
  }
}

/** What `generateText` gives for a step, as far as it is read here. */
export interface StepContent {
  readonly content: readonly { readonly type: string }[];
  readonly usage: LanguageModelUsage;
  readonly finishReason: SdkFinishReason;
}

type Known = { readonly type: 'text' | 'reasoning'; readonly text: string } | { readonly type: 'tool-call'; readonly toolCallId: string; readonly toolName: string; readonly input: unknown } | { readonly type: 'source' };

/** A step that came whole. */
export function stepAnswer(step: StepContent): Answer {
  const report = new Report();
  return { chunks: reading('the step', step, () => chunksOf(step, report)), report: report.notices };
}

function chunksOf({ content, usage, finishReason }: StepContent, report: Report): StreamChunk[] {
  const chunks = (content as readonly Known[]).flatMap((part, index): StreamChunk[] => {
    if (part.type === 'text' || part.type === 'reasoning') return [{ type: 'block-end', index, block: { type: part.type, text: part.text } }];
    if (part.type === 'tool-call') return [{ type: 'block-end', index, block: { type: 'tool-call', id: part.toolCallId, name: part.toolName, arguments: JSON.stringify(part.input ?? {}) } }];
    report.add('answer-part-dropped', `content[${index}]`, `a part of type ${JSON.stringify(part.type)} was left out`);
    return [];
  });
  return [...chunks, { type: 'usage', usage: usageOf(usage) }, { type: 'finish', reason: finishOf(FINISH, finishReason) }];
}
