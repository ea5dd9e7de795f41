/**
 * The conformance suite for storage: what every backend of `palimpsest/persistence` must do, as cases that run anywhere.
 *
 * With node:test: `conformance(test, { name: 'mine', setup: () => ({ open: () => myBackend() }) })`. With any other runner,
 * or in a browser, take the cases from {@link casesFor} and run them. The core must have been started: import `palimpsest`
 * first, and await its `init()` in a browser.
 */

export { type CaseToRun, type TestFunction, casesFor, conformance } from './run.js';
export { CASES } from './cases.js';
export type { Capability, ConformanceCase, Decide, Setup, StorageEntry, StorageUnderTest, Verdict } from './entry.js';
