/**
 * Search over the whole log, a stretch at a time. A line is first tested as it is stored; only where it may match is it
 * parsed, and what counts are matches in the values of its payload, not in the names of its fields.
 */

import { Kind, familyOf } from '../lib/kinds.js';
import type { Hit, SearchProgress, SearchQuery } from '../lib/protocol.js';
import type { Log } from './log.js';

const decoder = new TextDecoder();
const STRETCH = 1 << 21;
const AROUND = 70;
const PIECES = 3;

/** @throws Error that says what is wrong with a regular expression */
export function matcherOf({ text, regex, matchCase }: SearchQuery): RegExp {
  const flags = matchCase ? 'gu' : 'giu';
  if (!regex) return new RegExp(escape(text), flags);
  try {
    return new RegExp(text, flags);
  } catch (error) {
    throw new Error(`This is no regular expression: ${error instanceof Error ? error.message.replace(/^Invalid regular expression: /, '') : String(error)}`, { cause: error });
  }
}

/** Tells of matches as they are found, until all is read or the signal is aborted. */
export async function search(log: Log, id: number, query: SearchQuery, signal: AbortSignal, tell: (progress: SearchProgress) => void): Promise<void> {
  const { outline } = log;
  const matcher = matcherOf(query);
  const maybe = query.regex ? undefined : new RegExp(escape(JSON.stringify(query.text).slice(1, -1)), query.matchCase ? 'u' : 'iu');
  const total = outline.length;
  let matches = 0;
  for (let row = 0; row < total && !signal.aborted; ) {
    const start = outline.offsets.at(row);
    let end = row + 1;
    while (end < total && outline.endOf(end) - start < STRETCH) end++;
    const rows: number[] = [];
    const counts: number[] = [];
    const bytes = await log.store.read(start, outline.endOf(end - 1));
    for (; row < end; row++) {
      if (!query.chunks && outline.kinds.at(row) === Kind.chunk) continue;
      const line = decoder.decode(bytes.subarray(outline.offsets.at(row) - start, outline.endOf(row) - start));
      // Another writer may have escaped what need not be escaped.
      if (maybe && !maybe.test(line) && !/\\[u/]/.test(line)) continue;
      const found = countIn(line, matcher);
      if (found === 0) continue;
      rows.push(row);
      counts.push(found);
      matches += found;
    }
    tell({ search: id, log: log.id, rows: Uint32Array.from(rows), counts: Uint32Array.from(counts), matches, read: outline.endOf(end - 1), total: outline.end, done: row >= total });
  }
  if (total === 0) tell({ search: id, log: log.id, rows: new Uint32Array(), counts: new Uint32Array(), matches: 0, read: 0, total: 0, done: true });
}

/** What is found in some rows, with the text around. */
export async function hitsOf(log: Log, query: SearchQuery, rows: readonly number[]): Promise<Hit[]> {
  const matcher = matcherOf(query);
  const { outline } = log;
  return Promise.all(rows.map(async (row) => {
    const pieces: { path: string; before: string; match: string; after: string }[] = [];
    for (const { path, value } of stringsOf(await log.line(row))) {
      for (const match of value.matchAll(matcher)) {
        if (match[0] === '') continue;
        const [from, to] = [match.index, match.index + match[0].length];
        pieces.push({ path, before: value.slice(Math.max(0, from - AROUND), from), match: match[0].slice(0, 300), after: value.slice(to, to + AROUND) });
        if (pieces.length >= PIECES) break;
      }
      if (pieces.length >= PIECES) break;
    }
    return { row, seq: outline.seqOf(row), type: outline.typeNames.nameOf(outline.types.at(row)) || 'not an event', family: familyOf(outline.kinds.at(row)), pieces };
  }));
}

function countIn(line: string, matcher: RegExp): number {
  let found = 0;
  for (const { value } of stringsOf(line)) {
    for (const match of value.matchAll(matcher)) if (match[0] !== '') found++;
  }
  return found;
}

/** All texts in a payload with where they stand, in order; a line that is no JSON is one text. Iterative: it may nest without end. */
function* stringsOf(line: string): Generator<{ path: string; value: string }> {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch {
    yield { path: '', value: line };
    return;
  }
  const { type, data } = event as { type?: unknown; data?: unknown };
  if (typeof type === 'string') yield { path: 'type', value: type };
  const waiting: { path: string; value: unknown }[] = [{ path: '', value: data }];
  while (waiting.length > 0) {
    const { path, value } = waiting.pop()!;
    if (typeof value === 'string') yield { path, value };
    else if (typeof value === 'number') yield { path, value: String(value) };
    else if (typeof value === 'object' && value !== null) {
      const inner = path.length > 200 ? '…' : path;
      const entries = Object.entries(value as Record<string, unknown>);
      for (let at = entries.length - 1; at >= 0; at--) {
        const [key, item] = entries[at]!;
        waiting.push({ path: inner === '' ? key : `${inner}.${key}`, value: item });
      }
    }
  }
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
