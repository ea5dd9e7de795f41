/** Claude Code's records become events. */

import type { ContentBlock, MessageSource, Usage } from '../../events.js';
import type { JsonValue } from '../../ids.js';
import { isTooDeep, type LogBuilder } from '../build.js';
import { countOf, idOf, isEmpty, isObject, listOf, objectOf, type Raw, stringOf, withoutTexts } from '../json.js';
import type { Path } from '../paths.js';
import type { SourceRecord } from '../records.js';
import type { Report } from '../report.js';
import type { Mapper } from '../session-run.js';
import { isInterrupt, type UserKind, userKind } from './prompts.js';
import type { ClaudeScan } from './scan.js';

const LABELS = { meta: 'meta', command: 'command', output: 'output', interrupt: 'interrupt', summary: 'summary' } as const;

/** Maps the records of one path. */
export class ClaudeMapper implements Mapper {
  readonly #builder: LogBuilder;
  readonly #scan: ClaudeScan;
  readonly #child: boolean;
  readonly #file: string | undefined;
  /** Records of the message at hand, which is written once the last of them is there. */
  #parts: SourceRecord[] = [];
  #time = 0;
  #tokens = 0;
  #model = 'unknown';

  constructor(builder: LogBuilder, scan: ClaudeScan, path: Path, report: Report) {
    this.#builder = builder;
    this.#scan = scan;
    this.#child = path.role === 'child' || scan.subagent;
    this.#file = report.source;
    builder.awaits = (callId) => scan.isAnswered(callId);
  }

  record(record: SourceRecord): boolean {
    const { kind, value } = record;
    if (kind === 'assistant' && isObject(value.message) && (typeof value.message.content === 'string' || Array.isArray(value.message.content))) {
      const [first] = this.#parts;
      if (first !== undefined && this.#scan.message(first.index) !== this.#scan.message(record.index)) this.flush();
      this.#parts.push(record);
      this.#time = this.#builder.time;
      return true;
    }
    this.flush();
    if (kind === 'user') return this.#user(record, userKind(value));
    if (kind === 'system/compact_boundary') return this.#boundary(record);
    this.#keep(record, record.raw);
    return false;
  }

  flush(): void {
    const parts = this.#parts;
    if (parts.length === 0) return;
    this.#parts = [];
    const builder = this.#builder;
    const now = builder.time;
    builder.time = this.#time;
    const { line } = builder;
    builder.line = parts[0]!.line;
    try {
      this.#message(parts);
    } catch (error) {
      if (!isTooDeep(error)) throw error;
      for (const part of parts) this.#keep(part, part.raw);
    }
    builder.time = now;
    builder.line = line;
  }

  /** Writes one message from its parts. */
  #message(parts: readonly SourceRecord[]): void {
    const builder = this.#builder;
    const last = objectOf(parts[parts.length - 1]!.value.message);
    const model = stringOf(last.model);
    // Notices of the program itself come under a made-up model.
    if (model !== undefined && model !== '<synthetic>') {
      this.#model = model;
      builder.header({ config: { model } });
    }
    const blocks = parts.map((part) => contentOf(objectOf(part.value.message).content, model));
    const content = blocks.flatMap(({ content: own }) => own);
    builder.model(content, usageOf(last.usage));
    if (last.stop_reason === 'max_tokens') builder.turnEndsWith({ kind: 'max-tokens' });
    for (const [at, part] of parts.entries()) {
      const { message, ...rest } = part.value;
      const { content: _, ...about } = objectOf(message);
      this.#keep(part, { ...rest, message: about, ...oddOf(blocks[at]!.odd) } as JsonValue);
    }
  }

  #user(record: SourceRecord, kind: UserKind): boolean {
    const builder = this.#builder;
    const { value } = record;
    if (kind === 'malformed') {
      this.#keep(record, record.raw);
      return false;
    }
    if (kind === 'results') return this.#results(record);
    const { message, ...rest } = value;
    const { content: raw, ...about } = objectOf(message);
    const { content, odd } = contentOf(raw);
    if (kind === 'prompt') {
      const source: MessageSource = this.#child ? { kind: 'task' } : { kind: 'user' };
      builder.prompt(content, source);
    } else if (kind === 'summary') {
      builder.compact(content, builder.surface.length, this.#tokens, this.#model, undefined);
    } else {
      // A command is a person's doing, though not a prompt: the turn before it is over.
      if (kind === 'command') builder.turnDone();
      builder.context(content, LABELS[kind]);
      if (kind === 'interrupt') builder.turnEndsWith({ kind: 'aborted', reason: 'interrupted by the user' });
    }
    this.#keep(record, { ...rest, message: about, ...oddOf(odd) } as JsonValue);
    return true;
  }

  #results(record: SourceRecord): boolean {
    const { message, toolUseResult, ...rest } = record.value;
    const { content: raw, ...about } = objectOf(message);
    const blocks = listOf(raw);
    const others: JsonValue[] = [];
    let results = 0;
    for (const block of blocks) {
      const id = isObject(block) && block.type === 'tool_result' ? stringOf(block.tool_use_id) : undefined;
      if (!isObject(block) || id === undefined) {
        others.push(block);
        continue;
      }
      const { content, odd } = contentOf(block.content);
      others.push(...odd);
      const meta = results++ === 0 && toolUseResult !== undefined ? withoutTexts(toolUseResult, content) : undefined;
      this.#builder.result(id, content, block.is_error === true, meta === undefined ? {} : { meta });
    }
    const { content, odd } = contentOf(others);
    if (content.length > 0) {
      const interrupt = content.some((block) => block.type === 'text' && isInterrupt(block.text));
      this.#builder.context(content, interrupt ? LABELS.interrupt : 'beside-result');
      if (interrupt) this.#builder.turnEndsWith({ kind: 'aborted', reason: 'interrupted by the user' });
    }
    this.#keep(record, { ...rest, ...(results === 0 && toolUseResult !== undefined && { toolUseResult }), message: about, ...oddOf(odd) } as JsonValue);
    return results > 0 || content.length > 0;
  }

  #boundary(record: SourceRecord): boolean {
    this.#tokens = countOf(objectOf(record.value.compactMetadata).preTokens);
    this.#builder.startCompaction();
    this.#keep(record, record.raw);
    return true;
  }

  #keep(record: SourceRecord, raw: JsonValue): void {
    this.#builder.keep({ format: 'claude-code', line: record.line, ...(this.#file !== undefined && { file: this.#file }) }, record.kind, raw, record.size);
  }
}

function oddOf(odd: readonly JsonValue[]): { content?: readonly JsonValue[] } {
  return odd.length === 0 ? {} : { content: odd };
}

/** Content, which may be plain text. `odd` is what is no block. */
function contentOf(content: unknown, model?: string): { content: ContentBlock[]; odd: JsonValue[] } {
  if (typeof content === 'string') return { content: content === '' ? [] : [{ type: 'text', text: content }], odd: [] };
  return blocksOf(listOf(content), model);
}

/** Blocks as ours. Unknown types pass through; what is no block at all is set aside. */
function blocksOf(blocks: readonly JsonValue[], model: string | undefined): { content: ContentBlock[]; odd: JsonValue[] } {
  const content: ContentBlock[] = [];
  const odd: JsonValue[] = [];
  for (const block of blocks) {
    const ours = isObject(block) ? blockOf(block, model) : undefined;
    if (ours === undefined) odd.push(block);
    else content.push(ours);
  }
  return { content, odd };
}

function blockOf(block: Raw, model: string | undefined): ContentBlock | undefined {
  const { type } = block;
  if (typeof type !== 'string' || type === '') return undefined;
  if (type === 'text') return typeof block.text === 'string' ? (block as unknown as ContentBlock) : undefined;
  if (type === 'thinking') {
    const { thinking, signature, ...rest } = block;
    if (typeof thinking !== 'string') return undefined;
    return { ...rest, type: 'reasoning', text: thinking, ...(idOf(signature) !== undefined && signed(signature, model)) } as unknown as ContentBlock;
  }
  if (type === 'redacted_thinking') {
    const { data, ...rest } = block;
    return typeof data === 'string' ? ({ ...rest, type: 'reasoning', text: '', ...signed(data, model), redacted: true } as unknown as ContentBlock) : undefined;
  }
  if (type === 'tool_use') {
    const { id, name, input, ...rest } = block;
    if (typeof id !== 'string' || typeof name !== 'string') return undefined;
    return { ...rest, type: 'tool-call', id, name, arguments: typeof input === 'string' ? input : JSON.stringify(input ?? {}) };
  }
  if (type === 'image') {
    const { source, ...rest } = block;
    const { type: kind, media_type: mimeType, data, ...more } = objectOf(source);
    if (kind === 'base64' && typeof mimeType === 'string' && typeof data === 'string') return { ...rest, type: 'image', mimeType, data, ...(!isEmpty(more) && { source: more }) } as unknown as ContentBlock;
  }
  // These would be taken for ours, and are not.
  if (type === 'tool-call' || type === 'tool-result' || type === 'reasoning') return undefined;
  return block as unknown as ContentBlock;
}

function signed(signature: unknown, model: string | undefined): object {
  return { provider: 'anthropic', ...(model !== undefined && { model }), signature };
}

/** Usage of one message; cached input is counted apart. */
function usageOf(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined;
  return {
    inputTokens: countOf(usage.input_tokens),
    outputTokens: countOf(usage.output_tokens),
    ...(typeof usage.cache_read_input_tokens === 'number' && { cacheReadTokens: countOf(usage.cache_read_input_tokens) }),
    ...(typeof usage.cache_creation_input_tokens === 'number' && { cacheWriteTokens: countOf(usage.cache_creation_input_tokens) }),
  };
}
