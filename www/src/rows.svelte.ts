/** The timeline's rows that were in sight last. */

import { ask } from './client.js';
import { NO_FILTERS, type Filters, type Row } from './lib/protocol.js';

const PAGE = 64;
const KEPT = 24;

export class Rows {
  readonly #log: number;
  /** Rows that are shown, now. */
  count = $state(0);
  filters = $state.raw<Filters>(NO_FILTERS);
  /** Counts what was fetched, so that lists look again. */
  version = $state(0);
  /** Brings the place of a row into sight: set by the list. */
  onreveal: ((index: number) => void) | undefined;
  #pages = new Map<number, { readonly rows: readonly Row[]; readonly stale: boolean }>();
  readonly #asked = new Set<number>();
  #epoch = 0;

  constructor(log: number) {
    this.#log = log;
  }

  at(index: number): Row | undefined {
    // Read so that whoever asks is told when there is more.
    if (this.version < 0) return undefined;
    return this.#pages.get(Math.floor(index / PAGE))?.rows[index % PAGE];
  }

  /** Fetches what is missing of the places `from` to `to`. */
  need(from: number, to: number): void {
    for (let page = Math.floor(Math.max(0, from) / PAGE); page * PAGE < Math.min(to, this.count); page++) {
      const known = this.#pages.get(page);
      const full = known !== undefined && !known.stale && known.rows.length >= Math.min(PAGE, this.count - page * PAGE);
      if (!full && !this.#asked.has(page)) void this.#fetch(page);
    }
  }

  /** The row of a place as it is now, fetched where that takes it. */
  async load(index: number): Promise<Row | undefined> {
    const page = Math.floor(index / PAGE);
    const known = this.#pages.get(page);
    if (!known || known.stale || known.rows[index % PAGE] === undefined) await this.#fetch(page);
    return this.at(index);
  }

  async #fetch(page: number): Promise<void> {
    const epoch = this.#epoch;
    this.#asked.add(page);
    try {
      const rows = await ask('rows', this.#log, page * PAGE, (page + 1) * PAGE);
      if (epoch !== this.#epoch) return;
      this.#pages.delete(page);
      this.#pages.set(page, { rows, stale: false });
      for (const old of this.#pages.keys()) {
        if (this.#pages.size <= KEPT) break;
        this.#pages.delete(old);
      }
      this.version++;
    } finally {
      if (epoch === this.#epoch) this.#asked.delete(page);
    }
  }

  /** More rows at the end. */
  grow(count: number): void {
    this.count = count;
    this.version++;
  }

  /** Other rows: nothing of what was fetched holds any more. */
  reset(count: number): void {
    this.#epoch++;
    this.#asked.clear();
    // What is in sight stays until its successor is there.
    this.#pages = new Map([...this.#pages].map(([page, { rows }]) => [page, { rows, stale: true }]));
    this.count = count;
    this.version++;
  }

  async filter(filters: Filters): Promise<void> {
    this.filters = filters;
    this.reset(await ask('filter', this.#log, filters));
  }

  async fold(row: number, open: boolean): Promise<void> {
    this.reset(await ask('fold', this.#log, row, open));
  }

  async foldAll(what: 'turns' | 'steps' | 'chunks', open: boolean): Promise<void> {
    this.reset(await ask('foldAll', this.#log, what, open));
  }

  /** Where a row is shown, once it is. */
  async reveal(row: number): Promise<number> {
    const { index, length, filtered } = await ask('place', this.#log, row, true);
    if (!filtered && this.filters !== NO_FILTERS) this.filters = NO_FILTERS;
    if (length !== this.count) this.reset(length);
    this.onreveal?.(index);
    return index;
  }
}
