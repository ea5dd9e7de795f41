/**
 * Which event lies under which replacement, for all events of a log at once: what the package's surface says of one seq,
 * folded here into one number an event, so that a million rows can each show their mark.
 */

import { NONE } from '../lib/kinds.js';

/** A replace of the log. */
export interface Replace {
  readonly seq: number;
  readonly start: number;
  readonly end: number;
  /** Nodes that it shadowed. */
  readonly count: number;
}

export class Shadows {
  readonly replaces: Replace[] = [];
  /** The surface as a linked list of seqs. Maps, since a damaged log may name any number as a seq. */
  readonly #prev = new Map<number, number>();
  readonly #next = new Map<number, number>();
  /** By seq, the index of the replace that covers it. */
  readonly #cover = new Map<number, number>();
  #tail = NONE;

  append(seq: number): void {
    if (this.#prev.has(seq)) return;
    this.#prev.set(seq, this.#tail);
    this.#next.set(seq, NONE);
    if (this.#tail !== NONE) this.#next.set(this.#tail, seq);
    this.#tail = seq;
  }

  replace(seq: number, start: unknown, end: unknown): void {
    if (typeof start !== 'number' || typeof end !== 'number' || this.#prev.has(seq)) return;
    const before = this.#prev.get(start);
    const after = this.#next.get(end);
    if (before === undefined || after === undefined) return;
    let count = 0;
    for (let at = start; at !== NONE; ) {
      const next = this.#next.get(at) ?? NONE;
      this.#cover.set(at, this.replaces.length);
      this.#prev.delete(at);
      this.#next.delete(at);
      count++;
      if (at === end) break;
      at = next;
    }
    this.#prev.set(seq, before);
    this.#next.set(seq, after);
    if (before !== NONE) this.#next.set(before, seq);
    if (after !== NONE) this.#prev.set(after, seq);
    else this.#tail = seq;
    this.replaces.push({ seq, start, end, count });
  }

  /** The replace that covers the event now. */
  coverOf(seq: number): Replace | undefined {
    const index = this.#cover.get(seq);
    return index === undefined ? undefined : this.replaces[index];
  }

  /** The replace that the event is. */
  replaceOf(seq: number): Replace | undefined {
    let low = 0;
    let high = this.replaces.length - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = this.replaces[middle]!;
      if (found.seq === seq) return found;
      if (found.seq < seq) low = middle + 1;
      else high = middle - 1;
    }
    return undefined;
  }
}
