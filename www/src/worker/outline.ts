/**
 * The index of a log: a few numbers for each line, by row. Rows are the lines behind the header, in the order of the file;
 * in a whole log a row is its event's seq.
 *
 * It reads lines by itself rather than through a session, for three reasons: the first rows are there while the rest is
 * still being read, a damaged log has rows too, and a million events must not become a million objects.
 */

import { Flag, Kind, kindOf, NONE } from '../lib/kinds.js';
import { bytes, doubles, Names, shorts, words } from './columns.js';
import { field, list, text } from '../lib/describe.js';
import { Shadows } from './shadows.js';

const decoder = new TextDecoder();
const CHUNK = new TextEncoder().encode('{"type":"assistant/chunk","seq":');
const APPENDED = new TextEncoder().encode('"surfaceOp":"append"}');
/** Types whose line says all that is needed in its first characters and its last. */
const PLAIN: ReadonlySet<number> = new Set([Kind.user, Kind.context, Kind.steering, Kind.stepStart, Kind.stepEnd]);

export class Outline {
  /** Where each row's line begins in the file; the end of the last one is `end`. */
  readonly offsets = doubles();
  readonly kinds = bytes();
  readonly flags = bytes();
  readonly types = shorts();
  /** Number of the tool that a call or a result is of. */
  readonly tools = shorts();
  readonly times = doubles();
  /** Indices into `turns` and `steps`, or NONE. */
  readonly turnOf = words();
  readonly stepOf = words();
  readonly typeNames = new Names();
  readonly toolNames = new Names();
  readonly turns = { row: words(), end: words(), number: words(), failed: bytes() };
  readonly steps = {
    row: words(), end: words(), turn: words(), number: words(), message: words(),
    input: words(), output: words(), cacheRead: words(), cacheWrite: words(), reasoning: words(),
    chunks: words(), calls: words(), failures: words(),
  };
  readonly calls = { row: words(), result: words(), tool: shorts(), failed: bytes() };
  readonly shadows = new Shadows();
  /** Rows of `request/header` and `request/header-delta`. */
  readonly headers = words();
  /** Seqs by row, from the first row on whose seq is not its row. */
  #seqs: { from: number; values: number[] } | undefined;
  #turn = NONE;
  #step = NONE;
  /** Calls of the open step that have no result yet, by call id. */
  readonly #open = new Map<string, number>();
  end = 0;

  get length(): number {
    return this.kinds.length;
  }

  /** Whether the seq of every row is the row. */
  get numbered(): boolean {
    return this.#seqs === undefined;
  }

  /** The seq of the last row that has one; -1 where none has. */
  get lastSeq(): number {
    for (let row = this.length - 1; row >= 0; row--) if (this.seqOf(row) >= 0) return this.seqOf(row);
    return -1;
  }

  seqOf(row: number): number {
    return this.#seqs !== undefined && row >= this.#seqs.from ? (this.#seqs.values[row - this.#seqs.from] ?? -1) : row;
  }

  rowOf(seq: number): number {
    if (this.#seqs === undefined || seq < this.#seqs.from) return seq < this.length ? seq : -1;
    const at = this.#seqs.values.indexOf(seq);
    return at < 0 ? -1 : at + this.#seqs.from;
  }

  /** The end of a row's line, its line end included. */
  endOf(row: number): number {
    return row + 1 < this.length ? this.offsets.at(row + 1) : this.end;
  }

  /** The row whose line holds the byte; -1 for the header. */
  rowAtByte(byte: number): number {
    return this.offsets.lastAtMost(byte);
  }

  /** The row that ends a turn or step, or the last row there is. */
  lastRowOf(ends: { at(index: number): number }, index: number): number {
    const end = ends.at(index);
    return end === NONE ? this.length - 1 : end;
  }

  /** Takes the next line, which begins at `offset` of the file. */
  add(line: Uint8Array, offset: number): void {
    this.end = offset + line.length + 1;
    const row = this.length;
    const quick = startsWith(line, CHUNK, 0) ? this.#chunk(line) : undefined;
    if (quick !== undefined) {
      this.#push(offset, Kind.chunk, 0, this.typeNames.numberOf('assistant/chunk'), quick.time);
      this.#numbered(row, quick.seq);
      if (this.#step !== NONE) bump(this.steps.chunks, this.#step);
      return;
    }
    const head = readHead(line);
    if (head !== undefined && PLAIN.has(head.kind) && (head.kind === Kind.stepEnd || head.kind === Kind.stepStart || endsWith(line, APPENDED))) {
      const flags = head.kind === Kind.stepEnd || head.kind === Kind.stepStart ? 0 : Flag.append;
      this.#event(row, offset, head.kind, head.type, head.seq, head.time, flags, head.kind === Kind.stepStart ? parsed(line) : undefined);
      return;
    }
    const event = parsed(line);
    const type = field(event, 'type');
    const seq = field(event, 'seq');
    if (typeof type !== 'string' || typeof seq !== 'number') {
      this.#push(offset, Kind.bad, Flag.bad | Flag.error, 0, 0);
      this.#numbered(row, -1);
      return;
    }
    const op = field(event, 'surfaceOp');
    const flags = op === 'append' ? Flag.append : field(op, 'op') === 'replace' ? Flag.replace : 0;
    const time = field(event, 'time');
    this.#event(row, offset, kindOf(type), type, seq, typeof time === 'number' ? time : 0, flags, event);
  }

  #event(row: number, offset: number, kind: number, type: string, seq: number, time: number, flags: number, event: unknown): void {
    const data = field(event, 'data');
    if (kind === Kind.turnStart) {
      this.#closeStep(NONE);
      this.#turn = this.turns.row.length;
      this.turns.row.push(row);
      this.turns.end.push(NONE);
      this.turns.number.push(whole(field(data, 'turn')));
      this.turns.failed.push(0);
    } else if (kind === Kind.stepStart) {
      this.#closeStep(NONE);
      this.#step = this.steps.row.length;
      for (const column of Object.values(this.steps)) column.push(0);
      this.steps.row.set(this.#step, row);
      this.steps.end.set(this.#step, NONE);
      this.steps.message.set(this.#step, NONE);
      this.steps.turn.set(this.#step, whole(field(data, 'turn')));
      this.steps.number.set(this.#step, whole(field(data, 'step')));
    }
    const failed = isFailure(kind, data);
    this.#push(offset, kind, failed ? flags | Flag.error : flags, this.typeNames.numberOf(type), time);
    this.#numbered(row, seq);
    if (kind === Kind.assistant) this.#message(row, data);
    if (kind === Kind.toolCall) this.#call(row, data);
    if (kind === Kind.toolResult) this.#result(row, data, failed, flags);
    if (kind === Kind.header || kind === Kind.headerDelta) this.headers.push(row);
    if ((flags & Flag.append) !== 0) this.shadows.append(seq);
    if ((flags & Flag.replace) !== 0) this.shadows.replace(seq, field(field(event, 'surfaceOp'), 'start'), field(field(event, 'surfaceOp'), 'end'));
    if (kind === Kind.stepEnd) this.#closeStep(row);
    if (kind === Kind.turnEnd) {
      this.#closeStep(NONE);
      if (this.#turn !== NONE) {
        this.turns.end.set(this.#turn, row);
        this.turns.failed.set(this.#turn, failed ? 1 : 0);
      }
      this.#turn = NONE;
    }
  }

  #closeStep(row: number): void {
    if (this.#step !== NONE && row !== NONE) this.steps.end.set(this.#step, row);
    this.#step = NONE;
    this.#open.clear();
  }

  #message(row: number, data: unknown): void {
    if (this.#step === NONE) return;
    this.steps.message.set(this.#step, row);
    const usage = field(data, 'usage');
    const add = (column: { at(index: number): number; set(index: number, value: number): void }, name: string): void => {
      column.set(this.#step, column.at(this.#step) + whole(field(usage, name)));
    };
    add(this.steps.input, 'inputTokens');
    add(this.steps.output, 'outputTokens');
    add(this.steps.cacheRead, 'cacheReadTokens');
    add(this.steps.cacheWrite, 'cacheWriteTokens');
    add(this.steps.reasoning, 'reasoningTokens');
  }

  #call(row: number, data: unknown): void {
    const tool = this.toolNames.numberOf(text(field(data, 'name')));
    this.tools.set(row, tool);
    this.#open.set(text(field(data, 'callId')), this.calls.row.length);
    this.calls.row.push(row);
    this.calls.result.push(NONE);
    this.calls.tool.push(tool);
    this.calls.failed.push(0);
    if (this.#step !== NONE) bump(this.steps.calls, this.#step);
  }

  #result(row: number, data: unknown, failed: boolean, flags: number): void {
    const id = text(field(data, 'callId'));
    const call = this.#open.get(id);
    if (call === undefined) return;
    this.tools.set(row, this.calls.tool.at(call));
    // A replace is a shortened copy, not the answer.
    if ((flags & Flag.replace) !== 0) return;
    this.#open.delete(id);
    this.calls.result.set(call, row);
    this.calls.failed.set(call, failed ? 1 : 0);
    if (failed && this.#step !== NONE) bump(this.steps.failures, this.#step);
  }

  #push(offset: number, kind: number, flags: number, type: number, time: number): void {
    this.offsets.push(offset);
    this.kinds.push(kind);
    this.flags.push(flags);
    this.types.push(type);
    this.tools.push(0);
    this.times.push(time);
    this.turnOf.push(this.#turn);
    this.stepOf.push(this.#step);
  }

  #numbered(row: number, seq: number): void {
    if (this.#seqs !== undefined) this.#seqs.values.push(seq);
    else if (seq !== row) this.#seqs = { from: row, values: [seq] };
  }

  /** `{"type":"assistant/chunk","seq":…,"time":…,` without parsing: most lines of most logs. */
  #chunk(line: Uint8Array): { seq: number; time: number } | undefined {
    const seq = digits(line, CHUNK.length);
    if (seq === undefined || !startsWith(line, TIME, seq.end) || line[line.length - 1] !== CLOSE) return undefined;
    const time = digits(line, seq.end + TIME.length);
    return time === undefined || line[time.end] !== COMMA ? undefined : { seq: seq.value, time: time.value };
  }
}

const TIME = new TextEncoder().encode(',"time":');
const SEQ = new TextEncoder().encode('","seq":');
const TYPE = new TextEncoder().encode('{"type":"');
const QUOTE = 0x22;
const COMMA = 0x2c;
const CLOSE = 0x7d;

/** Type, seq and time of a line in the form that the package writes; undefined for any other. */
function readHead(line: Uint8Array): { kind: number; type: string; seq: number; time: number } | undefined {
  if (!startsWith(line, TYPE, 0)) return undefined;
  const end = line.subarray(0, 64).indexOf(QUOTE, TYPE.length);
  if (end < 0 || !startsWith(line, SEQ, end)) return undefined;
  const seq = digits(line, end + SEQ.length);
  if (seq === undefined || !startsWith(line, TIME, seq.end)) return undefined;
  const time = digits(line, seq.end + TIME.length);
  if (time === undefined || line[time.end] !== COMMA || line[line.length - 1] !== CLOSE) return undefined;
  const type = String.fromCharCode(...line.subarray(TYPE.length, end));
  return { kind: kindOf(type), type, seq: seq.value, time: time.value };
}

function digits(line: Uint8Array, from: number): { value: number; end: number } | undefined {
  let value = 0;
  let at = from;
  for (; at < line.length && at - from < 15; at++) {
    const digit = (line[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  return at === from ? undefined : { value, end: at };
}

function startsWith(line: Uint8Array, wanted: Uint8Array, from: number): boolean {
  if (line.length < from + wanted.length) return false;
  for (let at = 0; at < wanted.length; at++) if (line[from + at] !== wanted[at]) return false;
  return true;
}

function endsWith(line: Uint8Array, wanted: Uint8Array): boolean {
  return startsWith(line, wanted, line.length - wanted.length);
}

function parsed(line: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(line));
  } catch {
    return undefined;
  }
}

function whole(value: unknown): number {
  return typeof value === 'number' && value >= 0 && value < NONE ? Math.trunc(value) : 0;
}

function bump(column: { at(index: number): number; set(index: number, value: number): void }, index: number): void {
  column.set(index, column.at(index) + 1);
}

function isFailure(kind: number, data: unknown): boolean {
  switch (kind) {
    case Kind.toolResult: return field(data, 'isError') === true;
    case Kind.turnEnd: return field(field(data, 'reason'), 'kind') !== 'completed';
    case Kind.compactEnd: return field(data, 'error') !== undefined;
    case Kind.blocked: return true;
    case Kind.chunk: return false;
    case Kind.assistant: return list(field(data, 'content')).length === 0 && field(data, 'usage') === undefined;
    default: return false;
  }
}
