/** How many tokens a message costs, guessed from its length. */

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

/**
 * Guesses the tokens of messages: characters divided by {@link EstimateOptions.charsPerToken}, and overhead. Good to
 * decide when to compact; no bill.
 */
export function estimateTokens(messages: Message | readonly Message[], options: EstimateOptions = {}): number {
  const { charsPerToken = 4, tokensPerMessage = 4, tokensPerBlob = 1600, estimate } = options;
  let tokens = 0;
  for (const message of 'role' in messages ? [messages] : messages) {
    if (estimate !== undefined) {
      tokens += estimate(message);
      continue;
    }
    const { chars, blobs } = sizeOf(message);
    tokens += tokensPerMessage + chars / charsPerToken;
    for (const blob of blobs) tokens += Math.min(blob / charsPerToken, tokensPerBlob);
  }
  return Math.ceil(tokens);
}

/** What surrounds the history, as messages to estimate: the system prompt with the tools, and the prefix. */
export function headerMessages(header: EpochHeader | undefined): readonly Message[] {
  if (header === undefined) return [];
  const { system = '', tools, messagePrefix = [] } = header;
  const text = tools === undefined ? system : system + JSON.stringify(tools);
  return text === '' ? messagePrefix : [{ role: 'system', content: [{ type: 'text', text }] }, ...messagePrefix];
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

function measure(content: readonly ContentBlock[], size: Size): void {
  for (const block of content) {
    switch (block.type) {
      case 'text':
      case 'reasoning':
        size.chars += block.text.length;
        break;
      case 'tool-call':
        size.chars += block.name.length + block.arguments.length;
        break;
      case 'tool-result':
        measure(block.content, size);
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
