/** The first pass over a rollout: which items are prompts, what each count has spent, which turns were rolled back. */

import type { Usage } from '../../events.js';
import type { Context } from '../context.js';
import { idOf, isAbsolute, isObject, listOf, objectOf, parse, type Raw, stringOf, timeOf } from '../json.js';
import type { Path } from '../paths.js';
import { IdTable } from '../id-table.js';
import { NONE, RecordTable } from '../records.js';
import type { Report } from '../report.js';
import type { ImportSource } from '../types.js';
import { spent, type Totals, totalsOf } from './blocks.js';
import { isInjected, type Item, itemOf, kindOf } from './item.js';

const KNOWN = new Set(['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted', 'world_state', 'inter_agent_communication', 'inter_agent_communication_metadata', 'state']);

/** A prompt's event that looks for its item, or the other way round. */
interface Prompt {
  readonly index: number;
  readonly text: string;
}

/** What the first pass finds. */
export class CodexScan {
  readonly table: RecordTable;
  id: string | undefined;
  parent: string | undefined;
  cwd: string | undefined;
  createdAt: number | undefined;
  /** What the model was told by the first `session_meta`. */
  system: string | undefined;
  /** What was spent up to a `token_count`, since the one before that says something else. */
  readonly usage = new Map<number, Usage>();
  /** Records that a person wrote. */
  readonly #prompts = new Set<number>();
  readonly #report: Report;
  readonly #answered = new IdTable();
  #meta = NONE;
  #totals: Totals | undefined;
  #hasEvents = false;
  /** User items without an injected marker; candidates where the file has no events of prompts. */
  readonly #candidates: number[] = [];
  #lastItem: Prompt | undefined;
  #lastEvent: Prompt | undefined;
  #lastStart = NONE;
  /** Where rollbacks stand, and how many turns each takes back. */
  readonly #rollbacks: { index: number; turns: number }[] = [];
  readonly #starts: { index: number; prompt: number }[] = [];

  constructor(source: ImportSource, report: Report) {
    this.table = new RecordTable(source);
    this.#report = report;
  }

  async run(context: Context): Promise<void> {
    await this.table.scan(this.#report, (bytes) => context.progress(bytes), (index, value, line) => this.#record(index, value, line));
    // An event whose item never came is the prompt itself.
    if (this.#lastEvent !== undefined) this.#prompts.add(this.#lastEvent.index);
    if (!this.#hasEvents) for (const index of this.#candidates) this.#prompts.add(index);
  }

  /** Whether a record is a person's prompt. */
  isPrompt(index: number): boolean {
    return this.#prompts.has(index);
  }

  /** Whether a call is answered somewhere. */
  isAnswered(callId: string): boolean {
    return this.#answered.has(callId);
  }

  /** Whether a record is the `session_meta` that names the file. */
  isMeta(index: number): boolean {
    return index === this.#meta;
  }

  /** The main path, and a fork for each rollback with what it took away. */
  paths(anotherFork: () => boolean): Path[] {
    const main: Path = { role: 'main', parent: NONE, at: 0, list: [], origin: undefined, seeded: false };
    const paths = [main];
    const turns: number[] = [];
    const starts = this.#turnStarts();
    let next = 0;
    let rollback = 0;
    for (let index = 0; index < this.table.length; index++) {
      const back = this.#rollbacks[rollback];
      if (back?.index === index) {
        rollback++;
        if (back.turns > 0 && turns.length > 0) this.#takeBack(paths, turns, back.turns, index, anotherFork);
      }
      if (starts[next] === index) {
        next++;
        turns.push(main.list.length);
      }
      main.list.push(index);
    }
    return parentsFirst(paths);
  }

  /** Where each turn starts: at its `task_started`, where one stands before the prompt, else at the prompt. */
  #turnStarts(): number[] {
    const starts = this.#starts.length > 0 && this.#hasEvents ? this.#starts : this.#candidates.map((index) => ({ index, prompt: index }));
    const firsts = new Set(starts.filter(({ prompt }) => this.#prompts.has(prompt)).map(({ index }) => index));
    return [...firsts].sort((a, b) => a - b);
  }

  #takeBack(paths: Path[], turns: number[], count: number, index: number, anotherFork: () => boolean): void {
    const [main] = paths as [Path];
    const cut = turns[Math.max(0, turns.length - count)]!;
    turns.length = Math.max(0, turns.length - count);
    const list = main.list.splice(cut);
    // Forks that left in the turns that are gone leave the new path.
    const left = paths.filter((path) => path.parent === 0 && path.at > cut);
    if (left.length > 0 || anotherFork()) {
      const number = paths.length;
      paths.push({ role: 'fork', parent: 0, at: cut, list, origin: `rollback-${this.table.line(index)}`, seeded: true });
      for (const path of left) {
        path.parent = number;
        path.at -= cut;
      }
    }
    this.#report.anomaly('rolled-back', `line ${this.table.line(index)} takes back ${count} turn(s); they are in a fork`, { line: this.table.line(index) });
  }

  // -------------------------------------------------------------------------------------------------------- the pass

  #record(index: number, value: Raw, line: number): string {
    const item = itemOf(value);
    const { type, payload } = item;
    const time = timeOf(value.timestamp);
    if (time !== undefined) {
      this.createdAt ??= time;
      this.#report.time(time, line);
    }
    if (type === 'session_meta') this.#session(index, payload);
    else if (type === 'response_item') this.#item(index, item, line);
    else if (type === 'event_msg') this.#event(index, item, line);
    else if (!KNOWN.has(type)) this.#report.anomaly(type === 'None' ? 'no-type' : 'unknown-record-type', `line ${line} is a record of the type ${JSON.stringify(type)}, which is not known`, { line, id: type });
    return kindOf(item);
  }

  /** A fork may repeat its parent's; only the first one names the file. */
  #session(index: number, payload: Raw): void {
    if (this.#meta !== NONE) return;
    this.#meta = index;
    this.id = idOf(payload.id) ?? idOf(payload.session_id);
    const subagent = objectOf(objectOf(objectOf(payload.source).subagent).thread_spawn);
    this.parent = idOf(payload.forked_from_id) ?? idOf(subagent.parent_thread_id);
    const cwd = stringOf(payload.cwd);
    if (cwd !== undefined && isAbsolute(cwd)) this.cwd = cwd;
    this.createdAt = timeOf(payload.timestamp) ?? this.createdAt;
    this.system = idOf(objectOf(payload.base_instructions).text) ?? idOf(payload.instructions);
  }

  #item(index: number, { payload, inner }: Item, line: number): void {
    if (inner === 'message' && payload.role === 'user') {
      const text = textOf(payload.content);
      if (!isInjected(text)) this.#candidates.push(index);
      this.#pairItem({ index, text });
      return;
    }
    const callId = stringOf(payload.call_id);
    if (inner?.endsWith('_output') === true && callId !== undefined) this.#answered.set(callId, index);
    if (inner === 'function_call' && typeof payload.arguments === 'string' && parse(payload.arguments) === undefined) {
      this.#report.anomaly('arguments-not-json', `line ${line}: the arguments of the call ${JSON.stringify(callId)} are not JSON; they are kept as they are`, { line, ...(callId !== undefined && { id: callId }) });
    }
    this.#unpair();
  }

  #event(index: number, { payload, inner }: Item, line: number): void {
    switch (inner) {
      case 'user_message':
        this.#pairEvent({ index, text: stringOf(payload.message) ?? '' });
        break;
      case 'token_count':
        this.#count(index, payload, line);
        break;
      case 'task_started':
      case 'turn_started':
        this.#lastStart = index;
        this.#unpair();
        break;
      case 'thread_rolled_back':
        this.#unpair();
        this.#rollbacks.push({ index, turns: typeof payload.num_turns === 'number' && payload.num_turns > 0 ? Math.trunc(payload.num_turns) : 0 });
        break;
      case undefined:
        this.#report.anomaly('no-type', `line ${line} is an event without a type`, { line });
        break;
      default:
    }
  }

  #count(index: number, payload: Raw, line: number): void {
    const now = totalsOf(objectOf(payload.info).total_token_usage);
    if (now === undefined) return;
    const { usage, reset } = spent(this.#totals, now);
    if (reset) this.#report.anomaly('usage-reset', `line ${line}: the sum of the tokens goes back; it is counted from nothing`, { line });
    if (usage !== undefined) this.usage.set(index, usage);
    this.#totals = now;
  }

  // The same prompt is written twice, as an item and as an event, in either order. Texts may differ (attachments, what
  // was blacked out), so the nearest one is taken, and one of the same text before any other.

  #pairItem(item: Prompt): void {
    const event = this.#lastEvent;
    if (event !== undefined && !isInjected(item.text)) {
      this.#lastEvent = undefined;
      this.#isPrompt(item.index);
      return;
    }
    this.#lastItem = item;
  }

  #pairEvent(event: Prompt): void {
    this.#hasEvents = true;
    this.#unpair();
    const item = this.#lastItem;
    this.#lastItem = undefined;
    if (item !== undefined && (item.text === event.text || item.index === event.index - 1)) this.#isPrompt(item.index);
    else this.#lastEvent = event;
  }

  /** An event whose item has not come by now is the prompt itself. */
  #unpair(): void {
    if (this.#lastEvent !== undefined) this.#isPrompt(this.#lastEvent.index);
    this.#lastEvent = undefined;
  }

  #isPrompt(index: number): void {
    this.#prompts.add(index);
    this.#starts.push({ index: this.#lastStart === NONE ? index : this.#lastStart, prompt: index });
    this.#lastStart = NONE;
  }
}

/** The paths with each behind the one that it starts from. */
function parentsFirst(paths: readonly Path[]): Path[] {
  const children = new Map<number, number[]>();
  for (const [at, { parent }] of paths.entries()) children.set(parent, [...(children.get(parent) ?? []), at]);
  const ordered: Path[] = [];
  const waiting = [{ at: 0, parent: NONE }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { at, parent } = next;
    const place = ordered.push({ ...paths[at]!, parent }) - 1;
    for (const child of (children.get(at) ?? []).reverse()) waiting.push({ at: child, parent: place });
  }
  return ordered;
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  for (const part of listOf(content)) {
    const text = isObject(part) ? stringOf(part.text) : undefined;
    if (text !== undefined) return text;
  }
  return '';
}
