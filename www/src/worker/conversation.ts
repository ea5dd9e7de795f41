/** What the person saw: the messages as they were said, whatever was laid over them later. */

import { familyOf, Flag, Kind, NONE } from '../lib/kinds.js';
import type { ConversationItem } from '../lib/protocol.js';
import { words } from './columns.js';
import type { Log } from './log.js';
import { placed } from './requests.js';

interface Items {
  rows: ReturnType<typeof words>;
  done: number;
}

const known = new WeakMap<Log, Items>();

/** Rows of the conversation's items: messages as said, turns that went wrong, and where a replacement was laid. */
export function itemsOf(log: Log): { length: number; at(index: number): number; lastAtMost(row: number): number } {
  let items = known.get(log);
  if (!items) known.set(log, (items = { rows: words(), done: 0 }));
  const { kinds, flags } = log.outline;
  for (let row = items.done; row < log.outline.length; row++) {
    const kind = kinds.at(row);
    if (kind === Kind.chunk) continue;
    const flag = flags.at(row);
    const said = (flag & Flag.append) !== 0 && kind !== Kind.toolResult;
    const replaced = (flag & Flag.replace) !== 0 && kind !== Kind.toolResult;
    const wrong = kind === Kind.blocked || kind === Kind.bad || (kind === Kind.turnEnd && (flag & Flag.error) !== 0);
    if (said || replaced || wrong) items.rows.push(row);
  }
  items.done = log.outline.length;
  return items.rows;
}

const BEGINNINGS: ReadonlySet<number> = new Set([Kind.turnStart, Kind.stepStart, Kind.header, Kind.headerDelta, Kind.chunk]);

/** The place of the item that a row is part of, and the item's row. */
export function placeInConversation(log: Log, row: number): { place: number; row: number } {
  const items = itemsOf(log);
  const before = items.lastAtMost(row);
  const place = Math.max(0, BEGINNINGS.has(log.outline.kinds.at(row)) ? Math.min(before + 1, items.length - 1) : before);
  return { place, row: items.at(place) };
}

export async function conversationOf(log: Log, from: number, to: number): Promise<ConversationItem[]> {
  const rows = itemsOf(log);
  const items: ConversationItem[] = [];
  for (let at = Math.max(0, from); at < Math.min(to, rows.length); at++) items.push(await itemAt(log, rows.at(at)));
  return items;
}

async function itemAt(log: Log, row: number): Promise<ConversationItem> {
  const { outline } = log;
  const kind = outline.kinds.at(row);
  return {
    ...placed(log, row),
    row,
    seq: outline.seqOf(row),
    type: kind === Kind.bad ? 'not an event' : outline.typeNames.nameOf(outline.types.at(row)),
    time: outline.times.at(row),
    json: await log.line(row),
    results: kind === Kind.assistant && familyOf(kind) === 'assistant' ? await resultsAfter(log, row) : [],
  };
}

/** The tool results between a message and the next one. */
async function resultsAfter(log: Log, message: number): Promise<ConversationItem['results']> {
  const { outline } = log;
  const step = outline.stepOf.at(message);
  if (step === NONE || outline.steps.calls.at(step) === 0) return [];
  const starts = new Map<number, number>();
  const end = outline.lastRowOf(outline.steps.end, step);
  for (let call = Math.max(0, outline.calls.row.lastAtMost(message)); call < outline.calls.row.length && outline.calls.row.at(call) <= end; call++) {
    starts.set(outline.calls.result.at(call), outline.times.at(outline.calls.row.at(call)));
  }
  const results = [];
  for (let row = message + 1; row <= end && outline.kinds.at(row) !== Kind.assistant; row++) {
    if (outline.kinds.at(row) !== Kind.toolResult || (outline.flags.at(row) & Flag.append) === 0) continue;
    const start = starts.get(row);
    results.push({ seq: outline.seqOf(row), row, json: await log.line(row), duration: start === undefined ? 0 : Math.max(0, outline.times.at(row) - start) });
  }
  return results;
}
