/** Node: the core is there as soon as the import is. */

import './start-node.js';

export * from '../index.js';

/** Nothing to wait for on Node; the same call as in a browser. */
export function init(): Promise<void> {
  return Promise.resolve();
}
