/**
 * The derived history, kept beside the surface: each surface node is projected once.
 *
 * Invariants:
 * - `seqs` and `messages` run in parallel, in surface order, and reflect every operation up to the waiting replaces.
 * - A replace waits until somebody derives, so that an append costs the same on a long surface; the positions of its
 *   ends are found by value then, which is exact because operations are applied in order.
 * - Nodes stand in the order of their ranks: an appended node's rank is its seq, and a node that replaces others takes
 *   the rank of the first of them. Ranks that are no seqs of their nodes are in `ranks`; so a node is found by search.
 * - The arrays may be shared with forks. One of the sharers may add to them at the end; whoever comes later, or would
 *   change them in the middle, copies first.
 */

import type { Message, SurfaceOp } from './events.js';

interface Waiting {
  start: number;
  end: number;
  seq: number;
  message: Message | null;
}

/** One replace, counted in messages. What was appended since the one before shows in `length`. */
interface Edit {
  /** Number of messages before it. */
  length: number;
  at: number;
  removed: number;
  inserted: number;
}

/** Where a reader of changes stands. Opaque: get it from one call, give it to the next. */
export interface ChangeCursor {
  /** @internal */
  readonly history: symbol;
  /** @internal */
  readonly edits: number;
  /** @internal */
  readonly length: number;
}

/** How the derived history has changed: at index `at`, `removed` messages have given way to `inserted`. */
export interface HistoryChange {
  readonly at: number;
  readonly removed: number;
  readonly inserted: readonly Message[];
  /** For the next call. */
  readonly cursor: ChangeCursor;
}

/** Replaces that are remembered for readers of changes; one that is further behind gets the whole history anew. */
const REMEMBERED = 1024;

/** Surface order and messages of one session. */
export class Derived {
  #seqs: number[];
  #messages: (Message | null)[];
  /** How many entries belong to this session; more than that may stand in shared arrays. */
  #length: number;
  #ranks: Map<number, number>;
  #nulls: number;
  #shared = false;
  #waiting: Waiting[] = [];
  readonly #history = Symbol('history');
  #edits: Edit[] = [];
  #forgotten = 0;

  /** Starts from a surface whose messages are at hand. */
  constructor(seqs: number[] = [], messages: (Message | null)[] = []) {
    this.#seqs = seqs;
    this.#messages = messages;
    this.#length = seqs.length;
    this.#ranks = ranksOf(seqs);
    this.#nulls = countNulls(messages);
  }

  /** Follows an append that the core has accepted. */
  add(seq: number, op: SurfaceOp, message: Message | null): void {
    if (op !== 'append') {
      this.#waiting.push({ start: op.start, end: op.end, seq, message });
      return;
    }
    if (this.#shared && this.#seqs.length > this.#length) this.#own();
    this.#seqs.push(seq);
    this.#messages.push(message);
    this.#length++;
    if (message === null) this.#nulls++;
  }

  /** A second history that starts as the first `length` nodes of this one. Costs nothing until either changes. */
  share(length: number): Derived | undefined {
    this.#settle();
    if (length > this.#length) return undefined;
    const twin = new Derived();
    twin.#seqs = this.#seqs;
    twin.#messages = this.#messages;
    twin.#length = length;
    twin.#ranks = this.#ranks;
    twin.#nulls = this.#nulls === 0 || length === this.#length ? this.#nulls : countNulls(this.#messages, 0, length);
    twin.#shared = this.#shared = true;
    return twin;
  }

  /** Seqs of the surface, head to tail. Not to be changed. */
  seqs(): readonly number[] {
    this.#settle();
    if (this.#seqs.length > this.#length) this.#own();
    return this.#seqs;
  }

  /** The surface, head to tail, and beside each node its message. Not to be changed. */
  nodes(): { readonly seqs: readonly number[]; readonly messages: readonly (Message | null)[] } {
    const seqs = this.seqs();
    return { seqs, messages: this.#messages };
  }

  /** A fresh array of the messages. */
  messages(from = 0, until?: number): Message[] {
    this.#settle();
    const to = until ?? this.#length - this.#nulls;
    if (this.#nulls === 0) return this.#messages.slice(from, to) as Message[];
    return this.#messages.slice(this.#entryOf(from), this.#entryOf(to)).filter((message) => message !== null);
  }

  /** What has changed since a cursor of this history; everything for any other. */
  changesSince(since: ChangeCursor | undefined): HistoryChange {
    this.#settle();
    const length = this.#length - this.#nulls;
    const edits = this.#forgotten + this.#edits.length;
    const cursor: ChangeCursor = { history: this.#history, edits, length };
    if (since?.history !== this.#history || since.edits < this.#forgotten) {
      return { at: 0, removed: since?.length ?? 0, inserted: this.messages(), cursor };
    }
    if (since.edits === edits) return { at: since.length, removed: 0, inserted: this.messages(since.length, length), cursor };
    // One patch that covers all: what is untouched at the start, and what is untouched at the end.
    let now = since.length;
    let head = now;
    let tail = now;
    for (let next = since.edits - this.#forgotten; next < this.#edits.length; next++) {
      const edit = this.#edits[next]!;
      if (edit.length > now) tail = 0;
      head = Math.min(head, edit.at);
      tail = Math.min(tail, edit.length - edit.at - edit.removed);
      now = edit.length + edit.inserted - edit.removed;
    }
    if (length > now) tail = 0;
    tail = Math.min(tail, since.length - head, length - head);
    return { at: head, removed: since.length - head - tail, inserted: this.messages(head, length - tail), cursor };
  }

  /** The entry at which the messages behind the first `count` begin. Looked for from the nearer end: changes are near the tail. */
  #entryOf(count: number): number {
    const messages = this.#messages;
    const behind = this.#length - this.#nulls - count;
    let at = count < behind ? 0 : this.#length;
    if (count < behind) {
      for (let left = count; left > 0; at++) if (messages[at] !== null) left--;
    } else {
      for (let left = behind; left > 0; ) if (messages[--at] !== null) left--;
    }
    return at;
  }

  /** How many entries before this one yield no message. */
  #nullsBefore(entry: number): number {
    if (this.#nulls === 0) return 0;
    const behind = this.#length - entry;
    return entry < behind ? countNulls(this.#messages, 0, entry) : this.#nulls - countNulls(this.#messages, entry, this.#length);
  }

  #own(): void {
    this.#seqs = this.#seqs.slice(0, this.#length);
    this.#messages = this.#messages.slice(0, this.#length);
    this.#ranks = new Map(this.#ranks);
    this.#shared = false;
  }

  #settle(): void {
    if (this.#waiting.length === 0) return;
    if (this.#shared) this.#own();
    for (const { start, end, seq, message } of this.#waiting) {
      const from = this.#placeOf(start);
      const count = start === end ? 1 : this.#placeOf(end) - from + 1;
      const length = this.#length - this.#nulls;
      const at = from - this.#nullsBefore(from);
      let gone: number;
      this.#ranks.set(seq, this.#ranks.get(start) ?? start);
      for (let i = from; i < from + count; i++) this.#ranks.delete(this.#seqs[i]!);
      if (count === 1) {
        gone = this.#messages[from] === null ? 1 : 0;
        this.#seqs[from] = seq;
        this.#messages[from] = message;
      } else {
        this.#seqs.splice(from, count, seq);
        gone = countNulls(this.#messages.splice(from, count, message));
      }
      const inserted = message === null ? 0 : 1;
      this.#nulls += 1 - inserted - gone;
      this.#length += 1 - count;
      this.#edits.push({ length, at, removed: count - gone, inserted });
    }
    this.#waiting = [];
    if (this.#edits.length > 2 * REMEMBERED) {
      const over = this.#edits.length - REMEMBERED;
      this.#edits = this.#edits.slice(over);
      this.#forgotten += over;
    }
  }

  /** Where a node of the surface is. */
  #placeOf(seq: number): number {
    const ranks = this.#ranks;
    const rank = ranks.get(seq) ?? seq;
    let low = 0;
    let high = this.#length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = this.#seqs[middle]!;
      if ((ranks.get(found) ?? found) < rank) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/**
 * Ranks of the nodes that stand before a smaller seq. Those were not appended, since what comes after an appended node
 * was logged after it; what their first nodes were is not known, nor needed: any ranks in this order serve.
 */
function ranksOf(seqs: readonly number[]): Map<number, number> {
  const ranks = new Map<number, number>();
  let next = Infinity;
  for (let i = seqs.length - 1; i >= 0; i--) {
    if (seqs[i]! < next) {
      next = seqs[i]!;
      continue;
    }
    // From here back to the next node in order, equal steps down to its rank.
    let before = i;
    while (before >= 0 && seqs[before]! >= next) before--;
    const start = before < 0 ? -1 : seqs[before]!;
    for (let k = before + 1; k <= i; k++) ranks.set(seqs[k]!, start + ((next - start) * (k - before)) / (i - before + 1));
    i = before + 1;
  }
  return ranks;
}

function countNulls(messages: readonly (Message | null)[], from = 0, to = messages.length): number {
  let count = 0;
  for (let i = from; i < to; i++) if (messages[i] === null) count++;
  return count;
}
