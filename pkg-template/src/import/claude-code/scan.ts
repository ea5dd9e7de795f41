/** The first pass over a Claude Code file: ids, parents, messages and calls; what is odd about them. */

import type { Context } from '../context.js';
import { idOf, isAbsolute, isObject, listOf, objectOf, type Raw, stringOf, timeOf } from '../json.js';
import { IdTable, Lists } from '../id-table.js';
import type { Tree } from '../paths.js';
import { Integers, NONE, RecordTable } from '../records.js';
import type { Report } from '../report.js';
import type { ImportSource } from '../types.js';
import { userKind } from './prompts.js';

/** Kinds of records that may stand on a path. */
const USER = 1;
const ASSISTANT = 2;
const SIDE = 4;
const PROMPT = 8;
/** Of the turn that is open: results, summaries. */
const GOES_ON = 16;

/** Record types that are known, beside those of the conversation. */
const KNOWN = new Set(['user', 'assistant', 'system', 'summary', 'progress', 'attachment', 'file-history-snapshot', 'queue-operation', 'saved_hook_context', 'pr-link', 'last-prompt', 'permission-mode', 'custom-title', 'ai-title', 'agent-name', 'tag']);

/** What the first pass finds. */
export class ClaudeScan implements Tree {
  readonly table: RecordTable;
  sessionId: string | undefined;
  agentId: string | undefined;
  cwd: string | undefined;
  firstTime: number | undefined;
  /** Whether the whole file is one sub-agent's. */
  subagent = false;
  readonly #report: Report;
  readonly #uuids = new IdTable();
  readonly #parents = new Integers();
  readonly #missing = new Map<number, string>();
  readonly #flags = new Integers();
  /** By record: its message. By message: its records, and its calls. By call: the records that answer it. */
  readonly #message = new Integers();
  readonly #messages = new IdTable();
  #messageCount = 0;
  readonly #members = new Lists();
  readonly #calls = new Lists();
  readonly #callIds = new IdTable();
  #callCount = 0;
  readonly #answers = new Lists();

  constructor(source: ImportSource, report: Report) {
    this.table = new RecordTable(source);
    this.#report = report;
  }

  async run(context: Context): Promise<void> {
    await this.table.scan(this.#report, (bytes) => context.progress(bytes), (index, value, line) => this.#record(index, value, line));
    this.#resolve();
    this.subagent = this.#isSubagent();
    if (this.subagent) for (let index = 0; index < this.table.length; index++) if (this.#has(index, SIDE)) this.#flags.set(index, this.#flags.at(index) & ~SIDE);
  }

  /** A record's uuid. */
  async uuid(index: number): Promise<string | undefined> {
    return idOf((await this.table.reader()(index)).value.uuid);
  }

  isSide(index: number): boolean {
    return this.#has(index, SIDE);
  }

  /** The message that an assistant record is a part of. */
  message(index: number): number {
    return this.#message.at(index);
  }

  /** Whether a call has an answer that may be on this path. */
  isAnswered(callId: string): boolean {
    const call = this.#callIds.get(callId);
    return call !== NONE && this.#answers.of(call).length > 0;
  }

  // ------------------------------------------------------------------------------------------------------------- tree

  parent(index: number): number {
    return this.#parents.at(index);
  }

  startsTurn(index: number): boolean {
    return this.#has(index, PROMPT);
  }

  continuesTurn(index: number): boolean {
    return this.#has(index, ASSISTANT | GOES_ON);
  }

  stopsAt(leaf: number, index: number): boolean {
    return this.isSide(leaf) && !this.isSide(index);
  }

  companions(index: number, claimed: (other: number) => boolean): readonly number[] {
    const message = this.#message.at(index);
    if (message === NONE) return [];
    const members = this.#members.of(message);
    const found = members.filter((other) => !claimed(other) && this.isSide(other) === this.isSide(index));
    for (const call of this.#calls.of(message)) {
      // A call may have been answered once on each of two branches; one answer is enough for this path.
      const answer = this.#answers.of(call).find((other) => !claimed(other) && this.isSide(other) === this.isSide(index));
      if (answer !== undefined && !found.includes(answer)) found.push(answer);
    }
    const own = new Set(members);
    return [...found.filter((other) => own.has(other)), ...found.filter((other) => !own.has(other)).sort((a, b) => a - b)];
  }

  /** The newest leaf, and the others, newest first; those of side chains last. */
  leaves(): { main: number; others: readonly number[] } {
    const hasChild = this.#haveChildren();
    const cyclic = this.#cyclic();
    let main = NONE;
    const plain: number[] = [];
    const side: number[] = [];
    for (let index = this.table.length - 1; index >= 0; index--) {
      if (!this.#has(index, USER | ASSISTANT)) continue;
      if (this.isSide(index)) {
        if (hasChild[index] === 0) side.push(index);
      } else if (main === NONE && cyclic[index] === 0) {
        main = index;
      } else if (hasChild[index] === 0) {
        plain.push(index);
      }
    }
    return { main, others: [...plain, ...side] };
  }

  /** Messages with a message below them: 1. Progress records and the like may stand between. */
  #haveChildren(): Uint8Array {
    const hasChild = new Uint8Array(this.table.length);
    // What stands between is walked once: afterwards it knows the message above.
    const above = new Integers();
    const passed = new Uint8Array(this.table.length);
    for (let index = 0; index < this.table.length; index++) {
      if (!this.#has(index, USER | ASSISTANT)) continue;
      const way: number[] = [];
      let at = this.parent(index);
      while (at !== NONE && !this.#has(at, USER | ASSISTANT) && passed[at] === 0) {
        passed[at] = 1;
        way.push(at);
        at = this.parent(at);
      }
      if (at !== NONE && passed[at] === 1) at = above.at(at);
      for (const between of way) above.set(between, at);
      if (at !== NONE && at !== index && this.isSide(at) === this.isSide(index)) hasChild[at] = 1;
    }
    return hasChild;
  }

  // -------------------------------------------------------------------------------------------------------- the pass

  #has(index: number, flags: number): boolean {
    return (Math.max(0, this.#flags.at(index)) & flags) !== 0;
  }

  #record(index: number, value: Raw, line: number): string {
    const type = stringOf(value.type);
    const time = timeOf(value.timestamp);
    this.sessionId ??= idOf(value.sessionId);
    this.agentId ??= idOf(value.agentId);
    const cwd = stringOf(value.cwd);
    if (this.cwd === undefined && cwd !== undefined && isAbsolute(cwd)) this.cwd = cwd;
    if (time !== undefined) {
      this.firstTime ??= time;
      this.#report.time(time, line);
    }
    if (type === undefined) {
      this.#report.anomaly('no-type', `line ${line} is a record without a type`, { line });
      return 'None';
    }
    if (!KNOWN.has(type)) this.#report.anomaly('unknown-record-type', `line ${line} is a record of the type ${JSON.stringify(type)}, which is not known`, { line, id: type });
    if ((type === 'user' || type === 'assistant') && time === undefined) this.#report.anomaly('message-without-timestamp', `line ${line} is a message without a time`, { line });
    const malformed = type === 'user' && userKind(value) === 'malformed';
    if (malformed) this.#report.anomaly('malformed-user-message', `line ${line} is a user's record without a message that can be read`, { line });
    this.#place(index, value, type, line);
    const subtype = stringOf(value.subtype);
    return type === 'system' && subtype !== undefined ? `system/${subtype}` : type;
  }

  /** Hangs a record into the tree. */
  #place(index: number, value: Raw, type: string, line: number): void {
    const uuid = idOf(value.uuid);
    if (uuid === undefined) return;
    if (this.#uuids.has(uuid)) {
      this.#report.anomaly('duplicate-uuid', `line ${line} has the uuid of line ${this.table.line(this.#uuids.get(uuid))}; the first one counts`, { line, id: uuid });
      return;
    }
    this.#uuids.set(uuid, index);
    const parent = idOf(value.parentUuid) ?? idOf(value.logicalParentUuid);
    if (parent !== undefined) {
      const known = this.#uuids.get(parent);
      if (known !== NONE) this.#parents.set(index, known);
      else this.#missing.set(index, parent);
    }
    const side = value.isSidechain === true ? SIDE : 0;
    if (type === 'user') {
      const kind = userKind(value);
      this.#flags.set(index, USER | side | (kind === 'prompt' ? PROMPT : kind === 'results' || kind === 'summary' ? GOES_ON : 0));
      if (kind === 'results') this.#results(index, value);
    } else if (type === 'assistant') {
      this.#flags.set(index, ASSISTANT | side);
      this.#part(index, value);
    } else {
      this.#flags.set(index, side | (value.subtype === 'compact_boundary' ? GOES_ON : 0));
    }
  }

  /** An assistant record is a part of its message. */
  #part(index: number, value: Raw): void {
    const { id, content } = objectOf(value.message);
    const name = idOf(id) ?? `record ${index}`;
    let message = this.#messages.get(name);
    if (message === NONE) this.#messages.set(name, (message = this.#messageCount++));
    this.#members.add(message, index);
    this.#message.set(index, message);
    for (const block of listOf(content)) {
      const call = isObject(block) && block.type === 'tool_use' ? idOf(block.id) : undefined;
      if (call !== undefined) this.#calls.add(message, this.#call(call));
    }
  }

  #results(index: number, value: Raw): void {
    for (const block of listOf(objectOf(value.message).content)) {
      const id = isObject(block) && block.type === 'tool_result' ? idOf(block.tool_use_id) : undefined;
      if (id !== undefined) this.#answers.add(this.#call(id), index);
    }
  }

  /** The number of a call. */
  #call(id: string): number {
    const known = this.#callIds.get(id);
    if (known !== NONE) return known;
    this.#callIds.set(id, this.#callCount);
    return this.#callCount++;
  }

  /** Parents that are written further down, or never. */
  #resolve(): void {
    for (const [index, parent] of this.#missing) {
      const known = this.#uuids.get(parent);
      if (known !== NONE) {
        this.#parents.set(index, known);
      } else {
        const line = this.table.line(index);
        this.#report.anomaly('phantom-parent', `the parent of line ${line} is not in the file: ${JSON.stringify(parent)}; its path begins here`, { line, id: parent });
      }
    }
    this.#missing.clear();
  }

  #isSubagent(): boolean {
    let side = false;
    for (let index = 0; index < this.table.length; index++) {
      if (!this.#has(index, USER | ASSISTANT)) continue;
      if (!this.#has(index, SIDE)) return false;
      side = true;
    }
    return side;
  }

  /** Records whose way up comes back to itself: 1. */
  #cyclic(): Uint8Array {
    const state = new Uint8Array(this.table.length);
    const OPEN = 2;
    const FINE = 3;
    for (let start = 0; start < this.table.length; start++) {
      const walked: number[] = [];
      let at = start;
      while (at !== NONE && state[at] === 0) {
        state[at] = OPEN;
        walked.push(at);
        at = this.parent(at);
      }
      const bad = at !== NONE && state[at] !== FINE;
      if (at !== NONE && state[at] === OPEN) {
        const lines = walked.slice(walked.indexOf(at)).map((index) => this.table.line(index)).sort((a, b) => a - b);
        this.#report.anomaly('cycle', `the records of lines ${lines.slice(0, 10).join(', ')} are each other's ancestors; their path is cut there`, { lines, line: lines[0]! });
      }
      for (const index of walked) state[index] = bad ? 1 : FINE;
    }
    for (let index = 0; index < state.length; index++) if (state[index] === FINE) state[index] = 0;
    return state;
  }
}
