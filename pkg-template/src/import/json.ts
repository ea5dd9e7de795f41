/** JSON of unknown origin. */

import { isRecord } from '../depth.js';
import type { JsonObject, JsonValue } from '../ids.js';

/** A JSON object of which nothing is known. */
export type Raw = Record<string, JsonValue | undefined>;

// A BOM is a character like any other here: a file's first one is taken off by whoever reads the first line.
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder('utf-8', { ignoreBOM: true });

/** Text of a line, and whether its bytes were UTF-8. */
export function decode(bytes: Uint8Array): { text: string; valid: boolean } {
  try {
    return { text: strict.decode(bytes), valid: true };
  } catch {
    return { text: lenient.decode(bytes), valid: false };
  }
}

/** The value of a text; `undefined` where it is not JSON. */
export function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Whether this is an object and no array. */
export function isObject(value: unknown): value is Raw {
  return isRecord(value);
}

/** The value as an object; an empty one where it is none. */
export function objectOf(value: unknown): Raw {
  return isObject(value) ? value : {};
}

export function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A non-empty string. */
export function idOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A count: a non-negative safe integer, 0 where it is none. */
export function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}

export function listOf(value: unknown): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

/** Milliseconds of an ISO time or of a number; `undefined` where it is no time that a log can hold. */
export function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : typeof value === 'number' ? Math.trunc(value) : NaN;
  return Number.isSafeInteger(time) && time >= 0 ? time : undefined;
}

/** Whether a path is absolute: POSIX, with a drive letter, or UNC. */
export function isAbsolute(path: string): boolean {
  return /^(\/|[A-Za-z]:[\\/]|\\\\)/.test(path);
}

/** Whether there is anything in an object. */
export function isEmpty(value: Raw): boolean {
  for (const _ in value) return false;
  return true;
}

/** Texts up to this length are repeated; looking for them would cost more. */
const SHORT = 200;

/** Puts `{ sameAs }` in place of the long texts that `content` holds as well. */
export function withoutTexts<T extends JsonValue>(value: T, content: unknown, name = 'content'): T {
  const texts = new Set<string>();
  const gather = (inner: unknown, depth: number): void => {
    if (typeof inner === 'string') {
      if (inner.length > SHORT) texts.add(inner);
    } else if (typeof inner === 'object' && inner !== null && depth < 64) {
      for (const child of Object.values(inner)) gather(child, depth + 1);
    }
  };
  gather(content, 0);
  if (texts.size === 0) return value;
  const replace = (inner: JsonValue, depth: number): JsonValue => {
    if (typeof inner === 'string') return inner.length > SHORT && texts.has(inner) ? { sameAs: name } : inner;
    if (typeof inner !== 'object' || inner === null || depth >= 64) return inner;
    if (Array.isArray(inner)) return (inner as readonly JsonValue[]).map((child) => replace(child, depth + 1));
    const copy: Record<string, JsonValue> = {};
    // Defined, not assigned: the key may be __proto__.
    for (const [key, child] of Object.entries(inner as JsonObject)) Object.defineProperty(copy, key, { value: replace(child, depth + 1), enumerable: true, writable: true, configurable: true });
    return copy;
  };
  return replace(value, 0) as T;
}

/** JSON text of a value that `JSON.stringify` cannot walk. */
export function deepText(value: JsonValue): string {
  const out: string[] = [];
  const stack: (string | { value: JsonValue })[] = [{ value }];
  for (let item = stack.pop(); item !== undefined; item = stack.pop()) {
    if (typeof item === 'string') {
      out.push(item);
    } else if (Array.isArray(item.value)) {
      const parts = (item.value as readonly JsonValue[]).flatMap((child, at) => (at === 0 ? [{ value: child }] : [',', { value: child }]));
      stack.push(']', ...parts.reverse(), '[');
    } else if (isObject(item.value)) {
      const parts = Object.entries(item.value).flatMap(([key, child], at) => [`${at === 0 ? '' : ','}${JSON.stringify(key)}:`, { value: child }]);
      stack.push('}', ...parts.reverse(), '{');
    } else {
      out.push(JSON.stringify(item.value));
    }
  }
  return out.join('');
}
