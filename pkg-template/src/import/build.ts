/**
 * Builds one session's log: turns, steps, messages and calls in the order that the contract asks for.
 *
 * Invariants:
 * - Every event but a request header stands in a turn. What comes while none is open waits for the next one.
 * - A step is open from a model's message on, until the next one or the end of its turn. It stays open over a message
 *   while results are still to come that the source has further down.
 * - `surface` is the surface as the log says it, so that a replace can name what it shadows.
 */

import type { ContentBlock, EpochHeader, MessageSource, SessionEventMap, SessionEventType, TurnEndReason, TurnTrigger, Usage } from '../events.js';
import type { JsonValue } from '../ids.js';
import { IdTable } from './id-table.js';
import { deepText } from './json.js';
import type { ImportRecordSource } from './vocabulary.js';
import type { LineWriter } from './writer.js';

/** Characters that wait for a turn before one is opened for them. */
const WAITING_MOST = 1 << 20;

/** Who puts in what a compaction leaves. */
export const COMPACTION: MessageSource = { kind: 'plugin', plugin: 'compaction' };

/** A node of the surface. */
export interface Node {
  readonly seq: number;
  /** Whatever the importer needs to find the node again; see {@link LogBuilder.mark}. */
  readonly mark: unknown;
}

type Fields = { surfaceOp: 'append' | { op: 'replace'; start: number; end: number }; sourceEventSeqs?: readonly number[] } | undefined;

/** What waits for a turn: a message that is no prompt, or a record. */
type Waiting = { readonly time: number; readonly mark: unknown } & (
  | { readonly content: readonly ContentBlock[]; readonly label: string }
  | { readonly record: SessionEventMap['import/record'] }
);

/** Told what a builder finds. */
export interface BuildNotes {
  anomaly(code: string, message: string, id: string | undefined, line: number): void;
}

/** What a call has come to; `step` counts all steps of the log. */
interface OpenCall {
  readonly seq: number;
  readonly step: number;
  readonly line: number;
}

/** Everything that a builder knows at a turn's end, for a fork that goes on from there. */
export interface Snapshot {
  readonly seq: number;
  readonly time: number;
  readonly turn: number;
  /** The surface's first nodes; what comes later is pushed behind them. */
  readonly surface: readonly Node[];
  readonly surfaceLength: number;
  readonly waiting: readonly Waiting[];
  readonly header: string | undefined;
  readonly dueHeader: EpochHeader | undefined;
}

/** The event is nested too deeply to be written. */
class TooDeep extends Error {}

/** Whether an error says that a value is nested too deeply: one of ours, or the engine's own. */
export function isTooDeep(error: unknown): boolean {
  return error instanceof TooDeep || error instanceof RangeError;
}

/** Writes one session. */
export class LogBuilder {
  seq = 0;
  /** Time of what is written next. */
  time = 0;
  /** Put on the surface nodes that come to be. */
  mark: unknown = undefined;
  surface: Node[] = [];
  /** Line of the record at hand, for what is told of it. */
  line = 0;
  /** Whether a call is answered further down in the source. */
  awaits: (callId: string) => boolean = () => false;
  readonly #writer: LineWriter;
  readonly #notes: BuildNotes;
  #turn = 0;
  #turnOpen = false;
  #step = 0;
  #stepOpen = false;
  #steps = 0;
  #reason: TurnEndReason | undefined;
  #closing = false;
  #compaction = false;
  #waiting: Waiting[] = [];
  #waitingSize = 0;
  #header: string | undefined;
  #dueHeader: EpochHeader | undefined;
  #lastTime = 0;
  readonly #calls = new Map<string, OpenCall[]>();
  /** Calls of the step at hand that have no result. */
  readonly #stepCalls = new Set<string>();
  readonly #answered = new IdTable();

  constructor(writer: LineWriter, notes: BuildNotes, from?: Snapshot) {
    this.#writer = writer;
    this.#notes = notes;
    if (from === undefined) return;
    this.seq = from.seq;
    this.time = this.#lastTime = from.time;
    this.#turn = from.turn;
    this.surface = from.surface.slice(0, from.surfaceLength);
    this.#header = from.header;
    this.#dueHeader = from.dueHeader;
    this.#waiting = [...from.waiting];
  }

  /** The state at this turn's end, which it must be. */
  snapshot(): Snapshot {
    this.endTurn();
    return { seq: this.seq, time: this.time, turn: this.#turn, surface: this.surface, surfaceLength: this.surface.length, waiting: this.#waiting.filter((item) => 'content' in item), header: this.#header, dueHeader: this.#dueHeader };
  }

  get turnOpen(): boolean {
    return this.#turnOpen;
  }

  /** The header in force. */
  currentHeader(): EpochHeader | undefined {
    return this.#dueHeader ?? (this.#header === undefined ? undefined : (JSON.parse(this.#header) as EpochHeader));
  }

  /** Step in the open turn. */
  get step(): number {
    return this.#step;
  }

  // -------------------------------------------------------------------------------------------------------- messages

  /** A prompt: ends the open turn and begins one. */
  prompt(content: readonly ContentBlock[], source: MessageSource): void {
    this.endTurn();
    this.#openTurn({ kind: 'message', source });
    this.emit('user/message', { content, source }, { surfaceOp: 'append' });
  }

  /** A message that is no prompt: into the open turn, or into the next one. */
  context(content: readonly ContentBlock[], label: string): void {
    if (this.#closing) this.endTurn();
    this.#inTurn({ time: this.time, mark: this.mark, content, label }, 0);
  }

  /** A model's message: begins a step. Its calls are logged behind it. */
  model(content: readonly ContentBlock[], usage?: Usage): void {
    this.#closing = false;
    if (!this.#stepOpen || ![...this.#stepCalls].some((id) => this.awaits(id))) this.#startStep();
    const { turn, step } = this.#place();
    this.emit('assistant/message', { turn, step, content, ...(usage !== undefined && { usage }) }, { surfaceOp: 'append' });
    for (const block of content) {
      if (block.type !== 'tool-call') continue;
      const seq = this.emit('tool/call', { ...this.#place(), callId: block.id, name: block.name, arguments: block.arguments });
      const open = this.#calls.get(block.id);
      if (open !== undefined || this.#answered.has(block.id)) this.#notes.anomaly('duplicate-call-id', `a second call has the id ${JSON.stringify(block.id)}`, block.id, this.line);
      const call = { seq, step: this.#steps, line: this.line };
      if (open === undefined) this.#calls.set(block.id, [call]);
      else open.push(call);
      this.#stepCalls.add(block.id);
    }
  }

  /** What a model call has cost, where its message is written already. */
  usage(usage: Usage): void {
    if (!this.#stepOpen) this.#startStep();
    this.emit('assistant/message', { ...this.#place(), content: [], usage }, { surfaceOp: 'append' });
  }

  /** The answer to a call. */
  result(callId: string, content: readonly ContentBlock[], isError: boolean, more: { meta?: JsonValue; error?: { name: string; code: string } } = {}): void {
    const open = this.#calls.get(callId);
    const call = open?.shift();
    if (open?.length === 0) this.#calls.delete(callId);
    if (open?.some(({ step }) => step === this.#steps) !== true) this.#stepCalls.delete(callId);
    if (!this.#stepOpen) this.#startStep();
    this.emit('tool/result', { ...this.#place(), callId, content, isError, ...more }, { surfaceOp: 'append', ...(call !== undefined && { sourceEventSeqs: [call.seq] }) });
    if (call === undefined) {
      const known = this.#answered.has(callId);
      this.#notes.anomaly(known ? 'duplicate-result' : 'orphan-result', `a result answers ${known ? 'a call that has one already' : 'no call that is known'}: ${JSON.stringify(callId)}`, callId, this.line);
      return;
    }
    this.#answered.set(callId, 0);
    if (call.step !== this.#steps) this.#notes.anomaly('late-result', `the result of ${JSON.stringify(callId)} comes after the model has gone on`, callId, this.line);
  }

  /** The header of the model calls that follow; nothing where it is the one in force. */
  header(header: EpochHeader): void {
    const text = JSON.stringify(header);
    this.#dueHeader = undefined;
    if (text === this.#header) return;
    // Between two turns it waits for the next one, so that a fork may begin at the end of a turn.
    if (!this.#turnOpen) {
      this.#dueHeader = header;
      return;
    }
    const before = this.#header === undefined ? undefined : (JSON.parse(this.#header) as EpochHeader);
    this.#header = text;
    if (before !== undefined && JSON.stringify({ ...before, config: header.config }) === text) this.emit('request/header-delta', { config: header.config });
    else this.emit('request/header', { header, reason: before === undefined ? 'initial' : 'fallback' });
  }

  /** Turn and step for an event that must name both; of one that replaces, nobody asks that the step be open. */
  inStep(): { turn: number; step: number } {
    return { turn: this.#turn, step: Math.max(1, this.#step) };
  }

  // ------------------------------------------------------------------------------------------------------- compaction

  /** A compaction begins. */
  startCompaction(): void {
    this.#endCompaction('the next one began');
    this.ensureTurn();
    this.emit('compact/start', { turn: this.#turn });
    this.#compaction = true;
  }

  get compacting(): boolean {
    return this.#compaction;
  }

  /**
   * The compaction lays a message over the first `count` nodes of the surface. With nothing to shadow it is appended.
   * @param mark of the new node
   */
  compact(summary: readonly ContentBlock[], count: number, tokens: number, model: string, mark: unknown): void {
    if (!this.#compaction) this.startCompaction();
    this.endStep();
    if (count > 0) {
      const shadowed = this.surface.slice(0, count).map(({ seq }) => seq);
      const range = { start: shadowed[0]!, end: shadowed[shadowed.length - 1]! };
      const record = this.emit('compact/summary', { summary, shadowedRange: range, shadowedSeqs: shadowed, shadowedTokenCount: tokens, model });
      this.replace('user/message', { content: summary, source: COMPACTION }, 0, count, mark, [record]);
    } else {
      this.mark = mark;
      this.emit('user/message', { content: summary, source: COMPACTION }, { surfaceOp: 'append' });
    }
    this.#endCompaction();
  }

  /** Lays an event over the surface nodes `from .. to`. */
  replace<T extends 'user/message' | 'assistant/message' | 'context/message' | 'tool/result'>(type: T, data: SessionEventMap[T], from: number, to: number, mark: unknown, also: readonly number[] = []): number {
    const shadowed = this.surface.slice(from, to).map(({ seq }) => seq);
    const sources = [...new Set([...shadowed, ...also])];
    const seq = this.emit(type, data, { surfaceOp: { op: 'replace', start: shadowed[0]!, end: shadowed[shadowed.length - 1]! }, sourceEventSeqs: sources });
    // A snapshot may hold the array.
    this.surface = [...this.surface.slice(0, from), { seq, mark }, ...this.surface.slice(to)];
    return seq;
  }

  /** Ends the open compaction, where one is. */
  #endCompaction(error?: string): void {
    if (!this.#compaction) return;
    this.#compaction = false;
    this.emit('compact/end', { turn: this.#turn, ...(error !== undefined && { error }) });
  }

  /** The compaction is over. */
  endCompaction(error?: string): void {
    this.endStep();
    this.#endCompaction(error);
  }

  // ------------------------------------------------------------------------------------------------------------ turns

  /** Says how the open turn will end. */
  turnEndsWith(reason: TurnEndReason): void {
    this.#reason = reason;
  }

  /** The turn is over: what follows and is no part of it begins the next one. */
  turnDone(reason?: TurnEndReason): void {
    if (reason !== undefined) this.#reason = reason;
    this.#closing = this.#turnOpen;
  }

  ensureTurn(): void {
    if (!this.#turnOpen) this.#openTurn({ kind: 'injection', source: { kind: 'plugin', plugin: 'import' } });
  }

  endStep(): void {
    if (!this.#stepOpen) return;
    this.#stepOpen = false;
    this.#atLast(() => this.emit('step/end', { turn: this.#turn, step: this.#step }));
  }

  endTurn(): void {
    if (!this.#turnOpen) return;
    this.#endCompaction('no summary followed');
    this.endStep();
    this.#atLast(() => this.emit('turn/end', { turn: this.#turn, reason: this.#reason ?? { kind: 'completed' } }));
    this.#turnOpen = false;
    this.#closing = false;
    this.#reason = undefined;
  }

  /** Whatever ends does so at the time of what came last, not of what comes next. */
  #atLast(emit: () => void): void {
    const { time } = this;
    this.time = this.#lastTime;
    emit();
    this.time = time;
  }

  /** The source has ended. A step whose calls wait for their results stays open, as does its turn. */
  finish(): void {
    if (this.#waiting.length > 0 || this.#dueHeader !== undefined) this.ensureTurn();
    if (!this.#stepOpen || this.#stepCalls.size === 0) this.endTurn();
    for (const [id, open] of this.#calls) for (const { line } of open) this.#notes.anomaly('unanswered-call', `the call ${JSON.stringify(id)} has no result`, id, line);
  }

  // ---------------------------------------------------------------------------------------------------------- records

  /** Keeps a record, or the rest of one; `size` is about how much memory it takes. */
  keep(source: ImportRecordSource, kind: string, raw: JsonValue, size: number): void {
    this.#inTurn({ time: this.time, mark: undefined, record: { source, kind, raw } }, size);
  }

  #inTurn(item: Waiting, size: number): void {
    if (this.#turnOpen) {
      this.#put(item);
      return;
    }
    this.#waiting.push(item);
    this.#waitingSize += size;
    if (this.#waitingSize > WAITING_MOST) this.ensureTurn();
  }

  #put(item: Waiting): void {
    if ('content' in item) {
      this.emit('context/message', { content: item.content, source: { kind: 'injected', label: item.label } }, { surfaceOp: 'append' });
      return;
    }
    try {
      this.emit('import/record', item.record);
    } catch (error) {
      if (!isTooDeep(error)) throw error;
      this.#notes.anomaly('too-deep', `line ${item.record.source.line} is nested too deeply; it is kept as text`, undefined, item.record.source.line);
      this.emit('import/record', { ...item.record, raw: deepText(item.record.raw) });
    }
  }

  #openTurn(trigger: TurnTrigger): void {
    this.#turn++;
    this.#turnOpen = true;
    this.#step = 0;
    this.emit('turn/start', { turn: this.#turn, trigger });
    if (this.#dueHeader !== undefined) this.header(this.#dueHeader);
    const waiting = this.#waiting;
    const { time, mark } = this;
    this.#waiting = [];
    this.#waitingSize = 0;
    for (const item of waiting) {
      this.time = item.time;
      this.mark = item.mark;
      this.#put(item);
    }
    this.time = time;
    this.mark = mark;
  }

  #startStep(): void {
    this.ensureTurn();
    this.endStep();
    this.#step++;
    this.#steps++;
    this.#stepCalls.clear();
    this.#stepOpen = true;
    this.emit('step/start', this.#place());
  }

  #place(): { turn: number; step: number } {
    return { turn: this.#turn, step: this.#step };
  }

  /** Writes an event as it is. */
  emit<T extends SessionEventType>(type: T, data: SessionEventMap[T], fields?: Fields): number {
    const { seq } = this;
    let line: string;
    try {
      line = JSON.stringify({ type, seq, time: this.time, data, ...orderedFields(fields) });
    } catch (error) {
      if (error instanceof RangeError) throw new TooDeep('nested too deeply', { cause: error });
      throw error;
    }
    this.#writer.add(line);
    this.#lastTime = this.time;
    this.seq++;
    if (fields?.surfaceOp === 'append') this.surface.push({ seq, mark: this.mark });
    return seq;
  }
}

/** In the key order of stored events. */
function orderedFields(fields: Fields): object {
  if (fields === undefined) return {};
  const { sourceEventSeqs, surfaceOp } = fields;
  return sourceEventSeqs === undefined ? { surfaceOp } : { sourceEventSeqs, surfaceOp };
}
