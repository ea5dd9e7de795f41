/** One opened log on the page: its facts, its events, and what the model saw after the chosen one. */

import type { EpochHeader, Message } from 'palimpsest';
import { count, el, longText } from './dom.js';
import { EventList } from './event-list.js';
import { factsOf } from './facts.js';
import { failureOf } from './failure.js';
import { layOut } from './json-text.js';
import type { OpenedLog } from './log.js';
import { MessageList } from './messages.js';
import { headerView } from './request-header.js';

/** Laying out a longer event is not worth its time; it is shown as one line. */
const LONGEST_LAID_OUT = 200_000;

const NO_MESSAGES: readonly Message[] = [];

const decoder = new TextDecoder();

export class LogView {
  readonly element: HTMLElement;
  readonly #log: OpenedLog;
  readonly #list: EventList;
  readonly #onSelect: (seq: number) => void;
  readonly #title = el('h2', { id: 'model-title', 'aria-live': 'polite' });
  readonly #count = el('span', { class: 'quiet' });
  readonly #messages: MessageList;
  readonly #scroll = el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-labelledby': 'model-title' });
  readonly #header = el('div', { class: 'fold-body' });
  readonly #event = el('div', { class: 'fold-body' });
  readonly #eventTitle = el('summary');

  /** @param onSelect told of each event that is chosen, however that came */
  constructor(log: OpenedLog, onSelect: (seq: number) => void) {
    this.#log = log;
    this.#onSelect = onSelect;
    this.#list = new EventList(log, (seq) => { this.select(seq); });
    this.#messages = new MessageList(log.session, (seq) => { this.select(seq); });
    this.#scroll.append(this.#messages.element);
    const folds = [
      el('details', { class: 'fold' }, el('summary', {}, 'Request header in force'), this.#header),
      el('details', { class: 'fold' }, this.#eventTitle, this.#event),
    ];
    // There is room for them beside the messages.
    if (matchMedia('(min-width: 1700px)').matches) for (const fold of folds) fold.open = true;
    this.element = el(
      'div',
      { class: 'log' },
      factsOf(log),
      this.#list.element,
      el('section', { class: 'model', 'aria-labelledby': 'model-title' }, el('div', { class: 'pane-head' }, this.#title, this.#count), this.#scroll),
      el('aside', { class: 'folds', 'aria-label': 'Details' }, ...folds),
    );
  }

  /** Chooses event `seq`, or the last one there is before it. */
  select(seq: number): void {
    const { session, index } = this.#log;
    const at = Math.min(Math.max(seq, -1), session.seq - 1);
    const view = session.at(at);
    const seqs = view.surface.nodes.map((node) => node.seq);
    const header = attempt(() => view.requestHeader());
    const prefix = header.value?.messagePrefix ?? NO_MESSAGES;
    this.#list.select(at, new Set(seqs));
    const total = prefix.length + seqs.filter((node) => !index.silent.has(node)).length;
    this.#title.textContent = at < 0 ? 'What the model sees: nothing yet' : `What the model sees after event ${at}${at === session.seq - 1 ? ', the last' : ''}`;
    this.#count.textContent = count(total, 'message');
    const chosen = this.#messages.show(prefix, seqs, at);
    this.#header.replaceChildren(header.error === undefined ? headerView(header.value) : failureOf('Request header', header.error));
    this.#showEvent(at);
    this.#scroll.scrollTop = chosen ? chosen.offsetTop - 12 : this.#scroll.scrollHeight;
    if (at >= 0) this.#onSelect(at);
  }

  /** Chooses the event `by` rows further on. */
  move(by: number): void {
    this.#list.move(by);
  }

  /** Gives the log's memory back. */
  dispose(): void {
    this.#list.dispose();
    this.element.remove();
    this.#log.session.free();
  }

  #showEvent(seq: number): void {
    this.#eventTitle.textContent = seq < 0 ? 'No event' : `Event ${seq} as it is stored`;
    if (seq < 0) {
      this.#event.replaceChildren();
      return;
    }
    const line = decoder.decode(this.#log.session.jsonl(seq, seq + 1)).trimEnd();
    this.#event.replaceChildren(longText(line.length > LONGEST_LAID_OUT ? line : layOut(line), 'code'));
  }
}

function attempt(get: () => EpochHeader | undefined): { readonly value?: EpochHeader | undefined; readonly error?: unknown } {
  try {
    return { value: get() };
  } catch (error) {
    return { error };
  }
}
