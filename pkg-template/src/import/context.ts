/** What the parts of one import share. */

import { Report } from './report.js';
import type { ImportOptions, ImportSink, ImportSource } from './types.js';
import { memorySink } from './memory-sink.js';

/** Records between two looks at the clock, and how long one may keep everybody else waiting, in milliseconds. */
const LOOK_EVERY = 64;
const HOLD_MOST = 30;

/** Characters of a session's id. */
const LONGEST_ID = 120;

/** Forks of one import. */
const MOST_FORKS = 1000;

/** One import. */
export class Context {
  readonly report = new Report();
  readonly sink: ImportSink;
  readonly #options: ImportOptions;
  readonly #ids = new Map<string, number>();
  /** Whether nobody has given a sink. */
  readonly inMemory: boolean;
  #forks = 0;
  #done = 0;
  #told = 0;
  #total: number;
  #records = 0;
  #since = performance.now();

  constructor(options: ImportOptions, total: number) {
    this.#options = options;
    this.inMemory = options.sink === undefined;
    this.sink = options.sink ?? memorySink();
    this.#total = total;
  }

  /**
   * Whether one more fork is made. A file in which nothing hangs together has a leaf on every line; most of those stay
   * records.
   */
  anotherFork(): boolean {
    if (this.#options.forks === false) return false;
    if (++this.#forks > MOST_FORKS) this.report.anomaly('too-many-forks', `the file has more than ${MOST_FORKS} other leaves; the records of the rest are kept in the main session`);
    return this.#forks <= MOST_FORKS;
  }

  /** An id that no session of this import has. */
  freshId(name: string): string {
    // It may become a file's name.
    const wanted = name.slice(0, LONGEST_ID);
    const twins = this.#ids.get(wanted) ?? 0;
    this.#ids.set(wanted, twins + 1);
    return twins === 0 ? wanted : this.freshId(`${wanted.slice(0, LONGEST_ID - 10)}.${twins + 1}`);
  }

  /** More work has been found. */
  more(bytes: number): void {
    this.#total += bytes;
  }

  /** Work is done. @throws the signal's reason */
  progress(bytes: number): void {
    this.#done += bytes;
    if (this.#done - this.#told < 1 << 20) return;
    this.#told = this.#done;
    this.#options.signal?.throwIfAborted();
    this.#options.onProgress?.(Math.min(this.#done, this.#total), this.#total);
  }

  /** All work is done. */
  finished(): void {
    this.#options.signal?.throwIfAborted();
    this.#options.onProgress?.(this.#total, this.#total);
  }

  /** Lets others run from time to time: a page must not freeze while records come from memory. */
  async tick(): Promise<void> {
    if (++this.#records % LOOK_EVERY !== 0 || performance.now() - this.#since < HOLD_MOST) return;
    this.#options.signal?.throwIfAborted();
    await new Promise<void>((resolve) => setTimeout(resolve));
    this.#since = performance.now();
  }
}

/** What a session is called whose source names none: the file, without its folder and its ending. */
export function nameOf(source: ImportSource): string {
  const name = source.name.replace(/^.*[\\/]/s, '').replace(/\.jsonl(\.zstd?)?$/, '');
  return name === '' ? 'imported' : name;
}
