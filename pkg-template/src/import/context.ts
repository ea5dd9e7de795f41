/** What the parts of one import share. */

import { Report } from './report.js';
import type { ImportOptions, ImportSink } from './types.js';
import { memorySink } from './memory-sink.js';

/** Records between two looks at the clock, and how long one may keep everybody else waiting, in milliseconds. */
const LOOK_EVERY = 64;
const HOLD_MOST = 30;

/** One import. */
export class Context {
  readonly report = new Report();
  readonly sink: ImportSink;
  readonly #options: ImportOptions;
  #done = 0;
  #told = 0;
  #total: number;
  #records = 0;
  #since = performance.now();

  constructor(options: ImportOptions, total: number) {
    this.#options = options;
    this.sink = options.sink ?? memorySink();
    this.#total = total;
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
