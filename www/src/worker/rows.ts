/** Rows for the timeline, read from the log's bytes as they come into sight. */

import type { SessionEvent } from 'palimpsest';
import { blocksText, field, summaryOf } from '../lib/describe.js';
import { familyOf, Flag, Kind, NONE } from '../lib/kinds.js';
import type { Row } from '../lib/protocol.js';
import type { Log } from './log.js';

const decoder = new TextDecoder();
/** A longer line is not parsed for its summary. */
const LONG = 1 << 15;
const HEAD = 2048;
/** Lines this near to each other are read at once. */
const GAP = 1 << 16;
const CACHED = 4000;

const caches = new WeakMap<Log, Map<number, string>>();

/** The rows that are shown at the places `from` to `to`. */
export async function rowsAt(log: Log, from: number, to: number): Promise<Row[]> {
  const rows: number[] = [];
  for (let at = Math.max(0, from); at < Math.min(to, log.visible.length); at++) rows.push(log.visible.rowAt(at));
  return describeRows(log, rows);
}

export async function describeRows(log: Log, rows: readonly number[]): Promise<Row[]> {
  const summaries = await summariesOf(log, rows);
  return rows.map((row, index) => rowOf(log, row, summaries[index] ?? ''));
}

/** One line of text for each row. */
export async function summariesOf(log: Log, rows: readonly number[]): Promise<string[]> {
  let cache = caches.get(log);
  if (!cache) caches.set(log, (cache = new Map<number, string>()));
  const wanted = rows.filter((row) => !cache.has(row));
  for (const group of grouped(log, wanted)) {
    const start = log.outline.offsets.at(group[0]!);
    const last = group[group.length - 1]!;
    const lastStart = log.outline.offsets.at(last);
    const bytes = await log.store.read(start, Math.min(log.outline.endOf(last), lastStart + LONG));
    for (const row of group) {
      const from = log.outline.offsets.at(row) - start;
      cache.set(row, summary(log, row, bytes.subarray(from, from + log.outline.endOf(row) - log.outline.offsets.at(row))));
    }
  }
  const found = rows.map((row) => cache.get(row) ?? '');
  for (const row of cache.keys()) {
    if (cache.size <= CACHED) break;
    cache.delete(row);
  }
  return found;
}

function grouped({ outline }: Log, rows: readonly number[]): number[][] {
  const groups: number[][] = [];
  let end = -Infinity;
  for (const row of rows) {
    const group = groups[groups.length - 1];
    const start = outline.offsets.at(row);
    if (group && start >= end && start - end < GAP && start - outline.offsets.at(group[0]!) < 1 << 20) group.push(row);
    else groups.push([row]);
    end = Math.min(outline.endOf(row), start + LONG);
  }
  return groups;
}

function summary(log: Log, row: number, bytes: Uint8Array): string {
  const { outline } = log;
  const length = outline.endOf(row) - outline.offsets.at(row);
  if (outline.kinds.at(row) === Kind.bad) return decoder.decode(bytes.subarray(0, 300));
  if (length > LONG) return peek(decoder.decode(bytes.subarray(0, HEAD)));
  try {
    const event = JSON.parse(decoder.decode(bytes)) as SessionEvent;
    if (outline.kinds.at(row) === Kind.toolResult) return blocksText(field(event.data, 'content')).replace(/\s+/g, ' ').slice(0, 240);
    return summaryOf(event);
  } catch {
    return '';
  }
}

/** The first words of a line that is too long to be parsed for its summary. */
function peek(head: string): string {
  const at = /"(?:text|arguments|argumentsDelta)":"/.exec(head);
  const words = at ? head.slice(at.index + at[0].length) : head.slice(head.indexOf('"data":') + 7);
  return words.replace(/\\[ntr]/g, ' ').replace(/\\(["\\/])/g, '$1').replace(/\s+/g, ' ').slice(0, 240);
}

function rowOf(log: Log, row: number, words: string): Row {
  const { outline, visible } = log;
  const kind = outline.kinds.at(row);
  const flags = outline.flags.at(row);
  const turn = outline.turnOf.at(row);
  const step = outline.stepOf.at(row);
  const seq = outline.seqOf(row);
  const cover = outline.shadows.coverOf(seq);
  const replace = (flags & Flag.replace) === 0 ? undefined : outline.shadows.replaceOf(seq);
  const open = visible.openness(row);
  const holds = held(log, row, kind, turn, step);
  return {
    row,
    seq,
    type: kind === Kind.bad ? 'not an event' : outline.typeNames.nameOf(outline.types.at(row)) || 'other type',
    family: familyOf(kind),
    time: outline.times.at(row),
    level: kind === Kind.turnStart || turn === NONE ? 0 : kind === Kind.stepStart || step === NONE ? 1 : kind === Kind.chunk ? 3 : 2,
    summary: words,
    error: (flags & Flag.error) !== 0,
    mark: (flags & (Flag.append | Flag.replace)) === 0 ? 'none' : cover ? 'off' : 'on',
    ...(cover && { coveredBy: cover.seq }),
    ...(replace && { replaces: replace.count }),
    ...(open !== undefined && { open }),
    ...holds,
    ...(turn !== NONE && { turn: outline.turns.number.at(turn) }),
    ...(step !== NONE && { step: outline.steps.number.at(step) }),
    bytes: outline.endOf(row) - outline.offsets.at(row),
  };
}

/** How many rows a row holds, what they cost and how long they took. */
function held({ outline }: Log, row: number, kind: number, turn: number, step: number): { inside: number; tokens?: number; duration?: number } {
  if (kind === Kind.turnStart && turn !== NONE) {
    const end = outline.lastRowOf(outline.turns.end, turn);
    return { inside: end - row, duration: Math.max(0, outline.times.at(end) - outline.times.at(row)) };
  }
  if (step === NONE) return { inside: 0 };
  const { steps } = outline;
  if (kind === Kind.stepStart) {
    const end = steps.end.at(step) === NONE ? row : steps.end.at(step);
    const tokens = steps.input.at(step) + steps.cacheRead.at(step) + steps.cacheWrite.at(step) + steps.output.at(step);
    return { inside: Math.max(0, end - row), duration: Math.max(0, outline.times.at(end) - outline.times.at(row)), ...(tokens > 0 && { tokens }) };
  }
  if (kind === Kind.assistant || kind === Kind.chunk) return { inside: steps.chunks.at(step), ...(kind === Kind.assistant && steps.output.at(step) > 0 && { tokens: steps.output.at(step) }) };
  return { inside: 0 };
}
