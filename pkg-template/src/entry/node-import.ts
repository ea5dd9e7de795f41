/** The imports on Node, where a script may import a log and nothing else. */

import './start-node.js';

export * from '../import/index.js';
