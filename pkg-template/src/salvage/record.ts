/**
 * A record as text: what it says in its envelope, and the same record with another envelope.
 *
 * Payloads are never parsed and written again, so that numbers, key order and escapes stay as they stand in the file.
 */

import type { SurfaceOp } from '../events.js';

/** An event's envelope. */
export interface Envelope {
  readonly type: string;
  readonly seq: number;
  readonly time: number;
  /** As parsed; to be looked at with distrust. */
  readonly data: unknown;
  readonly surfaceOp: unknown;
  readonly sourceEventSeqs: unknown;
  readonly ignorable: boolean;
}

/** What a line holds. */
export type Parsed =
  | { readonly kind: 'event'; readonly envelope: Envelope }
  | { readonly kind: 'header'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly kind: 'other' };

const MAX_SEQ = 0xffff_fffe;

/** Reads one text; undefined where it is not JSON. */
export function parseRecord(text: string): Parsed | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { kind: 'other' };
  const { type, seq, time, data, surfaceOp, sourceEventSeqs, ignorable } = value as Record<string, unknown>;
  if (type === 'session' && seq === undefined) return { kind: 'header', value: value as Record<string, unknown> };
  if (typeof type !== 'string' || type === '' || !isSeq(seq) || typeof time !== 'number' || !Object.hasOwn(value, 'data')) return { kind: 'other' };
  return { kind: 'event', envelope: { type, seq, time, data, surfaceOp, sourceEventSeqs, ignorable: ignorable === true } };
}

/** Whether a value can be an event's seq. */
export function isSeq(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_SEQ;
}

/** Type, seq and time of a line in the form in which logs are written; undefined for any other form. */
export function headOf(text: string): { type: string; seq: number; time: number } | undefined {
  const match = /^\{"type":"([^"\\]{1,200})","seq":(\d{1,10}),"time":(-?\d+(?:\.\d+)?),/.exec(text);
  return match ? { type: match[1]!, seq: Number(match[2]), time: Number(match[3]) } : undefined;
}

/** The envelope's members to replace; `null` takes one out. */
export interface EnvelopeChange {
  readonly seq?: number;
  readonly surfaceOp?: SurfaceOp | null;
  readonly sourceEventSeqs?: readonly number[] | null;
  /** JSON text. */
  readonly data?: string;
}

/** The text of a record, which must be a JSON object, with other envelope members. */
export function rewritten(text: string, { seq, data, sourceEventSeqs, surfaceOp }: EnvelopeChange): string {
  const asText = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));
  return withMembers(text, {
    ...(seq !== undefined && { seq: String(seq) }),
    ...(data !== undefined && { data }),
    ...(sourceEventSeqs !== undefined && { sourceEventSeqs: asText(sourceEventSeqs) }),
    ...(surfaceOp !== undefined && { surfaceOp: asText(surfaceOp) }),
  });
}

/** The text of an object, which must be JSON, with other values (as JSON text) for some members; `null` takes one out. */
export function withMembers(text: string, values: Readonly<Record<string, string | null>>): string {
  const parts: string[] = [];
  const written = new Set<string>();
  for (const { key, raw, value } of members(text)) {
    const wanted = Object.hasOwn(values, key) ? values[key] : undefined;
    if (wanted === null || (wanted !== undefined && written.has(key))) continue;
    written.add(key);
    parts.push(`${raw}:${wanted ?? value}`);
  }
  for (const [key, value] of Object.entries(values)) if (value !== null && !written.has(key)) parts.push(`${JSON.stringify(key)}:${value}`);
  return `{${parts.join(',')}}`;
}

/** The JSON text of an object's member; the last one of the name counts, as in `JSON.parse`. */
export function memberText(text: string, name: string): string | undefined {
  let found: string | undefined;
  for (const { key, value } of members(text)) if (key === name) found = value;
  return found;
}

/** The members of an object, which must be JSON, as texts. */
function* members(text: string): Generator<{ key: string; raw: string; value: string }> {
  let at = skipSpace(text, text.indexOf('{') + 1);
  while (text[at] === '"') {
    const keyEnd = stringEnd(text, at);
    const raw = text.slice(at, keyEnd);
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = valueEnd(text, start);
    yield { key: JSON.parse(raw) as string, raw, value: text.slice(start, end).trimEnd() };
    at = skipSpace(text, end);
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\r\n'.includes(text[at]!)) at++;
  return at;
}

/** Behind the closing quote of the string that begins at `start`. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; ; ) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    let slashes = 0;
    while (text[quote - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

/** Behind the value that begins at `start`, in an object. */
function valueEnd(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (char === '"') at = stringEnd(text, at) - 1;
    else if (char === '{' || char === '[') depth++;
    else if (char === '}' || char === ']') {
      if (depth === 0) return at;
      depth--;
    } else if (char === ',' && depth === 0) return at;
  }
  return text.length;
}
