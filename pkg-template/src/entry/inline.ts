/** The core inside the JavaScript, for places where a second file cannot be had. A third larger; opt in by importing it. */

import { start } from '../core.js';
import { wasmBase64 } from '../wasm/inline.js';

export * from '../index.js';

/** Compiles the inlined core. May be called any number of times. */
export function init(): Promise<void> {
  const bytes = Uint8Array.from(atob(wasmBase64), (char) => char.charCodeAt(0));
  return start(bytes);
}
