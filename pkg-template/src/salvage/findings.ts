/** Gathers findings while a file is read. Nothing here grows with the file: codes that come too often are counted. */

import type { ErrorCode } from '../errors.js';
import type { RuleCode } from '../invariants/finding.js';
import { KINDS } from '../kinds.js';
import type { Branch, Place } from './branch.js';
import { FAULTS, type FaultCode, type SalvageFinding } from './finding.js';

/** Findings of one code that are listed; those beyond are counted in the last one. */
const MOST_OF_A_CODE = 1000;

const LOG_ONLY = ['prompt/blocked', 'todo/write', 'hook/invoked', 'hook/result', 'repair/note', 'repair/record', 'import/record'];

interface Details {
  readonly seq?: number;
  readonly branch?: Branch;
  readonly message?: string;
  readonly action?: string;
}

/** A finding whose session is not named yet. */
export type Draft = Omit<SalvageFinding, 'session'> & { readonly branch?: Branch };

export class Findings {
  readonly #list: Draft[] = [];
  readonly #counts = new Map<string, { code: FaultCode; first: Place; seq: number | undefined; count: number; what: string }>();
  readonly #perCode = new Map<string, number>();
  readonly #known: ReadonlySet<string>;

  constructor(knownTypes: Iterable<string> = []) {
    this.#known = new Set([...KINDS.keys(), ...LOG_ONLY, ...knownTypes]);
  }

  /** A fault of the bytes. */
  fault(code: FaultCode, severity: SalvageFinding['severity'], place: Place, details: Details = {}): void {
    this.#add(code, severity, place, { message: FAULTS[code], ...details });
  }

  /** A rule about events, or an error of the core. */
  rule(code: RuleCode | ErrorCode, severity: SalvageFinding['severity'], place: Place, details: Details & { readonly message: string }): void {
    this.#add(code, severity, place, details);
  }

  /** A thing to be tolerated: said once, with how often. */
  count(code: FaultCode, { line, byte }: Place, seq?: number, what = ''): void {
    const key = `${code} ${what}`;
    const known = this.#counts.get(key);
    if (known !== undefined) known.count++;
    else if (this.#counts.size < MOST_OF_A_CODE) this.#counts.set(key, { code, first: { line, byte }, seq, count: 1, what });
  }

  /** An event that is in the log. */
  event(type: string, text: string, place: Place, seq: number): void {
    if (!this.#known.has(type) && !/"ignorable"\s*:\s*true/.test(text)) this.count('UNKNOWN_TYPE', place, seq, type);
    if (SURROGATE.test(text) && hasLoneSurrogate(text)) this.fault('LONE_SURROGATE', 'warning', place, { seq });
  }

  /** All of them, in file order. */
  list(): Draft[] {
    const counted = [...this.#counts.values()].map(({ code, first, seq, count, what }): Draft => {
      const times = count === 1 ? '' : `, ${count} times`;
      return { code, severity: 'info', message: what === '' ? `${FAULTS[code]}${times}` : `${FAULTS[code]}: ${JSON.stringify(what)}${times}`, ...first, ...(seq !== undefined && { seq }) };
    });
    const list = [...this.#list, ...counted].sort((a, b) => a.byte - b.byte);
    for (const [code, count] of this.#perCode) {
      const last = count > MOST_OF_A_CODE ? list.map((draft) => draft.code as string).lastIndexOf(code) : -1;
      if (last >= 0) list[last] = { ...list[last]!, message: `${list[last]!.message} (and ${count - MOST_OF_A_CODE} more of this code)` };
    }
    return list;
  }

  #add(code: Draft['code'], severity: Draft['severity'], { line, byte }: Place, { seq, branch, message = '', action }: Details): void {
    const count = (this.#perCode.get(code) ?? 0) + 1;
    this.#perCode.set(code, count);
    if (count > MOST_OF_A_CODE) return;
    this.#list.push({ code, severity, message, line, byte, ...(seq !== undefined && { seq }), ...(branch !== undefined && { branch }), ...(action !== undefined && { action }) });
  }
}

/** A surrogate as an escape; whether it is half a pair has to be seen. */
const SURROGATE = /\\u[dD][89a-fA-F]/;

function hasLoneSurrogate(text: string): boolean {
  const waiting: unknown[] = [JSON.parse(text)];
  while (waiting.length > 0) {
    const item = waiting.pop();
    if (typeof item === 'string') {
      if (/\p{Surrogate}/u.test(item)) return true;
    } else if (typeof item === 'object' && item !== null) {
      for (const [key, value] of Object.entries(item)) waiting.push(key, value);
    }
  }
  return false;
}
