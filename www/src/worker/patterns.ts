/** Regular expressions of people, run where they can be stopped. */

import type { Hit } from '../lib/protocol.js';
import type { PatternAnswer, PatternTask } from './pattern.js';
import url from './pattern.ts?worker&url';

/** Milliseconds that one line may take. */
const LIMIT = 3000;
/** Milliseconds for the same line again, to tell which one it is. */
const AGAIN = 500;

/** A pattern has not ended in time on a line. */
export class EndlessPattern extends Error {
  /** The line's place among those that were given. */
  readonly line: number;

  constructor(line: number) {
    super('The regular expression does not end');
    this.line = line;
  }
}

export class Patterns {
  #worker: Worker | undefined;
  #tasks = 0;
  /** One at a time: a worker that is ended must not take another task with it. */
  #last: Promise<unknown> = Promise.resolve();

  /**
   * How often the expression, a global one, matches in each of the lines.
   * @throws (rejects) EndlessPattern; what ended the signal, when it is aborted
   */
  count(matcher: RegExp, bytes: Uint8Array<ArrayBuffer>, ranges: Uint32Array<ArrayBuffer>, signal: AbortSignal): Promise<readonly number[]> {
    return this.#queued(() => this.#run({ ...parts(matcher), pieces: false, bytes, ranges }, signal)) as Promise<readonly number[]>;
  }

  /** The first matches in one line. @throws (rejects) EndlessPattern */
  async pieces(matcher: RegExp, bytes: Uint8Array<ArrayBuffer>): Promise<Hit['pieces']> {
    const [pieces] = await this.#queued(() => this.#run({ ...parts(matcher), pieces: true, bytes, ranges: Uint32Array.of(0, bytes.length) }, undefined));
    return pieces as Hit['pieces'];
  }

  #queued<T>(task: () => Promise<T>): Promise<T> {
    const next = this.#last.then(task, task);
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #run(task: Omit<PatternTask, 'task' | 'careful'>, signal: AbortSignal | undefined): Promise<readonly unknown[]> {
    const stuck = await this.#attempt({ ...task, careful: false }, LIMIT, signal);
    if (typeof stuck !== 'number') return stuck;
    // Between two signs of life are many lines: those behind the last sign are gone through again, one by one.
    const rest = await this.#attempt({ ...task, pieces: false, ranges: task.ranges.slice(stuck * 2), careful: true }, AGAIN, signal);
    throw new EndlessPattern(stuck + (typeof rest === 'number' ? rest : 0));
  }

  /** What was found, or the line at which it was last heard of. */
  #attempt(task: Omit<PatternTask, 'task'>, limit: number, signal: AbortSignal | undefined): Promise<readonly unknown[] | number> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const worker = (this.#worker ??= new Worker(url, { type: 'module', name: 'pattern' }));
      const number = ++this.#tasks;
      let at = 0;
      const over = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', aborted);
        worker.removeEventListener('message', heard);
        worker.removeEventListener('error', failed);
      };
      const end = (): void => {
        over();
        worker.terminate();
        this.#worker = undefined;
      };
      const late = (): void => {
        end();
        resolve(at);
      };
      const aborted = (): void => {
        end();
        reject(signal?.reason as Error);
      };
      const failed = (event: ErrorEvent): void => {
        end();
        reject(new Error(`The search failed: ${event.message}. Reload the page.`));
      };
      const heard = ({ data }: MessageEvent<PatternAnswer>): void => {
        if (data.task !== number) return;
        if ('found' in data) {
          over();
          resolve(data.found);
          return;
        }
        ({ at } = data);
        clearTimeout(timer);
        timer = setTimeout(late, limit);
      };
      let timer: ReturnType<typeof setTimeout> | undefined;
      signal?.addEventListener('abort', aborted);
      worker.addEventListener('message', heard);
      worker.addEventListener('error', failed);
      worker.postMessage({ task: number, ...task } satisfies PatternTask);
    });
  }
}

function parts({ source, flags }: RegExp): { source: string; flags: string } {
  return { source, flags };
}
