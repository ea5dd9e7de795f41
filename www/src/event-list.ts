/** The list of events. Only the rows in sight exist, so a million events scroll as a hundred do. */

import { isSurfaceEligibleType } from 'palimpsest';
import type { SessionEvent } from 'palimpsest';
import { clock, familyOf, summaryOf } from './describe.js';
import { count, el, number } from './dom.js';
import type { OpenedLog } from './log.js';

const ROW = 26;
const OVERSCAN = 6;
// Browsers stop laying out beyond some height, the first of them (Firefox) near 17 million pixels. Above this one the
// scroll bar is scaled.
const TALLEST = 8_000_000;

export class EventList {
  readonly element: HTMLElement;
  readonly #viewport = el('div', { class: 'rows', role: 'listbox', tabindex: '0', 'aria-label': 'Events' });
  readonly #spacer = el('div', { class: 'spacer', role: 'presentation' });
  readonly #chunks = el('input', { type: 'checkbox', id: 'chunks' });
  readonly #shown = el('span', { class: 'quiet' });
  readonly #log: OpenedLog;
  readonly #onSelect: (seq: number) => void;
  #selected = -1;
  #surface: ReadonlySet<number> = new Set();
  #frame = 0;
  #pressedAt = { x: 0, y: 0 };
  readonly #resized = new ResizeObserver(() => { this.#schedule(); });

  constructor(log: OpenedLog, onSelect: (seq: number) => void) {
    this.#log = log;
    this.#onSelect = onSelect;
    const chunks = log.session.seq - log.index.folded.length;
    this.element = el(
      'section',
      { class: 'events', 'aria-labelledby': 'events-title' },
      el('div', { class: 'pane-head' },
        el('h2', { id: 'events-title' }, 'Events'),
        this.#shown,
        chunks > 0 && el('label', { class: 'check' }, this.#chunks, count(chunks, 'stream chunk')),
        el('p', { class: 'legend', 'aria-hidden': 'true' }, el('span', { class: 'mark on' }), 'in view of the model', el('span', { class: 'mark off' }), 'replaced'),
      ),
      this.#viewport,
    );
    this.#viewport.append(this.#spacer);
    this.#viewport.addEventListener('scroll', () => { this.#schedule(); });
    this.#viewport.addEventListener('pointerdown', ({ clientX, clientY }) => { this.#pressedAt = { x: clientX, y: clientY }; });
    this.#viewport.addEventListener('click', (event) => { this.#clicked(event); });
    this.#viewport.addEventListener('keydown', (event) => { this.#pressed(event); });
    this.#chunks.addEventListener('change', () => { this.#refold(); });
    this.#resized.observe(this.#viewport);
    this.#refold();
  }

  /** Shows `seq` as chosen, in sight, with the surface of that moment. */
  select(seq: number, surface: ReadonlySet<number>): void {
    this.#selected = seq;
    this.#surface = surface;
    if (this.#folds && this.#rowOf(seq) < 0) {
      this.#chunks.checked = true;
      this.#refold();
    }
    this.#reveal(this.#rowOf(seq));
    this.#render();
  }

  /** Chooses the event `by` rows further on. */
  move(by: number): void {
    const at = Math.max(0, this.#rowOf(this.#selected));
    this.#choose(at + by);
  }

  /** Ends what would still read the log. */
  dispose(): void {
    this.#resized.disconnect();
    cancelAnimationFrame(this.#frame);
    this.element.remove();
  }

  #choose(row: number): void {
    if (this.#rows === 0) return;
    this.#onSelect(this.#seqOf(Math.min(Math.max(row, 0), this.#rows - 1)));
  }

  get #folds(): boolean {
    return !this.#chunks.checked;
  }

  get #rows(): number {
    return this.#folds ? this.#log.index.folded.length : this.#log.session.seq;
  }

  #seqOf(row: number): number {
    return this.#folds ? (this.#log.index.folded[row] ?? 0) : row;
  }

  #rowOf(seq: number): number {
    if (!this.#folds) return seq;
    const { folded } = this.#log.index;
    let [low, high] = [0, folded.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((folded[middle] ?? 0) < seq) low = middle + 1;
      else high = middle;
    }
    return folded[low] === seq ? low : -1;
  }

  #refold(): void {
    this.#shown.textContent = this.#folds && this.#rows < this.#log.session.seq ? `${number(this.#rows)} of ${number(this.#log.session.seq)}` : number(this.#rows);
    this.#spacer.style.height = `${Math.min(this.#rows * ROW, TALLEST)}px`;
    // A chunk that is folded away stands under what came before it.
    let row = this.#rowOf(this.#selected);
    for (let seq = this.#selected; row < 0 && seq >= 0; seq--) row = this.#rowOf(seq);
    this.#reveal(row);
    this.#schedule();
  }

  /** Pixels of list above the viewport, for its scroll position; they are the same below the tallest height. */
  #above(): number {
    const { scrollTop, clientHeight } = this.#viewport;
    const real = this.#rows * ROW;
    const tall = Math.min(real, TALLEST);
    return tall === real ? scrollTop : (scrollTop / Math.max(1, tall - clientHeight)) * (real - clientHeight);
  }

  #reveal(row: number): void {
    if (row < 0) return;
    const height = this.#viewport.clientHeight;
    const above = this.#above();
    const top = row * ROW;
    const wanted = top < above ? top : top + ROW > above + height ? top + ROW - height : undefined;
    if (wanted === undefined) return;
    const real = this.#rows * ROW;
    const tall = Math.min(real, TALLEST);
    this.#viewport.scrollTop = tall === real ? wanted : (wanted / Math.max(1, real - height)) * (tall - height);
  }

  #schedule(): void {
    this.#frame ||= requestAnimationFrame(() => { this.#render(); });
  }

  #render(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const { scrollTop, clientHeight } = this.#viewport;
    const above = this.#above();
    const first = Math.max(0, Math.floor(above / ROW) - OVERSCAN);
    const end = Math.min(this.#rows, Math.ceil((above + clientHeight) / ROW) + OVERSCAN);
    const rows: HTMLElement[] = [];
    for (let row = first; row < end; row++) {
      const event = this.#log.session.events[this.#seqOf(row)];
      if (event !== undefined) rows.push(this.#row(event, row, scrollTop + row * ROW - above));
    }
    this.#spacer.replaceChildren(...rows);
    const chosen = rows.find((row) => row.getAttribute('aria-selected') === 'true');
    if (chosen) this.#viewport.setAttribute('aria-activedescendant', chosen.id);
    else this.#viewport.removeAttribute('aria-activedescendant');
  }

  #row(event: SessionEvent, row: number, top: number): HTMLElement {
    const { seq, type } = event;
    const element = el(
      'div',
      {
        id: `event-${seq}`,
        class: `row ${familyOf(type)}`,
        role: 'option',
        'data-seq': String(seq),
        'aria-selected': String(seq === this.#selected),
        'aria-setsize': String(this.#rows),
        'aria-posinset': String(row + 1),
      },
      el('span', { class: 'seq' }, String(seq)),
      this.#mark(event),
      el('span', { class: 'type' }, type),
      el('span', { class: 'summary' }, summaryOf(event)),
      el('span', { class: 'time' }, clock(event.time)),
    );
    element.style.transform = `translateY(${top}px)`;
    return element;
  }

  #mark({ seq, type }: SessionEvent): HTMLElement {
    if (this.#surface.has(seq)) return el('span', { class: 'mark on', role: 'img', 'aria-label': 'in view of the model' });
    if (isSurfaceEligibleType(type) && seq <= this.#selected) return el('span', { class: 'mark off', role: 'img', 'aria-label': 'replaced' });
    return el('span', { class: 'mark' });
  }

  /** By the place and not by the row: a row that was drawn anew since the button went down gets no click. */
  #clicked({ clientX, clientY }: MouseEvent): void {
    // Whoever drags over a row selects its text.
    if (Math.hypot(clientX - this.#pressedAt.x, clientY - this.#pressedAt.y) > 4) return;
    const row = Math.floor((clientY - this.#viewport.getBoundingClientRect().top + this.#above()) / ROW);
    if (row < this.#rows) this.#choose(row);
  }

  #pressed(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.#viewport.clientHeight / ROW) - 1);
    const moves: Readonly<Record<string, () => void>> = {
      ArrowDown: () => { this.move(1); },
      ArrowUp: () => { this.move(-1); },
      PageDown: () => { this.move(page); },
      PageUp: () => { this.move(-page); },
      Home: () => { this.#choose(0); },
      End: () => { this.#choose(this.#rows - 1); },
    };
    const move = Object.hasOwn(moves, event.key) ? moves[event.key] : undefined;
    if (move === undefined) return;
    event.preventDefault();
    move();
  }
}
