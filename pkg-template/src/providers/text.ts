/** Text, names and arguments as providers take them. */

import { isDeep } from '../depth.js';
import type { JsonObject, JsonValue } from '../ids.js';
import type { Report } from './notice.js';

const LONE = /\p{Surrogate}/u;
const ALL_LONE = /\p{Surrogate}/gu;

/** The text with every half surrogate pair replaced: a body that holds one is refused as invalid JSON. */
export function wellFormed(text: string, report: Report, path: string): string {
  if (!LONE.test(text)) return text;
  report.add('lone-surrogate', path, 'half a surrogate pair became U+FFFD');
  return text.replace(ALL_LONE, '\ufffd');
}

/** Whether a text holds half a surrogate pair. */
export function isBroken(text: string): boolean {
  return LONE.test(text);
}

/** {@link wellFormed} for every text and key of a JSON value, which must not be deep. */
export function wellFormedJson<T extends JsonValue>(value: T, report: Report, path: string): T {
  // Half pairs come out as escapes; the text of such an escape does too, and then nothing is found below.
  if (!/\\ud[89a-f]/.test(JSON.stringify(value))) return value;
  const state = { changed: false };
  const repair = (text: string): string => {
    if (!LONE.test(text)) return text;
    state.changed = true;
    return text.replace(ALL_LONE, '\ufffd');
  };
  const walk = (inner: JsonValue): JsonValue => {
    if (typeof inner === 'string') return repair(inner);
    if (typeof inner !== 'object' || inner === null) return inner;
    if (Array.isArray(inner)) return (inner as readonly JsonValue[]).map(walk);
    const copy: Record<string, JsonValue> = {};
    // Defined, not assigned: the key may be __proto__.
    for (const [key, child] of Object.entries(inner)) Object.defineProperty(copy, repair(key), { value: walk(child), enumerable: true, writable: true, configurable: true });
    return copy;
  };
  const copy = walk(value) as T;
  if (!state.changed) return value;
  report.add('lone-surrogate', path, 'half a surrogate pair became U+FFFD');
  return copy;
}

/** What a provider takes as a name or an id. */
export interface NameRule {
  readonly max: number;
  /** The characters that must not stand in it, as a global pattern. */
  readonly refused: RegExp;
}

/** Names and ids that stand for those that a provider refuses, always the same for the same. */
export class Names {
  readonly aliases = new Map<string, string>();
  readonly #rule: NameRule;
  readonly #taken = new Set<string>();
  readonly #sent = new Map<string, string>();

  constructor(rule: NameRule) {
    this.#rule = rule;
  }

  /** The one name that stands for `original`. */
  one(original: string): string {
    let sent = this.#sent.get(original);
    if (sent === undefined) {
      sent = this.fresh(original);
      this.#sent.set(original, sent);
    }
    return sent;
  }

  /** A name for `original` that has not been given out yet. In a history that only grows, it stays the same. */
  fresh(original: string): string {
    const { max, refused } = this.#rule;
    const safe = original.replace(refused, '_');
    let sent = original;
    for (let use = 1; sent === '' || sent.length > max || (use === 1 && safe !== original) || this.#taken.has(sent); use++) {
      // The hash keeps apart what the replaced characters would make equal.
      const mark = `_${hash(original)}${use === 1 ? '' : `_${use}`}`;
      sent = safe.slice(0, max - mark.length) + mark;
    }
    this.#taken.add(sent);
    if (sent !== original) this.aliases.set(sent, original);
    return sent;
  }
}

/** FNV-1a over UTF-16 units, 32 bits as hex. */
function hash(text: string): string {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193);
  return (sum >>> 0).toString(16).padStart(8, '0');
}

// A string, which is passed over, or a number.
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gs;

/** JSON text in which the numbers that a double would change stand as strings. */
function quoteBigNumbers(text: string): string {
  return text.replace(TOKENS, (token) => (token.startsWith('"') || isKept(token) ? token : `"${token}"`));
}

function isKept(token: string): boolean {
  const number = Number(token);
  if (!Number.isFinite(number)) return false;
  return !/^-?\d+$/.test(token) || BigInt(token) === BigInt(number);
}

/**
 * Arguments for a provider that wants an object.
 * @param text the model's raw text, or whatever a foreign log has in its place
 */
export function argumentsObject(text: unknown, report: Report, path: string): JsonObject {
  const raw = rawArguments(text, report, path);
  if (raw.trim() === '' || raw.trim() === 'null') {
    report.add('arguments-missing', path, `${raw.trim() === '' ? 'missing' : '`null`'} arguments became {}`);
    return {};
  }
  const wrapped = (why: string): JsonObject => {
    report.add('arguments-wrapped', path, `arguments that are ${why} stand under "raw"`);
    return { raw: wellFormed(raw, report, path) };
  };
  const quoted = /\d{16}|\d[eE]/.test(raw) ? quoteBigNumbers(raw) : raw;
  let parsed: JsonValue;
  try {
    parsed = JSON.parse(quoted) as JsonValue;
  } catch {
    return wrapped('not JSON');
  }
  if (isDeep(parsed)) return wrapped('nested too deep');
  const value = wellFormedJson(parsed, report, path);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrapped('not an object');
  if (quoted !== raw) report.add('number-as-text', path, 'numbers that would be rounded stand as text');
  return value as JsonObject;
}

/** Arguments as text; a log of another origin may hold them as a value. */
function rawArguments(value: unknown, report: Report, path: string): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  if (!isDeep(value)) return JSON.stringify(value);
  report.add('too-deep', path, 'arguments that are nested too deep were left out');
  return '';
}

/** Arguments for a provider that wants the text. */
export function argumentsText(text: unknown, report: Report, path: string): string {
  const raw = rawArguments(text, report, path);
  if (raw.trim() !== '') return wellFormed(raw, report, path);
  report.add('arguments-missing', path, 'missing arguments became {}');
  return '{}';
}
