/** Whose record is it? The branches of a file's writers, and which of them a record continues. */

import type { ErrorCode } from '../errors.js';
import { thrownByCore } from '../core.js';
import { Branch, type Hole, type Outcome, type Place, WIDEST_GAP } from './branch.js';
import { type Envelope, withMembers } from './record.js';

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

/** The branches of one file. */
export class Writers {
  readonly branches: Branch[] = [];
  /** The branch that was written to last. */
  current: Branch | undefined;
  /** What could not be read since the last record that could. */
  holes: Hole[] = [];
  /** Holes for which no seq was missing. */
  readonly spare: Hole[] = [];
  #header: Readonly<Record<string, unknown>> = {};

  /** Begins a log under this header line. @returns why the core refuses the header */
  begin(header: string): ErrorCode | undefined {
    const { id } = JSON.parse(header) as { id?: unknown };
    const free = typeof id === 'string' ? this.#freeId(id) : undefined;
    try {
      this.current = new Branch(free === undefined || free === id ? header : withMembers(header, { id: JSON.stringify(free) }));
    } catch (thrown) {
      const error = thrownByCore(thrown);
      if (error === undefined) throw thrown;
      return error.code;
    }
    if (this.branches.length === 0) this.#header = JSON.parse(header) as Record<string, unknown>;
    this.branches.push(this.current);
    return undefined;
  }

  /** Puts a record where it belongs; a log must have begun. */
  place(text: string, envelope: Envelope, place: Place): Placed {
    const { seq } = envelope;
    const known = this.#next(envelope);
    if (known !== undefined) return this.#put(known, text, envelope, place);
    const behind = this.branches.filter((branch) => branch.seqOf(seq) > branch.next);
    if (behind.length > 0) {
      const distance = (branch: Branch): number => branch.seqOf(seq) - branch.next - (branch === this.current ? 0.5 : 0);
      return this.#jump(behind.reduce((best, branch) => (distance(branch) < distance(best) ? branch : best)), text, envelope, place);
    }
    const twin = this.#copy(text, seq);
    if (twin !== undefined) {
      this.current = twin.branch;
      return { ...twin, copyOf: twin.seq };
    }
    const source = this.current!;
    const length = source.seqOf(seq);
    const child = new Branch(JSON.stringify(this.#childHeader(length, envelope.time)), { branch: source, length });
    this.branches.push(child);
    return { ...this.#put(child, text, envelope, place), forked: true };
  }

  free(): void {
    for (const branch of this.branches) branch.free();
  }

  #put(branch: Branch, text: string, envelope: Envelope, place: Place): Placed {
    this.#spareHoles();
    this.current = branch;
    const seq = branch.next;
    return { branch, seq, ...branch.put(text, envelope, place) };
  }

  #jump(branch: Branch, text: string, envelope: Envelope, place: Place): Placed {
    const missing = branch.seqOf(envelope.seq) - branch.next;
    const jumped = missing > WIDEST_GAP;
    const filled = jumped ? 0 : missing;
    const holes = this.holes.splice(0, filled);
    branch.fill(branch.next + filled, holes);
    if (jumped) branch.shift(envelope.seq);
    return { ...this.#put(branch, text, envelope, place), gap: { missing, unreadable: holes.length }, jumped };
  }

  #spareHoles(): void {
    this.spare.push(...this.holes);
    this.holes = [];
  }

  /** The branch that the record continues; the one that it fits best where it could be several. */
  #next(envelope: Envelope): Branch | undefined {
    const fitting = this.branches.filter((branch) => branch.expects(envelope.seq));
    if (fitting.length < 2) return fitting[0];
    const score = (branch: Branch): number => fit(branch, envelope) + (branch === this.current ? 0.5 : 0);
    return fitting.reduce((best, branch) => (score(branch) > score(best) ? branch : best));
  }

  #copy(text: string, seq: number): { branch: Branch; seq: number } | undefined {
    for (const branch of [this.current!, ...this.branches]) {
      const own = branch.seqOf(seq);
      if (own >= 0 && own < branch.next && decoder.decode(branch.lineOf(own)) === text) return { branch, seq: own };
    }
    return undefined;
  }

  #childHeader(seedLength: number, time: number): Record<string, unknown> {
    const { version, id, cwd } = this.#header;
    const createdAt = Number.isFinite(time) ? time : 0;
    return { type: 'session', version, id: this.#freeId(String(id)), createdAt, ...(typeof cwd === 'string' && { cwd }), parentSession: id, seedLength };
  }

  /** The id, or one made from it where it is taken. */
  #freeId(id: string): string {
    const taken = new Set(this.branches.map(({ core }) => (JSON.parse(core.header()) as { id: string }).id));
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

/** Whether one of the branch's own last events names the call. */
function mentions(branch: Branch, callId: string): boolean {
  const from = Math.max(branch.seedLength, branch.next - 64);
  return decoder.decode(branch.core.lines(from, branch.next)).includes(JSON.stringify(callId));
}
