/** A search over the whole log, as it goes on in the worker. */

import { ask } from './client.js';
import type { Hit, SearchProgress, SearchQuery } from './lib/protocol.js';

let searches = 0;

export class Search {
  readonly #log: number;
  query = $state.raw<SearchQuery>({ text: '', regex: false, matchCase: false, chunks: false });
  matches = $state(0);
  read = $state(0);
  total = $state(0);
  running = $state(false);
  stopped = $state(false);
  error = $state('');
  /** Rows with matches. */
  count = $state(0);
  version = $state(0);
  #id = 0;
  readonly #version: () => number;
  #searched = $state(0);
  #rows = new Uint32Array(256);
  #hits = new Map<number, Hit>();
  readonly #asked = new Set<number>();

  /** @param version counts how often the log has grown */
  constructor(log: number, version: () => number) {
    this.#log = log;
    this.#version = version;
  }

  /** Whether the log has grown since it was searched. */
  get isOld(): boolean {
    return this.query.text !== '' && !this.running && this.#searched !== this.#version();
  }

  get rows(): Uint32Array {
    return this.#rows.slice(0, this.count);
  }

  rowAt(index: number): number | undefined {
    return index < this.count ? this.#rows[index] : undefined;
  }

  async start(query: SearchQuery): Promise<void> {
    this.stop();
    this.query = query;
    this.#searched = this.#version();
    this.#id = ++searches;
    const id = this.#id;
    this.matches = this.read = this.count = 0;
    this.error = '';
    this.stopped = false;
    this.#hits = new Map();
    this.#asked.clear();
    this.version++;
    if (query.text === '') {
      this.running = false;
      return;
    }
    this.running = true;
    try {
      await ask('search', this.#log, id, query);
    } catch (error) {
      if (id === this.#id) this.error = error instanceof Error ? error.message : String(error);
    } finally {
      if (id === this.#id) this.running = false;
    }
  }

  stop(): void {
    if (!this.running) return;
    this.stopped = true;
    void ask('stop', `search ${this.#id}`);
  }

  take(progress: SearchProgress): void {
    if (progress.search !== this.#id) return;
    const { rows } = progress;
    if (this.count + rows.length > this.#rows.length) {
      const grown = new Uint32Array(Math.max(this.#rows.length * 2, this.count + rows.length));
      grown.set(this.#rows.subarray(0, this.count));
      this.#rows = grown;
    }
    this.#rows.set(rows, this.count);
    this.count += rows.length;
    this.matches = progress.matches;
    this.read = progress.read;
    this.total = progress.total;
  }

  hitAt(index: number): Hit | undefined {
    // Read so that whoever asks is told when there is more.
    if (this.version < 0) return undefined;
    return this.#hits.get(index);
  }

  async need(from: number, to: number): Promise<void> {
    const wanted: number[] = [];
    for (let index = from; index < Math.min(to, this.count); index++) if (!this.#hits.has(index) && !this.#asked.has(index)) wanted.push(index);
    if (wanted.length === 0) return;
    for (const index of wanted) this.#asked.add(index);
    const id = this.#id;
    let hits: readonly Hit[];
    try {
      hits = await ask('hits', this.#log, this.query, wanted.map((index) => this.#rows[index]!));
    } catch (error) {
      if (id === this.#id) this.error = error instanceof Error ? error.message : String(error);
      return;
    }
    if (id !== this.#id) return;
    for (const [at, index] of wanted.entries()) this.#hits.set(index, hits[at]!);
    if (this.#hits.size > 2000) {
      this.#hits = new Map([...this.#hits].slice(-500));
      this.#asked.clear();
      for (const index of this.#hits.keys()) this.#asked.add(index);
    }
    this.version++;
  }
}
