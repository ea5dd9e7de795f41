/**
 * Records whose seq is ahead of the one that is due. They wait until it shows why:
 *
 * - lines stand in another order than their seqs: the due ones still come, and each goes to its place;
 * - records are missing: those behind it go on from it, and nothing fills the gap;
 * - its seq is wrong: the due ones come and never lead to it. It is set aside.
 *
 * What stands in line always has its place before what waits for it.
 */

import type { Branch, Hole, Place } from './branch.js';
import type { FaultCode } from './finding.js';
import type { Envelope } from './record.js';
import type { Placed, Writers } from './writers.js';

/** A record of the file. */
export interface Entry extends Place {
  readonly text: string;
  readonly envelope: Envelope;
  /** Bytes of the file that it covers. */
  readonly length: number;
  /** What was wrong with its bytes, and where in them. */
  readonly fault?: { readonly code: FaultCode; readonly at: number };
}

/** What became of a record. */
export interface Settled {
  readonly entry: Entry;
  /** Where it is; absent where it belongs to one branch too many, or was set aside. */
  readonly placed?: Placed;
  /** It stood before records that come before it. */
  readonly early?: boolean;
  /** It was set aside: this seq was due, and no record leads to its own. */
  readonly due?: number;
}

/** A record that waits. */
interface Held extends Entry {
  /** The branch that is nearest to it, what was due there when it came, and how many had come in line until then. */
  readonly home: Branch;
  readonly due: number;
  readonly inLine: number;
}

/** Most records, and characters of them, that wait. */
const MOST_HELD = 256;
const MOST_CHARACTERS = 32 << 20;

/** As many records in a row are right about their seqs, whatever else comes. */
const RUN = 8;

/** Most records that may be missing before a single one that nothing follows. */
const LONE_GAP = 100;

export class Waiting {
  readonly #writers: Writers;
  /** By seq. */
  #held: Held[] = [];
  #characters = 0;
  /** How many records of each branch came when they were due, without having to wait. */
  readonly #inLine = new Map<Branch, number>();
  /** What could not be read since the last record that has a place, in file order. */
  #holes: Hole[] = [];
  /** Holes for which no seq was missing. */
  readonly spare: Hole[] = [];

  constructor(writers: Writers) {
    this.#writers = writers;
  }

  /** Whether nothing waits: neither a record nor a hole. */
  get idle(): boolean {
    return this.#held.length === 0 && this.#holes.length === 0;
  }

  /** Something could not be read. */
  hole(hole: Hole): void {
    this.#holes.push(hole);
  }

  /** The next record of the file; a log must have begun. @returns what is settled by it */
  take(entry: Entry): Settled[] {
    const out: Settled[] = [];
    const { seq } = entry.envelope;
    // Two that claim one seq are two writers: what waits is settled first.
    if (this.#held.some((one) => one.envelope.seq === seq && one.text !== entry.text)) while (this.#held.length > 0 && this.#writers.isAhead(seq)) this.#settleFirst(out);
    if (!this.#writers.isAhead(seq) || this.#leadsTo(seq, out)) {
      this.#put(entry, out);
      this.#setPassedAside(out);
      return out;
    }
    const home = this.#writers.nearest(seq);
    const behind = this.#held.filter((one) => one.envelope.seq <= seq).length;
    this.#held.splice(behind, 0, { ...entry, home, due: home.next, inLine: this.#inLine.get(home) ?? 0 });
    this.#characters += entry.text.length;
    while (this.#held.length > MOST_HELD || (this.#characters > MOST_CHARACTERS && this.#held.length > 1)) this.#settleFirst(out);
    return out;
  }

  /** Settles all that waits: the file, or this log in it, has ended. */
  finish(): Settled[] {
    const out: Settled[] = [];
    while (this.#held.length > 0) this.#settleFirst(out);
    this.spare.push(...this.#holes.splice(0));
    return out;
  }

  /** Whether what waits leads a branch up to this seq; then it takes its places. */
  #leadsTo(seq: number, out: Settled[]): boolean {
    for (const branch of this.#writers.branches) {
      const chain: Held[] = [];
      for (const held of this.#held) if (branch.seqOf(held.envelope.seq) === branch.next + chain.length) chain.push(held);
      if (branch.next + chain.length !== branch.seqOf(seq)) continue;
      for (const held of chain) this.#release(held, out);
      return true;
    }
    return false;
  }

  /** Settles the lowest one that waits, and what goes on from it. */
  #settleFirst(out: Settled[]): void {
    const [first] = this.#held;
    const { seq } = first!.envelope;
    const home = this.#writers.nearest(seq);
    const missing = home.seqOf(seq) - home.next;
    const run = this.#runFrom(0);
    const since = this.#since(first!);
    if (since > 0 ? run < RUN && missing > Math.min(since, RUN) : run === 1 && missing > LONE_GAP) {
      this.#setAside(first!, out);
      return;
    }
    this.#release(first!, out);
    while (this.#held.length > 0 && this.#writers.expects(this.#held[0]!.envelope.seq)) this.#release(this.#held[0]!, out);
    this.#setPassedAside(out);
  }

  /** How many that were due have come behind it. */
  #since({ home, inLine }: Held): number {
    return (this.#inLine.get(home) ?? 0) - inLine;
  }

  /** How many that wait, from this one on, have seqs in a row. */
  #runFrom(index: number): number {
    let last = this.#held[index]!.envelope.seq;
    let run = 1;
    for (const { envelope } of this.#held.slice(index + 1)) {
      if (envelope.seq > last + 1) break;
      if (envelope.seq > last) run++;
      last = envelope.seq;
    }
    return run;
  }

  /** What waits for a seq that has been given to another, or has waited too long. */
  #setPassedAside(out: Settled[]): void {
    for (const held of [...this.#held]) {
      const { seq } = held.envelope;
      const passed = this.#writers.isBehind(seq);
      if (passed && (this.#writers.expects(seq) || this.#writers.copy(held.text, seq) !== undefined)) this.#release(held, out);
      else if (passed || (this.#since(held) >= MOST_HELD && !held.home.expects(seq) && this.#runFrom(this.#held.indexOf(held)) < RUN)) this.#setAside(held, out);
    }
  }

  #setAside(held: Held, out: Settled[]): void {
    this.#forget(held);
    out.push({ entry: held, due: held.due });
  }

  #release(held: Held, out: Settled[]): void {
    this.#forget(held);
    this.#put(held, out, true);
  }

  #forget(held: Held): void {
    this.#held.splice(this.#held.indexOf(held), 1);
    this.#characters -= held.text.length;
  }

  #put(entry: Entry, out: Settled[], waited = false): void {
    const before = this.#holes.filter(({ byte }) => byte < entry.byte);
    const placed = this.#writers.place(entry.text, entry.envelope, entry, before);
    if (this.#holes.length > 0) {
      const used = new Set(before.slice(0, placed?.gap?.unreadable ?? 0));
      // As long as a record waits, the holes may be what it waits for.
      if (this.#held.length === 0) this.spare.push(...before.filter((hole) => !used.has(hole)));
      this.#holes = this.#held.length === 0 ? this.#holes.filter(({ byte }) => byte >= entry.byte) : this.#holes.filter((hole) => !used.has(hole));
    }
    if (!waited && placed !== undefined) this.#inLine.set(placed.branch, (this.#inLine.get(placed.branch) ?? 0) + 1);
    const early = waited && placed !== undefined && placed.copyOf === undefined && placed.branch.furthest > entry.byte;
    out.push({ entry, ...(placed && { placed }), ...(early && { early }) });
  }
}
