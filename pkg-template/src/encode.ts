/**
 * The walk: one pass over a value that checks it, snapshots it, and writes its JSON text.
 *
 * Invariants:
 * - Each property is read once. The object spread and `slice` are that one read; what is checked, what is written and
 *   what is returned are the copy that they made, so a getter cannot show one value to the check and another to the log.
 * - The text is what `JSON.stringify` would print, byte for byte; it goes straight into the scratch area.
 * - The snapshot is deeply frozen. Nothing of the caller's object is reachable from it.
 * - A refused value leaves nothing behind: whoever called has not moved its own end of the area.
 *
 * The walk is recursive to {@link DEEP} levels and goes on with a stack of its own below that, so depth is bounded by
 * memory alone. It is monomorphic on purpose: module-level functions over module-level state, no class.
 */

import { core } from './core.js';
import { PalimpsestError } from './errors.js';
import { bytes, pending, putUtf8, refresh, release, reserve } from './scratch.js';

/** Levels that the call stack is trusted with. Cycles are looked for from here on: every cycle gets this deep. */
const DEEP = 200;

/** Strings up to this length are written unit by unit; longer ones by the platform's encoder. */
const SHORT = 48;

/** Units of a long string that are encoded at once. */
const PIECE = 1 << 14;

/** End of what has been written, an offset into the scratch area. */
let pos = 0;

/** Key or index at each level on the way to the value at hand, for the error's path. */
let path: (string | number)[] = [];
let depth = 0;

/** What {@link encode} made of a value. */
export interface Encoded {
  /** Deeply frozen copy. */
  value: unknown;
  /** End of the text in the scratch area. */
  end: number;
}

const result: Encoded = { value: undefined, end: 0 };

/**
 * Writes the JSON text of `value` into the scratch area at `at`.
 * @param root what the value is called in an error's path, for example `data`
 * @returns the snapshot and the end of the text, in an object that the next call uses again
 * @throws PalimpsestError `INVALID_JSON_VALUE` with the path of the first part that JSON would lose or change
 */
export function encode(value: unknown, at: number, root: string): Encoded {
  reserve(at + 256);
  pos = at;
  depth = 0;
  try {
    result.value = walk(value);
    result.end = pos;
    return result;
  } catch (error) {
    throw refusal(error, root);
  } finally {
    if (path.length > 4 * DEEP) path = [];
  }
}

/** Whether the value survives JSON without loss: what `append` would accept as data. */
export function isJsonValue(value: unknown): boolean {
  try {
    depth = 0;
    pos = pending;
    reserve(pos + 256);
    walk(value);
    return true;
  } catch (error) {
    if (error instanceof PalimpsestError) throw error;
    return false;
  } finally {
    if (pending === 0) release();
  }
}

/** Why a value is refused; becomes a PalimpsestError once the path is known. */
class Refusal extends Error {}

function refuse(why: string): never {
  throw new Refusal(why);
}

function refusal(error: unknown, root: string): unknown {
  if (error instanceof PalimpsestError) return error;
  let where = root;
  for (const key of path.slice(0, depth)) {
    if (typeof key === 'number') where += `[${key}]`;
    else where += /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
  }
  const why = error instanceof Refusal ? error.message : `reading it threw ${String(error)}`;
  const cause = error instanceof Refusal ? undefined : error;
  return new PalimpsestError('INVALID_JSON_VALUE', `${where}: ${why}; only values that JSON keeps without loss can be logged`, {
    path: where,
    cause,
  });
}

/** Writes one value and returns its snapshot. */
function walk(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) {
    if (depth >= DEEP) return walkDeep(value);
    return Array.isArray(value) ? walkArray(value) : walkObject(value);
  }
  leaf(value);
  return value;
}

function leaf(value: unknown): void {
  if (typeof value === 'string') {
    string(value);
  } else if (typeof value === 'number') {
    number(value);
  } else if (value === null) {
    ascii('null');
  } else if (typeof value === 'boolean') {
    ascii(value ? 'true' : 'false');
  } else {
    refuse(value === undefined ? 'undefined' : `a ${typeof value}`);
  }
}

function walkObject(value: object): object {
  const copy = copyObject(value);
  const keys = Object.keys(copy);
  byte(0x7b);
  const level = depth++;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string;
    path[level] = key;
    if (i > 0) byte(0x2c);
    string(key);
    byte(0x3a);
    const child = copy[key];
    if (typeof child === 'object' && child !== null) copy[key] = walk(child);
    else leaf(child);
  }
  depth = level;
  byte(0x7d);
  return Object.freeze(copy);
}

function walkArray(value: readonly unknown[]): readonly unknown[] {
  const copy = copyArray(value);
  byte(0x5b);
  const level = depth++;
  for (let i = 0; i < copy.length; i++) {
    path[level] = i;
    if (i > 0) byte(0x2c);
    const child = copy[i];
    if (typeof child === 'object' && child !== null) copy[i] = walk(child);
    else leaf(child);
  }
  depth = level;
  byte(0x5d);
  return Object.freeze(copy);
}

/** The one read of an object's properties: own enumerable string keys, as `JSON.stringify` sees them. */
function copyObject(value: object): Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) refuse(`${named(value)} is not a plain object`);
  const copy = { ...value } as Record<string, unknown>;
  const symbols = Object.getOwnPropertySymbols(copy);
  if (symbols.length > 0) for (const symbol of symbols) Reflect.deleteProperty(copy, symbol);
  return copy;
}

/** The one read of an array's elements. */
function copyArray(value: readonly unknown[]): unknown[] {
  if (Object.getPrototypeOf(value) !== Array.prototype) refuse(`${named(value)} is not a plain array`);
  const keys = Object.keys(value);
  if (keys.length !== value.length || (keys.length > 0 && keys[keys.length - 1] !== String(keys.length - 1))) {
    refuse(keys.length < value.length ? 'a sparse array' : 'an array with keys of its own');
  }
  return Array.prototype.slice.call(value) as unknown[];
}

function named(value: object): string {
  const made = (value as { constructor?: { name?: unknown } }).constructor;
  return typeof made?.name === 'string' && made.name !== '' ? `a ${made.name}` : 'an object with another prototype';
}

interface Frame {
  source: object;
  copy: Record<string, unknown> | unknown[];
  /** Keys of an object; undefined for an array. */
  keys: string[] | undefined;
  next: number;
}

/** The walk with a stack of its own. */
function walkDeep(root: object): unknown {
  const frames: Frame[] = [];
  const open = new Set<object>();
  const level = depth;
  const enter = (source: object): void => {
    if (open.has(source)) refuse('a cycle');
    open.add(source);
    const copy = Array.isArray(source) ? copyArray(source) : copyObject(source);
    frames.push({ source, copy, keys: Array.isArray(copy) ? undefined : Object.keys(copy), next: 0 });
    byte(Array.isArray(copy) ? 0x5b : 0x7b);
    depth++;
  };
  let done: unknown;
  try {
    enter(root);
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      const { copy, keys } = frame;
      const key = keys === undefined ? frame.next : keys[frame.next];
      if (key === undefined || (keys === undefined && frame.next >= (copy as unknown[]).length)) {
        byte(keys === undefined ? 0x5d : 0x7d);
        done = Object.freeze(copy);
        open.delete(frame.source);
        frames.pop();
        depth--;
        const parent = frames.at(-1);
        if (parent !== undefined) {
          const at = parent.keys === undefined ? parent.next - 1 : (parent.keys[parent.next - 1] as string);
          (parent.copy as Record<string | number, unknown>)[at] = done;
        }
        continue;
      }
      path[depth - 1] = key;
      if (frame.next++ > 0) byte(0x2c);
      if (typeof key === 'string') {
        string(key);
        byte(0x3a);
      }
      const child = (copy as Record<string | number, unknown>)[key];
      if (typeof child === 'object' && child !== null) enter(child);
      else leaf(child);
    }
  } catch (error) {
    // A cycle's path would name every turn around it.
    if (error instanceof Refusal && error.message === 'a cycle') depth = level;
    throw error;
  }
  return done;
}

// ------------------------------------------------------------------------------------------------------------- writing

function byte(value: number): void {
  reserve(pos + 1);
  bytes[pos++] = value;
}

function ascii(text: string): void {
  reserve(pos + text.length);
  for (let i = 0; i < text.length; i++) bytes[pos++] = text.charCodeAt(i);
}

/** As `JSON.stringify` prints it, which for a finite number is its `String` form. */
function number(value: number): void {
  if (value >= 0 && value < 10 && (value | 0) === value && (value !== 0 || 1 / value > 0)) {
    byte(0x30 + value);
    return;
  }
  if (!Number.isFinite(value)) refuse(String(value));
  if (value === 0 && 1 / value < 0) refuse('-0');
  ascii(String(value));
}

/** For each ASCII unit: 0 as it is, 1 a \u00xx escape, else the letter of its short escape. */
const ESCAPES = new Uint8Array(128).map((_, unit) => {
  const short = '\b\t\n\f\r"\\'.indexOf(String.fromCharCode(unit));
  return short >= 0 ? 'btnfr"\\'.charCodeAt(short) : unit < 0x20 ? 1 : 0;
});

function string(text: string): void {
  byte(0x22);
  if (text.length <= SHORT) units(text);
  else pieces(text);
  byte(0x22);
}

/** Writes the inside of a string unit by unit; the only place that sees an unpaired surrogate. */
function units(text: string): void {
  reserve(pos + text.length * 6);
  const out = bytes;
  let p = pos;
  for (let i = 0; i < text.length; i++) {
    let unit = text.charCodeAt(i);
    if (unit < 0x80) {
      const escape = ESCAPES[unit] as number;
      if (escape === 0) {
        out[p++] = unit;
      } else if (escape > 1) {
        out[p++] = 0x5c;
        out[p++] = escape;
      } else {
        p = hexEscape(unit, out, p);
      }
    } else if (unit < 0x800) {
      out[p++] = 0xc0 | (unit >> 6);
      out[p++] = 0x80 | (unit & 0x3f);
    } else if ((unit & 0xf800) !== 0xd800) {
      out[p++] = 0xe0 | (unit >> 12);
      out[p++] = 0x80 | ((unit >> 6) & 0x3f);
      out[p++] = 0x80 | (unit & 0x3f);
    } else {
      const low = unit < 0xdc00 ? text.charCodeAt(i + 1) : 0;
      if ((low & 0xfc00) === 0xdc00) {
        i++;
        unit = 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
        out[p++] = 0xf0 | (unit >> 18);
        out[p++] = 0x80 | ((unit >> 12) & 0x3f);
        out[p++] = 0x80 | ((unit >> 6) & 0x3f);
        out[p++] = 0x80 | (unit & 0x3f);
      } else {
        p = hexEscape(unit, out, p);
      }
    }
  }
  pos = p;
}

const HEX = '0123456789abcdef';

function hexEscape(unit: number, out: Uint8Array, p: number): number {
  out[p++] = 0x5c;
  out[p++] = 0x75;
  for (let shift = 12; shift >= 0; shift -= 4) out[p++] = HEX.charCodeAt((unit >> shift) & 15);
  return p;
}

/** Writes the inside of a long string: the platform encodes a piece, the core escapes it where it stands. */
function pieces(text: string): void {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + PIECE, text.length);
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to--;
    const piece = to - from === text.length ? text : text.slice(from, to);
    from = to;
    reserve(pos + piece.length * 3);
    const written = putUtf8(piece, pos);
    // The encoder turns an unpaired surrogate into U+FFFD without a word.
    if (written > piece.length && core().scratch_has_replacement(pos, written)) {
      units(piece);
      continue;
    }
    const length = core().scratch_escape(pos, written);
    if (length !== written) refresh(Math.max(bytes.byteLength, pos + length));
    pos += length;
  }
}
