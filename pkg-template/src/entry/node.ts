/** Node: the core is there as soon as the import is, read from the file beside this one. */

import { readFileSync } from 'node:fs';
import { startSync } from '../core.js';

startSync(readFileSync(new URL('../wasm/palimpsest_bg.wasm', import.meta.url)));

export * from '../index.js';

/** Nothing to wait for on Node; the same call as in a browser. */
export function init(): Promise<void> {
  return Promise.resolve();
}
