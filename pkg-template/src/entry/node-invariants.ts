/** The invariants on Node, where a script may check a log and import nothing else. */

import './start-node.js';

export * from '../invariants/index.js';
