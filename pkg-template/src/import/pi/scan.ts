/** The first pass over a pi session: ids and parents, and what is odd about them. */

import type { Context } from '../context.js';
import { idOf, isAbsolute, isObject, listOf, objectOf, type Raw, stringOf, timeOf } from '../json.js';
import { IdTable } from '../id-table.js';
import type { Tree } from '../paths.js';
import { Integers, NONE, RecordTable } from '../records.js';
import type { Report } from '../report.js';
import type { ImportSource } from '../types.js';

const KNOWN = new Set(['session', 'message', 'model_change', 'thinking_level_change', 'compaction', 'branch_summary', 'custom', 'custom_message', 'label', 'session_info']);

/** What the first pass finds. */
export class PiScan implements Tree {
  readonly table: RecordTable;
  id: string | undefined;
  cwd: string | undefined;
  createdAt: number | undefined;
  /** Id of the session that this one came from. */
  parentSession: string | undefined;
  /** 1: a list of entries without ids. */
  generation = 1;
  /** First-generation headers name the model. */
  header: Raw = {};
  readonly #report: Report;
  readonly #ids = new IdTable();
  readonly #twins = new Set<number>();
  readonly #nameless = new Set<number>();
  readonly #parents = new Integers();
  readonly #missing = new Map<number, string>();
  readonly #depths = new Integers();
  readonly #prompts = new Set<number>();
  readonly #answered = new IdTable();
  /** Entries by the index that first-generation compactions use: the header is entry 0. */
  readonly #entries: number[] = [];
  #header = NONE;
  #last = NONE;

  constructor(source: ImportSource, report: Report) {
    this.table = new RecordTable(source);
    this.#report = report;
  }

  async run(context: Context): Promise<void> {
    await this.table.scan(this.#report, (bytes) => context.progress(bytes), (index, value, line) => this.#record(index, value, line));
    for (const [index, parent] of this.#missing) {
      const known = this.#ids.get(parent);
      const line = this.table.line(index);
      if (known !== NONE) this.#parents.set(index, known);
      else this.#report.anomaly('phantom-parent', `the parent of line ${line} is not in the file: ${JSON.stringify(parent)}; its path begins here`, { line, id: parent });
    }
    if (this.#header === NONE) this.#report.anomaly('no-header', 'the file does not begin with a session header');
  }

  parent(index: number): number {
    return this.#parents.at(index);
  }

  startsTurn(index: number): boolean {
    return this.#prompts.has(index);
  }

  continuesTurn(index: number): boolean {
    return /^(message\/(assistant|toolResult)|compaction)$/.test(this.table.kind(index));
  }

  companions(): readonly number[] {
    return [];
  }

  /** What an entry is called: its id, or its place. */
  async name(index: number): Promise<string> {
    const line = this.table.line(index);
    if (this.#twins.has(index)) return `dup:${line}`;
    if (this.generation === 1 || this.#nameless.has(index)) return `line:${line}`;
    return idOf((await this.table.reader()(index)).value.id) ?? `line:${line}`;
  }

  /** Whether a call is answered somewhere. */
  isAnswered(callId: string): boolean {
    return this.#answered.has(callId);
  }

  isHeader(index: number): boolean {
    return index === this.#header;
  }

  /** How far an entry is from its root; {@link NONE} for what is no entry. */
  depth(index: number): number {
    const known = this.#depths.at(index);
    if (known !== NONE) return known;
    const way: number[] = [];
    const seen = new Set<number>();
    let at = index;
    while (at !== NONE && this.#depths.at(at) === NONE && !seen.has(at)) {
      seen.add(at);
      way.push(at);
      at = this.parent(at);
    }
    let depth = at === NONE || seen.has(at) ? 0 : this.#depths.at(at) + 1;
    for (const entry of way.reverse()) this.#depths.set(entry, depth++);
    return this.#depths.at(index);
  }

  /** The entry that a compaction keeps first; `undefined` where it names none that is known. */
  firstKept(compaction: Raw): number | undefined {
    const id = stringOf(compaction.firstKeptEntryId);
    if (id !== undefined) {
      const known = this.#ids.get(id);
      return known === NONE ? undefined : known;
    }
    const at = compaction.firstKeptEntryIndex;
    return typeof at === 'number' ? this.#entries[at] : undefined;
  }

  /** The newest leaf is the last entry; the others, newest first. */
  leaves(): { main: number; others: readonly number[] } {
    const hasChild = new Uint8Array(this.table.length);
    for (let index = 0; index < this.table.length; index++) {
      const parent = this.parent(index);
      if (parent !== NONE && parent !== index) hasChild[parent] = 1;
    }
    const others: number[] = [];
    for (const index of this.#entries) if (index !== this.#last && index !== this.#header && hasChild[index] === 0) others.push(index);
    this.#cycles();
    return { main: this.#last, others: others.reverse() };
  }

  // -------------------------------------------------------------------------------------------------------- the pass

  #record(index: number, value: Raw, line: number): string {
    const type = stringOf(value.type);
    const time = timeOf(value.timestamp);
    if (time !== undefined) this.#report.time(time, line);
    if (type === undefined) {
      this.#report.anomaly('no-type', `line ${line} is a record without a type`, { line });
      return 'None';
    }
    this.#entries.push(index);
    if (type === 'session' && this.#header === NONE) {
      this.#session(index, value, time);
      return type;
    }
    if (!KNOWN.has(type)) this.#report.anomaly('unknown-record-type', `line ${line} is an entry of the type ${JSON.stringify(type)}, which is not known`, { line, id: type });
    this.#place(index, value, line);
    const role = type === 'message' ? stringOf(objectOf(value.message).role) : undefined;
    if (role === 'user') this.#prompts.add(index);
    if (role === 'toolResult') {
      const id = stringOf(objectOf(value.message).toolCallId);
      if (id !== undefined) this.#answered.set(id, index);
    }
    return role === undefined ? type : `${type}/${role}`;
  }

  #session(index: number, value: Raw, time: number | undefined): void {
    this.#header = index;
    this.header = value;
    this.id = idOf(value.id);
    this.generation = typeof value.version === 'number' ? value.version : 1;
    this.createdAt = time;
    const cwd = stringOf(value.cwd);
    if (cwd !== undefined && isAbsolute(cwd)) this.cwd = cwd;
    // A path, whose file name ends in the other session's id.
    const parent = idOf(value.parentSession) ?? idOf(value.branchedFrom);
    const name = parent?.replace(/^.*[\\/]/s, '').replace(/\.[^.]*$/, '').replace(/^.*_/s, '');
    this.parentSession = idOf(name) ?? parent;
  }

  #place(index: number, value: Raw, line: number): void {
    if (this.generation === 1) {
      this.#parents.set(index, this.#last);
      this.#last = index;
      return;
    }
    const id = idOf(value.id);
    if (id === undefined) {
      this.#nameless.add(index);
      this.#report.anomaly('entry-without-id', `line ${line} is an entry without an id; it makes a path of its own`, { line });
    } else if (this.#ids.has(id)) {
      this.#report.anomaly('duplicate-id', `line ${line} has the id of line ${this.table.line(this.#ids.get(id))}; what names it means the first one`, { line, id });
      this.#twins.add(index);
    } else {
      this.#ids.set(id, index);
    }
    const parent = idOf(value.parentId);
    if (parent !== undefined) {
      const known = this.#ids.get(parent);
      if (known !== NONE && known !== index) this.#parents.set(index, known);
      else this.#missing.set(index, parent);
    }
    if (id !== undefined || this.#last === NONE) this.#last = index;
  }

  #cycles(): void {
    const state = new Uint8Array(this.table.length);
    for (const start of this.#entries) {
      const walked: number[] = [];
      let at = start;
      while (at !== NONE && state[at] === 0) {
        state[at] = 1;
        walked.push(at);
        at = this.parent(at);
      }
      if (at !== NONE && state[at] === 1) {
        const lines = walked.slice(walked.indexOf(at)).map((index) => this.table.line(index)).sort((a, b) => a - b);
        this.#report.anomaly('cycle', `the entries of lines ${lines.slice(0, 10).join(', ')} are each other's ancestors; their path is cut there`, { lines, line: lines[0]! });
      }
      for (const index of walked) state[index] = 2;
    }
  }
}

/** Ids of the calls in a message. */
export function callsIn(message: Raw): string[] {
  return listOf(message.content).flatMap((block) => (isObject(block) && block.type === 'toolCall' ? (stringOf(block.id) ?? []) : []));
}
