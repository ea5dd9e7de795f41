/** Workers: wasm is imported as a module there, compiled already. */

import { startSync } from '../core.js';
import module from '../wasm/palimpsest_bg.wasm';

startSync(module);

export * from '../index.js';

/** Nothing to wait for in a Worker; the same call as in a browser. */
export function init(): Promise<void> {
  return Promise.resolve();
}
