/** pi's entries become events. */

import type { ContentBlock, JsonObject, Usage } from '../../events.js';
import type { JsonValue } from '../../ids.js';
import type { LogBuilder } from '../build.js';
import { countOf, idOf, isEmpty, isObject, listOf, type Raw, stringOf } from '../json.js';
import type { SourceRecord } from '../records.js';
import type { Report } from '../report.js';
import type { Mapper } from '../session-run.js';
import type { PiScan } from './scan.js';

/** Maps the entries of one path. Surface nodes are marked by how deep their entry is in the tree. */
export class PiMapper implements Mapper {
  readonly #builder: LogBuilder;
  readonly #scan: PiScan;
  readonly #report: Report;
  #config: Record<string, JsonValue> = {};

  constructor(builder: LogBuilder, scan: PiScan, report: Report) {
    this.#builder = builder;
    this.#scan = scan;
    this.#report = report;
    builder.awaits = (callId) => scan.isAnswered(callId);
    const { provider, modelId, thinkingLevel } = scan.header;
    this.#configure({ provider, model: modelId, thinkingLevel });
    // A fork goes on with what its seed has set.
    this.#configure(builder.currentHeader()?.config ?? {});
  }

  flush(): void {
    // Every entry is written at once.
  }

  record(record: SourceRecord): boolean {
    const { value } = record;
    const builder = this.#builder;
    builder.mark = this.#scan.depth(record.index);
    switch (value.type) {
      case 'message':
        return this.#message(record);
      case 'model_change': {
        const { provider, modelId, ...rest } = value;
        this.#configure({ provider, model: modelId });
        builder.header({ config: this.#config });
        this.#keep(record, rest as JsonValue);
        return true;
      }
      case 'thinking_level_change': {
        const { thinkingLevel, ...rest } = value;
        this.#configure({ thinkingLevel });
        builder.header({ config: this.#config });
        this.#keep(record, rest as JsonValue);
        return true;
      }
      case 'compaction':
        return this.#compaction(record);
      case 'branch_summary':
        return this.#context(record, 'summary', 'branch-summary');
      case 'custom_message':
        return this.#context(record, 'content', stringOf(value.customType) ?? 'custom');
      default:
        this.#keep(record, record.raw);
        return false;
    }
  }

  #configure(changes: Raw): void {
    for (const [key, value] of Object.entries(changes)) if (value !== undefined && value !== null) this.#config = { ...this.#config, [key]: value };
  }

  #message(record: SourceRecord): boolean {
    const { message } = record.value;
    const builder = this.#builder;
    if (!isObject(message)) {
      this.#report.anomaly('malformed-message', `line ${record.line} is a message entry without a message`, { line: record.line });
      this.#keep(record, record.raw);
      return false;
    }
    switch (message.role) {
      case 'user': {
        const { content, odd } = contentOf(message.content, undefined);
        builder.prompt(content, { kind: 'user' });
        this.#keepMessage(record, message, ['content'], odd);
        return true;
      }
      case 'assistant':
        return this.#assistant(record, message);
      case 'toolResult': {
        const id = stringOf(message.toolCallId);
        if (id === undefined) break;
        const { content, odd } = contentOf(message.content, undefined);
        const { details } = message;
        builder.result(id, content, message.isError === true, details === undefined ? {} : { meta: details });
        this.#keepMessage(record, message, ['toolCallId', 'content', 'isError', 'details'], odd);
        return true;
      }
      case 'bashExecution':
        if (message.excludeFromContext === true) break;
        builder.context([{ type: 'text', text: `$ ${stringOf(message.command) ?? ''}\n${stringOf(message.output) ?? ''}` }], 'bash');
        this.#keepMessage(record, message, ['command', 'output'], []);
        return true;
      case 'custom':
      case 'hookMessage':
      case 'branchSummary':
      case 'compactionSummary': {
        const { content, odd } = contentOf(message.content ?? message.summary, undefined);
        builder.context(content, stringOf(message.customType) ?? message.role);
        this.#keepMessage(record, message, ['content', ...(message.content === undefined ? ['summary'] : [])], odd);
        return true;
      }
      default:
        this.#report.anomaly('unknown-role', `line ${record.line} is a message of the role ${JSON.stringify(message.role)}, which is not known`, { line: record.line });
    }
    this.#keep(record, record.raw);
    return false;
  }

  #assistant(record: SourceRecord, message: Raw): boolean {
    const builder = this.#builder;
    const { content, odd } = contentOf(message.content, message);
    this.#configure({ provider: message.provider, model: message.model });
    if (message.model !== undefined) builder.header({ config: this.#config });
    builder.model(content, usageOf(message.usage));
    const why = stringOf(message.errorMessage);
    if (message.stopReason === 'length') builder.turnEndsWith({ kind: 'max-tokens' });
    else if (message.stopReason === 'aborted') builder.turnEndsWith({ kind: 'aborted', ...(why !== undefined && { reason: why }) });
    else if (message.stopReason === 'error') builder.turnEndsWith({ kind: 'error', step: builder.step, message: why ?? 'the model call failed' });
    else builder.turnEndsWith({ kind: 'completed' });
    this.#keepMessage(record, message, ['content'], odd);
    return true;
  }

  #context(record: SourceRecord, field: string, label: string): boolean {
    const { [field]: text, ...rest } = record.value;
    const { content, odd } = contentOf(text, undefined);
    this.#builder.context(content, label);
    this.#keep(record, { ...rest, ...(odd.length > 0 && { [field]: odd }) } as JsonValue);
    return true;
  }

  #compaction(record: SourceRecord): boolean {
    const builder = this.#builder;
    const { summary, ...rest } = record.value;
    const { content } = contentOf(summary, undefined);
    const kept = this.#scan.firstKept(record.value);
    let count = builder.surface.length;
    if (kept === undefined) {
      this.#report.anomaly('unknown-first-kept', `line ${record.line}: the compaction keeps from an entry on that is not in the file; it covers everything before it`, { line: record.line });
    } else {
      const depth = this.#scan.isHeader(kept) ? -1 : this.#scan.depth(kept);
      const first = builder.surface.findIndex(({ mark }) => typeof mark === 'number' && mark >= depth);
      if (first >= 0) count = first;
    }
    if (count === 0) this.#report.anomaly('nothing-compacted', `line ${record.line}: the compaction keeps everything; its summary stands behind it`, { line: record.line });
    builder.startCompaction();
    const { model } = this.#config;
    // The summary is in front of whatever the next compaction keeps.
    builder.compact(content, count, countOf(record.value.tokensBefore), typeof model === 'string' ? model : 'unknown', -1);
    this.#keep(record, rest as JsonValue);
    return true;
  }

  #keepMessage(record: SourceRecord, message: Raw, mapped: readonly string[], odd: readonly JsonValue[]): void {
    const about = Object.fromEntries(Object.entries(message).filter(([key]) => !mapped.includes(key)));
    const { message: _, ...rest } = record.value;
    this.#keep(record, { ...rest, message: { ...about, ...(odd.length > 0 && { content: odd }) } });
  }

  #keep(record: SourceRecord, raw: JsonValue): void {
    if (isObject(raw) && isEmpty(raw)) return;
    const file = this.#report.source;
    this.#builder.keep({ format: 'pi', line: record.line, ...(file !== undefined && { file }) }, record.kind, raw, record.size);
  }
}

/** Content, which may be plain text; `odd` is what is no block. */
function contentOf(content: unknown, message: Raw | undefined): { content: ContentBlock[]; odd: JsonValue[] } {
  if (typeof content === 'string') return { content: content === '' ? [] : [{ type: 'text', text: content }], odd: [] };
  const blocks: ContentBlock[] = [];
  const odd: JsonValue[] = [];
  for (const part of listOf(content)) {
    const block = isObject(part) ? blockOf(part, message) : undefined;
    if (block === undefined) odd.push(part);
    else blocks.push(block);
  }
  return { content: blocks, odd };
}

function blockOf(part: Raw, message: Raw | undefined): ContentBlock | undefined {
  const { type } = part;
  if (typeof type !== 'string' || type === '') return undefined;
  if (type === 'text') return typeof part.text === 'string' ? (part as unknown as ContentBlock) : undefined;
  if (type === 'thinking') {
    const { thinking, thinkingSignature, redacted, ...rest } = part;
    if (typeof thinking !== 'string') return undefined;
    return { ...rest, type: 'reasoning', text: thinking, ...(redacted === true && { redacted }), ...signed(thinkingSignature, message) } as unknown as ContentBlock;
  }
  if (type === 'toolCall') {
    const { id, name, arguments: input, ...rest } = part;
    if (typeof id !== 'string' || typeof name !== 'string') return undefined;
    return { ...rest, type: 'tool-call', id, name, arguments: typeof input === 'string' ? input : JSON.stringify(input ?? {}) };
  }
  if (type === 'image') return typeof part.data === 'string' && typeof part.mimeType === 'string' ? (part as unknown as ContentBlock) : undefined;
  return type === 'tool-call' || type === 'tool-result' || type === 'reasoning' ? undefined : (part as unknown as ContentBlock);
}

/** A signature is good for the model that wrote it; another provider's is kept beside the text. */
function signed(signature: unknown, message: Raw | undefined): JsonObject {
  const text = idOf(signature);
  if (text === undefined) return {};
  if (message?.provider !== 'anthropic' && message?.api !== 'anthropic-messages') return { thinkingSignature: text };
  const model = stringOf(message.model);
  return { provider: 'anthropic', ...(model !== undefined && { model }), signature: text };
}

function usageOf(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined;
  return {
    inputTokens: countOf(usage.input),
    outputTokens: countOf(usage.output),
    ...(typeof usage.cacheRead === 'number' && { cacheReadTokens: countOf(usage.cacheRead) }),
    ...(typeof usage.cacheWrite === 'number' && { cacheWriteTokens: countOf(usage.cacheWrite) }),
  };
}
