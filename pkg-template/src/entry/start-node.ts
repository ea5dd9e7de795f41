/** Starts the core on Node, from the file that the package ships. */

import { readFileSync } from 'node:fs';
import { startSync } from '../core.js';

startSync(readFileSync(new URL('../wasm/palimpsest_bg.wasm', import.meta.url)));
