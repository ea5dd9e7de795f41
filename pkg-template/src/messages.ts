/**
 * The messages of surface events, made of what the core lays out (`src/parts.rs` says how): texts that need no parsing,
 * and words that say what to build of them. What is built is what `JSON.parse` would make, frozen.
 */

import { core, type CoreSession } from './core.js';
import type { Message } from './events.js';
import { deepFreeze } from './freeze.js';

/** Surface events that are named to the core at once. */
const CROSSING = 256;

const NOTHING = new Uint32Array(0);

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

  /** Adds the messages of the layout at these places. */
  read(words: number, texts: number, messages: (Message | null)[]): void {
    const { buffer } = core().memory;
    this.#words = new Uint32Array(buffer, words);
    this.#word = 1;
    this.#bytes = new Uint8Array(buffer, texts);
    this.#byte = 0;
    for (let count = this.#words[0]!; count > 0; count--) messages.push(this.#message());
  }

  #message(): Message | null {
    const kind = this.#next();
    switch (kind) {
      case 0:
        return null;
      case 1:
        return this.#json() as Message;
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
    return this.#decode(word >>> 1, (word & 1) === 0 ? this.#utf8 : this.#utf16);
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
