/** A stored session that another tab, or the page's own agent, is writing: its new events come in as they are stored. */

import type { SessionEvent } from 'palimpsest';
import type { Log } from './log.js';
import { storage } from './open.js';

const encoder = new TextEncoder();
/** Milliseconds in which events are gathered before the page is told. */
const GATHER = 80;

export class Follower {
  readonly #log: Log;
  readonly #session: string;
  readonly #signal: AbortSignal;

  constructor(log: Log, session: string, signal: AbortSignal) {
    this.#log = log;
    this.#session = session;
    this.#signal = signal;
  }

  /** Runs until the signal is aborted. */
  async run(grown: () => void, failed: (message: string) => void): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      for await (const event of storage().follow(this.#session, { from: this.#log.outline.length, signal: this.#signal })) {
        this.#take(event);
        timer ??= setTimeout(() => {
          timer = undefined;
          if (this.#signal.aborted) return;
          // Looks at all rows: once for all events that were gathered.
          this.#log.visible.refresh();
          grown();
        }, GATHER);
      }
    } catch (error) {
      failed(error instanceof Error ? error.message : String(error));
    }
  }

  #take(event: SessionEvent): void {
    const log = this.#log;
    const line = encoder.encode(`${JSON.stringify(event)}\n`);
    const offset = log.store.size;
    log.store.append(line);
    log.outline.add(line.subarray(0, -1), offset);
    try {
      // The session is asked for surfaces and requests only, which no time is part of.
      log.session?.append(event.type as 'user/message', event.data as SessionEvent<'user/message'>['data'], ...intentOf(event));
    } catch (error) {
      log.fail(error);
    }
    log.closers = [];
  }
}

function intentOf({ surfaceOp, sourceEventSeqs }: SessionEvent): [intent: { surfaceOp: NonNullable<typeof surfaceOp> }] {
  return (surfaceOp === undefined ? [] : [{ surfaceOp, ...(sourceEventSeqs && { sourceEventSeqs }) }]) as unknown as [intent: { surfaceOp: NonNullable<typeof surfaceOp> }];
}
