/**
 * The walk: one pass over a value that checks it, snapshots it, and writes its JSON text.
 *
 * Invariants:
 * - Each property is read once, and what was read is what is checked, written and returned: a getter cannot show one
 *   value to the check and another to the log.
 * - The text is what `JSON.stringify` would print, byte for byte; it goes straight into the scratch area.
 * - The snapshot is deeply frozen. Nothing of the caller's object is reachable from it.
 * - A refused value leaves nothing behind: whoever called has not moved its own end of the area.
 * - A getter that uses this package while its object is walked is refused: it would write into the same area.
 *
 * The walk is recursive to {@link DEEP} levels and goes on with a stack of its own below that, so depth is bounded by
 * memory alone. It is monomorphic on purpose: module-level functions over module-level state, no class, and in one file,
 * since an imported binding costs more than a local one in every byte that is written.
 */

import { core } from './core.js';
import { outOfMemory, PalimpsestError } from './errors.js';
import { bytes, pending, putUtf8, refresh, release, reserve, words } from './scratch.js';

/** Levels that the call stack is trusted with. Cycles are looked for from here on: every cycle gets this deep. */
const DEEP = 200;

/** Levels at which a value is taken for one that makes itself up as it is read. */
const DEEPEST = 1 << 20;

/**
 * Most bytes of a value's text. An event with more could not be read again: V8 has no string longer than 2 ** 29 - 24
 * units. What stands around the value in its line has the rest.
 */
const MOST = (1 << 29) - (1 << 20);

/** Strings up to this length are written unit by unit; longer ones by the platform's encoder. */
const SHORT = 96;

/** Units of a long string that are encoded at once. */
const PIECE = 1 << 14;

/** Where text goes, and how much of it fits: the scratch area, taken at the start of a walk and after it has moved. */
let out = bytes;
let view = words;
let capacity = 0;

/** End of what has been written, an offset into the scratch area. */
let pos = 0;

/** Whether a walk is under way; the batches do not move until it is over. */
export let walking = false;

/** Keys and indices from a refused value up to the root, gathered on the way out of the walk. */
let trail: (string | number)[] = [];

/** What {@link encode} made of a value. */
export interface Encoded {
  /** Deeply frozen copy. */
  value: unknown;
  /** End of the text in the scratch area. */
  end: number;
}

const result: Encoded = { value: undefined, end: 0 };

/** Whether numbers are written that only a file's text can bring: `-0`, and ±Infinity out of `1e400`. */
let fromFile = false;

/**
 * {@link encode} for what is only looked at and never logged: a value that JSON text gave is never refused, and its text
 * reads back as the same value.
 */
export function encodeRead(value: unknown, at: number, root: string): Encoded {
  return encode(value, at, root, false, true);
}

/**
 * Writes the JSON text of `value` into the scratch area at `at`.
 * @param root what the value is called in an error's path, for example `data`
 * @param chunk whether it is expected to be the payload of a chunk event
 * @param read whether it comes out of a log; see {@link encodeRead}
 * @returns the snapshot and the end of the text, in an object that the next call uses again
 * @throws PalimpsestError `INVALID_JSON_VALUE` with the path of the first part that JSON would lose or change
 */
export function encode(value: unknown, at: number, root: string, chunk = false, read = false): Encoded {
  begin(at, read);
  try {
    result.value = chunk ? walkChunk(value) : walk(value, 0);
    result.end = pos;
    // What a getter did to the core's memory went unseen until now, and so did the text written since.
    if (out.byteLength === 0) refuse('a getter has made the core grow');
    return result;
  } catch (error) {
    // What is refused may have made the area large.
    if (pending === 0) release();
    throw refusal(error, value, root);
  } finally {
    end();
  }
}

/** Whether the value survives JSON without loss: what `append` would accept as data. */
export function isJsonValue(value: unknown): boolean {
  begin(pending);
  try {
    walk(value, 0);
    return true;
  } catch (error) {
    if (error instanceof PalimpsestError) throw error;
    return false;
  } finally {
    end();
    if (pending === 0) release();
  }
}

function begin(at: number, read = false): void {
  if (walking) throw new PalimpsestError('REENTRANT_APPEND', 'a getter uses palimpsest while the object that it belongs to is being logged; log plain data');
  fromFile = read;
  pos = at;
  // The area may have moved since the last walk, or the core's memory grown, which detaches every view.
  if (out !== bytes || out.byteLength === 0) capacity = 0;
  room(256);
  polluted = false;
  for (const _ in EMPTY) polluted = true;
  walking = true;
}

function end(): void {
  walking = false;
  if (trail.length > 0) trail = [];
}

/** Makes sure that `more` bytes fit behind what is written. */
function room(more: number): void {
  if (pos + more > capacity) {
    // Looked at before the memory is asked for: memory that cannot be had would end the core.
    if (pos + more > MOST) refuse('more than 511 MiB of JSON text');
    reserve(pos + more);
    out = bytes;
    view = words;
    capacity = Math.min(out.byteLength, MOST);
  }
}

const EMPTY = {};

/** Whether somebody has put enumerable properties on `Object.prototype`, which `for…in` would list. */
let polluted = false;

/** Why a value is refused; becomes a PalimpsestError once the path is known. */
class Refusal extends Error {}

class Cycle extends Refusal {}

function refuse(why: string): never {
  throw new Refusal(why);
}

function refusal(error: unknown, value: unknown, root: string): unknown {
  if (error instanceof PalimpsestError) return error;
  trail.reverse();
  const keys = error instanceof Cycle ? firstReturn(value) : trail;
  const steps = keys.map((key) => {
    if (typeof key === 'number') return `[${key}]`;
    return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
  });
  const where = root + steps.join('');
  const shown = steps.length > 40 ? `${root}${steps.slice(0, 20).join('')} … ${steps.slice(-20).join('')}` : where;
  const own = error instanceof Refusal;
  const why = own ? error.message : `reading it threw ${String(error)}`;
  return new PalimpsestError('INVALID_JSON_VALUE', `${shown}: ${why}; only values that JSON keeps without loss can be logged`, {
    path: where,
    cause: own ? undefined : error,
  });
}

/** The keys from the value to where the trail first comes back to an object that it has passed. */
function firstReturn(value: unknown): (string | number)[] {
  const seen = new Set<unknown>([value]);
  let at = value;
  for (const [i, key] of trail.entries()) {
    // A plain data property on the way here, unless somebody plays tricks; then the whole path is named.
    at = typeof at === 'object' && at !== null ? Object.getOwnPropertyDescriptor(at, key)?.value : undefined;
    if (seen.has(at)) return trail.slice(0, i + 1);
    seen.add(at);
  }
  return trail;
}

/** Writes one value and returns its snapshot. */
function walk(value: unknown, depth: number): unknown {
  if (typeof value === 'object' && value !== null) {
    if (depth >= DEEP) return walkDeep(value, depth);
    return Array.isArray(value) ? walkArray(value, depth + 1) : walkObject(value, depth + 1);
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

function walkObject(value: object, depth: number): object {
  checkPlain(value);
  const source = value as Record<string, unknown>;
  const copy: Record<string, unknown> = {};
  byte(0x7b);
  let comma = false;
  let at: string | undefined;
  try {
    if (polluted) {
      for (const key of Object.keys(source)) comma = member(source, (at = key), copy, depth, comma);
    } else {
      for (const key in source) comma = member(source, (at = key), copy, depth, comma);
    }
  } catch (error) {
    if (at !== undefined) trail.push(at);
    throw error;
  }
  byte(0x7d);
  return Object.freeze(copy);
}

/** One property: the one read of it, its text, its place in the copy. */
function member(source: Record<string, unknown>, key: string, copy: Record<string, unknown>, depth: number, comma: boolean): true {
  const child = source[key];
  name(key, comma);
  const kept = walk(child, depth);
  if (key === '__proto__') Object.defineProperty(copy, key, { value: kept, enumerable: true });
  else copy[key] = kept;
  return true;
}

function walkArray(value: readonly unknown[], depth: number): readonly unknown[] {
  const copy = copyArray(value);
  byte(0x5b);
  let i = 0;
  try {
    for (; i < copy.length; i++) {
      if (i > 0) byte(0x2c);
      const child = copy[i];
      if (typeof child === 'object' && child !== null) copy[i] = walk(child, depth);
      else leaf(child);
    }
  } catch (error) {
    trail.push(i);
    throw error;
  }
  byte(0x5d);
  return Object.freeze(copy);
}

/**
 * {@link walk} for `{ turn, step, chunk: { type, index, text } }`: nine of ten events of a session are these, and knowing
 * the keys saves a fifth of the time. Keys are looked at before any value is read; whatever has others goes the common way.
 */
function walkChunk(value: unknown): unknown {
  if (!hasKeys(value, CHUNK)) return walk(value, 0);
  checkPlain(value);
  let at = 'turn';
  try {
    const turn = walkMember(TURN, value.turn, 1);
    at = 'step';
    const step = walkMember(STEP, value.step, 1);
    at = 'chunk';
    const { chunk } = value;
    raw(INNER);
    const kept = walkDelta(chunk);
    byte(0x7d);
    return Object.freeze({ turn, step, chunk: kept });
  } catch (error) {
    trail.push(at);
    throw error;
  }
}

function walkDelta(value: unknown): unknown {
  if (!hasKeys(value, DELTA)) return walk(value, 1);
  checkPlain(value);
  let at = 'type';
  try {
    let { type } = value;
    if (type === 'text-delta') raw(TEXT_DELTA);
    else if (type === 'reasoning-delta') raw(REASONING_DELTA);
    else type = walkMember(TYPE, type, 2);
    at = 'index';
    const index = walkMember(INDEX, value.index, 2);
    at = 'text';
    const text = walkMember(TEXT, value.text, 2);
    byte(0x7d);
    return Object.freeze({ type, index, text });
  } catch (error) {
    trail.push(at);
    throw error;
  }
}

function walkMember(before: Known, value: unknown, depth: number): unknown {
  raw(before);
  return walk(value, depth);
}

const CHUNK = ['turn', 'step', 'chunk'] as const;
const DELTA = ['type', 'index', 'text'] as const;
const TURN = known('{"turn":');
const STEP = known(',"step":');
const INNER = known(',"chunk":');
const TYPE = known('{"type":');
const TEXT_DELTA = known('{"type":"text-delta"');
const REASONING_DELTA = known('{"type":"reasoning-delta"');
const INDEX = known(',"index":');
const TEXT = known(',"text":');

/** Whether the value has these own enumerable keys, in this order, and no others. */
function hasKeys<K extends string>(value: unknown, keys: readonly K[]): value is Record<K, unknown> {
  if (typeof value !== 'object' || value === null || polluted) return false;
  let count = 0;
  for (const key in value) if (key !== keys[count++]) return false;
  return count === keys.length;
}

function checkPlain(value: object): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) refuse(`${named(value)} is not a plain object`);
}

/** The one read of an object's properties: own enumerable string keys, as `JSON.stringify` sees them. */
function copyObject(value: object): Record<string, unknown> {
  checkPlain(value);
  const copy: Record<string, unknown> = {};
  let at: string | undefined;
  try {
    for (const key of Object.keys(value)) {
      at = key;
      Object.defineProperty(copy, key, { value: (value as Record<string, unknown>)[key], enumerable: true, writable: true, configurable: true });
    }
  } catch (error) {
    if (at !== undefined) trail.push(at);
    throw error;
  }
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
  if (typeof made?.name !== 'string' || made.name === '') return 'an object with another prototype';
  return `${/^[AEIOU]/i.test(made.name) ? 'an' : 'a'} ${made.name}`;
}

interface Frame {
  source: object;
  copy: Record<string, unknown> | unknown[];
  /** Keys of an object; undefined for an array. */
  keys: string[] | undefined;
  next: number;
}

/** The walk with a stack of its own. */
function walkDeep(root: object, above: number): unknown {
  const frames: Frame[] = [];
  const open = new Set<object>();
  const enter = (source: object): void => {
    if (open.has(source)) throw new Cycle('a cycle');
    if (above + frames.length >= DEEPEST) refuse(`nested deeper than ${DEEPEST} levels`);
    open.add(source);
    const copy = Array.isArray(source) ? copyArray(source) : copyObject(source);
    frames.push({ source, copy, keys: Array.isArray(copy) ? undefined : Object.keys(copy), next: 0 });
    byte(Array.isArray(copy) ? 0x5b : 0x7b);
  };
  try {
    enter(root);
    return walkFrames(frames, open, enter);
  } catch (error) {
    for (const { keys, next } of frames.reverse()) trail.push(keys?.[next - 1] ?? next - 1);
    throw error;
  }
}

function walkFrames(frames: Frame[], open: Set<object>, enter: (source: object) => void): unknown {
  let done: unknown;
  for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
    const { copy, keys } = frame;
    const key = keys === undefined ? frame.next : keys[frame.next];
    if (key === undefined || (keys === undefined && frame.next >= (copy as unknown[]).length)) {
      byte(keys === undefined ? 0x5d : 0x7d);
      done = Object.freeze(copy);
      open.delete(frame.source);
      frames.pop();
      const parent = frames.at(-1);
      if (parent !== undefined) {
        const at = parent.keys === undefined ? parent.next - 1 : (parent.keys[parent.next - 1]!);
        (parent.copy as Record<string | number, unknown>)[at] = done;
      }
      continue;
    }
    if (frame.next++ > 0) byte(0x2c);
    if (typeof key === 'string') {
      string(key);
      byte(0x3a);
    }
    const child = (copy as Record<string | number, unknown>)[key];
    if (typeof child === 'object' && child !== null) enter(child);
    else leaf(child);
  }
  return done;
}

// ------------------------------------------------------------------------------------------------------------- writing

function byte(value: number): void {
  room(1);
  out[pos++] = value;
}

/** Text that is known beforehand, eight bytes in a step: a step costs the same whatever its width. */
interface Known {
  readonly length: number;
  readonly eights: Float64Array;
}

function known(text: string): Known {
  const padded = new Uint8Array((text.length + 7) & ~7);
  for (let i = 0; i < text.length; i++) padded[i] = text.charCodeAt(i);
  return { length: text.length, eights: new Float64Array(padded.buffer) };
}

function raw({ length, eights }: Known): void {
  room(length + 8);
  for (let i = 0; i < eights.length; i++) view.setFloat64(pos + i * 8, eights[i]!, LITTLE_ENDIAN);
  pos += length;
}

/** Bytes come out of an array as they went in, whatever order the machine reads them in. */
const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

function ascii(text: string): void {
  room(text.length);
  for (let i = 0; i < text.length; i++) out[pos++] = text.charCodeAt(i);
}

/** As `JSON.stringify` prints it, which for a finite number is its `String` form. */
function number(value: number): void {
  if ((value | 0) === value && (value !== 0 || 1 / value > 0)) {
    integer(value);
    return;
  }
  if (decimal(value)) return;
  if (fromFile && !Number.isNaN(value)) {
    ascii(value === 0 ? '-0' : Number.isFinite(value) ? String(value) : value < 0 ? '-1e400' : '1e400');
    return;
  }
  if (!Number.isFinite(value)) refuse(String(value));
  if (value === 0) refuse('-0');
  ascii(String(value));
}

const BILLION = 1e9;

/**
 * Writes a number of at most nine decimal places and fifteen digits, as scores, seconds and prices are; false for others.
 *
 * Why this is the text that `String` gives: a quotient of two integers that doubles hold is rounded correctly, so the
 * number is the double next to `scaled / 1e9`; and no two decimals of up to fifteen digits share a double, so that no
 * shorter text, nor another of the same length, reads back as this number.
 */
function decimal(value: number): boolean {
  const size = value < 0 ? -value : value;
  // Smaller numbers are printed with an exponent.
  if (!(size >= 1e-6 && size < 1e6)) return false;
  const scaled = Math.round(size * BILLION);
  if (scaled / BILLION !== size) return false;
  const whole = Math.floor(scaled / BILLION);
  const places = scaled - whole * BILLION;
  room(20);
  if (value < 0) out[pos++] = 0x2d;
  integer(whole);
  if (places === 0) return true;
  out[pos] = 0x2e;
  let end = pos + 9;
  digits(places, end, 9);
  while (out[end] === 0x30) end--;
  pos = end + 1;
  return true;
}

/** A 32-bit integer. */
function integer(value: number): void {
  room(11);
  let rest = value;
  if (rest < 0) {
    out[pos++] = 0x2d;
    rest = -rest;
  }
  let count = 1;
  for (let power = 10; power <= rest; power *= 10) count++;
  pos += count;
  digits(rest, pos - 1, count);
}

/** Writes the last `count` digits of an integer up to 2 ** 31; the last one stands at `last`. */
function digits(value: number, last: number, count: number): void {
  let rest = value;
  for (let at = last; at > last - count; at--) {
    const tens = (rest / 10) | 0;
    out[at] = 0x30 + rest - tens * 10;
    rest = tens;
  }
}

/** For each ASCII unit: 0 as it is, 1 a \u00xx escape, else the letter of its short escape. */
const ESCAPES = new Uint8Array(128).map((_, unit) => {
  const short = '\b\t\n\f\r"\\'.indexOf(String.fromCharCode(unit));
  return short >= 0 ? 'btnfr"\\'.charCodeAt(short) : unit < 0x20 ? 1 : 0;
});

/** A property's key between its comma and its colon. */
function name(key: string, comma: boolean): void {
  const { length } = key;
  room(length + 4);
  const target = out;
  let p = pos;
  if (comma) target[p++] = 0x2c;
  target[p++] = 0x22;
  let i = 0;
  for (; i < length; i++) {
    const unit = key.charCodeAt(i);
    if (unit >= 0x80 || ESCAPES[unit] !== 0) break;
    target[p++] = unit;
  }
  if (i < length) {
    if (comma) byte(0x2c);
    string(key);
    byte(0x3a);
    return;
  }
  target[p++] = 0x22;
  target[p++] = 0x3a;
  pos = p;
}

function string(text: string): void {
  room(1);
  out[pos++] = 0x22;
  if (text.length <= SHORT) units(text);
  else pieces(text);
  room(1);
  out[pos++] = 0x22;
}

/** Writes the inside of a string unit by unit; the only place that sees an unpaired surrogate. */
function units(text: string): void {
  room(text.length * 6);
  const target = out;
  let p = pos;
  for (let i = 0; i < text.length; i++) {
    let unit = text.charCodeAt(i);
    if (unit < 0x80) {
      const escape = ESCAPES[unit]!;
      if (escape === 0) {
        target[p++] = unit;
      } else if (escape > 1) {
        target[p++] = 0x5c;
        target[p++] = escape;
      } else {
        p = hexEscape(unit, target, p);
      }
    } else if (unit < 0x800) {
      target[p++] = 0xc0 | (unit >> 6);
      target[p++] = 0x80 | (unit & 0x3f);
    } else if ((unit & 0xf800) !== 0xd800) {
      target[p++] = 0xe0 | (unit >> 12);
      target[p++] = 0x80 | ((unit >> 6) & 0x3f);
      target[p++] = 0x80 | (unit & 0x3f);
    } else {
      const low = unit < 0xdc00 ? text.charCodeAt(i + 1) : 0;
      if ((low & 0xfc00) === 0xdc00) {
        i++;
        unit = 0x10000 + ((unit & 0x3ff) << 10) + (low & 0x3ff);
        target[p++] = 0xf0 | (unit >> 18);
        target[p++] = 0x80 | ((unit >> 12) & 0x3f);
        target[p++] = 0x80 | ((unit >> 6) & 0x3f);
        target[p++] = 0x80 | (unit & 0x3f);
      } else {
        p = hexEscape(unit, target, p);
      }
    }
  }
  pos = p;
}

const HEX = '0123456789abcdef';

function hexEscape(unit: number, target: Uint8Array, p: number): number {
  target[p++] = 0x5c;
  target[p++] = 0x75;
  for (let shift = 12; shift >= 0; shift -= 4) target[p++] = HEX.charCodeAt((unit >> shift) & 15);
  return p;
}

/** Writes the inside of a long string: the platform encodes a piece, the core escapes it where it stands. */
function pieces(text: string): void {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + PIECE, text.length);
    if (to < text.length && (text.charCodeAt(to - 1) & 0xfc00) === 0xd800) to--;
    const piece = to - from === text.length ? text : text.slice(from, to);
    from = to;
    room(piece.length * 3);
    const written = putUtf8(piece, pos);
    // The encoder turns an unpaired surrogate into U+FFFD without a word.
    if (written > piece.length && core().scratch_has_replacement(pos, written)) {
      units(piece);
      continue;
    }
    const length = core().scratch_escape(pos, written);
    if (length < 0) throw outOfMemory();
    if (length !== written) {
      refresh(Math.max(bytes.byteLength, pos + length));
      out = bytes;
      view = words;
      capacity = Math.min(out.byteLength, MOST);
    }
    pos += length;
  }
}
