/** The worker: all work on logs happens here. */

import { PalimpsestError } from 'palimpsest';
import { FileChangedError } from './byte-store.js';
import { Desk } from './desk.js';

/** A request of the page. */
export interface Call {
  readonly call: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** The answer to one. */
export type Answer =
  | { readonly call: number; readonly result: unknown }
  | { readonly call: number; readonly error: { readonly code: string; readonly message: string } };

const desk = new Desk((notice) => { postMessage(notice); });

addEventListener('message', ({ data }: MessageEvent<Call>) => {
  void answer(data).then((reply) => { postMessage(reply); });
});

async function answer({ call, method, args }: Call): Promise<Answer> {
  try {
    const task = Object.hasOwn(Desk.prototype, method) ? (Desk.prototype as unknown as Record<string, (...args: readonly unknown[]) => unknown>)[method] : undefined;
    if (!task || method === 'constructor') throw new Error(`The worker has no ${method}`);
    return { call, result: await task.apply(desk, [...args]) };
  } catch (error) {
    return { call, error: { code: error instanceof PalimpsestError || error instanceof FileChangedError ? error.code : 'ERROR', message: error instanceof Error ? error.message : String(error) } };
  }
}
