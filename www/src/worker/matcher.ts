/** What of an event's line a query matches: the values of its payload, not the names of its fields. */

import type { Hit, SearchQuery } from '../lib/protocol.js';

const AROUND = 70;
const PIECES = 3;

/** @throws Error that says what is wrong with a regular expression */
export function matcherOf({ text, regex, matchCase }: SearchQuery): RegExp {
  const flags = matchCase ? 'gu' : 'giu';
  if (!regex) return new RegExp(escaped(text), flags);
  try {
    return new RegExp(text, flags);
  } catch (error) {
    throw new Error(`This is no regular expression: ${error instanceof Error ? error.message.replace(/^Invalid regular expression: /, '') : String(error)}`, { cause: error });
  }
}

/** How often the matcher matches in the line. */
export function countIn(line: string, matcher: RegExp): number {
  let found = 0;
  for (const { value } of stringsOf(line)) {
    for (const match of value.matchAll(matcher)) if (match[0] !== '') found++;
  }
  return found;
}

/** The first matches in the line, with the text around them. */
export function piecesIn(line: string, matcher: RegExp): Hit['pieces'] {
  const pieces: Hit['pieces'][number][] = [];
  for (const { path, value } of stringsOf(line)) {
    for (const match of value.matchAll(matcher)) {
      if (match[0] === '') continue;
      const [from, to] = [match.index, match.index + match[0].length];
      pieces.push({ path, before: value.slice(Math.max(0, from - AROUND), from), match: match[0].slice(0, 300), after: value.slice(to, to + AROUND) });
      if (pieces.length >= PIECES) return pieces;
    }
  }
  return pieces;
}

/** All texts in a payload with where they stand, in order; a line that is no object is one text. Iterative: it may nest without end. */
function* stringsOf(line: string): Generator<{ path: string; value: string }> {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch {
    event = undefined;
  }
  if (typeof event !== 'object' || event === null) {
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

/** The text as a regular expression that matches it and nothing else. */
export function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
