/**
 * One writer's sequence of events, in the core.
 *
 * Invariants:
 * - Every event in the core has passed the core's own rules, so that the log loads.
 * - A record enters as it stands in the file. Where it cannot, its envelope is changed and its payload is not; where
 *   that is no help either, it enters as the payload of a `repair/record`.
 * - Seqs of the file are kept. Missing ones are filled with `repair/note`; only behind a jump that is too wide to be
 *   filled are seqs counted anew, and with them whatever names them.
 */

import { CoreSession, thrownByCore } from '../core.js';
import type { ErrorCode } from '../errors.js';
import { isSurfaceEligibleType, type SurfaceOp } from '../events.js';
import { sendRecords } from '../records.js';
import { bytes, release, reserve } from '../scratch.js';
import { type Envelope, type EnvelopeChange, isSeq, memberText, rewritten, withMembers } from './record.js';

/** Where something stands in the file. */
export interface Place {
  readonly line: number;
  readonly byte: number;
}

/** A stretch of the file in which there was a record, perhaps, that could not be read. */
export interface Hole extends Place {
  readonly bytes: number;
  /** Its beginning, as text. */
  readonly excerpt: string;
}

/** What became of a record. */
export interface Outcome {
  /** Why it could not enter as it was. */
  readonly code?: ErrorCode;
  /** What was done about it; absent where nothing helped. */
  readonly action?: string;
}

/** Most missing seqs in a row that are filled one by one. */
export const WIDEST_GAP = 10_000;

/** Lines that cross into the core at once when a branch begins with another's events. */
const SEED_PIECE = 1 << 18;

const encoder = new TextEncoder();

/** What a branch has in common with the one that it left. */
interface Source {
  readonly branch: Branch;
  /** Events. */
  readonly length: number;
}

export class Branch {
  /** Seq of the next event. */
  next = 0;
  /** Offset of the last one of its records in the file. */
  furthest = 0;
  /** The branch that it left, first of all. */
  readonly origin: Branch | undefined;
  #core: CoreSession;
  #header: string;
  /** The header under which the core has the log. */
  #written: string;
  #source: Source | undefined;
  /** Turned from the file's seqs to those of this branch, from a seq of the file on. */
  readonly #shifts: { readonly from: number; readonly by: number }[] = [];
  /** Of the events behind those that it shares; 0 for what was not in the file. */
  #lines: number[] = [];
  #bytes: number[] = [];
  #time = 0;

  /** @param header the header's JSON text, which the core must accept @throws what the core throws, as text */
  constructor(header: string, source?: Source) {
    this.#core = new CoreSession(header);
    this.#header = this.#written = header;
    this.#source = source;
    this.origin = source?.branch;
    if (source === undefined) return;
    const { branch, length } = source;
    this.#copy(branch.core, length);
    this.next = length;
    this.#shifts.push(...branch.#shifts.filter(({ from, by }) => from + by <= length));
    this.#time = branch.#time;
  }

  get core(): CoreSession {
    return this.#core;
  }

  /** JSON text of its header. */
  get header(): string {
    return this.#header;
  }

  get id(): string {
    return (JSON.parse(this.#header) as { id: string }).id;
  }

  get source(): Source | undefined {
    return this.#source;
  }

  /** Events that it has in common with the branch that it left. */
  get seedLength(): number {
    return this.#source?.length ?? 0;
  }

  /** How many of its first events were in the file. */
  records(length = this.next): number {
    const own = this.#lines.slice(0, Math.max(0, length - this.seedLength)).filter((line) => line > 0).length;
    return own + (this.#source === undefined ? 0 : this.#source.branch.records(Math.min(length, this.seedLength)));
  }

  /** Takes the name of the branch that it left, which becomes a fork of this one. `settle` makes it true of their logs. */
  changePlaces(): void {
    const { branch, length } = this.#source!;
    [this.#header, branch.#header] = [branch.#header, this.#header];
    this.#source = branch.#source;
    const shared = length - this.seedLength;
    this.#lines = [...branch.#lines.slice(0, shared), ...this.#lines];
    this.#bytes = [...branch.#bytes.slice(0, shared), ...this.#bytes];
    branch.#source = { branch: this, length };
    branch.#lines = branch.#lines.slice(shared);
    branch.#bytes = branch.#bytes.slice(shared);
  }

  /** Writes the log anew under its header, if that has changed. */
  settle(): void {
    if (this.#source !== undefined) this.#header = withMembers(this.#header, { parentSession: JSON.stringify(this.#source.branch.id), seedLength: String(this.#source.length) });
    if (this.#written === this.#header) return;
    this.#written = this.#header;
    const old = this.#core;
    this.#core = new CoreSession(this.#header);
    this.#copy(old, this.next);
    old.free();
  }

  /** The seq here of an event of the file. */
  seqOf(seq: number): number {
    let by = 0;
    for (const shift of this.#shifts) if (shift.from <= seq) by = shift.by;
    return seq + by;
  }

  /** Where the event was in the file; undefined for what was not in it. */
  placeOf(seq: number): Place | undefined {
    const line = this.#lines[seq - this.seedLength];
    return line === undefined || line === 0 ? undefined : { line, byte: this.#bytes[seq - this.seedLength]! };
  }

  /** The bytes of an event that is in, without its line end. */
  lineOf(seq: number): Uint8Array {
    const line = this.#core.lines(seq, seq + 1);
    return line.subarray(0, -1);
  }

  /** Appends a line as it is. @returns why not, the branch being as it was */
  tryLine(line: Uint8Array, place: Place | undefined, time?: number): ErrorCode | undefined {
    try {
      this.#send(line);
    } catch (thrown) {
      const error = thrownByCore(thrown);
      if (error === undefined) throw thrown;
      return error.code;
    }
    this.next++;
    this.furthest = Math.max(this.furthest, place?.byte ?? 0);
    this.#lines.push(place?.line ?? 0);
    this.#bytes.push(place?.byte ?? 0);
    if (time !== undefined && Number.isFinite(time)) this.#time = time;
    return undefined;
  }

  /** Appends a record that is the next one by its seq. */
  put(text: string, envelope: Envelope, place: Place): Outcome {
    const mapped = this.#mapped(text, envelope);
    const line = mapped === undefined ? text : rewritten(text, mapped);
    const code = this.tryLine(encoder.encode(line), place, envelope.time);
    if (code === undefined) return {};
    const fix = this.#fix({ ...envelope, ...(mapped?.surfaceOp && { surfaceOp: mapped.surfaceOp }), ...(mapped?.sourceEventSeqs && { sourceEventSeqs: mapped.sourceEventSeqs }) });
    if (fix !== undefined && this.tryLine(encoder.encode(rewritten(line, fix.change)), place, envelope.time) === undefined) return { code, action: fix.action };
    const data = `{"code":${JSON.stringify(code)},"line":${place.line},"byte":${place.byte},"record":${text}}`;
    if (this.tryLine(this.#event('repair/record', data), place, envelope.time) !== undefined) return { code };
    return { code, action: 'kept as the payload of a repair/record, which the model does not see' };
  }

  /** Fills the seqs before `seq`, each with what was found in its place, as far as anything was. */
  fill(seq: number, holes: readonly Hole[]): void {
    for (let filled = 0; this.next < seq; filled++) {
      const hole = holes[filled];
      const data = hole === undefined ? { reason: 'missing' } : { reason: 'unreadable', ...hole };
      this.tryLine(this.#event('repair/note', JSON.stringify(data)), undefined);
    }
  }

  /** From this seq of the file on, seqs are counted anew so that it is the next one. */
  shift(seq: number): void {
    this.#shifts.push({ from: seq, by: this.next - seq });
  }

  /** Whether a record with this seq is the next one. */
  expects(seq: number): boolean {
    return this.seqOf(seq) === this.next;
  }

  free(): void {
    this.#core.free();
  }

  #copy(from: CoreSession, length: number): void {
    for (let first = 0; first < length; ) {
      const end = from.pageEnd(first, length);
      const lines = from.lines(first, end);
      first = end;
      for (let at = 0; at < lines.length; ) {
        const cut = lines.length - at <= SEED_PIECE ? lines.length : lines.indexOf(0x0a, at + SEED_PIECE) + 1 || lines.length;
        this.#send(lines.subarray(at, cut));
        at = cut;
      }
    }
  }

  #send(line: Uint8Array): void {
    sendRecords();
    reserve(line.length);
    bytes.set(line);
    try {
      this.#core.appendLines(line.length);
    } finally {
      release();
    }
  }

  #event(type: string, data: string): Uint8Array {
    return encoder.encode(`{"type":"${type}","seq":${this.next},"time":${this.#time},"data":${data}}`);
  }

  /** What the record says in the seqs of this branch, where these differ from the file's. */
  #mapped(text: string, { type, seq, surfaceOp, sourceEventSeqs, data }: Envelope): EnvelopeChange | undefined {
    if (this.#shifts.length === 0) return undefined;
    const map = (old: unknown): unknown => (isSeq(old) ? this.seqOf(old) : old);
    const { op, start, end } = Object(surfaceOp) as Record<string, unknown>;
    return {
      seq: this.seqOf(seq),
      ...(op === 'replace' && { surfaceOp: { op, start: map(start), end: map(end) } as SurfaceOp }),
      ...(Array.isArray(sourceEventSeqs) && { sourceEventSeqs: sourceEventSeqs.map(map) as number[] }),
      ...(type === 'compact/summary' && { data: summaryData(memberText(text, 'data')!, data, map) }),
    };
  }

  /** An envelope with which the record may stand here. */
  #fix({ type, surfaceOp, sourceEventSeqs }: Envelope): { readonly change: EnvelopeChange; readonly action: string } | undefined {
    if (!isSurfaceEligibleType(type)) return { change: { surfaceOp: null, sourceEventSeqs: null }, action: 'its surface fields were taken out' };
    const sources = Array.isArray(sourceEventSeqs) ? [...new Set((sourceEventSeqs as unknown[]).filter((seq) => isSeq(seq) && seq < this.next))] as number[] : [];
    const named = sources.length > 0 ? sources : null;
    const { op, start, end } = Object(surfaceOp) as Record<string, unknown>;
    if (op !== 'replace') return { change: { surfaceOp: 'append', sourceEventSeqs: named }, action: "it was appended to the surface, with those of its sources that exist" };
    const surface = [...this.#core.surfaceSeqs(this.next)];
    const wanted = [start, end, ...sources].map((seq) => surface.indexOf(seq as number)).filter((at) => at >= 0);
    const ends = [start, end].map((seq) => surface.indexOf(seq as number));
    if (wanted.length === 0) return { change: { surfaceOp: 'append', sourceEventSeqs: named }, action: 'nothing of what it replaces is on the surface, so it was appended' };
    const whole = ends.every((at) => at >= 0) ? ends : wanted;
    const [first, last] = [Math.min(...whole), Math.max(...whole)];
    const covered = surface.slice(first, last + 1);
    return {
      change: { surfaceOp: { op: 'replace', start: surface[first]!, end: surface[last]! }, sourceEventSeqs: [...new Set([...sources, ...covered])] },
      action: `it replaces seq ${surface[first]!} to ${surface[last]!}, which is what the surface holds of its range`,
    };
  }
}

/** The payload of a `compact/summary` with the seqs that it names turned into others. */
function summaryData(text: string, data: unknown, map: (seq: unknown) => unknown): string {
  const { shadowedRange, shadowedSeqs } = Object(data) as { shadowedRange?: unknown; shadowedSeqs?: unknown };
  const { start, end } = Object(shadowedRange) as Record<string, unknown>;
  return withMembers(text, {
    ...(isSeq(start) && isSeq(end) && { shadowedRange: JSON.stringify({ start: map(start), end: map(end) }) }),
    ...(Array.isArray(shadowedSeqs) && { shadowedSeqs: JSON.stringify(shadowedSeqs.map(map)) }),
  });
}
