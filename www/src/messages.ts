/** The messages of one moment. Each is projected from its event when it is shown, so it also knows where it comes from. */

import type { Message, Session, SessionEvent } from 'palimpsest';
import { field, list, text } from './describe.js';
import { button, count, el, longText } from './dom.js';
import { jsonOf } from './json-text.js';

const SHOWN = 80;

export interface MessageListOptions {
  readonly session: Session;
  /** Messages of the request header, which stand before those of the surface. */
  readonly prefix: readonly Message[];
  /** The surface, head to tail. */
  readonly seqs: readonly number[];
  /** The event that was chosen; it is marked when it is among them. */
  readonly chosen: number;
  readonly onSelect: (seq: number) => void;
}

/** The last messages, with a button for those before. */
export function messageList(options: MessageListOptions): HTMLElement {
  const items = el('ol', { class: 'messages' });
  let first = options.seqs.length;
  const earlier = button('', () => { showMore(); }, { class: 'more' });
  const showMore = (): void => {
    const from = Math.max(0, first - SHOWN);
    const added = options.seqs.slice(from, first).flatMap((seq) => surfaceMessage(options, seq) ?? []);
    first = from;
    if (first === 0) added.unshift(...options.prefix.map((message) => card(message, { class: 'message prefix' }, el('span', { class: 'quiet' }, 'prefix of the request'))));
    items.prepend(...added);
    earlier.hidden = first === 0;
    earlier.textContent = `Show ${count(Math.min(first, SHOWN), 'earlier message')}`;
  };
  showMore();
  return el('div', { class: 'message-list' }, earlier, items);
}

function surfaceMessage({ session, chosen, onSelect }: MessageListOptions, seq: number): HTMLElement | undefined {
  const event = session.events[seq];
  const message = event && session.deriveEventMessage(event);
  if (!message) return undefined;
  const link = button(`#${seq}`, () => { onSelect(seq); }, { class: 'link', 'aria-label': `Go to event ${seq}` });
  return card(message, { class: seq === chosen ? 'message chosen' : 'message', 'data-seq': String(seq) }, link, origin(event));
}

function origin({ type, data, surfaceOp, sourceEventSeqs }: SessionEvent): HTMLElement {
  const where = field(data, 'step') === undefined ? '' : `, turn ${text(field(data, 'turn'))} step ${text(field(data, 'step'))}`;
  const covers = typeof surfaceOp === 'object' ? `, stands for events ${surfaceOp.start} to ${surfaceOp.end}` : '';
  const sources = covers && sourceEventSeqs ? ` (${count(sourceEventSeqs.length, 'source')})` : '';
  return el('span', { class: 'quiet' }, type + where + covers + sources);
}

function card({ role, content }: Message, attributes: Readonly<Record<string, string>>, ...origins: readonly HTMLElement[]): HTMLElement {
  const isResult = field(content[0], 'type') === 'tool-result';
  const family = isResult ? 'tool' : role === 'assistant' ? 'assistant' : 'user';
  return el(
    'li',
    { ...attributes, class: `${attributes.class ?? ''} ${family}` },
    el('div', { class: 'message-head' }, el('span', { class: 'role' }, isResult ? 'tool result' : role), ...origins),
    ...content.map(block),
  );
}

/** One content block. A log may hold anything in the place of one. */
function block(value: unknown): HTMLElement {
  switch (field(value, 'type')) {
    case 'text':
      return longText(text(field(value, 'text')), 'text');
    case 'reasoning':
      return el('details', { class: 'reasoning' }, el('summary', {}, 'Reasoning'), longText(text(field(value, 'text')), 'text'));
    case 'tool-call':
      return el('div', { class: 'call' }, el('span', { class: 'call-name' }, text(field(value, 'name'))), longText(text(field(value, 'arguments')), 'code'));
    case 'tool-result':
      return el('div', { class: field(value, 'isError') === true ? 'result failed' : 'result' },
        field(value, 'isError') === true && el('strong', {}, 'Error'),
        ...list(field(value, 'content')).map(block));
    default:
      return longText(jsonOf(value), 'code');
  }
}
