/**
 * A session without its secrets.
 *
 * Every string of every payload and of the header is looked at, keys included, but for the words of the format itself. What a
 * provider has signed or sealed is left alone: it cannot be read here, and one changed letter would make the provider refuse
 * the history. Everything that is no string keeps its text, and every event its seq.
 */

import { piecesOf } from '../pieces.js';
import { needSession, type Session } from '../session.js';
import { SessionReader } from '../reader.js';
import { PalimpsestError } from '../errors.js';
import { type Found, secretsInDeltas } from './deltas.js';
import { isOfFormat } from './format.js';
import { HINT, type Pattern, PATTERNS, SECRET_NAME, type SecretKind } from './patterns.js';
import { pathText, type StringToken, stringsOf } from './strings.js';

/** What to take out. */
export interface RedactOptions {
  /** Kinds to look for; all when absent. */
  readonly kinds?: readonly SecretKind[] | undefined;
  /** What else to look for. Flags but `i`, `s`, `u` and `m` are ignored. */
  readonly patterns?: readonly Pattern[] | undefined;
  /** Texts to take out wherever they stand, such as a name; kind `own`. Words of the format, as the member `content`, stay. */
  readonly words?: readonly string[] | undefined;
  /** Most hits that are listed; 10,000 when absent. All are counted, and all are taken out. */
  readonly maxHits?: number | undefined;
}

/** One place where something was taken out. */
export interface RedactHit {
  /** Seq of the event; absent for the header. */
  readonly seq?: number;
  /** Where in the record: `data.content[0].text`. */
  readonly path: string;
  readonly kind: string;
  /** What stands in its place; the same for the same secret. */
  readonly placeholder: string;
  /** The text around it, with all that was found in it taken out. */
  readonly excerpt: string;
  /** The beginning of what was found, enough to tell which it was. */
  readonly masked: string;
  /** The text belongs to a signed block, whose signature does not hold any more: providers will refuse that block. */
  readonly breaksSignature?: true;
}

/** What was found. */
export interface RedactReport {
  readonly hits: readonly RedactHit[];
  /** How often, by kind; more than `hits` lists where there are too many. */
  readonly counts: Readonly<Record<string, number>>;
}

/** A session without its secrets, and what these were. */
export interface Redacted extends RedactReport {
  /** Detached, owned by the caller; the given one is as it was. */
  readonly session: Session;
}

/**
 * Makes a session without the secrets of another.
 * @throws PalimpsestError `INVALID_PAYLOAD` for a pattern that cannot be used, `INVALID_ARGUMENT`
 */
export function redactSession(session: Session, options: RedactOptions = {}): Redacted {
  needSession(session);
  const redactor = new Redactor(options);
  const reader = new SessionReader(`the redacted session ${JSON.stringify(session.id)}`);
  try {
    for (const line of redactor.lines(session)) reader.push(encoder.encode(line));
    return { session: reader.finish().session, ...redactor.report() };
  } catch (error) {
    reader.free();
    throw error;
  }
}

/** What {@link redactSession} would take out, and nothing else. */
export function findSecrets(session: Session, options: RedactOptions = {}): RedactReport {
  needSession(session);
  const redactor = new Redactor(options);
  redactor.look(session);
  return redactor.report();
}

/** Members that are left alone, with all that is in them. */
const SEALED: ReadonlySet<string> = new Set(['signature', 'thoughtSignature', 'thought_signature', 'thinkingSignature', 'textSignature', 'encrypted_content', 'encryptedContent', 'replayState']);

/** A long run of base64 is a picture or a file: a shape in it is chance. */
const BLOB = /^(?:data:[\w/+.-]{1,100};base64,)?[A-Za-z0-9+/=_-]{1000,}$/;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

class Redactor {
  readonly #patterns: readonly Pattern[];
  /** Whether {@link HINT} tells which lines need no look. */
  readonly #hinted: boolean;
  readonly #names: boolean;
  readonly #most: number;
  readonly #placeholders = new Map<string, string>();
  readonly #numbers = new Map<string, number>();
  readonly #hits: RedactHit[] = [];
  readonly #counts = new Map<string, number>();

  constructor({ kinds = Object.keys(PATTERNS) as SecretKind[], patterns = [], words = [], maxHits = 10_000 }: RedactOptions) {
    for (const kind of kinds) if (!Object.hasOwn(PATTERNS, kind)) throw new PalimpsestError('INVALID_PAYLOAD', `there is no kind of secret called ${JSON.stringify(kind)}; the kinds are ${Object.keys(PATTERNS).join(', ')}`);
    const own = [...patterns, ...words.filter((word) => word !== '').map((word) => ({ kind: 'own', pattern: new RegExp(word.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')) }))];
    for (const { kind, pattern } of own) {
      if (!/^[A-Za-z0-9-]{1,40}$/.test(kind)) throw new PalimpsestError('INVALID_PAYLOAD', `a pattern's kind must be made of letters, digits and dashes, not ${JSON.stringify(kind)}`);
      if (new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, '')).test('')) throw new PalimpsestError('INVALID_PAYLOAD', `the pattern ${String(pattern)} matches the empty text, so it would match everywhere`);
    }
    const known = kinds.flatMap((kind) => PATTERNS[kind].map((pattern) => ({ kind, pattern })));
    this.#patterns = [...own, ...known].map(({ kind, pattern }) => ({ kind, pattern: new RegExp(pattern.source, `dg${pattern.flags.replace(/[dgyv]/g, '')}`) }));
    this.#hinted = own.length === 0;
    this.#names = kinds.includes('credential');
    this.#most = maxHits;
  }

  /** The header line and the event lines. */
  *lines(session: Session): Generator<string> {
    const cuts = secretsInDeltas(session, (text) => this.#find(text, undefined));
    yield this.#line(decoder.decode(session.headerLine()).trimEnd(), undefined);
    for (const { first, bytes } of piecesOf(session)) {
      const lines = decoder.decode(bytes).split('\n');
      lines.pop();
      let text = '';
      for (const [index, line] of lines.entries()) text += this.#line(line, first + index, cuts.get(first + index));
      yield text;
    }
  }

  /** Looks at everything, for the report alone. */
  look(session: Session): void {
    const lines = this.lines(session);
    while (lines.next().done !== true);
  }

  report(): RedactReport {
    return { hits: this.#hits, counts: Object.fromEntries(this.#counts) };
  }

  #line(line: string, seq: number | undefined, cuts?: readonly Found[]): string {
    if (cuts === undefined && this.#hinted && !HINT.test(line)) return `${line}\n`;
    let out = '';
    let done = 0;
    for (const token of stringsOf(line)) {
      if (!isPayload(token, seq)) continue;
      const isDelta = cuts !== undefined && !token.isKey && token.path[1] === 'chunk' && (token.path[2] === 'text' || token.path[2] === 'argumentsDelta') && token.path.length === 3;
      const value = this.#text(token, seq, line, isDelta ? cuts : this.#find(token.value, token.isKey ? undefined : token.path[token.path.length - 1]));
      if (value === undefined) continue;
      out += line.slice(done, token.from) + JSON.stringify(value);
      done = token.to;
    }
    return `${out}${line.slice(done)}\n`;
  }

  /** The text without its secrets; undefined where it holds none. */
  #text({ value, path, isKey }: StringToken, seq: number | undefined, line: string, found: readonly Found[]): string | undefined {
    if (found.length === 0) return undefined;
    const pieces = found.map((one) => ({ ...one, placeholder: one.continued === true ? '' : this.#placeholder(one.kind, one.secret) }));
    let out = '';
    let done = 0;
    const places: number[] = [];
    for (const { from, to, placeholder } of pieces) {
      out += value.slice(done, from);
      places.push(out.length);
      out += placeholder;
      done = to;
    }
    out += value.slice(done);
    pieces.forEach(({ kind, placeholder, secret, continued }, index) => {
      if (continued === true) return;
      this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
      if (this.#hits.length >= this.#most) return;
      const excerpt = out.slice(Math.max(0, places[index]! - 24), places[index]! + placeholder.length + 24);
      const where = isKey ? `${pathText(path)} (the key)` : pathText(path);
      this.#hits.push({ ...(seq !== undefined && { seq }), path: where, kind, placeholder, excerpt, masked: masked(secret), ...(isSigned(line, path) && { breaksSignature: true }) });
    });
    return out;
  }

  /** What is to go, in order and without overlaps: of two that overlap, the one that begins first, or is of the earlier pattern. */
  #find(value: string, name: string | number | undefined): Found[] {
    if (value.length < 3 || (value.length >= 1000 && BLOB.test(value))) return [];
    const found: Found[] = [];
    for (const { kind, pattern } of this.#patterns) {
      for (const match of value.matchAll(pattern)) {
        const [from, to] = match.indices?.groups?.secret ?? match.indices![0]!;
        if (from < to) found.push({ from, to, kind, secret: value.slice(from, to) });
      }
    }
    const whole = this.#names && typeof name === 'string' && SECRET_NAME.test(name) && value.length >= 8 && !/\s/.test(value);
    if (whole && found.length === 0) found.push({ from: 0, to: value.length, kind: 'credential', secret: value });
    let end = 0;
    // The sort is stable: patterns stay in their order.
    return found.sort((a, b) => a.from - b.from).filter(({ from, to }) => {
      if (from < end) return false;
      end = to;
      return true;
    });
  }

  #placeholder(kind: string, secret: string): string {
    const key = `${kind} ${secret}`;
    const known = this.#placeholders.get(key);
    if (known !== undefined) return known;
    const number = (this.#numbers.get(kind) ?? 0) + 1;
    this.#numbers.set(kind, number);
    // A path stays a path.
    const placeholder = kind === 'home' ? `redacted-user-${number}` : `[redacted:${kind}-${number}]`;
    this.#placeholders.set(key, placeholder);
    return placeholder;
  }
}

/** Whether a string is a part of the header or of a payload, not sealed, and no word of the format. */
function isPayload(token: StringToken, seq: number | undefined): boolean {
  const { path, isKey } = token;
  if (seq === undefined ? path[0] === 'type' || (isKey && path.length === 1) : path[0] !== 'data' || path.length === 1 || isOfFormat(token)) return false;
  return !path.some((part) => typeof part === 'string' && SEALED.has(part));
}

/** Whether the text at `path` stands beside a signature. */
function isSigned(line: string, path: readonly (string | number)[]): boolean {
  if (!line.includes('ignature"') && !line.includes('encrypted_content"')) return false;
  let value = JSON.parse(line) as unknown;
  for (const part of path.slice(0, -1)) value = (value as Record<string | number, unknown>)[part];
  return typeof value === 'object' && value !== null && Object.entries(value).some(([key, sealed]) => SEALED.has(key) && sealed !== null && sealed !== '');
}

function masked(secret: string): string {
  return `${secret.slice(0, Math.min(4, Math.floor(secret.length / 4)))}… (${secret.length} characters)`;
}
