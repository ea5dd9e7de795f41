/** One line on a terminal that says how far a command is. Nothing in a pipe, and nothing for what is done within a second. */

import process from 'node:process';
import { size } from './host.js';

const AFTER_MS = 1000;
const EVERY_MS = 100;
const WIDTH = 24;

/** Progress of one command. */
export class Progress {
  readonly #what: string;
  readonly #started = performance.now();
  readonly #shown = process.stderr.isTTY && process.env.TERM !== 'dumb';
  #total: number | undefined;
  #drawn = 0;
  #visible = false;

  /** @param total bytes to come, where it is known */
  constructor(what: string, total?: number) {
    this.#what = what;
    this.#total = total;
  }

  /** How many bytes are done. */
  at(bytes: number, total = this.#total): void {
    if (!this.#shown) return;
    this.#total = total;
    const now = performance.now();
    if (now - this.#started < AFTER_MS || now - this.#drawn < EVERY_MS) return;
    this.#drawn = now;
    this.#visible = true;
    process.stderr.write(`\r\u001b[K${this.#line(bytes, (now - this.#started) / 1000)}`);
  }

  /** Takes the line away. */
  end(): void {
    if (this.#visible) process.stderr.write('\r\u001b[K');
    this.#visible = false;
  }

  #line(bytes: number, seconds: number): string {
    const speed = `${size(bytes / seconds)}/s`;
    if (this.#total === undefined || this.#total === 0) return `${this.#what}  ${size(bytes)}  ${speed}`;
    const share = Math.min(1, bytes / this.#total);
    const done = Math.round(share * WIDTH);
    const bar = '█'.repeat(done) + '░'.repeat(WIDTH - done);
    return `${this.#what}  ${bar} ${Math.floor(share * 100)}%  ${size(bytes)} of ${size(this.#total)}  ${speed}`;
  }
}
