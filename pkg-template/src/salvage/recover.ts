/** Whole records in the bytes of a line that is not one. */

import { parseRecord } from './record.js';

/** A stretch of a line. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What a broken line holds, in its order. */
export interface Recovered {
  /** Stretches that are records each. */
  readonly records: readonly Span[];
  /** What lies between, before and after them. */
  readonly fragments: readonly Span[];
}

/** How many times a line's length may be looked at before the rest is given up: a hostile line has a head at every byte. */
const BUDGET = 32;

const HEAD = new TextEncoder().encode('{"type":"');

/**
 * Finds the records in a broken line. A record begins with `{"type":"`, and an event goes on with its `seq` (blocks of
 * content, which begin alike, do not); within a string of JSON these bytes cannot stand, since quotes are escaped there.
 */
export function recover(line: Uint8Array): Recovered {
  const records: Span[] = [];
  const fragments: Span[] = [];
  let budget = Math.max(line.length, 1024) * BUDGET;
  let done = 0;
  let from = headAt(line, 0);
  while (from >= 0 && budget > 0) {
    const to = objectEnd(line, from);
    budget -= (to < 0 ? line.length : to) - from;
    if (to >= 0 && isRecord(line.subarray(from, to))) {
      if (from > done) fragments.push({ from: done, to: from });
      records.push({ from, to });
      done = to;
      from = headAt(line, to);
    } else {
      from = headAt(line, from + 1);
    }
  }
  if (done < line.length) fragments.push({ from: done, to: line.length });
  return { records, fragments };
}

function isRecord(bytes: Uint8Array): boolean {
  const parsed = parseRecord(lossy(bytes));
  return parsed !== undefined && parsed.kind !== 'other';
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Text with U+FFFD in place of what is not UTF-8. */
export function lossy(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Where the next record's head is, or -1. */
function headAt(line: Uint8Array, start: number): number {
  for (let at = line.indexOf(0x7b, start); at >= 0; at = line.indexOf(0x7b, at + 1)) {
    if (!HEAD.every((byte, index) => line[at + index] === byte)) continue;
    const head = lossy(line.subarray(at, at + 240));
    if (/^\{"type":"(?:session",|[^"]*","seq":\d)/.test(head)) return at;
  }
  return -1;
}

/** Behind the bracket that closes the object at `start`, or -1. */
function objectEnd(line: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; at < line.length; at++) {
    const byte = line[at];
    if (byte === 0x22) {
      for (at++; at < line.length && line[at] !== 0x22; at++) if (line[at] === 0x5c) at++;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth++;
    } else if (byte === 0x7d || byte === 0x5d) {
      depth--;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/** Offset of the first byte that is not UTF-8, or -1. */
export function badUtf8At(bytes: Uint8Array): number {
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at]!;
    if (first < 0x80) {
      at++;
      continue;
    }
    const length = first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
    if (length === 0) return at;
    const second = bytes[at + 1] ?? 0;
    const [low, high] = first === 0xe0 ? [0xa0, 0xbf] : first === 0xed ? [0x80, 0x9f] : first === 0xf0 ? [0x90, 0xbf] : first === 0xf4 ? [0x80, 0x8f] : [0x80, 0xbf];
    if (second < low || second > high) return at;
    for (let next = 2; next < length; next++) if (((bytes[at + next] ?? 0) & 0xc0) !== 0x80) return at;
    at += length;
  }
  return -1;
}

/** The text with `null` for each bare NaN or Infinity, or undefined where there is none. */
export function withoutNonFinite(text: string): string | undefined {
  if (!/NaN|Infinity/.test(text)) return undefined;
  let out = '';
  let changed = false;
  for (let at = 0; at < text.length; ) {
    if (text[at] === '"') {
      let end = at + 1;
      while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
      out += text.slice(at, end + 1);
      at = end + 1;
      continue;
    }
    const word = ['NaN', '-Infinity', 'Infinity'].find((candidate) => text.startsWith(candidate, at));
    if (word !== undefined) {
      out += 'null';
      changed = true;
      at += word.length;
    } else {
      out += text[at++]!;
    }
  }
  return changed ? out : undefined;
}
