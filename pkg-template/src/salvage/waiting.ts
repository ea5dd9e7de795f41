/**
 * Records whose seq is ahead of the one that is due. They wait until it shows why:
 *
 * - lines stand in another order than their seqs: the due ones still come, and each goes to its place;
 * - records are missing: those behind it go on from it, and nothing fills the gap;
 * - its seq is wrong: the due ones come and never lead to it. It is set aside, and so is one whose seq is another's already
 *   and with which nothing goes on.
 *
 * Where more wait than a disorder of neighbours explains, only the whole file shows why: all that comes is collected, and
 * has its place when the log has ended, in the order of the seqs if that is what the evidence says.
 *
 * What stands in line always has its place before what waits for it.
 */

import { type Branch, type Hole, WIDEST_GAP } from './branch.js';
import { type Entry, restored, stored, type StoredEntry } from './entry.js';
import { orderBySeq } from './order.js';
import type { Placed, Writers } from './writers.js';

/** What became of a record. */
export interface Settled {
  readonly entry: Entry;
  /** Where it is; absent where it belongs to one branch too many, or was set aside. */
  readonly placed?: Placed;
  /** It stood before records that come before it. */
  readonly early?: boolean;
  /** It was set aside: this seq was due, and no record leads to its own, or goes on from it. */
  readonly due?: number;
}

/** What was there when a record began to wait. */
interface Arrival {
  /** The branch that was nearest to it, what was due there, and how many had come in line until then. */
  readonly home: Branch;
  readonly due: number;
  readonly inLine: number;
}

/** A record that waits. */
type Held = Entry & Arrival;

/** A record that is collected; it may have waited before. */
type Collected = StoredEntry & Partial<Arrival>;

/** Most records, and characters of them, that wait; and most holes that may be what they wait for. */
const MOST_HELD = 256;
const MOST_CHARACTERS = 32 << 20;
const MOST_HOLES = WIDEST_GAP;

/** As many records in a row are right about their seqs, whatever else comes. */
const RUN = 8;

/** Most records that may be missing before a single one that nothing follows. */
const LONE_GAP = 100;

export class Waiting {
  readonly #writers: Writers;
  /** By seq. */
  #held: Held[] = [];
  #characters = 0;
  /** What has come since it was seen that only the whole file shows the order. */
  #collected: Collected[] | undefined;
  /** Few are too many, since they are large. */
  #large = false;
  /** The whole file is known: what cannot wait is settled. */
  #settling = false;
  /** The records come by their seqs, and not as in the file. */
  #reordered = false;
  /** Branches of one record, with what was due when it came. It may be a second writer's first, or have a wrong seq. */
  readonly #forks = new Map<Branch, { readonly settled: Settled; readonly due: number }>();
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
    return this.#held.length === 0 && this.#holes.length === 0 && this.#collected === undefined;
  }

  /** Something could not be read. */
  hole(hole: Hole): void {
    this.#holes.push(hole);
    if (this.#held.length > 0 && this.#holes.length > MOST_HOLES) this.spare.push(this.#holes.shift()!);
  }

  /** The next record of the file; a log must have begun. @returns what is settled by it */
  take(entry: Entry): Settled[] {
    if (this.#collected === undefined) return this.#take(entry);
    this.#collected.push(stored(entry));
    return [];
  }

  /** Settles all that waits, piece by piece: the file, or this log in it, has ended. */
  *finish(): Generator<Settled[]> {
    const collected = this.#collected ?? [];
    this.#collected = undefined;
    this.#settling = true;
    const order = orderBySeq(collected, this.#large ? 0 : MOST_HELD, ({ seq, text }) => this.#writers.isBehind(seq) && this.#writers.copy(text, seq) === undefined);
    this.#reordered = order !== undefined;
    for (let at = 0; at < collected.length; at++) {
      const index = order?.indices[at] ?? at;
      const { home, due = 0, inLine = 0, ...entry } = collected[index]!;
      // Where it stood says nothing in a file that is out of order.
      const arrival = home === undefined || order !== undefined ? undefined : { home, due, inLine };
      yield this.#take(restored(index === order?.firstLate ? { ...entry, late: order.late } : entry), arrival);
    }
    const out: Settled[] = [];
    while (this.#held.length > 0) this.#settleFirst(out);
    this.#setForksAside(1, out);
    for (const { settled } of this.#forks.values()) out.push(settled);
    this.#forks.clear();
    for (const hole of this.#holes.splice(0)) this.spare.push(hole);
    this.#settling = this.#reordered = this.#large = false;
    yield out;
  }

  #take(entry: Entry, arrival?: Arrival): Settled[] {
    const out: Settled[] = [];
    const { seq } = entry.envelope;
    const rival = this.#held.some((one) => one.envelope.seq === seq && one.text !== entry.text) && this.#writers.isAhead(seq);
    // Two that claim one seq are two writers: what waits is settled first.
    if (rival && this.#settling) while (this.#held.length > 0 && this.#writers.isAhead(seq)) this.#settleFirst(out);
    if (!this.#writers.isAhead(seq) || this.#leadsTo(seq, out)) {
      this.#put(entry, out);
      this.#setPassedAside(out);
      return out;
    }
    const home = this.#writers.nearest(seq);
    const behind = this.#held.filter((one) => one.envelope.seq <= seq).length;
    this.#held.splice(behind, 0, { ...entry, ...(arrival ?? { home, due: home.next, inLine: this.#inLine.get(home) ?? 0 }) });
    this.#characters += entry.text.length;
    const tooMany = (): boolean => this.#held.length > MOST_HELD || (this.#characters > MOST_CHARACTERS && this.#held.length > 1);
    if (this.#settling) while (tooMany()) this.#settleFirst(out);
    else if (rival || tooMany()) this.#collect();
    return out;
  }

  #collect(): void {
    this.#large = this.#characters > MOST_CHARACTERS;
    this.#collected = this.#held.splice(0).sort((a, b) => a.byte - b.byte).map(({ envelope: { seq }, ...held }) => ({ ...held, seq }));
    this.#characters = 0;
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

  /** What waits for a seq that has been given to another. */
  #setPassedAside(out: Settled[]): void {
    for (const held of [...this.#held]) {
      const { seq } = held.envelope;
      const passed = this.#writers.isBehind(seq);
      if (!passed) continue;
      if (this.#writers.expects(seq) || this.#writers.copy(held.text, seq) !== undefined) this.#release(held, out);
      else this.#setAside(held, out);
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
    this.#setForksAside(MOST_HELD, out);
    // Holes are in file order. Where the records are not, each hole may be what is missing anywhere.
    let count = this.#reordered ? this.#holes.length : 0;
    while (count < this.#holes.length && this.#holes[count]!.byte < entry.byte) count++;
    const placed = this.#writers.place(entry.text, entry.envelope, entry, this.#holes.slice(0, count));
    const used = placed?.gap?.unreadable ?? 0;
    this.#holes.splice(0, used);
    // As long as a record waits, the holes may be what it waits for.
    if (this.#held.length === 0 && !this.#reordered) for (const hole of this.#holes.splice(0, count - used)) this.spare.push(hole);
    if (!waited && placed !== undefined) this.#inLine.set(placed.branch, (this.#inLine.get(placed.branch) ?? 0) + 1);
    const early = waited && !this.#reordered && placed !== undefined && placed.copyOf === undefined && placed.branch.furthest > entry.byte;
    const settled: Settled = { entry, ...(placed && { placed }), ...(early && { early }) };
    if (placed?.forked === true) {
      const left = placed.branch.source!.branch;
      this.#forks.set(placed.branch, { settled, due: left.next });
      // Of two that say other things under one seq, the file's order would tell which one is gone on with.
      if (this.#reordered) this.#writers.current = left;
      return;
    }
    const fork = placed && this.#forks.get(placed.branch);
    if (fork !== undefined) {
      this.#forks.delete(placed!.branch);
      out.push(fork.settled);
    }
    out.push(settled);
  }

  /** Sets those records aside with which nothing has gone on, while at least so many went on with what they left. */
  #setForksAside(least: number, out: Settled[]): void {
    for (const [branch, { settled: { entry }, due }] of this.#forks) {
      if (branch.source!.branch.next - due < least || !this.#writers.drop(branch)) continue;
      this.#forks.delete(branch);
      out.push({ entry, due });
    }
  }
}
