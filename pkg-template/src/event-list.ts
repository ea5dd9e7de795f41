/**
 * `session.events`: a `readonly SessionEvent[]` in every respect but one, that it does not hold a million objects.
 *
 * Events are materialised from the log's bytes when somebody looks. What somebody still holds is given out again
 * (weakly cached); reading in order fetches pages. `Array.isArray` is true and the array methods work, since the list
 * is a proxy over an empty array whose lookups end here.
 */

import type { SessionEvent } from './events.js';

/** Where the events come from. */
export interface EventSource {
  /** Number of events. */
  length(): number;
  /** The first of the events `from..to`, frozen: at least one, and fewer than all where they are large. */
  read(from: number, to: number): readonly SessionEvent[];
}

/** Most events that reading in order fetches at once. */
const PAGE = 256;

/** Entries of the weak cache at which dead ones are swept for the first time. */
const SWEEP = 4096;

class Pages {
  #page: readonly SessionEvent[] = [];
  #from = 0;
  #last = -2;
  #ahead = 1;
  readonly #held = new Map<number, WeakRef<SessionEvent>>();
  #sweepAt = SWEEP;

  constructor(readonly source: EventSource) {}

  get(seq: number): SessionEvent | undefined {
    const length = this.source.length();
    if (seq < 0 || seq >= length) return undefined;
    const paged = this.#page[seq - this.#from];
    if (paged === undefined) {
      const held = this.#held.get(seq)?.deref();
      if (held !== undefined) return held;
      this.#ahead = seq === this.#last + 1 ? Math.min(this.#ahead * 4, PAGE) : 1;
      this.#load(seq, Math.min(seq + this.#ahead, length));
    }
    this.#last = seq;
    return paged ?? this.#page[0];
  }

  #load(from: number, to: number): void {
    this.#page = this.source.read(from, to).map((event) => {
      const held = this.#held.get(event.seq)?.deref();
      if (held !== undefined) return held;
      if (to - from <= 4) this.#held.set(event.seq, new WeakRef(event));
      return event;
    });
    this.#from = from;
    if (this.#held.size > this.#sweepAt) {
      for (const [seq, ref] of this.#held) if (ref.deref() === undefined) this.#held.delete(seq);
      // What is still held, or was looked at in this very turn, is not looked through again at every step.
      this.#sweepAt = Math.max(SWEEP, 2 * this.#held.size);
    }
  }
}

/** The index that a property key names, or -1. */
function indexOf(key: string | symbol): number {
  if (typeof key !== 'string') return -1;
  const index = Number(key);
  return Number.isInteger(index) && index >= 0 && String(index) === key ? index : -1;
}

function refuse(): never {
  throw new TypeError('session.events is read-only: use session.append');
}

/** The list over a source. */
export function eventList(source: EventSource): readonly SessionEvent[] {
  const pages = new Pages(source);
  return new Proxy<SessionEvent[]>([], {
    get(target, key, receiver): unknown {
      if (key === 'length') return source.length();
      const index = indexOf(key);
      return index >= 0 ? pages.get(index) : Reflect.get(target, key, receiver);
    },
    has(target, key) {
      const index = indexOf(key);
      return index >= 0 ? index < source.length() : Reflect.has(target, key);
    },
    ownKeys() {
      return [...Array.from({ length: source.length() }, (_, index) => String(index)), 'length'];
    },
    getOwnPropertyDescriptor(target, key) {
      if (key === 'length') return { value: source.length(), writable: true, enumerable: false, configurable: false };
      const index = indexOf(key);
      if (index < 0) return Reflect.getOwnPropertyDescriptor(target, key);
      const value = pages.get(index);
      return value === undefined ? undefined : { value, writable: false, enumerable: true, configurable: true };
    },
    set: refuse,
    defineProperty: refuse,
    deleteProperty: refuse,
    setPrototypeOf: refuse,
    preventExtensions: refuse,
  });
}
