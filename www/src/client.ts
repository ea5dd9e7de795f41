/** The page's end of the line to its worker. */

import type { Notice } from './lib/protocol.js';
import { workerUrl } from './lib/trusted.js';
import type { Desk } from './worker/desk.js';
import type { Answer, Call } from './worker/worker.js';
import url from './worker/worker.ts?worker&url';

/** The requests: the methods of the worker's desk. */
type Methods = { [K in keyof Desk]: Desk[K] extends (...args: infer A) => infer R ? { args: A; result: Awaited<R> } : never };

/** An answer that says what went wrong. */
export class WorkerError extends Error {
  readonly code: string;

  constructor({ code, message }: { code: string; message: string }) {
    super(message);
    this.code = code;
  }
}

const worker = new Worker(workerUrl(url), { type: 'module', name: 'palimpsest' });
const waiting = new Map<number, { resolve: (result: never) => void; reject: (error: Error) => void }>();
const listeners = new Set<(notice: Notice) => void>();
let calls = 0;

worker.addEventListener('message', ({ data }: MessageEvent<Answer | Notice>) => {
  if ('notice' in data) {
    for (const listener of listeners) listener(data);
    return;
  }
  const caller = waiting.get(data.call);
  waiting.delete(data.call);
  if ('error' in data) caller?.reject(new WorkerError(data.error));
  else caller?.resolve(data.result as never);
});
worker.addEventListener('error', (event) => {
  for (const { reject } of waiting.values()) reject(new WorkerError({ code: 'ERROR', message: `The worker failed: ${event.message}. Reload the page.` }));
  waiting.clear();
});

/** Asks the worker. */
export function ask<K extends keyof Methods>(method: K, ...args: Methods[K]['args']): Promise<Methods[K]['result']> {
  return new Promise((resolve, reject) => {
    const call: Call = { call: ++calls, method, args };
    waiting.set(call.call, { resolve, reject });
    worker.postMessage(call);
  });
}

/** Hears what the worker tells by itself. @returns ends it */
export function onNotice(listener: (notice: Notice) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
