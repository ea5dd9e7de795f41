/**
 * Search over the whole log, a stretch at a time. For plain text a line is first tested as it is stored; only where it may
 * match is it parsed. Regular expressions are run by a worker of their own, which is ended when one of them does not end.
 */

import { Kind, familyOf } from '../lib/kinds.js';
import type { Hit, SearchProgress, SearchQuery } from '../lib/protocol.js';
import type { Log } from './log.js';
import { countIn, escaped, matcherOf, piecesIn } from './matcher.js';
import { EndlessPattern, Patterns } from './patterns.js';

const decoder = new TextDecoder();
const STRETCH = 1 << 21;
/** Smaller, so that matches of a slow expression are told as they come. */
const PATTERN_STRETCH = 1 << 18;
const patterns = new Patterns();

/** Rows of a stretch that are looked at, and their lines within its bytes: two numbers for each. */
interface Stretch {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly rows: readonly number[];
  readonly ranges: Uint32Array<ArrayBuffer>;
  /** The first row behind it. */
  readonly end: number;
}

async function* stretches({ outline, store }: Log, longest: number, chunks: boolean): AsyncGenerator<Stretch> {
  const total = outline.length;
  for (let row = 0; row < total; ) {
    const start = outline.offsets.at(row);
    let end = row + 1;
    while (end < total && outline.endOf(end) - start < longest) end++;
    const rows: number[] = [];
    for (; row < end; row++) if (chunks || outline.kinds.at(row) !== Kind.chunk) rows.push(row);
    const ranges = Uint32Array.from(rows.flatMap((at) => [outline.offsets.at(at) - start, outline.endOf(at) - start]));
    yield { bytes: await store.read(start, outline.endOf(end - 1)), rows, ranges, end };
  }
}

/**
 * Tells of matches as they are found, until all is read or the signal is aborted.
 * @throws (rejects) Error that says what is wrong with a regular expression, or that it does not end, and where
 */
export async function search(log: Log, id: number, query: SearchQuery, signal: AbortSignal, tell: (progress: SearchProgress) => void): Promise<void> {
  const { outline } = log;
  const matcher = matcherOf(query);
  const count = query.regex ? (stretch: Stretch) => countPattern(log, matcher, stretch, signal) : plainCounter(query, matcher);
  const total = outline.length;
  let matches = 0;
  for await (const stretch of stretches(log, query.regex ? PATTERN_STRETCH : STRETCH, query.chunks)) {
    const counts = await count(stretch);
    if (signal.aborted) return;
    const rows: number[] = [];
    for (const [at, found] of counts.entries()) {
      if (found === 0) continue;
      rows.push(stretch.rows[at]!);
      matches += found;
    }
    tell({ search: id, log: log.id, rows: Uint32Array.from(rows), counts: Uint32Array.from(counts.filter((found) => found > 0)), matches, read: outline.endOf(stretch.end - 1), total: outline.end, done: stretch.end >= total });
  }
  if (total === 0) tell({ search: id, log: log.id, rows: new Uint32Array(), counts: new Uint32Array(), matches: 0, read: 0, total: 0, done: true });
}

function plainCounter({ text, matchCase }: SearchQuery, matcher: RegExp): (stretch: Stretch) => readonly number[] {
  const maybe = new RegExp(escaped(JSON.stringify(text).slice(1, -1)), matchCase ? 'u' : 'iu');
  return ({ bytes, rows, ranges }) => rows.map((_, at) => {
    const line = decoder.decode(bytes.subarray(ranges[at * 2], ranges[at * 2 + 1]));
    // Another writer may have escaped what need not be escaped.
    return maybe.test(line) || /\\[u/]/.test(line) ? countIn(line, matcher) : 0;
  });
}

async function countPattern({ outline }: Log, matcher: RegExp, { bytes, rows, ranges }: Stretch, signal: AbortSignal): Promise<readonly number[]> {
  try {
    return await patterns.count(matcher, bytes, ranges, signal);
  } catch (error) {
    if (signal.aborted) return [];
    if (!(error instanceof EndlessPattern)) throw error;
    const seq = outline.seqOf(rows[error.line] ?? 0);
    throw new Error(`The regular expression was stopped: on ${seq < 0 ? 'a line that is no event' : `event ${seq}`} it found no end for seconds. A repetition within a repetition, like (a+)+, tries every way to cut a text: write it with one.`, { cause: error });
  }
}

/** @throws (rejects) Error that says where one of the expressions does not end in this log: it must be run nowhere else then */
export async function proveToEnd(log: Log, sources: readonly string[]): Promise<void> {
  const never = new AbortController().signal;
  for (const source of sources) {
    const matcher = new RegExp(source, 'g');
    for await (const stretch of stretches(log, PATTERN_STRETCH, true)) await countPattern(log, matcher, stretch, never);
  }
}

/** What is found in some rows, with the text around. */
export async function hitsOf(log: Log, query: SearchQuery, rows: readonly number[]): Promise<Hit[]> {
  const matcher = matcherOf(query);
  const { outline } = log;
  return Promise.all(rows.map(async (row) => {
    const bytes = await log.store.read(outline.offsets.at(row), outline.endOf(row));
    const pieces = query.regex ? await patterns.pieces(matcher, bytes) : piecesIn(decoder.decode(bytes), matcher);
    return { row, seq: outline.seqOf(row), type: outline.typeNames.nameOf(outline.types.at(row)) || 'not an event', family: familyOf(outline.kinds.at(row)), pieces };
  }));
}
