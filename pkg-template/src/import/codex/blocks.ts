/** Codex's content as ours. */

import type { ContentBlock, Usage } from '../../events.js';
import type { JsonValue } from '../../ids.js';
import { countOf, idOf, isObject, listOf, objectOf, type Raw, stringOf } from '../json.js';

/** Content, and what of it is no block. */
export interface Content {
  readonly content: ContentBlock[];
  readonly odd: JsonValue[];
}

const DATA_URL = /^data:([^;,]+);base64,(.*)$/s;

/** The content of a message or of an output, which may be plain text. */
export function contentOf(content: unknown): Content {
  if (typeof content === 'string') return { content: content === '' ? [] : [{ type: 'text', text: content }], odd: [] };
  const blocks: ContentBlock[] = [];
  const odd: JsonValue[] = [];
  for (const part of listOf(content)) {
    const block = isObject(part) ? blockOf(part) : undefined;
    if (block === undefined) odd.push(part);
    else blocks.push(block);
  }
  return { content: blocks, odd };
}

function blockOf(part: Raw): ContentBlock | undefined {
  const { type, ...rest } = part;
  if (typeof type !== 'string' || type === '') return undefined;
  if (type === 'input_text' || type === 'output_text' || type === 'text' || type === 'summary_text' || type === 'reasoning_text') {
    return typeof rest.text === 'string' ? ({ ...rest, type: 'text', text: rest.text }) : undefined;
  }
  if (type === 'input_image') {
    const [, mimeType, data] = DATA_URL.exec(stringOf(rest.image_url) ?? '') ?? [];
    if (mimeType !== undefined && data !== undefined) {
      const { image_url: _, ...more } = rest;
      return { ...more, type: 'image', mimeType, data } as unknown as ContentBlock;
    }
  }
  return ['image', 'reasoning', 'tool-call', 'tool-result'].includes(type) ? undefined : ({ type, ...rest } as unknown as ContentBlock);
}

/** An output: plain text, items, or an object around either. */
export function outputOf(output: unknown): Content & { isError: boolean } {
  if (isObject(output)) {
    const { content, content_items: items, success } = output;
    const inner = contentOf(Array.isArray(items) ? items : content);
    return { ...inner, isError: success === false };
  }
  return { ...contentOf(output), isError: false };
}

/** The blocks of an item that the model has made; `undefined` where it made none that is ours. */
export function modelBlocks(item: Raw, model: string | undefined): ContentBlock[] | undefined {
  switch (item.type) {
    case 'message':
      return item.role === 'assistant' ? contentOf(item.content).content : undefined;
    case 'reasoning':
      return [reasoningOf(item, model)];
    case 'function_call':
    case 'custom_tool_call': {
      const id = stringOf(item.call_id);
      const name = stringOf(item.name);
      const text = item.type === 'function_call' ? item.arguments : item.input;
      if (id === undefined || name === undefined) return undefined;
      return [{ type: 'tool-call', id, name, arguments: typeof text === 'string' ? text : JSON.stringify(text ?? {}) }];
    }
    case 'local_shell_call': {
      const id = idOf(item.call_id) ?? idOf(item.id);
      return id === undefined ? undefined : [{ type: 'tool-call', id, name: 'local_shell', arguments: JSON.stringify(item.action ?? {}) }];
    }
    case 'tool_search_call': {
      const id = idOf(item.call_id);
      return id === undefined ? undefined : [{ type: 'tool-call', id, name: 'tool_search', arguments: typeof item.arguments === 'string' ? item.arguments : JSON.stringify(item.arguments ?? {}) }];
    }
    default:
      return undefined;
  }
}

/** Reasoning; sealed content goes back to the model that wrote it. */
function reasoningOf(item: Raw, model: string | undefined): ContentBlock {
  const texts = [...listOf(item.summary), ...listOf(item.content)].map((part) => stringOf(objectOf(part).text) ?? '');
  const sealed = idOf(item.encrypted_content);
  const text = texts.filter((part) => part !== '').join('\n\n');
  if (sealed === undefined) return { type: 'reasoning', text };
  const id = idOf(item.id);
  // The provider takes sealed reasoning back under its id only; without one, it is kept and not sent.
  if (id === undefined) return { type: 'reasoning', text, encrypted_content: sealed } as unknown as ContentBlock;
  return { type: 'reasoning', text, provider: 'openai', ...(model !== undefined && { model }), id, signature: sealed } as unknown as ContentBlock;
}

/** Token counts as Codex sums them up. */
export interface Totals {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
}

export function totalsOf(value: unknown): Totals | undefined {
  if (!isObject(value)) return undefined;
  return { input: countOf(value.input_tokens), cached: countOf(value.cached_input_tokens), output: countOf(value.output_tokens), reasoning: countOf(value.reasoning_output_tokens) };
}

/**
 * What has been spent between two totals; from nothing where the count began anew. Codex counts cached input as input and
 * reasoning as output; ours are disjoint.
 */
export function spent(before: Totals | undefined, now: Totals): { usage: Usage | undefined; reset: boolean } {
  const reset = before !== undefined && (now.input < before.input || now.output < before.output);
  const from = reset || before === undefined ? { input: 0, cached: 0, output: 0, reasoning: 0 } : before;
  const cached = Math.max(0, now.cached - from.cached);
  const reasoning = Math.max(0, now.reasoning - from.reasoning);
  const input = Math.max(0, now.input - from.input - cached);
  const output = Math.max(0, now.output - from.output - reasoning);
  if (input + cached + output + reasoning === 0) return { usage: undefined, reset };
  return { usage: { inputTokens: input, outputTokens: output, ...(cached > 0 && { cacheReadTokens: cached }), ...(reasoning > 0 && { reasoningTokens: reasoning }) }, reset };
}
