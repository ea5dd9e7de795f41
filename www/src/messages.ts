/** The messages of a moment. Each is projected from its event when it is shown, so it also knows where it comes from. */

import type { Message, Session, SessionEvent } from 'palimpsest';
import { field, list, text } from './describe.js';
import { button, count, el, longText } from './dom.js';
import { jsonOf } from './json-text.js';

const SHOWN = 80;
/** Cards that are kept for when they are shown again. */
const KEPT = 1_000;

export class MessageList {
  readonly element: HTMLElement;
  readonly #session: Session;
  readonly #onSelect: (seq: number) => void;
  readonly #items = el('ol', { class: 'messages' });
  readonly #earlier = button('', () => { this.#show(this.#shown + SHOWN); }, { class: 'more' });
  /** By seq; `null` for an event that yields no message. */
  readonly #cards = new Map<number, HTMLElement | null>();
  #prefix: readonly HTMLElement[] = [];
  #prefixMessages: readonly Message[] = [];
  #seqs: readonly number[] = [];
  #shown = SHOWN;
  #chosen: HTMLElement | null | undefined;

  /** @param onSelect told of the event that a message's link names */
  constructor(session: Session, onSelect: (seq: number) => void) {
    this.#session = session;
    this.#onSelect = onSelect;
    this.element = el('div', { class: 'message-list' }, this.#earlier, this.#items);
  }

  /**
   * Shows the last messages of a moment; a button shows those before.
   * @param prefix messages of the request header, which stand before those of the surface
   * @param seqs the surface, head to tail
   * @param chosen the event that was chosen
   * @returns the message of the chosen event, where it has one among them
   */
  show(prefix: readonly Message[], seqs: readonly number[], chosen: number): HTMLElement | undefined {
    if (prefix !== this.#prefixMessages) {
      this.#prefixMessages = prefix;
      this.#prefix = prefix.map((message) => card(message, { class: 'prefix' }, el('span', { class: 'quiet' }, 'prefix of the request')));
    }
    if (this.#cards.size > KEPT) this.#cards.clear();
    this.#seqs = seqs;
    this.#show(SHOWN);
    this.#chosen?.classList.remove('chosen');
    this.#chosen = seqs.includes(chosen) ? this.#card(chosen) : undefined;
    this.#chosen?.classList.add('chosen');
    return this.#chosen ?? undefined;
  }

  #show(number: number): void {
    const first = Math.max(0, this.#seqs.length - number);
    this.#shown = number;
    this.#earlier.hidden = first === 0;
    this.#earlier.textContent = `Show ${count(Math.min(first, SHOWN), 'earlier message')}`;
    const cards = this.#seqs.slice(first).flatMap((seq) => this.#card(seq) ?? []);
    setChildren(this.#items, first === 0 ? [...this.#prefix, ...cards] : cards);
  }

  #card(seq: number): HTMLElement | null {
    let found = this.#cards.get(seq);
    if (found === undefined) {
      const event = this.#session.events[seq];
      const message = event && this.#session.deriveEventMessage(event);
      const link = button(`#${seq}`, () => { this.#onSelect(seq); }, { class: 'link', 'aria-label': `Go to event ${seq}` });
      found = message ? card(message, { 'data-seq': String(seq) }, link, origin(event)) : null;
      this.#cards.set(seq, found);
    }
    return found;
  }
}

/** Children that stay are not touched: they keep their layout and what the reader has opened in them. */
function setChildren(parent: HTMLElement, wanted: readonly HTMLElement[]): void {
  const kept = new Set<Node>(wanted);
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  let at = parent.firstChild;
  for (const child of wanted) {
    if (child === at) at = at.nextSibling;
    else parent.insertBefore(child, at);
  }
}

function origin({ type, data, surfaceOp, sourceEventSeqs }: SessionEvent): HTMLElement {
  const parts: string[] = type === 'context/message' || type === 'steering/message' ? [type] : [];
  if (field(data, 'step') !== undefined) parts.push(`turn ${text(field(data, 'turn'))}, step ${text(field(data, 'step'))}`);
  if (typeof surfaceOp === 'object') parts.push(`in place of ${surfaceOp.start === surfaceOp.end ? `event ${surfaceOp.start}` : `events ${surfaceOp.start} to ${surfaceOp.end}`}`);
  if (typeof surfaceOp === 'object' && sourceEventSeqs) parts.push(count(sourceEventSeqs.length, 'source'));
  return el('span', { class: 'quiet' }, parts.join(', '));
}

function card({ role, content }: Message, attributes: Readonly<Record<string, string>>, ...origins: readonly HTMLElement[]): HTMLElement {
  const isResult = field(content[0], 'type') === 'tool-result';
  const family = isResult ? 'tool' : role === 'assistant' ? 'assistant' : 'user';
  return el(
    'li',
    { ...attributes, class: `message ${family} ${attributes.class ?? ''}` },
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
