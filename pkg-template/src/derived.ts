/**
 * The derived history, kept beside the surface: each surface node is projected once.
 *
 * Invariants:
 * - `seqs` and `messages` run in parallel, in surface order, and reflect every operation up to the waiting replaces.
 * - A replace waits until somebody derives, so that an append costs the same on a long surface; the positions of its
 *   ends are found by value then, which is exact because operations are applied in order.
 * - The arrays may be shared with a fork that has not looked yet; whoever would change them in the middle copies first.
 */

import type { Message, SurfaceOp } from './events.js';

interface Waiting {
  start: number;
  end: number;
  seq: number;
  message: Message | null;
}

/** Surface order and messages of one session. */
export class Derived {
  #seqs: number[];
  #messages: (Message | null)[];
  /** How many entries belong to this session; more than that may stand in shared arrays. */
  #length: number;
  #nulls: number;
  #shared = false;
  #waiting: Waiting[] = [];

  /** Starts from a surface whose messages are at hand. */
  constructor(seqs: number[] = [], messages: (Message | null)[] = []) {
    this.#seqs = seqs;
    this.#messages = messages;
    this.#length = seqs.length;
    this.#nulls = messages.reduce((count, message) => count + (message === null ? 1 : 0), 0);
  }

  /** Follows an append that the core has accepted. */
  add(seq: number, op: SurfaceOp, message: Message | null): void {
    if (op !== 'append') {
      this.#waiting.push({ start: op.start, end: op.end, seq, message });
      return;
    }
    // A replace that waits finds its ends by value, so appends behind it may go first.
    if (this.#shared && this.#seqs.length > this.#length) this.#own();
    this.#seqs.push(seq);
    this.#messages.push(message);
    this.#length++;
    if (message === null) this.#nulls++;
  }

  /** A second history that starts as the first `length` nodes of this one. Costs nothing until either changes. */
  share(length: number): Derived | undefined {
    if (this.#waiting.length > 0) this.#settle();
    if (length > this.#length) return undefined;
    const twin = new Derived();
    twin.#seqs = this.#seqs;
    twin.#messages = this.#messages;
    twin.#length = length;
    twin.#nulls = length === this.#length ? this.#nulls : this.#messages.slice(0, length).filter((m) => m === null).length;
    twin.#shared = true;
    this.#shared = true;
    return twin;
  }

  /** Seqs of the surface, head to tail. Not to be changed. */
  seqs(): readonly number[] {
    this.#settle();
    if (this.#seqs.length > this.#length) this.#own();
    return this.#seqs;
  }

  /** A fresh array of the messages. */
  messages(): Message[] {
    this.#settle();
    const all = this.#messages.slice(0, this.#length);
    return (this.#nulls === 0 ? all : all.filter((message) => message !== null)) as Message[];
  }

  #own(): void {
    this.#seqs = this.#seqs.slice(0, this.#length);
    this.#messages = this.#messages.slice(0, this.#length);
    this.#shared = false;
  }

  #settle(): void {
    if (this.#waiting.length === 0) return;
    if (this.#shared) this.#own();
    for (const { start, end, seq, message } of this.#waiting) {
      const from = this.#seqs.indexOf(start);
      const count = this.#seqs.indexOf(end, from) - from + 1;
      this.#seqs.splice(from, count, seq);
      for (const gone of this.#messages.splice(from, count, message)) if (gone === null) this.#nulls--;
      if (message === null) this.#nulls++;
    }
    this.#waiting = [];
    this.#length = this.#seqs.length;
  }
}
