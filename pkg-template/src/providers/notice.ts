/** What a converter had to change, and the parts that all converters share. */

import { need, needObject } from '../arguments.js';
import { PalimpsestError } from '../errors.js';
import type { FinishReason, StreamChunk } from '../events.js';

/** What was changed or could not be expressed. Codes are stable; messages are not. */
export type NoticeCode =
  /** A call has no result; an error result that says so was put in. */
  | 'no-result-recorded'
  /** A result answers no call of the history; its content stands as text of the user. */
  | 'orphan-result'
  /** A second result for one call; its content stands as text of the user. */
  | 'duplicate-result'
  /** A result did not follow its call directly; it was moved up to it. */
  | 'result-moved'
  /** A result is an error, and the format has no place to say so. */
  | 'error-flag-lost'
  /** A result without content got a word in place of it. */
  | 'empty-result'
  /** A call id was used before in this request, or is not one that the provider takes; another stands for it. */
  | 'call-id-changed'
  /** A tool's name is not one that the provider takes; another stands for it. */
  | 'tool-name-changed'
  /** What is no message, block, tool or system prompt, though it stands where one should, was left out. */
  | 'malformed'
  /** A value that is nested deeper than 500 levels was left out: few programs can write or read it. */
  | 'too-deep'
  /** Two tools have one name; the first counts. */
  | 'duplicate-tool'
  /** A tool's schema got the `type` that the provider asks for, or gave way to an empty one because it was no object. */
  | 'schema-changed'
  /** Arguments that are missing, blank or `null` became an empty object. */
  | 'arguments-missing'
  /** Arguments that are not JSON, not an object, or nested too deep, stand under the key `raw`. */
  | 'arguments-wrapped'
  /** Numbers in arguments that would be rounded stand as text. */
  | 'number-as-text'
  /** Half a surrogate pair became U+FFFD. */
  | 'lone-surrogate'
  /** An empty or blank text was left out. */
  | 'empty-text'
  /** A message in which nothing was left, left out. */
  | 'empty-message'
  /** Messages of one role in a row became one. */
  | 'messages-merged'
  /** A message that the provider asks for was put in. */
  | 'message-inserted'
  /** The history ends with the assistant's words; the provider may continue them, or refuse. */
  | 'ends-with-assistant'
  /** A system message stands elsewhere, or as a user's. */
  | 'system-moved'
  /** Blocks stand in another order within their message. */
  | 'order-changed'
  /** Reasoning was left out. */
  | 'reasoning-dropped'
  /** An image was left out; a text says so in its place. */
  | 'image-dropped'
  /** A block of a type that the converter does not know, in a place where it cannot stand, or without what its type needs, was left out. */
  | 'unknown-block'
  /** A field of the header's config that the converter does not know, or cannot use, was left out. */
  | 'unknown-config'
  /** The limit of output tokens is the converter's own: neither config nor options name one. */
  | 'default-max-tokens'
  /** Part of an answer that the vocabulary has no place for. */
  | 'answer-part-dropped'
  /** The words with which a model refuses stand as text. */
  | 'refusal-as-text';

/** One thing that a converter changed or could not express. */
export interface Notice {
  readonly code: NoticeCode;
  /** Where in what was converted: `messages[3].content[0]`. */
  readonly path: string;
  /** One sentence for people. */
  readonly message: string;
}

/** @internal Collects notices. */
export class Report {
  readonly notices: Notice[] = [];

  add(code: NoticeCode, path: string, message: string): void {
    this.notices.push(Object.freeze({ code, path, message }));
  }
}

/** What was sent under another name, by the name that was sent: to be given to the reader of the answer. */
export interface Aliases {
  readonly tools: ReadonlyMap<string, string>;
  readonly calls: ReadonlyMap<string, string>;
}

/** A request in a provider's form. */
export interface Converted<Body> {
  /** What the provider's package takes. */
  readonly body: Body;
  /** All that was changed or could not be expressed; empty when the body says exactly what the request says. */
  readonly report: readonly Notice[];
  /** Names and ids that stand for others in the body. */
  readonly aliases: Aliases;
}

/** Reads one streamed answer. */
export interface ChunkReader<Event> {
  /** The chunks that one event of the provider amounts to. */
  push(event: Event): StreamChunk[];
  /** What the reader had to change or leave out so far. */
  readonly report: readonly Notice[];
}

/** An answer that came whole. */
export interface Answer {
  /** The same chunks that a stream would have given; `BlockAssembler.of(chunks)` makes the message. */
  readonly chunks: readonly StreamChunk[];
  readonly report: readonly Notice[];
}

/** The chunks of a stream, as they come: `for await (const chunk of readChunks(stream, new ChatReader()))`. */
export async function* readChunks<Event>(events: AsyncIterable<Event>, reader: ChunkReader<Event>): AsyncGenerator<StreamChunk, void, undefined> {
  for await (const event of events) yield* reader.push(event);
}

/** @internal A count that providers give as null, or leave out. */
export function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? Math.max(0, value) : 0;
}

/** @internal A name, where it is one. */
export function nameOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** @internal What a provider's word for the end means. A word that is not known is a stop. */
export function finishOf(reasons: Readonly<Record<string, FinishReason>>, word: unknown): FinishReason {
  return typeof word === 'string' && Object.hasOwn(reasons, word) ? reasons[word]! : { kind: 'stop' };
}

/**
 * @internal Reads what a provider has sent, which may be anything.
 * @throws PalimpsestError `INVALID_ARGUMENT` where it is not of the provider's form, or nested too deeply
 */
export function reading(name: string, value: unknown, read: () => StreamChunk[]): StreamChunk[] {
  needObject(name, value);
  let chunks;
  try {
    chunks = read();
  } catch (error) {
    if (!(error instanceof TypeError) && !(error instanceof RangeError)) throw error;
    throw new PalimpsestError('INVALID_ARGUMENT', `${name} is not what the provider sends: ${error.message}`, { cause: error });
  }
  for (const chunk of chunks) {
    if ('index' in chunk) need(Number.isFinite(chunk.index), `the index in ${name}`, chunk.index, 'a number');
    const { block = chunk } = chunk as { block?: object };
    for (const key of TEXTS) {
      const text = (block as Readonly<Record<string, unknown>>)[key];
      need(!Object.hasOwn(block, key) || typeof text === 'string', `a text in ${name}`, text, 'a text');
    }
  }
  return chunks;
}

const TEXTS = ['text', 'id', 'name', 'arguments', 'argumentsDelta', 'signature'] as const;
