/** Whose record is it? The branches of a file's writers, and which of them a record continues. */

import type { ErrorCode } from '../errors.js';
import { thrownByCore } from '../core.js';
import { Branch, type Hole, type Outcome, type Place, WIDEST_GAP } from './branch.js';
import { type Envelope, headOf, isSeq, withMembers } from './record.js';

/** What became of a record, and what it says about the file. */
export interface Placed extends Outcome {
  readonly branch: Branch;
  /** Seq in the branch. */
  readonly seq: number;
  /** Seqs that were missing before it, and how many of these the holes account for. */
  readonly gap?: { readonly missing: number; readonly unreadable: number };
  /** It begins a branch: a second writer. */
  readonly forked?: boolean;
  /** It is the same, byte for byte, as an event that was there. */
  readonly copyOf?: number;
  /** Its seq is so far ahead that it was counted anew. */
  readonly jumped?: boolean;
}

/** Most branches that are told apart: a program that does not count at all would make one with each record. */
const MOST_BRANCHES = 100;

/** Most records that may be missing between a branch's only record and the next one: a lone one may have a wrong seq. */
const NEAR = 2;

/** The branches of one file. */
export class Writers {
  readonly branches: Branch[] = [];
  /** The branch that was written to last. */
  current: Branch | undefined;
  #header: Readonly<Record<string, unknown>> = {};

  /** Begins a log under this header line. @returns why the core refuses the header */
  begin(header: string): ErrorCode | undefined {
    // A header that nothing has followed began nothing.
    const last = this.branches[this.branches.length - 1];
    if (last?.next === 0 && last.header === header) return undefined;
    if (this.branches.length > 1 && last?.next === 0) {
      last.free();
      this.branches.pop();
      this.current = this.branches[0];
    }
    if (this.branches.length >= MOST_BRANCHES) return 'CORRUPT_LOG';
    const { id } = JSON.parse(header) as { id?: unknown };
    const free = typeof id === 'string' ? this.#freeId(id) : undefined;
    try {
      this.current = new Branch(free === undefined || free === id ? header : withMembers(header, { id: JSON.stringify(free), parentSession: JSON.stringify(id), seedLength: '0' }));
    } catch (thrown) {
      const error = thrownByCore(thrown);
      if (error === undefined) throw thrown;
      return error.code;
    }
    if (this.branches.length === 0) this.#header = JSON.parse(header) as Record<string, unknown>;
    this.branches.push(this.current);
    return undefined;
  }

  /** Whether the seq is the next one of a branch. */
  expects(seq: number): boolean {
    return this.branches.some((branch) => branch.expects(seq));
  }

  /** Whether all branches lack events before the seq. */
  isAhead(seq: number): boolean {
    return this.branches.every((branch) => branch.seqOf(seq) > branch.next);
  }

  /** Whether a branch has an event of this seq. */
  isBehind(seq: number): boolean {
    return this.branches.some((branch) => branch.seqOf(seq) < branch.next);
  }

  /** The branch that lacks the fewest events before the seq, of those that lack any. */
  nearest(seq: number, among = this.branches): Branch {
    const distance = (branch: Branch): number => branch.seqOf(seq) - branch.next - (branch === this.current ? 0.5 : 0);
    return among.filter((branch) => branch.seqOf(seq) >= branch.next).reduce((best, branch) => (distance(branch) < distance(best) ? branch : best));
  }

  /**
   * Puts a record where it belongs; a log must have begun.
   * @param holes what could not be read before it, and may be what is missing there
   * @returns undefined where it belongs to one branch too many
   */
  place(text: string, envelope: Envelope, place: Place, holes: readonly Hole[]): Placed | undefined {
    const { seq } = envelope;
    const known = this.#next(envelope);
    if (known !== undefined) return this.#put(known, text, envelope, place);
    const twin = this.copy(text, seq);
    if (twin !== undefined) {
      this.current = twin.branch;
      return { ...twin, copyOf: twin.seq };
    }
    const behind = this.branches.filter((branch) => branch.seqOf(seq) > branch.next && (branch.source === undefined || branch.next - branch.seedLength > 1 || branch.seqOf(seq) - branch.next <= NEAR));
    if (behind.length > 0) return this.#jump(this.nearest(seq, behind), text, envelope, place, holes);
    if (this.branches.length >= MOST_BRANCHES) return undefined;
    let source = [this.current!, ...this.branches].find((branch) => branch.seqOf(seq) < branch.next)!;
    const length = source.seqOf(seq);
    // Before its own events a branch is the one that it left.
    while (length <= source.seedLength && source.source !== undefined) source = source.source.branch;
    const child = new Branch(this.#childHeader(source, length, envelope.time), { branch: source, length });
    this.branches.push(child);
    return { ...this.#put(child, text, envelope, place), forked: true };
  }

  /**
   * The branches as sessions: the longest one of each log has its name, and the others are its forks. Those that hold
   * nothing of their own are dropped.
   */
  finish(): readonly Branch[] {
    for (const branch of this.branches.splice(0)) {
      if (this.branches.length === 0 || branch.next > branch.seedLength) this.branches.push(branch);
      else branch.free();
    }
    const rootOf = (branch: Branch): Branch => (branch.source === undefined ? branch : rootOf(branch.source.branch));
    for (const root of this.branches.filter(({ source }) => source === undefined)) {
      const own = this.branches.filter((branch) => rootOf(branch) === root);
      const longest = own.reduce((best, branch) => (branch.records() > best.records() ? branch : best), root);
      while (longest.source !== undefined) {
        const index = this.branches.indexOf(longest);
        this.branches[this.branches.indexOf(longest.source.branch)] = longest;
        this.branches[index] = longest.source.branch;
        longest.changePlaces();
      }
    }
    for (const branch of this.branches) branch.settle();
    return this.branches;
  }

  /** Drops a fork of one record. @returns false where it has become more than that */
  drop(branch: Branch): boolean {
    if (branch.next - branch.seedLength !== 1 || this.branches.some(({ source }) => source?.branch === branch)) return false;
    if (this.current === branch) this.current = branch.source!.branch;
    this.branches.splice(this.branches.indexOf(branch), 1);
    branch.free();
    return true;
  }

  free(): void {
    for (const branch of this.branches) branch.free();
  }

  #put(branch: Branch, text: string, envelope: Envelope, place: Place): Placed {
    this.current = branch;
    const seq = branch.next;
    return { branch, seq, ...branch.put(text, envelope, place) };
  }

  #jump(branch: Branch, text: string, envelope: Envelope, place: Place, holes: readonly Hole[]): Placed {
    const missing = branch.seqOf(envelope.seq) - branch.next;
    const jumped = missing > WIDEST_GAP;
    const filled = jumped ? 0 : missing;
    const unreadable = holes.slice(0, filled);
    branch.fill(branch.next + filled, unreadable);
    if (jumped) branch.shift(envelope.seq);
    return { ...this.#put(branch, text, envelope, place), gap: { missing, unreadable: unreadable.length }, jumped };
  }

  /** The branch that the record continues; the one that it fits best where it could be several. */
  #next(envelope: Envelope): Branch | undefined {
    const fitting = this.branches.filter((branch) => branch.expects(envelope.seq));
    if (fitting.length < 2) return fitting[0];
    const score = (branch: Branch): number => fit(branch, envelope) + fitOfNames(branch, envelope) + (branch === this.current ? 0.5 : 0);
    return fitting.reduce((best, branch) => (score(branch) > score(best) ? branch : best));
  }

  /** The event that is the same as this text, byte for byte. */
  copy(text: string, seq: number): { branch: Branch; seq: number } | undefined {
    for (const branch of [this.current!, ...this.branches]) {
      const own = branch.seqOf(seq);
      if (own >= 0 && own < branch.next && decoder.decode(branch.lineOf(own)) === text) return { branch, seq: own };
    }
    return undefined;
  }

  #childHeader(source: Branch, seedLength: number, time: number): string {
    const { version, id, cwd } = this.#header;
    const createdAt = Number.isFinite(time) ? time : 0;
    return JSON.stringify({ type: 'session', version, id: this.#freeId(String(id)), createdAt, ...(typeof cwd === 'string' && { cwd }), parentSession: source.id, seedLength });
  }

  /** The id, or one made from it where it is taken. */
  #freeId(id: string): string {
    const taken = new Set(this.branches.map((branch) => branch.id));
    let free = id;
    for (let count = 1; taken.has(free); count++) free = `${id}-branch-${count}`;
    return free;
  }
}

const decoder = new TextDecoder();
const NONE = 0xffff_ffff;

/** How well an event continues a branch that expects its seq: by the turn, the step and the calls that are open there. */
function fit(branch: Branch, { type, data }: Envelope): number {
  const [turn = 0, openTurn = NONE, step = 0, openStep = NONE] = branch.core.position();
  const says = Object(data) as { turn?: unknown; step?: unknown; callId?: unknown };
  const inTurn = openTurn !== NONE && (says.turn === undefined || says.turn === turn);
  const inStep = inTurn && openStep !== NONE && says.step === step;
  switch (type) {
    case 'turn/start':
      return openTurn === NONE && says.turn === turn + 1 ? 2 : 0;
    case 'step/start':
      return inTurn && openStep === NONE && says.step === step + 1 ? 2 : 0;
    case 'turn/end':
      return inTurn && openStep === NONE ? 2 : 0;
    case 'tool/result':
      return (inStep ? 1 : 0) + (typeof says.callId === 'string' && mentions(branch, says.callId) ? 2 : 0);
    case 'step/end':
    case 'assistant/chunk':
    case 'assistant/message':
    case 'tool/call':
      return inStep ? 2 : 0;
    default:
      return inTurn ? 1 : 0;
  }
}

/** What the seqs that an event names are in a branch. */
const SOURCES: Readonly<Record<string, string>> = { 'assistant/message': 'assistant/chunk', 'tool/result': 'tool/call' };

/** How well the seqs that an event names suit a branch: what it replaces is on the surface there, what it comes from is of its kind. */
function fitOfNames(branch: Branch, { type, surfaceOp, sourceEventSeqs }: Envelope): number {
  const { op, start, end } = Object(surfaceOp) as Record<string, unknown>;
  if (op === 'replace') {
    const surface = branch.core.surfaceSeqs(branch.next);
    return [start, end].every((seq) => typeof seq === 'number' && surface.includes(branch.seqOf(seq))) ? 3 : -3;
  }
  const last: unknown = Array.isArray(sourceEventSeqs) ? sourceEventSeqs[sourceEventSeqs.length - 1] : undefined;
  if (!isSeq(last) || SOURCES[type] === undefined) return 0;
  const own = branch.seqOf(last);
  return own < branch.next && headOf(decoder.decode(branch.lineOf(own)))?.type === SOURCES[type] ? 1 : -1;
}

/** Whether one of the branch's own last events names the call. */
function mentions(branch: Branch, callId: string): boolean {
  const name = JSON.stringify(callId);
  for (let seq = Math.max(branch.seedLength, branch.next - 64); seq < branch.next; seq++) {
    if (decoder.decode(branch.core.lines(seq, seq + 1)).includes(name)) return true;
  }
  return false;
}
