/** Events and messages in words. Payloads of log-only events are unchecked: any of them may hold any JSON value. */

import type { Message, SessionEvent } from '../events.js';
import { oneLine, paint, printable, type Style } from './host.js';

/** A property of a value that may be anything. */
export function field(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

/** A value as a short text. */
export function text(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined) return '';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return Array.isArray(value) ? `[${value.length}]` : `{ ${Object.keys(value).slice(0, 8).join(', ')} }`;
}

/** A list, or an empty one where there is none. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

const LONG = 4000;

/** Deepest nesting of results in results that is shown. */
const DEEPEST = 16;

/** The words of content blocks. */
export function words(blocks: unknown, depth = 0): string {
  let all = '';
  for (const block of list(blocks)) {
    if (all.length > LONG) break;
    const type = field(block, 'type');
    if (type === 'text' || type === 'reasoning') all += `${text(field(block, 'text')).slice(0, LONG)} `;
    else if (type === 'tool-call') all += `→ ${text(field(block, 'name'))} ${text(field(block, 'arguments')).slice(0, LONG)} `;
    else if (type === 'tool-result') all += depth < DEEPEST ? `← ${words(field(block, 'content'), depth + 1)}` : '← … ';
    else all += `[${text(type)}] `;
  }
  return all;
}

/** An event's content in words, not shortened to a line yet. */
export function summary(event: SessionEvent): string {
  const data = event.data as unknown;
  switch (event.type) {
    case 'user/message':
    case 'context/message':
    case 'steering/message':
    case 'assistant/message':
    case 'prompt/blocked':
      return words(field(data, 'content'));
    case 'tool/result':
      return `${field(data, 'isError') === true ? 'error: ' : ''}${words(field(data, 'content'))}`;
    case 'tool/call':
      return `${text(field(data, 'name'))} ${text(field(data, 'arguments')).slice(0, LONG)}`;
    case 'assistant/chunk': {
      const chunk = field(data, 'chunk');
      return `${text(field(chunk, 'type'))} ${text(field(chunk, 'text') ?? field(chunk, 'argumentsDelta') ?? field(field(chunk, 'reason'), 'kind'))}`;
    }
    case 'turn/start':
      return `turn ${text(field(data, 'turn'))}: ${text(field(field(data, 'trigger'), 'kind'))}`;
    case 'turn/end':
      return `turn ${text(field(data, 'turn'))}: ${text(field(field(data, 'reason'), 'kind'))}`;
    case 'step/start':
    case 'step/end':
      return `turn ${text(field(data, 'turn'))}, step ${text(field(data, 'step'))}`;
    case 'request/header':
      return `${text(field(data, 'reason'))}: ${text(field(field(field(data, 'header'), 'config'), 'model'))}`;
    case 'compact/summary':
      return words(field(data, 'summary'));
    default:
      return text(data);
  }
}

const STYLES: readonly (readonly [start: string, style: Style])[] = [
  ['user/', 'blue'],
  ['assistant/', 'green'],
  ['tool/', 'yellow'],
  ['context/', 'cyan'],
  ['steering/', 'cyan'],
  ['compact/', 'magenta'],
  ['repair/', 'red'],
];

/** An event's type in the colour of its kind. */
export function typeText(type: string): string {
  return paint(STYLES.find(([start]) => type.startsWith(start))?.[1] ?? 'dim', printable(type));
}

/** One line about an event. */
export function eventLine(event: SessionEvent, width: number): string {
  const op = event.surfaceOp;
  const mark = typeof op === 'object' ? `[replaces ${op.start}–${op.end}] ` : '';
  const head = `${String(event.seq).padStart(6)}  ${(event.type as string).padEnd(20)}`;
  return `${String(event.seq).padStart(6)}  ${typeText((event.type as string).padEnd(20))}  ${oneLine(mark + summary(event), Math.max(20, width - head.length - 2))}`;
}

const ROLES: Readonly<Record<Message['role'], Style>> = { system: 'magenta', user: 'blue', assistant: 'green' };

/** A message as paragraphs. */
export function messageText(message: Message): string {
  const parts = message.content.map((block) => blockText(block)).filter((part) => part !== '');
  return `${paint('bold', paint(ROLES[message.role], message.role))}\n${parts.join('\n')}\n`;
}

function blockText(block: unknown, depth = 0): string {
  const type = text(field(block, 'type'));
  const inner = text(field(block, 'text'));
  if (type === 'text') return printable(inner);
  if (type === 'reasoning') return inner === '' ? '' : paint('dim', printable(inner));
  if (type === 'tool-call') return `${paint('yellow', '→')} ${printable(text(field(block, 'name')))} ${printable(text(field(block, 'arguments')))}`;
  if (type === 'tool-result') {
    const content = depth < DEEPEST ? list(field(block, 'content')).map((one) => blockText(one, depth + 1)) : ['…'];
    const mark = field(block, 'isError') === true ? paint('red', '← error') : paint('yellow', '←');
    return `${mark} ${content.join('\n')}`;
  }
  return paint('dim', `[${printable(type)}]`);
}
