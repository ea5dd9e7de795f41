/**
 * The messages of surface events, made of what the core lays out (`src/parts.rs` says how): texts that need no parsing,
 * and words that say what to build of them. What is built is what `JSON.parse` would make, frozen.
 */

import { core, type CoreSession } from './core.js';
import type { Message, SessionEvent } from './events.js';
import { deepFreeze } from './freeze.js';
import { KINDS } from './kinds.js';
import { deriveEventMessage } from './project.js';

/** Surface events that are named to the core at once. */
const CROSSING = 256;

const NOTHING = new Uint32Array(0);

/** Event types by their numbers. */
const TYPES = ['', ...KINDS.keys()];

/** The frozen message of each of these surface events, `null` where one yields none. */
export function messagesOf(session: CoreSession, seqs: Uint32Array): (Message | null)[] {
  const messages: (Message | null)[] = [];
  const layout = new Layout();
  try {
    while (messages.length < seqs.length) {
      const words = session.layMessages(seqs.subarray(messages.length, messages.length + CROSSING));
      layout.read(words, session.messageTexts(), messages);
    }
  } finally {
    session.layMessages(NOTHING);
  }
  return messages;
}

/** Reads layouts. Nothing may call the core while one is read: its memory may move. */
class Layout {
  // A mark at the start of a text is a part of it. New ones each time: some engines' decoders end after 2 GiB.
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  readonly #utf16 = new TextDecoder('utf-16le', { ignoreBOM: true });
  #words = NOTHING;
  #word = 0;
  #bytes = new Uint8Array(0);
  #byte = 0;
  #short = '';
  #char = 0;

  /** Adds the messages of the layout at these places. */
  read(words: number, texts: number, messages: (Message | null)[]): void {
    const { buffer } = core().memory;
    this.#words = new Uint32Array(buffer, words);
    this.#word = 0;
    this.#bytes = new Uint8Array(buffer, texts);
    const count = this.#next();
    this.#byte = this.#next();
    this.#short = this.#decode(this.#next(), this.#utf8);
    this.#char = 0;
    this.#byte = 0;
    for (let left = count; left > 0; left--) messages.push(this.#message());
  }

  #message(): Message | null {
    const kind = this.#next();
    switch (kind) {
      case 0:
        return null;
      case 1: {
        const type = TYPES[this.#next()];
        return deriveEventMessage({ type, data: this.#json() } as SessionEvent);
      }
      case 2:
        return Object.freeze({ role: 'user', content: this.#blocks() });
      case 3:
        return Object.freeze({ role: 'assistant', content: this.#blocks() });
      default: {
        const toolCallId = this.#string();
        const content = this.#blocks();
        const result = kind === 4 ? { type: 'tool-result', toolCallId, content } : { type: 'tool-result', toolCallId, content, isError: kind === 6 };
        return Object.freeze({ role: 'user', content: Object.freeze([Object.freeze(result)]) }) as Message;
      }
    }
  }

  #blocks(): Message['content'] {
    const blocks = [];
    for (let count = this.#next(); count > 0; count--) blocks.push(this.#block());
    return Object.freeze(blocks) as Message['content'];
  }

  #block(): unknown {
    switch (this.#next()) {
      case 0:
        return this.#json();
      case 1:
        return Object.freeze({ type: 'text', text: this.#string() });
      case 2:
        return Object.freeze({ type: 'reasoning', text: this.#string() });
      default:
        return Object.freeze({ type: 'tool-call', id: this.#string(), name: this.#string(), arguments: this.#string() });
    }
  }

  #next(): number {
    return this.#words[this.#word++]!;
  }

  #string(): string {
    const word = this.#next();
    const length = word >>> 2;
    if ((word & 2) === 0) return this.#decode(length, (word & 1) === 0 ? this.#utf8 : this.#utf16);
    const from = this.#char;
    this.#char += length;
    return this.#short.slice(from, this.#char);
  }

  #json(): unknown {
    return deepFreeze(JSON.parse(this.#decode(this.#next(), this.#utf8)) as unknown);
  }

  #decode(length: number, decoder: TextDecoder): string {
    const from = this.#byte;
    this.#byte += length;
    return decoder.decode(this.#bytes.subarray(from, this.#byte));
  }
}
