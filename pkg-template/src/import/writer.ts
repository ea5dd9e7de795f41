/** The lines of one session on their way to the sink. */

import type { SessionHeader } from '../events.js';
import type { Session } from '../session.js';
import type { ImportAppender } from './types.js';

/** Characters that go to the sink at once. */
const FULL = 1 << 19;

const encoder = new TextEncoder();

/** Gathers lines and hands them on in pieces. */
export class LineWriter {
  readonly header: SessionHeader;
  readonly #appender: ImportAppender;
  #lines: string[] = [];
  #size = 0;

  constructor(header: SessionHeader, appender: ImportAppender) {
    this.header = header;
    this.#appender = appender;
  }

  /** Whether {@link flush} is due. */
  get full(): boolean {
    return this.#size >= FULL;
  }

  /** Adds a line without its end. */
  add(line: string): void {
    this.#lines.push(line);
    this.#size += line.length;
  }

  async flush(): Promise<void> {
    if (this.#lines.length === 0) return;
    const count = this.#lines.length;
    this.#lines.push('');
    const bytes = encoder.encode(this.#lines.join('\n'));
    this.#lines = [];
    this.#size = 0;
    await this.#appender.append(bytes, count);
  }

  /** The import has failed before the session was complete. */
  async abort(): Promise<void> {
    await this.#appender.abort?.();
  }

  async finish(): Promise<Session | undefined> {
    await this.flush();
    return this.#appender.finish();
  }
}
