/**
 * Where the events of a log stand in ours.
 *
 * The two logs are the same but for this: there, events may stand outside of any turn, and here they wait for the next
 * one; here, what of an event has no home stands beside it in an event of its own. So seqs shift, and every seq that an
 * event names is looked up. Turns and steps are counted again, which changes nothing in a log that counts rightly.
 *
 * One file, though a long one: every method works on where the log stands.
 */

import type { EpochHeader, MessageSource, SessionEventMap, SessionEventType, SessionHeader, SurfaceOp } from '../../events.js';
import { applyHeaderDelta, canonicalHeader } from '../../header.js';
import type { JsonValue } from '../../ids.js';
import { isTooDeep } from '../build.js';
import type { Context } from '../context.js';
import { countOf, deepText, idOf, isEmpty, isObject, listOf, objectOf, type Raw, stringOf } from '../json.js';
import type { ImportedSession } from '../types.js';
import { LineWriter } from '../writer.js';
import { assistantOf, KNOWN_TYPES, messageOf, reasonOf, requestHeaderOf, resultOf } from './events.js';
import type { DshHeader } from './header.js';
import { SeqMap } from './seqs.js';

const SURFACE = new Set(['user/message', 'assistant/message', 'tool/result', 'context/message', 'steering/message']);

/** An event as it comes. */
interface Event {
  readonly type: string;
  readonly seq: number | undefined;
  readonly data: Raw;
  readonly value: Raw;
  readonly line: number;
  readonly time: number;
}

/** Writes one log. */
export class DshLog {
  readonly #context: Context;
  readonly #header: SessionHeader;
  #seed: number;
  #seedLength: number | undefined;
  #writer: LineWriter | undefined;
  #lines: string[] = [];
  #seq = 0;
  #time: number;
  #due = 0;
  readonly #seqs = new SeqMap();
  #surface: number[] = [];
  #turn = 0;
  #turnOpen = false;
  #step = 0;
  #stepOpen = false;
  #compaction = false;
  #request: EpochHeader | undefined;
  #waiting: (() => void)[] = [];

  constructor({ header, seed }: DshHeader, context: Context) {
    this.#header = header;
    this.#seed = seed;
    this.#context = context;
    this.#time = header.createdAt;
  }

  /** Takes one event; whether it became one of the vocabulary. */
  event(value: Raw, line: number): boolean {
    const { type, seq, time, data } = value;
    const { report } = this.#context;
    if (typeof type !== 'string' || type === '' || !isObject(data)) {
      report.anomaly(typeof type === 'string' ? 'malformed-event' : 'no-type', `line ${line} is no event: it lacks its type or its data`, { line });
      this.keep(line, typeof type === 'string' ? type : 'None', value as JsonValue, undefined);
      return false;
    }
    const at = this.#when(time, line);
    const place = this.#place(seq, line);
    if (!KNOWN_TYPES.has(type) && value.ignorable !== true) report.anomaly('unknown-event-type', `line ${line} is an event of the type ${JSON.stringify(type)}, which is not known; it is kept`, { line, id: type });
    const event: Event = { type, seq: place, data, value, line, time: at };
    this.#time = at;
    if (place !== undefined && this.#seed > 0 && place >= this.#seed) this.#endSeed();
    return this.#map(event);
  }

  /** Keeps a line, or what is left of an event. */
  keep(line: number, kind: string, raw: JsonValue, of: number | undefined): void {
    const time = this.#time;
    this.#inTurn(() => {
      this.#time = time;
      this.#seqs.set(of, this.#record(line, kind, raw));
    });
  }

  /** Hands on what is written, once the header is known. */
  async flush(): Promise<void> {
    if (this.#seed > 0) return;
    if (this.#writer === undefined) {
      const header = { ...this.#header, ...(this.#seedLength !== undefined && { seedLength: this.#seedLength }) };
      this.#writer = new LineWriter(header, await this.#context.sink.begin(header, { role: 'main' }));
    }
    for (const line of this.#lines) this.#writer.add(line);
    this.#lines = [];
    if (this.#writer.full) await this.#writer.flush();
  }

  /** The log is over. One that ends in a turn ends in it here as well. */
  async finish(): Promise<ImportedSession> {
    if (this.#waiting.length > 0) {
      this.#openTurn();
      this.#end('turn/end', { turn: this.#turn, reason: { kind: 'completed' } });
    }
    this.#endSeed();
    await this.flush();
    const { header } = this.#writer!;
    const session = await this.#writer!.finish();
    return { id: header.id, role: 'main', header, events: this.#seq, ...(session !== undefined && { session }) };
  }

  /** The import has failed: the sink is told. */
  async abort(): Promise<void> {
    await this.#writer?.abort();
  }

  // ---------------------------------------------------------------------------------------------------------- mapping

  #map(event: Event): boolean {
    const { type, data } = event;
    switch (type) {
      case 'turn/start': {
        const { turn: _, trigger, ...rest } = data;
        this.#closeTurn(event);
        this.#openTurn(isObject(trigger) && idOf(trigger.kind) !== undefined ? trigger : undefined, event.seq);
        return this.#done(event, rest);
      }
      case 'turn/end': {
        if (!this.#turnOpen) return this.#keepWhole(event);
        const { turn: _, reason, ...rest } = data;
        const mapped = reasonOf(reason, this.#step);
        this.#rest(event, { ...rest, ...(!isEmpty(mapped.rest) && { reason: mapped.rest as JsonValue }) });
        this.#closeInner(event);
        this.#seqs.set(event.seq, this.#end('turn/end', { turn: this.#turn, reason: mapped.data }));
        return true;
      }
      case 'step/start': {
        const { turn: _turn, step: _step, ...rest } = data;
        this.#needTurn(event);
        this.#closeStep();
        this.#step++;
        this.#stepOpen = true;
        this.#seqs.set(event.seq, this.#emit('step/start', this.#at()));
        return this.#done(event, rest);
      }
      case 'step/end': {
        const { turn: _turn, step: _step, ...rest } = data;
        if (!this.#stepOpen) return this.#keepWhole(event);
        this.#stepOpen = false;
        this.#seqs.set(event.seq, this.#emit('step/end', this.#at()));
        return this.#done(event, rest);
      }
      case 'assistant/chunk': {
        const { turn: _turn, step: _step, chunk, ...rest } = data;
        if (!this.#stepOpen || !isObject(chunk) || typeof chunk.type !== 'string') return this.#keepWhole(event);
        this.#seqs.set(event.seq, this.#emit('assistant/chunk', { ...this.#at(), chunk: chunk as never }));
        return this.#done(event, rest);
      }
      case 'tool/call': {
        const { turn: _turn, step: _step, callId, name, arguments: text, ...rest } = data;
        if (!this.#stepOpen || typeof callId !== 'string' || typeof name !== 'string' || typeof text !== 'string') return this.#keepWhole(event);
        this.#seqs.set(event.seq, this.#emit('tool/call', { ...this.#at(), callId, name, arguments: text }));
        return this.#done(event, rest);
      }
      case 'request/header':
      case 'request/header-delta':
        return this.#requestHeader(event);
      case 'todo/write':
        return listOf(data.todos).every((todo) => isObject(todo) && typeof todo.content === 'string' && typeof todo.status === 'string') ? this.#asItIs(event) : this.#keepWhole(event);
      case 'hook/invoked':
      case 'hook/result':
        return typeof data.handlerId === 'string' && typeof data.point === 'string' ? this.#asItIs(event) : this.#keepWhole(event);
      case 'prompt/blocked':
        return Array.isArray(data.content) && isObject(data.source) ? this.#asItIs(event) : this.#keepWhole(event);
      default:
        if (/^compact(ion)?\/(start|summary|end)$/.test(type)) return this.#compactionEvent(event);
        return SURFACE.has(type) ? this.#surfaceEvent(event) : this.#keepWhole(event);
    }
  }

  #surfaceEvent(event: Event): boolean {
    const { type, data, value } = event;
    const fields = value.surfaceOp;
    if (fields === undefined) return this.#keepWhole(event);
    if (type === 'assistant/message' || type === 'tool/result') {
      const mapped = type === 'assistant/message' ? assistantOf(data) : resultOf(data);
      if (mapped === undefined) return this.#keepWhole(event);
      if (!this.#stepOpen && fields === 'append') {
        this.#needTurn(event);
        this.#context.report.anomaly('outside-step', `line ${event.line} stands in no step; one is begun for it`, { line: event.line });
        this.#step++;
        this.#stepOpen = true;
        this.#emit('step/start', this.#at());
      }
      return this.#put(event, type, { ...this.#at(), ...mapped.data } as SessionEventMap['tool/result'], mapped.rest);
    }
    const mapped = messageOf(data);
    if (mapped === undefined) return this.#keepWhole(event);
    const { source } = mapped.data;
    if (type === 'steering/message') {
      this.#needTurn(event);
      const { turn: _, ...rest } = mapped.rest;
      return this.#put(event, type, { turn: this.#turn, ...mapped.data }, rest);
    }
    // What is laid over others speaks for them; else, only a user's word is a user's message.
    const ours = type === 'user/message' && (isUser(source) || fields !== 'append') ? 'user/message' : 'context/message';
    return this.#put(event, ours, mapped.data, mapped.rest);
  }

  /** Writes a surface event, now or in the next turn. */
  #put<T extends 'user/message' | 'assistant/message' | 'tool/result' | 'context/message' | 'steering/message'>(event: Event, type: T, data: SessionEventMap[T], rest: Raw): boolean {
    const { time } = event;
    this.#inTurn(() => {
      this.#time = time;
      const fields = this.#fields(event, type);
      const seq = fields === undefined ? undefined : this.#emitShallow(type, data, fields);
      if (fields === undefined || seq === undefined) {
        this.#seqs.set(event.seq, this.#record(event.line, event.type, event.value as JsonValue));
        return;
      }
      this.#seqs.set(event.seq, seq);
      const { surfaceOp } = fields;
      if (surfaceOp === 'append') this.#surface.push(seq);
      else this.#surface.splice(this.#surface.indexOf(surfaceOp.start), this.#surface.indexOf(surfaceOp.end) - this.#surface.indexOf(surfaceOp.start) + 1, seq);
      this.#rest(event, rest);
    });
    return true;
  }

  /** The surface fields in our seqs; `undefined` where they name what is not there. */
  #fields({ value, line }: Event, type: string): { surfaceOp: SurfaceOp; sourceEventSeqs?: number[] } | undefined {
    const { report } = this.#context;
    const named = listOf(value.sourceEventSeqs);
    const sources = [...new Set(named.flatMap((seq) => (typeof seq === 'number' ? (this.#seqs.get(seq) ?? []) : [])))];
    if (sources.length < new Set(named).size) report.anomaly('unknown-source', `line ${line} names sources that are not in the log; they are left out`, { line });
    const op = value.surfaceOp;
    if (op === 'append') return { surfaceOp: op, ...((sources.length > 0 || (type === 'assistant/message' && value.sourceEventSeqs !== undefined)) && { sourceEventSeqs: sources }) };
    const { op: name, start, end } = objectOf(op);
    const from = typeof start === 'number' ? this.#surface.indexOf(this.#seqs.get(start) ?? -1) : -1;
    const to = typeof end === 'number' ? this.#surface.indexOf(this.#seqs.get(end) ?? -1) : -1;
    if (name !== 'replace' || from < 0 || to < from) {
      report.anomaly('invalid-replace', `line ${line} replaces what is not on the surface; it is kept, and the surface stays`, { line });
      return undefined;
    }
    const shadowed = this.#surface.slice(from, to + 1);
    const all = [...new Set([...sources, ...shadowed])];
    if (all.length > sources.length) report.anomaly('incomplete-sources', `line ${line} does not name all that it replaces; they are added`, { line });
    return { surfaceOp: { op: 'replace', start: shadowed[0]!, end: shadowed[shadowed.length - 1]! }, sourceEventSeqs: all };
  }

  #requestHeader(event: Event): boolean {
    const { data, type, line } = event;
    try {
      if (type === 'request/header') {
        const mapped = requestHeaderOf(data.header);
        if (mapped === undefined) throw new TypeError('it is not formed like one');
        this.#request = canonicalHeader(mapped.data);
        const { header: _, reason, ...rest } = data;
        const known = reason === 'initial' || reason === 'resume' || reason === 'fallback';
        this.#seqs.set(event.seq, this.#emit('request/header', { header: mapped.data, reason: known ? reason : 'fallback' }));
        return this.#done(event, { ...rest, ...(!known && reason !== undefined && { reason }), ...(!isEmpty(mapped.rest) && { header: mapped.rest as JsonValue }) });
      }
      const { system, tools, config, messagePrefix, ...rest } = data;
      const delta = { ...(system !== undefined && { system }), ...(tools !== undefined && { tools }), ...(config !== undefined && { config }), ...(messagePrefix !== undefined && { messagePrefix }) };
      if (this.#request === undefined) throw new TypeError('no header stands before it');
      const next = applyHeaderDelta(this.#request, delta as unknown as SessionEventMap['request/header-delta']);
      if (requestHeaderOf(next) === undefined) throw new TypeError('what it makes is not formed like one');
      this.#request = next;
      this.#seqs.set(event.seq, this.#emit('request/header-delta', delta as unknown as SessionEventMap['request/header-delta']));
      return this.#done(event, rest);
    } catch (error) {
      this.#context.report.anomaly('malformed-header', `line ${line} is a request header that cannot be used: ${error instanceof Error ? error.message : String(error)}`, { line });
      return this.#keepWhole(event);
    }
  }

  #compactionEvent(event: Event): boolean {
    const { data, type } = event;
    const { turn: _, ...rest } = data;
    if (type.endsWith('/start')) {
      this.#needTurn(event);
      this.#closeCompaction('the next one began');
      this.#compaction = true;
      this.#seqs.set(event.seq, this.#emit('compact/start', { turn: this.#turn }));
      return this.#done(event, rest);
    }
    if (!this.#compaction) return this.#keepWhole(event);
    if (type.endsWith('/end')) {
      const { error, ...more } = rest;
      const text = error === undefined || error === null ? undefined : (stringOf(error) ?? stringOf(objectOf(error).message) ?? JSON.stringify(error));
      this.#compaction = false;
      this.#seqs.set(event.seq, this.#emit('compact/end', { turn: this.#turn, ...(text !== undefined && { error: text }) }));
      return this.#done(event, { ...more, ...(isObject(error) && { error }) });
    }
    const { summary, shadowedRange, shadowedSeqs, shadowedTokenCount, model, maxTokens, ...more } = rest;
    const { start, end } = objectOf(shadowedRange);
    const seqs = listOf(shadowedSeqs).flatMap((seq) => (typeof seq === 'number' ? (this.#seqs.get(seq) ?? []) : []));
    const range = [start, end].flatMap((seq) => (typeof seq === 'number' ? (this.#seqs.get(seq) ?? []) : []));
    if (!Array.isArray(summary) || range.length < 2) return this.#keepWhole(event);
    const seq = this.#emit('compact/summary', {
      summary: summary as never,
      shadowedRange: { start: range[0]!, end: range[1]! },
      shadowedSeqs: seqs,
      shadowedTokenCount: countOf(shadowedTokenCount),
      model: stringOf(model) ?? 'unknown',
      ...(typeof maxTokens === 'number' && { maxTokens }),
    });
    this.#seqs.set(event.seq, seq);
    return this.#done(event, more);
  }

  /** An event that is ours already. */
  #asItIs(event: Event): boolean {
    const data = 'turn' in event.data ? { ...event.data, turn: this.#turn } : event.data;
    const { time } = event;
    this.#inTurn(() => {
      this.#time = time;
      this.#seqs.set(event.seq, this.#emit(event.type as 'todo/write', data as unknown as SessionEventMap['todo/write']));
    });
    return true;
  }

  #keepWhole(event: Event): false {
    this.keep(event.line, event.type, event.value as JsonValue, event.seq);
    return false;
  }

  #done(event: Event, rest: Raw): true {
    this.#rest(event, rest);
    return true;
  }

  /** What of an event has no home, right behind it. */
  #rest(event: Event, rest: Raw): void {
    const beside = event.value.ignorable === undefined ? {} : { ignorable: event.value.ignorable };
    if (isEmpty(rest) && isEmpty(beside)) return;
    if (this.#turnOpen) this.#record(event.line, event.type, { ...beside, data: rest } as JsonValue);
    else this.keep(event.line, event.type, { ...beside, data: rest } as JsonValue, undefined);
  }

  #record(line: number, kind: string, raw: JsonValue): number {
    const { report } = this.#context;
    const source = { format: 'dsh', line, ...(report.source !== undefined && { file: report.source }) };
    try {
      return this.#emit('import/record', { source, kind, raw });
    } catch (error) {
      if (!isTooDeep(error)) throw error;
      report.anomaly('too-deep', `line ${line} is nested too deeply; it is kept as text`, { line });
      return this.#emit('import/record', { source, kind, raw: deepText(raw) });
    }
  }

  // ------------------------------------------------------------------------------------------------------------ turns

  #inTurn(run: () => void): void {
    if (this.#turnOpen) run();
    else this.#waiting.push(run);
  }

  #openTurn(trigger: Raw = { kind: 'message', source: { kind: 'user' } }, of?: number): void {
    this.#turn++;
    this.#turnOpen = true;
    this.#step = 0;
    const time = this.#time;
    const seq = this.#emit('turn/start', { turn: this.#turn, trigger: trigger as never });
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const run of waiting) run();
    this.#time = time;
    if (of !== undefined) this.#seqs.set(of, seq);
  }

  #needTurn(event: Event): void {
    if (this.#turnOpen) return;
    this.#context.report.anomaly('outside-turn', `line ${event.line} stands outside of any turn; one is begun for it`, { line: event.line });
    this.#openTurn({ kind: 'injection', source: { kind: 'plugin', plugin: 'import' } });
  }

  #closeTurn(event: Event): void {
    if (!this.#turnOpen) return;
    this.#context.report.anomaly('turn-without-end', `line ${event.line}: a turn starts while another is open, which is ended as interrupted`, { line: event.line });
    this.#closeInner(event);
    this.#end('turn/end', { turn: this.#turn, reason: { kind: 'interrupted' } });
  }

  #closeInner(event: Event): void {
    if (this.#compaction) this.#context.report.anomaly('compaction-without-end', `line ${event.line}: the turn ends while a compaction is open`, { line: event.line });
    this.#closeCompaction('its turn ended');
    this.#closeStep();
  }

  #closeStep(): void {
    if (!this.#stepOpen) return;
    this.#stepOpen = false;
    this.#emit('step/end', this.#at());
  }

  #closeCompaction(error: string): void {
    if (!this.#compaction) return;
    this.#compaction = false;
    this.#emit('compact/end', { turn: this.#turn, error });
  }

  #end(type: 'turn/end', data: SessionEventMap['turn/end']): number {
    this.#turnOpen = false;
    return this.#emit(type, data);
  }

  #at(): { turn: number; step: number } {
    return { turn: this.#turn, step: this.#step };
  }

  /** The inherited part is over: so many events it has become. */
  #endSeed(): void {
    if (this.#seed === 0) return;
    this.#seed = 0;
    if (this.#turnOpen) this.#context.report.anomaly('seed-in-turn', 'the inherited part ends inside a turn; the log is taken as a whole');
    else if (this.#seq > 0) this.#seedLength = this.#seq;
  }

  // ------------------------------------------------------------------------------------------------------------- seqs

  #when(time: unknown, line: number): number {
    const { report } = this.#context;
    if (typeof time !== 'number' || !Number.isSafeInteger(time) || time < 0) {
      report.anomaly('no-time', `line ${line} has no time that can be used`, { line });
      return this.#time;
    }
    report.time(time, line);
    return time;
  }

  /** The event's seq; `undefined` where it cannot be named by it. */
  #place(seq: unknown, line: number): number | undefined {
    const { report } = this.#context;
    if (typeof seq !== 'number' || !Number.isSafeInteger(seq) || seq < this.#due) {
      report.anomaly('seq-repeated', `line ${line}: seq ${JSON.stringify(seq)} was used before, or is none; seq ${this.#due} was due`, { line });
      return undefined;
    }
    if (seq > this.#due) report.anomaly('seq-gap', `line ${line}: events are missing before this one, from seq ${this.#due} on`, { line });
    this.#due = seq + 1;
    return seq;
  }

  /** As {@link DshLog.#emit}; `undefined`, and nothing is written, for what is nested too deeply. */
  #emitShallow<T extends SessionEventType>(type: T, data: SessionEventMap[T], fields: { surfaceOp: SurfaceOp; sourceEventSeqs?: number[] }): number | undefined {
    try {
      return this.#emit(type, data, fields);
    } catch (error) {
      if (!isTooDeep(error)) throw error;
      return undefined;
    }
  }

  #emit<T extends SessionEventType>(type: T, data: SessionEventMap[T], fields?: { surfaceOp: SurfaceOp; sourceEventSeqs?: number[] }): number {
    const seq = this.#seq;
    const { surfaceOp, sourceEventSeqs } = fields ?? {};
    // Nothing has changed yet where this throws.
    this.#lines.push(JSON.stringify({ type, seq, time: this.#time, data, ...(sourceEventSeqs !== undefined && { sourceEventSeqs }), ...(surfaceOp !== undefined && { surfaceOp }) }));
    this.#seq++;
    return seq;
  }
}

function isUser(source: MessageSource): boolean {
  return source.kind === 'user';
}
