/** Events in a line of text. Payloads of log-only events are unchecked: any of them may be any JSON value. */

import type { SessionEvent } from 'palimpsest';
import { count } from './format.js';
import { familyOf, kindOf } from './kinds.js';

const LENGTH = 240;
const LONGEST_REASON = 4000;

/** The event's content in one line, shortened. */
export function summaryOf(event: SessionEvent): string {
  const data = event.data as unknown;
  switch (familyOf(kindOf(event.type))) {
    case 'user':
    case 'assistant':
      return line(blocksText(field(data, 'content')));
    case 'tool':
      if (event.type === 'tool/call') return line(`${text(field(data, 'name'))} ${text(field(data, 'arguments'))}`);
      return line((field(data, 'isError') === true ? 'error: ' : '') + blocksText(field(data, 'content')));
    case 'chunk':
      return line(chunkText(field(data, 'chunk')));
    case 'turn':
      return line(turnText(event.type, data));
    case 'request':
      return line(requestText(event.type, data));
    case 'compact':
      return line(text(field(data, 'error')) || blocksText(field(data, 'summary')));
    default:
      // Another agent's record: what it was there, then what it held.
      if (event.type === 'import/record') return line(`${text(field(data, 'kind'))} ${text(field(data, 'raw'))}`);
      return line(shallow(data));
  }
}

/** A property of a value that may be anything. */
export function field(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? '' : shallow(value);
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The words of content blocks, one after the other, as many as a line can use. */
export function blocksText(blocks: unknown): string {
  let words = '';
  for (const block of list(blocks)) {
    if (words.length > LENGTH) break;
    words += `${blockText(block)} `;
  }
  return words;
}

function blockText(block: unknown): string {
  switch (field(block, 'type')) {
    case 'text': return text(field(block, 'text')).slice(0, LENGTH * 4);
    case 'reasoning': return '';
    case 'tool-call': return `→ ${text(field(block, 'name'))} ${text(field(block, 'arguments')).slice(0, LENGTH * 4)}`;
    default: return `[${text(field(block, 'type'))}]`;
  }
}

function chunkText(chunk: unknown): string {
  const kind = text(field(chunk, 'type'));
  const delta = field(chunk, 'text') ?? field(chunk, 'argumentsDelta') ?? field(chunk, 'blockType') ?? field(field(chunk, 'reason'), 'kind');
  if (delta !== undefined) return `${kind} ${typeof delta === 'string' ? JSON.stringify(delta.slice(0, LENGTH)) : shallow(delta)}`;
  const usage = field(chunk, 'usage');
  return usage === undefined ? kind : `${kind} ${shallow(usage)}`;
}

function turnText(type: string, data: unknown): string {
  const turn = `turn ${text(field(data, 'turn'))}`;
  if (type.startsWith('step')) return `${turn}, step ${text(field(data, 'step'))}`;
  if (type === 'turn/end') return `${turn}: ${reasonOf(type, data)}`;
  return `${turn}: ${text(field(field(data, 'trigger'), 'kind'))}`;
}

/** Why a turn ended, a compaction failed, a prompt was refused; empty for all else. */
export function reasonOf(type: string, data: unknown): string {
  if (type === 'turn/end') {
    const reason = field(data, 'reason');
    return [text(field(reason, 'kind')), text(field(reason, 'message') ?? field(reason, 'reason'))].filter((words) => words !== '').join(': ').slice(0, LONGEST_REASON);
  }
  if (type === 'compact/end') return text(field(data, 'error')).slice(0, LONGEST_REASON);
  return type === 'prompt/blocked' ? text(field(data, 'reason')).slice(0, LONGEST_REASON) : '';
}

function requestText(type: string, data: unknown): string {
  if (type === 'request/header-delta' && typeof data === 'object' && data !== null) return `changes ${Object.keys(data).join(', ')}`;
  const header = field(data, 'header');
  return `${text(field(data, 'reason'))}: ${text(field(field(header, 'config'), 'model'))}, ${count(list(field(header, 'tools')).length, 'tool')}`;
}

/** JSON to the depth that a line can use: a payload may be nested without end. */
function shallow(value: unknown, depth = 3): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, LENGTH));
  if (typeof value !== 'object' || value === null) return String(value);
  if (depth === 0) return Array.isArray(value) ? '[…]' : '{…}';
  const parts: string[] = [];
  for (const [key, item] of Object.entries(value).slice(0, 12)) {
    parts.push(Array.isArray(value) ? shallow(item, depth - 1) : `${key}: ${shallow(item, depth - 1)}`);
  }
  return Array.isArray(value) ? `[${parts.join(', ')}]` : `{ ${parts.join(', ')} }`;
}

function line(value: string): string {
  return value.slice(0, LENGTH * 4).replace(/\s+/g, ' ').trim().slice(0, LENGTH);
}
