/** The salvage on Node, where a script may read a damaged log and import nothing else. */

import './start-node.js';

export * from '../salvage/index.js';
