/** Browsers and bundlers: the wasm is fetched by URL and compiled while it streams in. */

import { start } from '../core.js';

export * from '../index.js';

/** Where the core may come from. */
export type InitSource = RequestInfo | URL | Response | BufferSource | WebAssembly.Module;

/**
 * Loads the core. May be called any number of times; concurrent calls share one load, and a failed one may be tried
 * again.
 * @param source where the wasm is; by default the file that the package ships, at the URL that the bundler gave it
 */
export function init(source?: InitSource | Promise<InitSource>): Promise<void> {
  return start(source ?? new URL('../wasm/palimpsest_bg.wasm', import.meta.url));
}
