/**
 * Reading a damaged log: every record that can be read, in sessions that load, and everything that is wrong with the file.
 *
 * A line that is one record is the rule and takes the short way into the core. What is not is looked at more closely:
 * records are found within it, and a record that was cut is kept back until the lines after it have shown whether they
 * go on with it.
 *
 * One file, though a long one: each way hands what it cannot read to the next, over one state.
 */

import { needBytes, needObject } from '../arguments.js';
import { core } from '../core.js';
import { FAULTS, type FaultCode } from './finding.js';
import type { Findings } from './findings.js';
import { chunksOf, concat, type SalvageSource } from './chunks.js';
import { type Line, LineCutter, trimmed } from './lines.js';
import { badUtf8At, lossy, recover, withoutNonFinite } from './recover.js';
import { headOf, parseRecord, type Parsed } from './record.js';
import { conclude, type Salvaged } from './salvaged.js';
import type { Place } from './branch.js';
import { type Entry, restored, stored, type StoredEntry } from './entry.js';
import { Ledger } from './ledger.js';
import { areOneLog } from './order.js';
import { Waiting } from './waiting.js';
import { Writers } from './writers.js';

/** How to read. */
export interface SalvageOptions {
  /** What the source is called, for example a file's name: the id of a session whose header is lost is made from it. */
  readonly name?: string | undefined;
  /** Ends the reading: the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Told after each chunk how many bytes were read. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
  /** Event types of the program's own, which are then not reported as unknown. */
  readonly knownTypes?: Iterable<string> | undefined;
}

/**
 * Reads what can be read of a log, damaged or not. The source is never changed.
 * @returns the sessions, which the caller owns, and what was found; see {@link Salvaged}
 * @throws (rejects) the signal's reason, or whatever the source throws; PalimpsestError `INVALID_ARGUMENT` for what is no
 *   source of bytes; no damage makes it throw
 */
export async function salvage(source: SalvageSource, options: SalvageOptions = {}): Promise<Salvaged> {
  core();
  needObject('options', options);
  const salvager = new Salvager(options);
  try {
    for await (const chunk of chunksOf(source)) {
      options.signal?.throwIfAborted();
      needBytes('a chunk of the source', chunk);
      salvager.push(chunk);
      options.onProgress?.(salvager.bytes);
    }
    options.signal?.throwIfAborted();
    return salvager.finish();
  } catch (error) {
    salvager.free();
    throw error;
  }
}

/** A record that was found, or a part of one, with its place. */
interface Piece extends Place {
  readonly bytes: Uint8Array;
}

/** A cut record, and the lines after it that may go on with it. */
interface Cut extends Piece {
  /** Offset behind its last byte. */
  readonly to: number;
  /** Lines that it covers so far. */
  readonly lines: number;
  /** Records that stood behind it on its line; they wait, since its seq comes first. */
  readonly waiting: readonly Piece[];
  readonly ended: boolean;
}

/** Most lines and bytes over which a record with line ends in its strings is put together. */
const MOST_LINES = 1000;
const MOST_BYTES = 64 << 20;

/** As many records before a header may simply have come too soon. With more of them, all records together show it. */
const FEW_BEFORE_HEADER = 16;

/** How much of what could not be read is told. */
const excerpt = (bytes: Uint8Array): string => lossy(bytes.subarray(0, 200));

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

class Salvager {
  readonly #cutter = new LineCutter();
  readonly #ledger: Ledger;
  readonly #found: Findings;
  readonly #writers = new Writers();
  readonly #waiting = new Waiting(this.#writers);
  /** Records of a log that has not begun, since no header precedes them; and a header behind them, with how many precede it. */
  #first: StoredEntry[] = [];
  #lateHeader: { readonly text: string; readonly value: Readonly<Record<string, unknown>>; readonly piece: Piece; readonly after: number } | undefined;
  readonly #options: SalvageOptions;
  #cut: Cut | undefined;
  /** The log is of another version: its records are not ours to read. */
  #foreign = false;

  constructor(options: SalvageOptions) {
    this.#options = options;
    this.#ledger = new Ledger(this.#writers, this.#waiting, options.knownTypes);
    this.#found = this.#ledger.found;
  }

  get bytes(): number {
    return this.#cutter.bytes;
  }

  push(chunk: Uint8Array): void {
    for (const line of this.#cutter.push(chunk)) this.#line(line);
  }

  finish(): Salvaged {
    const last = this.#cutter.finish();
    if (last !== undefined) this.#line(last);
    this.#giveUp(true);
    this.#beginFirst();
    this.#settleWaiting();
    if (this.bytes === 0) this.#found.fault('EMPTY_FILE', 'error', { line: 1, byte: 0 });
    else if (this.#writers.branches.length === 0 && !this.#foreign) this.#found.fault('MISSING_HEADER', 'error', { line: 1, byte: 0 }, { message: 'the file holds no session header and no event' });
    const { lost, kept, records, copies } = this.#ledger;
    return conclude(this.#writers, this.#waiting.spare, this.#found, { lost, kept, records, copies, bytes: this.bytes });
  }

  free(): void {
    this.#writers.free();
  }

  #line({ bytes, number: line, byte, ended }: Line): void {
    if (this.#foreign) return;
    let [start, end] = trimmed(bytes);
    if (ended && bytes[bytes.length - 1] === 0x0d) this.#found.count('CRLF', { line, byte });
    if (bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf) {
      if (byte === 0) this.#found.fault('BYTE_ORDER_MARK', 'info', { line, byte });
      else this.#found.fault('MISPLACED_BYTE_ORDER_MARK', 'error', { line, byte: byte + start }, { action: 'it was left out' });
      start += 3;
      const [from, to] = trimmed(bytes.subarray(start, end));
      [start, end] = [start + from, start + to];
    }
    if (start === end) {
      if (ended) this.#found.count('BLANK_LINE', { line, byte });
      return;
    }
    const piece = { bytes: bytes.subarray(start, end), line, byte: byte + start };
    const whole = (this.#cut === undefined && this.#short(piece)) || this.#long(piece, ended);
    if (whole && !ended) this.#found.fault('UNENDED_LINE', 'warning', piece, { action: 'the record was kept' });
  }

  /** The short way: the line is the next event of the only writer. */
  #short(piece: Piece): boolean {
    const { branches } = this.#writers;
    const branch = branches[0];
    if (branches.length !== 1 || branch === undefined || !this.#waiting.idle) return false;
    let text;
    try {
      text = strict.decode(piece.bytes);
    } catch {
      return false;
    }
    const head = headOf(text);
    if (head === undefined || !branch.expects(head.seq) || branch.seqOf(head.seq) !== head.seq) return false;
    if (branch.tryLine(piece.bytes, piece, head.time) !== undefined) return false;
    this.#ledger.records++;
    this.#ledger.look(text, head, piece, branch.next - 1, branch);
    return true;
  }

  /** The long way, for a line that is not simply the next event. @returns whether it is one record */
  #long(piece: Piece, ended: boolean): boolean {
    const whole = this.#read(piece.bytes);
    if (whole !== undefined && (whole.parsed.kind !== 'other' || this.#cut === undefined)) {
      this.#giveUp(false);
      this.#take(piece, whole);
      return true;
    }
    if (this.#goesOn(piece, ended)) return false;
    this.#giveUp(false);
    for (const part of this.#betweenZeros(piece)) this.#broken(part, ended);
    return false;
  }

  /** Text and meaning of bytes that are one record, sound or with a fault that can be named; undefined for anything else. */
  #read(bytes: Uint8Array): { text: string; parsed: Parsed; fault?: FaultCode; at?: number } | undefined {
    let text;
    let fault: FaultCode | undefined;
    let at = 0;
    try {
      text = strict.decode(bytes);
    } catch {
      text = lossy(bytes);
      fault = 'BAD_UTF8';
      at = badUtf8At(bytes);
    }
    const parsed = parseRecord(text);
    if (parsed !== undefined) return fault === undefined ? { text, parsed } : { text, parsed, fault, at };
    const finite = withoutNonFinite(text);
    const other = finite === undefined ? undefined : parseRecord(finite);
    return finite === undefined || other === undefined ? undefined : { text: finite, parsed: other, fault: fault ?? 'NON_FINITE_NUMBER', at };
  }

  /** Takes in one record, or what else the JSON is. */
  #take(piece: Piece, { text, parsed, fault, at = 0 }: { text: string; parsed: Parsed; fault?: FaultCode; at?: number }): void {
    if (parsed.kind === 'header') {
      this.#header(text, parsed.value, piece);
      return;
    }
    if (parsed.kind === 'other') {
      this.#found.fault('NOT_AN_EVENT', 'error', piece, { action: this.#ledger.keep(text, piece) });
      return;
    }
    const entry: Entry = { line: piece.line, byte: piece.byte, text, envelope: parsed.envelope, length: piece.bytes.length, ...(fault && { fault: { code: fault, at } }) };
    if (this.#writers.branches.length > 0) {
      this.#ledger.settle(this.#waiting.take(entry));
      return;
    }
    // The header may stand in the wrong place, like any other line.
    this.#first.push(stored(entry));
  }

  /** Begins the log of the records that no header precedes. */
  #beginFirst(): void {
    const late = this.#lateHeader;
    this.#lateHeader = undefined;
    if (late === undefined) {
      this.#beginWithout();
      return;
    }
    const behind = this.#first.slice(late.after);
    const one = areOneLog(this.#first.slice(0, late.after), behind);
    if (!one) {
      this.#first.length = late.after;
      this.#beginWithout();
    }
    this.#begins(late.text, late.value, late.piece);
    if (!one) this.#takeFirst(behind);
  }

  #takeFirst(entries: readonly StoredEntry[]): void {
    for (const entry of entries) this.#ledger.settle(this.#waiting.take(restored(entry)));
  }

  #settleWaiting(): void {
    for (const settled of this.#waiting.finish()) this.#ledger.settle(settled);
  }

  /** Begins a log for records that no header precedes. */
  #beginWithout(): void {
    const first = this.#first.splice(0);
    if (first[0] === undefined) return;
    this.#found.fault('MISSING_HEADER', 'error', first[0], { action: `the session is called ${JSON.stringify(this.#nameAsId())}` });
    this.#begin({ createdAt: restored(first[0]).envelope.time });
    this.#takeFirst(first);
  }

  // -------------------------------------------------------------------------------------------------------- headers

  #header(text: string, value: Readonly<Record<string, unknown>>, piece: Piece): void {
    if (this.#writers.branches.length === 0 && this.#lateHeader === undefined && this.#first.length > FEW_BEFORE_HEADER && value.version === 0) {
      this.#lateHeader = { text, value, piece: { ...piece, bytes: new Uint8Array(0) }, after: this.#first.length };
      return;
    }
    if (this.#lateHeader !== undefined || this.#first.length > FEW_BEFORE_HEADER) this.#beginFirst();
    this.#begins(text, value, piece);
  }

  #begins(text: string, value: Readonly<Record<string, unknown>>, piece: Piece): void {
    this.#settleWaiting();
    const first = this.#writers.branches.length === 0;
    const code = this.#writers.begin(text);
    if (code === 'UNSUPPORTED_VERSION' && first) {
      this.#foreign = true;
      this.#found.rule(code, 'error', piece, { message: `the log has format version ${JSON.stringify(value.version).slice(0, 40)}, which this build does not read; open it with the build that wrote it` });
      return;
    }
    if (!first) {
      const action = code === undefined ? 'what follows it in its own numbers became a session of its own' : this.#ledger.keep(text, piece);
      this.#found.fault('SECOND_HEADER', 'error', piece, { message: `${FAULTS.SECOND_HEADER} (${typeof value.id === 'string' ? JSON.stringify(value.id).slice(0, 80) : 'without an id'})`, action });
    } else if (code !== undefined) {
      this.#found.rule(code, 'error', piece, { message: 'the session header lacks a field, or a field is of another kind', action: `its sound fields were kept; ${this.#ledger.keep(text, piece)}` });
      this.#begin(value);
    }
    if (this.#first[0] !== undefined) this.#found.fault('OUT_OF_ORDER', 'error', piece, { message: 'the session header stands behind records', action: 'it was put in front' });
    this.#takeFirst(this.#first.splice(0));
  }

  /** Begins a log under as much of a header as there is. */
  #begin({ id, createdAt, cwd, parentSession, seedLength }: Readonly<Record<string, unknown>>): void {
    const header = {
      type: 'session',
      version: 0,
      id: typeof id === 'string' && id !== '' ? id : this.#nameAsId(),
      createdAt: typeof createdAt === 'number' && Number.isFinite(createdAt) ? createdAt : 0,
      ...(typeof cwd === 'string' && { cwd }),
      ...(typeof parentSession === 'string' && { parentSession }),
      ...(typeof seedLength === 'number' && Number.isSafeInteger(seedLength) && seedLength >= 0 && { seedLength }),
    };
    this.#writers.begin(JSON.stringify(header));
  }

  #nameAsId(): string {
    const { name = '' } = this.#options;
    return (name.split(/[\\/]/).pop() ?? '').replace(/\.jsonl$/, '') || 'recovered';
  }

  // --------------------------------------------------------------------------------------------------------- damage

  /** The stretches between runs of zero bytes, which are reported. */
  *#betweenZeros(piece: Piece): Generator<Piece> {
    const { bytes, line, byte } = piece;
    let start = 0;
    for (let zero = bytes.indexOf(0); zero >= 0; zero = bytes.indexOf(0, start)) {
      let end = zero;
      while (bytes[end] === 0) end++;
      if (zero > start) yield { bytes: bytes.subarray(start, zero), line, byte: byte + start };
      this.#found.fault('NUL_RUN', 'error', { line, byte: byte + zero }, { message: `${end - zero} ${FAULTS.NUL_RUN}` });
      this.#ledger.lose({ line, byte: byte + zero }, byte + end, 'NUL_RUN', '');
      start = end;
    }
    if (start < bytes.length) yield { bytes: bytes.subarray(start), line, byte: byte + start };
  }

  /** A stretch that is not one record: what is in it is taken, and a record that was cut waits for its end. */
  #broken(piece: Piece, ended: boolean): void {
    const whole = this.#read(piece.bytes);
    if (whole !== undefined && whole.parsed.kind !== 'other') {
      this.#take(piece, whole);
      return;
    }
    const { records, fragments } = recover(piece.bytes);
    const at = (from: number, to: number): Piece => ({ bytes: piece.bytes.subarray(from, to), line: piece.line, byte: piece.byte + from });
    const found = records.map(({ from, to }) => at(from, to));
    if (found.length > 0) this.#found.fault('GLUED_RECORDS', 'error', piece, { action: `${found.length} ${found.length === 1 ? 'record was' : 'records were'} recovered from it` });
    let parts = fragments.map(({ from, to }) => at(from, to));
    const [first, last] = parts;
    if (first !== undefined && last !== undefined && parts.length === 2) {
      const joined = this.#joined(first.bytes, last.bytes, '');
      if (joined !== undefined) {
        this.#found.fault('INTERLEAVED_RECORDS', 'error', first, { action: 'it was put together again' });
        found.push({ ...first, bytes: joined });
        parts = [];
      }
    }
    // A record is cut at its end: only the last fragment, or the one before the record that cut it, can go on below.
    const cut = parts.find(({ bytes }) => bytes[0] === 0x7b);
    for (const part of parts) if (part !== cut) this.#unreadable(part, 'UNPARSABLE_LINE');
    if (cut === undefined) this.#takeAll(found);
    else this.#cut = { ...cut, bytes: cut.bytes.slice(), to: cut.byte + cut.bytes.length, lines: 1, waiting: found.map((one) => ({ ...one, bytes: one.bytes.slice() })), ended };
  }

  /** Whether the line goes on with the record that was cut. */
  #goesOn(piece: Piece, ended: boolean): boolean {
    const cut = this.#cut;
    if (cut === undefined) return false;
    const closed = piece.bytes[piece.bytes.length - 1] === 0x7d;
    for (const [between, code] of closed ? ([['', 'INTERLEAVED_RECORDS'], ['\\n', 'BROKEN_STRING']] as const) : []) {
      if (between === '' && cut.lines > 1) continue;
      const joined = this.#joined(cut.bytes, piece.bytes, between);
      if (joined === undefined) continue;
      this.#cut = undefined;
      this.#found.fault(code, 'error', cut, { action: code === 'BROKEN_STRING' ? 'it was put together, with the line ends escaped' : 'it was put together again' });
      this.#takeAll([{ bytes: joined, line: cut.line, byte: cut.byte }, ...cut.waiting]);
      return true;
    }
    // With records of its own the line is another matter.
    if (cut.waiting.length > 0 || cut.lines >= MOST_LINES || cut.bytes.length + piece.bytes.length > MOST_BYTES || piece.bytes.includes(0) || recover(piece.bytes).records.length > 0 || piece.bytes[0] === 0x7b) return false;
    this.#cut = { ...cut, bytes: concat(cut.bytes, '\\n', piece.bytes), to: piece.byte + piece.bytes.length, lines: cut.lines + 1, ended };
    return true;
  }

  #joined(head: Uint8Array, tail: Uint8Array, between: string): Uint8Array | undefined {
    const bytes = concat(head, between, tail);
    const read = this.#read(bytes);
    return read?.parsed.kind === 'event' ? bytes : undefined;
  }

  /** The record that was cut has no end. At the end of the file it is the torn tail. */
  #giveUp(atEnd: boolean): void {
    const cut = this.#cut;
    if (cut === undefined) return;
    this.#cut = undefined;
    if (atEnd && cut.waiting.length === 0 && cut.lines === 1) {
      this.#found.fault('TORN_TAIL', 'warning', cut, { message: `${FAULTS.TORN_TAIL}: ${cut.bytes.length} bytes`, action: 'it was left out' });
      this.#ledger.lose(cut, cut.to, 'TORN_TAIL', excerpt(cut.bytes));
    } else {
      this.#unreadable(cut, 'UNPARSABLE_LINE', cut.to);
    }
    this.#takeAll(cut.waiting);
  }

  /** Records that stand together, in the order of their seqs. */
  #takeAll(pieces: readonly Piece[]): void {
    const read = pieces.flatMap((piece) => {
      const whole = this.#read(piece.bytes);
      return whole === undefined ? [] : [{ piece, whole, seq: whole.parsed.kind === 'event' ? whole.parsed.envelope.seq : -1 }];
    });
    for (const { piece, whole } of read.sort((a, b) => a.seq - b.seq)) this.#take(piece, whole);
  }

  #unreadable(piece: Piece, code: FaultCode, to = piece.byte + piece.bytes.length): void {
    this.#found.fault(code, 'error', piece, { message: `${FAULTS[code]}: ${to - piece.byte} bytes, ${JSON.stringify(lossy(piece.bytes.subarray(0, 60)))}` });
    this.#ledger.lose(piece, to, code, excerpt(piece.bytes));
  }
}
