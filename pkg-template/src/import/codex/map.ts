/** Codex's items become events. */

import type { ContentBlock, JsonObject, ToolSchema, Usage } from '../../events.js';
import type { JsonValue } from '../../ids.js';
import { COMPACTION, isTooDeep, type LogBuilder } from '../build.js';
import { isObject, listOf, objectOf, type Raw, stringOf, withoutTexts } from '../json.js';
import type { SourceRecord } from '../records.js';
import type { Report } from '../report.js';
import type { Mapper } from '../session-run.js';
import { contentOf, modelBlocks, outputOf } from './blocks.js';
import { printOf, standing } from './history.js';
import { type Item, itemOf } from './item.js';
import type { CodexScan } from './scan.js';

/** Events that repeat a text of an item beside them. */
const REPEATS = new Set(['user_message', 'agent_message', 'agent_reasoning', 'agent_reasoning_raw_content']);

/** Size from which a history is looked for further down the surface, and not only from its head on. */
const LARGE = 1 << 16;

/** What waits until the model's message is complete. */
interface Held {
  readonly record: SourceRecord;
  readonly raw: JsonValue;
}

/** Maps the records of one path. */
export class CodexMapper implements Mapper {
  readonly #builder: LogBuilder;
  readonly #scan: CodexScan;
  readonly #file: string | undefined;
  #content: ContentBlock[] = [];
  #marks: string[] = [];
  #held: Held[] = [];
  #time = 0;
  /** Line of the first item of the message at hand. */
  #line = 0;
  #model: string | undefined;
  #tools: readonly ToolSchema[] = [];
  #prompt: readonly ContentBlock[] = [];

  constructor(builder: LogBuilder, scan: CodexScan, report: Report) {
    this.#builder = builder;
    this.#scan = scan;
    this.#file = report.source;
    builder.awaits = (callId) => scan.isAnswered(callId);
    // A fork goes on with what its seed has set.
    const header = builder.currentHeader();
    this.#tools = header?.tools ?? [];
    this.#model = stringOf(header?.config.model);
  }

  record(record: SourceRecord): boolean {
    const item = itemOf(record.value);
    switch (item.type) {
      case 'session_meta':
        return this.#session(record, item.payload);
      case 'turn_context':
        return this.#turnContext(record, item.payload);
      case 'response_item':
        return this.#item(record, item);
      case 'compacted':
        return this.#compacted(record, item.payload);
      case 'event_msg':
        return this.#event(record, item);
      default:
        this.#keep(record, record.raw);
        return false;
    }
  }

  flush(): void {
    this.#flush(undefined);
  }

  /** Writes the model's message with what belongs to it. */
  #flush(usage: Usage | undefined): void {
    const builder = this.#builder;
    const now = builder.time;
    const texts: unknown[] = [this.#content, this.#prompt];
    if (this.#content.length > 0) {
      builder.time = this.#time;
      builder.mark = this.#marks;
      const content = this.#content;
      this.#content = [];
      this.#marks = [];
      const { line } = builder;
      builder.line = this.#line;
      try {
        builder.model(content, usage);
      } catch (error) {
        if (!isTooDeep(error)) throw error;
        builder.keep({ format: 'codex', line: this.#line }, 'response_item', content, 0);
      }
      builder.line = line;
    } else if (usage !== undefined) {
      builder.mark = [];
      builder.usage(usage);
    }
    builder.time = now;
    const held = this.#held;
    this.#held = [];
    for (const { record, raw } of held) this.#write(record, withoutTexts(raw, texts, 'message'));
  }

  #session(record: SourceRecord, payload: Raw): boolean {
    this.flush();
    if (!this.#scan.isMeta(record.index)) {
      this.#keep(record, record.raw);
      return false;
    }
    // What the model was told stands in the request header, once there is one.
    const { system } = this.#scan;
    this.#keep(record, system === undefined ? record.raw : withoutTexts(record.raw, system, 'system'));
    this.#header(typeof payload.model === 'string' ? { model: payload.model } : {}, payload);
    return true;
  }

  #turnContext(record: SourceRecord, payload: Raw): boolean {
    this.flush();
    const { turn_id: _turn, cwd: _cwd, model, ...options } = payload;
    if (typeof model === 'string') this.#model = model;
    this.#header({ ...(model !== undefined && { model }), ...options }, payload);
    const { payload: _, ...rest } = record.value;
    const { turn_id: turn, cwd } = payload;
    this.#keep(record, { ...rest, payload: { ...(turn !== undefined && { turn_id: turn }), ...(cwd !== undefined && { cwd }) } });
    return true;
  }

  #header(config: JsonObject, from: Raw): void {
    const tools = listOf(from.dynamic_tools).flatMap((tool) => {
      const { name, description, inputSchema, parameters } = objectOf(tool);
      const schema = isObject(parameters) ? parameters : inputSchema;
      return typeof name === 'string' && isObject(schema) ? [{ name, ...(typeof description === 'string' && { description }), parameters: schema }] : [];
    });
    if (tools.length > 0) this.#tools = tools;
    const { system } = this.#scan;
    this.#builder.header({ config, ...(system !== undefined && { system }), ...(this.#tools.length > 0 && { tools: this.#tools }) });
  }

  #item(record: SourceRecord, { payload, inner }: Item): boolean {
    const blocks = modelBlocks(payload, this.#model);
    if (blocks !== undefined) {
      // First, since this refuses what is nested too deeply.
      const print = printOf(['assistant', blocks]);
      this.#content.push(...blocks);
      this.#marks.push(print);
      this.#time = this.#builder.time;
      if (this.#marks.length === 1) this.#line = record.line;
      this.#keep(record, restOf(record, payload, ['content', 'summary', 'encrypted_content', 'arguments', 'input']));
      return true;
    }
    if (inner === 'message') {
      this.flush();
      return this.#message(record, payload);
    }
    const callId = stringOf(payload.call_id) ?? stringOf(payload.id);
    if (inner?.endsWith('_output') === true && callId !== undefined) {
      this.flush();
      const { content, odd, isError } = outputOf(payload.output);
      this.#builder.mark = [printOf(['result', callId, content])];
      this.#builder.result(callId, content, isError);
      this.#keep(record, { ...objectOf(restOf(record, payload, isObject(payload.output) ? [] : ['output'])), ...(odd.length > 0 && { odd }) });
      return true;
    }
    this.#keep(record, record.raw);
    return false;
  }

  #message(record: SourceRecord, payload: Raw): boolean {
    const builder = this.#builder;
    const role = stringOf(payload.role) ?? 'unknown';
    const { content, odd } = contentOf(payload.content);
    builder.mark = [printOf([role, content])];
    if (role === 'user' && this.#scan.isPrompt(record.index)) {
      builder.prompt(content, { kind: 'user' });
      this.#prompt = content;
    } else {
      builder.context(content, role === 'user' ? 'user' : role);
    }
    this.#keep(record, { ...objectOf(restOf(record, payload, ['content'])), ...(odd.length > 0 && { odd }) });
    return true;
  }

  #event(record: SourceRecord, { payload, inner }: Item): boolean {
    if (inner !== undefined && REPEATS.has(inner) && !this.#scan.isPrompt(record.index)) {
      this.#held.push({ record, raw: record.raw });
      if (this.#content.length === 0 && this.#held.length > 16) this.flush();
      return false;
    }
    const usage = this.#scan.usage.get(record.index);
    if (usage !== undefined) {
      this.#flush(usage);
      this.#keep(record, record.raw);
      return true;
    }
    switch (inner) {
      case 'user_message': {
        // Its item was never written: the event is all there is of the prompt.
        this.flush();
        const { content } = contentOf(payload.message);
        this.#builder.mark = [printOf(['user', content])];
        this.#builder.prompt(content, { kind: 'user' });
        this.#keep(record, restOf(record, payload, ['message']));
        return true;
      }
      case 'task_started':
      case 'turn_started':
        this.flush();
        this.#builder.turnDone();
        this.#builder.endTurn();
        break;
      case 'task_complete':
      case 'turn_complete':
        this.flush();
        this.#builder.turnDone({ kind: 'completed' });
        break;
      case 'turn_aborted':
        this.flush();
        this.#builder.turnDone({ kind: 'aborted', ...(typeof payload.reason === 'string' && { reason: payload.reason }) });
        break;
      case undefined:
      default:
    }
    this.#keep(record, record.raw);
    return false;
  }

  // ------------------------------------------------------------------------------------------------------- compaction

  #compacted(record: SourceRecord, payload: Raw): boolean {
    this.flush();
    const builder = this.#builder;
    const { message, replacement_history: history, ...rest } = payload;
    const items = history === undefined || history === null ? [{ type: 'message', role: 'user', content: message ?? '' }] : listOf(history);
    const groups = items.map((item) => groupOf(item, this.#model));
    builder.startCompaction();
    builder.endStep();
    this.#lay(groups.filter(({ prints }) => prints.length > 0), record.size);
    builder.endCompaction();
    const { payload: _, ...envelope } = record.value;
    const summary = typeof message === 'string' && message !== '' ? { message } : {};
    const odd = groups.flatMap((group) => group.odd);
    this.#keep(record, { ...envelope, payload: { ...rest, ...summary, ...(Array.isArray(history) && { replacement_history: { items: history.length, types: typesOf(history), ...(odd.length > 0 && { odd }) } }) } });
    return true;
  }

  /** Makes the surface say what the compaction has left. */
  #lay(groups: readonly Group[], size: number): void {
    const builder = this.#builder;
    const prints = groups.flatMap((group) => group.prints);
    const nodes = builder.surface.map(({ mark }) => mark as readonly string[] | undefined);
    let stands = standing(nodes, 0, prints);
    if (stands.nodes === 0 && size > LARGE) {
      // The oldest part was dropped: what stands further down may still be the same.
      const first = nodes.findIndex((own) => own?.[0] === prints[0]);
      const below = first > 0 ? standing(nodes, first, prints) : stands;
      if (below.nodes > 1) {
        builder.replace('assistant/message', { ...builder.inStep(), content: [] }, 0, first, []);
        stands = { nodes: below.nodes + 1, items: below.items };
      }
    }
    let rest = behind(groups, stands.items);
    if (stands.nodes < builder.surface.length) {
      const [group] = rest;
      const from = stands.nodes;
      if (group?.type === 'user') builder.replace('user/message', { content: group.content, source: COMPACTION }, from, builder.surface.length, group.prints);
      else builder.replace('assistant/message', { ...builder.inStep(), content: group?.type === 'assistant' ? group.content : [] }, from, builder.surface.length, group?.type === 'assistant' ? group.prints : []);
      if (group?.type !== 'result') rest = rest.slice(1);
    }
    for (const group of rest) {
      builder.mark = group.prints;
      if (group.type === 'assistant') builder.model(group.content);
      else if (group.type === 'result') builder.result(group.callId, group.content, group.isError);
      else builder.emit('user/message', { content: group.content, source: COMPACTION }, { surfaceOp: 'append' });
    }
  }

  // ----------------------------------------------------------------------------------------------------------- keeping

  /** Keeps a record, behind the message at hand where there is one. */
  #keep(record: SourceRecord, raw: JsonValue): void {
    if (this.#content.length > 0) this.#held.push({ record, raw });
    else this.#write(record, raw);
  }

  #write(record: SourceRecord, raw: JsonValue): void {
    this.#builder.keep({ format: 'codex', line: record.line, ...(this.#file !== undefined && { file: this.#file }) }, record.kind, raw, record.size);
  }
}

/** A record without the parts of its payload that an event holds. */
function restOf(record: SourceRecord, payload: Raw, mapped: readonly string[]): JsonValue {
  const without = (value: Raw): Raw => Object.fromEntries(Object.entries(value).filter(([key]) => !mapped.includes(key)));
  return (record.value === payload ? without(payload) : { ...record.value, payload: without(payload) }) as JsonValue;
}

/** How many items of each type a history holds. */
function typesOf(items: readonly JsonValue[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) {
    const type = stringOf(objectOf(item).type) ?? 'None';
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}

/** An item of a history that is left, or what the model said in one go. */
type Group = { readonly content: ContentBlock[]; readonly prints: string[]; readonly odd: JsonValue[] } & (
  | { readonly type: 'user' | 'assistant' }
  | { readonly type: 'result'; readonly callId: string; readonly isError: boolean }
);

function groupOf(item: JsonValue, model: string | undefined): Group {
  const raw = objectOf(item);
  const blocks = modelBlocks(raw, model);
  if (blocks !== undefined) return { type: 'assistant', content: blocks, prints: [printOf(['assistant', blocks])], odd: [] };
  const callId = stringOf(raw.call_id);
  if (stringOf(raw.type)?.endsWith('_output') === true && callId !== undefined) {
    const { content, odd, isError } = outputOf(raw.output);
    return { type: 'result', callId, isError, content, prints: [printOf(['result', callId, content])], odd };
  }
  if (raw.type === 'message') {
    const { content, odd } = contentOf(raw.content);
    return { type: 'user', content, prints: [printOf([stringOf(raw.role) ?? 'unknown', content])], odd };
  }
  // The provider's own summary, sealed: it stays as it is, and nobody else can read it.
  if (raw.type === 'compaction' || raw.type === 'context_compaction') return { type: 'user', content: [raw as unknown as ContentBlock], prints: [printOf(['user', item])], odd: [] };
  return { type: 'user', content: [], prints: [], odd: [item] };
}

/** The groups behind the first `items`; what the model said in one go is one. */
function behind(groups: readonly Group[], items: number): Group[] {
  const left: Group[] = [];
  for (const group of groups.slice(items)) {
    const last = left.at(-1);
    if (group.type !== 'assistant' || last?.type !== 'assistant') left.push({ ...group, content: [...group.content], prints: [...group.prints] });
    else {
      last.content.push(...group.content);
      last.prints.push(...group.prints);
    }
  }
  return left;
}
