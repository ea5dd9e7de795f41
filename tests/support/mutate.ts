/** Faults to inject into a correct log, each with the rule that must find it. */

import type { ErrorCode, SessionEvent } from 'palimpsest';
import type { RuleCode } from 'palimpsest/invariants';
import type { Dice } from './random.js';

/** An event as plain data, to be changed at will. */
export interface Line {
  type: string;
  seq: number;
  time: number;
  data: Record<string, unknown> & { turn?: number; step?: number; callId?: string; content?: Block[] };
  sourceEventSeqs?: number[];
  surfaceOp?: 'append' | { op: 'replace'; start: number; end: number };
}
type Block = Record<string, unknown> & { type: string };

/** A way to break a log. */
export interface Mutator {
  readonly name: string;
  /** The rules of which one must say so. */
  readonly codes: readonly (RuleCode | ErrorCode)[];
  /** Breaks the log; false where it holds nothing that could be broken so. */
  readonly apply: (log: Line[], dice: Dice) => boolean;
}

/** A log's events as plain data. */
export function linesOf(events: readonly SessionEvent[]): Line[] {
  return JSON.parse(JSON.stringify(events)) as Line[];
}

/** The stored log's bytes. */
export function bytesOfLines(header: Uint8Array, log: readonly Line[]): Uint8Array {
  return Buffer.concat([header, Buffer.from(log.map((line) => `${JSON.stringify(line)}\n`).join(''))]);
}

/** Every number that names an event. */
function renumber(log: Line[], to: (seq: number) => number): void {
  for (const line of log) {
    line.seq = to(line.seq);
    if (line.sourceEventSeqs) line.sourceEventSeqs = line.sourceEventSeqs.map(to);
    if (typeof line.surfaceOp === 'object') Object.assign(line.surfaceOp, { start: to(line.surfaceOp.start), end: to(line.surfaceOp.end) });
  }
}

function remove(log: Line[], seq: number): boolean {
  log.splice(seq, 1);
  for (const line of log) {
    if (line.sourceEventSeqs?.includes(seq)) line.sourceEventSeqs = line.sourceEventSeqs.filter((source) => source !== seq);
    if (line.sourceEventSeqs?.length === 0) delete line.sourceEventSeqs;
  }
  renumber(log, (old) => (old > seq ? old - 1 : old));
  return true;
}

function insert(log: Line[], seq: number, line: Omit<Line, 'seq' | 'time'>): boolean {
  renumber(log, (old) => (old >= seq ? old + 1 : old));
  log.splice(seq, 0, { type: line.type, seq, time: 1, data: line.data, ...(line.sourceEventSeqs && { sourceEventSeqs: line.sourceEventSeqs }), ...(line.surfaceOp && { surfaceOp: line.surfaceOp }) });
  return true;
}

/** A random item, where there is one. */
function oneOf<T>(dice: Dice, items: readonly T[]): T | undefined {
  return items.length === 0 ? undefined : dice.pick(items);
}

/** A random line for which `want` holds. */
function pick(log: Line[], dice: Dice, want: (line: Line) => boolean): Line | undefined {
  return oneOf(dice, log.filter(want));
}

const of = (...types: string[]) => (line: Line): boolean => types.includes(line.type);
const appended = (line: Line): boolean => line.surfaceOp === 'append';
const callsOf = (line: Line): Block[] => (line.type === 'assistant/message' ? (line.data.content ?? []).filter(({ type }) => type === 'tool-call') : []);
/** Whether no replace names the event: the surface does not change around it. */
const untouched = (log: Line[]) => (line: Line): boolean => !log.some(({ surfaceOp, sourceEventSeqs }) => typeof surfaceOp === 'object' && sourceEventSeqs?.includes(line.seq));
const isInterrupted = (line: Line | undefined): boolean => (line?.data.error as { code?: string } | undefined)?.code === 'interrupted';
/** The pairs that stand on the surface at the log's end: message, with one call, and result. */
function pairsOf(log: Line[]): [Line, Line][] {
  const free = log.filter(appended).filter(untouched(log));
  return free.filter((line) => callsOf(line).length === 1).flatMap((line) => {
    const answer = free.find(({ type, data }) => type === 'tool/result' && data.callId === callsOf(line)[0]?.id);
    return answer ? [[line, answer] as [Line, Line]] : [];
  });
}

/** A replace of one node by a message, just before the last turn ends. */
function shadow(log: Line[], seq: number): boolean {
  const end = log.length - 1;
  if (seq < 0 || log[end]?.type !== 'turn/end') return false;
  return insert(log, end, { type: 'user/message', data: { content: [{ type: 'text', text: 'summary' }], source: { kind: 'user' } }, sourceEventSeqs: [seq], surfaceOp: { op: 'replace', start: seq, end: seq } });
}

/** Changes a random line. */
const change = (want: (line: Line) => boolean, alter: (line: Line, dice: Dice) => void) => (log: Line[], dice: Dice): boolean => {
  const line = pick(log, dice, want);
  if (line) alter(line, dice);
  return line !== undefined;
};
/** Removes a random line. */
const drop = (want: (line: Line, log: Line[]) => boolean) => (log: Line[], dice: Dice): boolean => {
  const line = pick(log, dice, (one) => want(one, log));
  return line !== undefined && remove(log, line.seq);
};

const turnIsLater = (line: Line, log: Line[]): boolean => log.slice(line.seq + 1).some(of('turn/start'));
const inStep = of('assistant/chunk', 'tool/call');
const wrong = (name: 'turn' | 'step') => (line: Line, dice: Dice): void => void (line.data[name] = (line.data[name] ?? 0) + 1 + dice.below(3));

/** All of them. */
export const MUTATORS: readonly Mutator[] = [
  { name: 'a turn is numbered wrongly', codes: ['TURN_NUMBER'], apply: change(of('turn/start'), wrong('turn')) },
  { name: 'a step is numbered wrongly', codes: ['STEP_NUMBER'], apply: change(of('step/start'), wrong('step')) },
  { name: 'a turn does not end', codes: ['TURN_NESTED'], apply: drop((line, log) => line.type === 'turn/end' && turnIsLater(line, log)) },
  { name: 'a turn does not start', codes: ['OUTSIDE_TURN', 'TURN_NOT_OPEN'], apply: drop(of('turn/start')) },
  { name: 'a turn ends twice', codes: ['TURN_NOT_OPEN'], apply: (log, dice) => twice(log, pick(log, dice, of('turn/end'))) },
  { name: 'a step does not end', codes: ['STEP_NESTED', 'STEP_NOT_CLOSED'], apply: drop(of('step/end')) },
  { name: 'a step does not start', codes: ['STEP_NOT_OPEN'], apply: drop(of('step/start')) },
  { name: 'a step ends twice', codes: ['STEP_NOT_OPEN'], apply: (log, dice) => twice(log, pick(log, dice, of('step/end'))) },
  { name: 'an event names another step', codes: ['WRONG_STEP'], apply: change((line) => inStep(line) || (line.type === 'assistant/message' && appended(line)), wrong('step')) },
  { name: 'an event names another turn', codes: ['WRONG_TURN'], apply: change(of('step/start', 'step/end', 'turn/end', 'steering/message', 'compact/start', 'assistant/chunk'), wrong('turn')) },
  { name: 'a chunk comes after its step', codes: ['OUTSIDE_STEP'], apply: (log, dice) => after(log, pick(log, dice, of('step/end')), { type: 'assistant/chunk', data: { turn: 1, step: 1, chunk: {} } }) },
  { name: 'an event of a plugin stands between turns', codes: ['OUTSIDE_TURN'], apply: (log, dice) => after(log, pick(log, dice, of('turn/end')), { type: 'plugin/note', data: {} }) },
  { name: 'a message stands between turns', codes: ['OUTSIDE_TURN'], apply: (log, dice) => after(log, pick(log, dice, of('turn/end')), { type: 'user/message', data: { content: [{ type: 'text', text: 'x' }], source: { kind: 'user' } }, surfaceOp: 'append' }) },
  { name: 'a result is lost', codes: ['CALL_WITHOUT_RESULT'], apply: drop((line, log) => line.type === 'tool/result' && appended(line) && untouched(log)(line)) },
  { name: 'a message with calls is lost', codes: ['RESULT_WITHOUT_CALL'], apply: drop((line, log) => callsOf(line).length > 0 && appended(line) && untouched(log)(line) && log.some(({ type, data }) => type === 'tool/result' && data.callId === callsOf(line)[0]?.id)) },
  {
    name: 'a call is not logged',
    codes: ['RESULT_OF_UNLOGGED_CALL'],
    apply: drop((line, log) => line.type === 'tool/call' && log.some((one) => one.type === 'tool/result' && one.data.callId === line.data.callId && !isInterrupted(one))),
  },
  { name: 'a call is logged twice', codes: ['CALL_ID_DUPLICATE'], apply: (log, dice) => twice(log, pick(log, dice, of('tool/call'))) },
  { name: 'a result comes twice', codes: ['RESULT_DUPLICATE'], apply: (log, dice) => twice(log, pick(log, dice, (line) => line.type === 'tool/result' && appended(line))) },
  {
    name: 'a result answers another call',
    codes: ['RESULT_WITHOUT_CALL', 'RESULT_DUPLICATE'],
    apply: change((line) => line.type === 'tool/result' && appended(line), (line) => void (line.data.callId = `${line.data.callId}?`)),
  },
  {
    name: 'a call has the id of an earlier one',
    codes: ['CALL_ID_DUPLICATE', 'CALL_ID_REUSED'],
    apply: (log, dice) => {
      const [first, ...others] = log.filter(appended).flatMap(callsOf).map(({ id }) => id as string);
      const id = oneOf(dice, others);
      if (first === undefined || id === undefined) return false;
      for (const line of log) {
        if (line.data.callId === id) line.data.callId = first;
        for (const block of callsOf(line)) if (block.id === id) block.id = first;
      }
      return true;
    },
  },
  { name: 'a replace takes the call', codes: ['REPLACE_SPLITS_PAIR'], apply: (log, dice) => shadow(log, oneOf(dice, pairsOf(log))?.[0].seq ?? -1) },
  { name: 'a replace takes the result', codes: ['REPLACE_SPLITS_PAIR'], apply: (log, dice) => shadow(log, oneOf(dice, pairsOf(log))?.[1].seq ?? -1) },
  { name: 'a compaction does not end', codes: ['COMPACTION_NOT_CLOSED', 'COMPACTION_NESTED'], apply: drop((line, log) => line.type === 'compact/end' && (log.slice(line.seq).find(of('turn/end'))?.data.reason as { kind?: string } | undefined)?.kind !== 'interrupted') },
  { name: 'a compaction does not start', codes: ['COMPACTION_NOT_OPEN'], apply: drop((line, log) => line.type === 'compact/start' && log.slice(line.seq).find(of('compact/end', 'compact/summary', 'turn/end'))?.type !== 'turn/end') },
  { name: 'the first header is lost', codes: ['DELTA_WITHOUT_HEADER'], apply: (log) => {
    const headers = log.filter(of('request/header', 'request/header-delta'));
    return headers[1]?.type === 'request/header-delta' && remove(log, headers[0]!.seq);
  } },
  { name: 'a text is empty', codes: ['EMPTY_TEXT'], apply: change((line) => line.surfaceOp !== undefined && line.data.content?.some(({ type }) => type === 'text') === true, (line, dice) => void (line.data.content!.find(({ type }) => type === 'text')!.text = dice.pick(['', ' ', '\n\t']))) },
  { name: 'a message is empty', codes: ['EMPTY_CONTENT'], apply: change(of('user/message'), (line) => void (line.data.content = [])) },
  { name: 'a picture is too large', codes: ['OVERSIZED_BLOB'], apply: change((line) => line.surfaceOp !== undefined && line.data.content !== undefined, (line) => void line.data.content!.push({ type: 'image', source: { data: 'A'.repeat(5 * 1024 * 1024 + 1) } })) },
  { name: 'a call has no arguments', codes: ['CALL_MALFORMED'], apply: change((line) => callsOf(line).length > 0, (line) => {
    delete callsOf(line)[0]!.arguments;
  }) },
  { name: 'a clock runs ahead', codes: ['TIME_IN_FUTURE'], apply: change(() => true, (line) => void (line.time = Date.now() * 2)) },
  { name: 'a source is to come', codes: ['INVALID_SOURCES'], apply: change((line) => line.surfaceOp !== undefined, (line, dice) => void (line.sourceEventSeqs = [...(line.sourceEventSeqs ?? []), line.seq + dice.below(5)])) },
  { name: 'a source is named twice', codes: ['INVALID_SOURCES'], apply: change((line) => (line.sourceEventSeqs?.length ?? 0) > 0, (line) => void line.sourceEventSeqs!.push(line.sourceEventSeqs![0]!)) },
  { name: 'sources are empty', codes: ['INVALID_SOURCES'], apply: change((line) => appended(line) && line.type !== 'assistant/message', (line) => void (line.sourceEventSeqs = [])) },
  { name: 'a surface event has no surfaceOp', codes: ['MISSING_SURFACE_OP'], apply: change(appended, (line) => {
    delete line.surfaceOp;
  }) },
  { name: 'a log-only event has one', codes: ['UNEXPECTED_SURFACE_FIELDS'], apply: change((line) => line.surfaceOp === undefined, (line) => void (line.surfaceOp = 'append')) },
  { name: 'a replace misses a node', codes: ['INVALID_SOURCES'], apply: change((line) => typeof line.surfaceOp === 'object', (line) => {
    const { start } = line.surfaceOp as { start: number };
    line.sourceEventSeqs = line.sourceEventSeqs!.filter((seq) => seq !== start);
  }) },
  { name: 'a line is lost', codes: ['SEQ_GAP'], apply: (log, dice) => log.length > 2 && log.splice(dice.below(log.length - 1), 1).length === 1 },
  { name: 'a line comes again', codes: ['SEQ_REPEATED'], apply: (log, dice) => {
    const line = oneOf(dice, log);
    return line !== undefined && log.splice(line.seq + 1 + dice.below(log.length - line.seq), 0, line).length === 0;
  } },
];

function twice(log: Line[], line: Line | undefined): boolean {
  return line !== undefined && insert(log, line.seq + 1, structuredClone(line));
}

function after(log: Line[], line: Line | undefined, added: Omit<Line, 'seq' | 'time'>): boolean {
  return line !== undefined && insert(log, line.seq + 1, added);
}
