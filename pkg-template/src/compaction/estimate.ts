/** How many tokens a message costs, guessed from its length. */

import { isObject, need, needAmount, needFunction, needObject, needPositive } from '../arguments.js';
import { blocksIn, isDeep, isRecord, textOf } from '../depth.js';
import type { ContentBlock, EpochHeader, Message } from '../events.js';

/** How to guess. */
export interface EstimateOptions {
  /** Characters (UTF-16 units) to a token: 4 when absent. Scripts without spaces need less. */
  readonly charsPerToken?: number | undefined;
  /** Overhead of a message: 4 when absent. */
  readonly tokensPerMessage?: number | undefined;
  /** Most that a block costs which is neither text nor a call nor a result, however long its data is: 1,600 when absent. */
  readonly tokensPerBlob?: number | undefined;
  /** Replaces the guess altogether: the tokens of one message. */
  readonly estimate?: ((message: Message) => number) | undefined;
}

interface Size {
  /** Characters of text. */
  chars: number;
  /** Characters of each block that only the program knows. */
  readonly blobs: number[];
}

/** Messages are frozen, so that each is measured once. */
const sizes = new WeakMap<Message, Size>();

/** @throws PalimpsestError `INVALID_ARGUMENT` */
export function checkEstimate(options: EstimateOptions): void {
  needObject('options', options);
  const { charsPerToken, tokensPerMessage, tokensPerBlob, estimate } = options;
  if (charsPerToken !== undefined) needPositive('options.charsPerToken', charsPerToken);
  if (tokensPerMessage !== undefined) needAmount('options.tokensPerMessage', tokensPerMessage);
  if (tokensPerBlob !== undefined) needAmount('options.tokensPerBlob', tokensPerBlob);
  if (estimate !== undefined) needFunction('options.estimate', estimate);
}

/**
 * Guesses the tokens of messages: characters divided by {@link EstimateOptions.charsPerToken}, and overhead. Good to
 * decide when to compact; no bill.
 * @throws PalimpsestError `INVALID_ARGUMENT`
 */
export function estimateTokens(messages: Message | readonly Message[], options: EstimateOptions = {}): number {
  checkEstimate(options);
  const { charsPerToken = 4, tokensPerMessage = 4, tokensPerBlob = 1600, estimate } = options;
  let tokens = 0;
  for (const message of listOf(messages)) {
    if (estimate !== undefined) {
      const own = estimate(message);
      needAmount('what options.estimate gives', own);
      tokens += own;
      continue;
    }
    const { chars, blobs } = sizeOf(message);
    tokens += tokensPerMessage + chars / charsPerToken;
    for (const blob of blobs) tokens += Math.min(blob / charsPerToken, tokensPerBlob);
  }
  return Math.ceil(tokens);
}

function listOf(messages: Message | readonly Message[]): readonly Message[] {
  const list = Array.isArray(messages) ? (messages as readonly Message[]) : [messages as Message];
  const odd = list.findIndex((message) => !isObject(message) || !Array.isArray(message.content));
  if (odd >= 0) need(false, Array.isArray(messages) ? `messages[${odd}]` : 'messages', list[odd], 'a message, with an array of blocks as its content');
  return list;
}

/** What surrounds the history, as messages to estimate: the system prompt with the tools, and the prefix. */
export function headerMessages(header: EpochHeader | undefined): readonly Message[] {
  if (header === undefined) return [];
  // A log of another origin may hold anything here.
  const { system, tools, messagePrefix } = header as { readonly [K in keyof EpochHeader]?: unknown };
  const deep = isDeep(tools);
  const text = tools === undefined || deep ? textOf(system) : textOf(system) + JSON.stringify(tools);
  const prefix = (Array.isArray(messagePrefix) ? (messagePrefix as unknown[]) : []).filter((message) => isRecord(message) && Array.isArray(message.content)) as Message[];
  const content: ContentBlock[] = [];
  if (text !== '') content.push({ type: 'text', text });
  if (deep) content.push({ type: 'tools', tools } as unknown as ContentBlock);
  return content.length === 0 ? prefix : [{ role: 'system', content }, ...prefix];
}

function sizeOf(message: Message): Size {
  let size = sizes.get(message);
  if (size === undefined) {
    size = { chars: 0, blobs: [] };
    measure(message.content, size);
    if (Object.isFrozen(message)) sizes.set(message, size);
  }
  return size;
}

/** Iterative, since results may be nested in results. */
function measure(content: readonly ContentBlock[], size: Size): void {
  const waiting = blocksIn(content);
  for (let block = waiting.pop(); block !== undefined; block = waiting.pop()) {
    switch (block.type) {
      case 'text':
      case 'reasoning':
        size.chars += textOf(block.text).length;
        break;
      case 'tool-call':
        size.chars += textOf(block.name).length + textOf(block.arguments).length;
        break;
      case 'tool-result':
        for (const inner of blocksIn(block.content)) waiting.push(inner);
        break;
      default:
        size.blobs.push(charsIn(block));
    }
  }
}

/** Characters of all strings in a value. Iterative, since a block may be nested as deep as JSON goes. */
export function charsIn(value: unknown): number {
  let chars = 0;
  const waiting = [value];
  while (waiting.length > 0) {
    const item = waiting.pop();
    if (typeof item === 'string') chars += item.length;
    else if (typeof item === 'object' && item !== null) for (const child of Object.values(item)) waiting.push(child);
    else chars += 4;
  }
  return chars;
}
