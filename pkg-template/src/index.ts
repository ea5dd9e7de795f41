/// <reference lib="esnext.disposable" preserve="true" />
/**
 * palimpsest: the event-sourced session log for LLM agents.
 *
 * The map:
 * - `events.ts` the vocabulary: every event's payload, messages, headers. `errors.ts` what can go wrong.
 * - `session.ts` one log: append, derive, time travel (`view.ts`). `store.ts` live sessions, their feed, scopes, forks.
 * - `reader.ts` a stored log's bytes become a session; `open.ts` a session whose bytes stay where they are. `header.ts`, `repair.ts` pure functions over headers and events.
 * - `encode.ts` the walk that checks, snapshots and writes a value; `records.ts`, `scratch.ts` how it reaches the core.
 * - `assembler.ts` a streamed answer becomes a message. `providers/` requests and answers of model providers.
 * - `position.ts` where a log stands. `invariants/` the rules of correct logs. `compaction/` summaries and pruning.
 * - `core.ts` the wasm core; `entry/` how each host starts it. `persistence/` where logs are stored. `import/` logs of
 *   other agents.
 *
 * Three promises: what is logged never changes; a refused call leaves everything as it was; what goes in comes out the
 * same.
 */

export * from './errors.js';
export * from './events.js';
export { isJsonValue } from './encode.js';
export { Session } from './session.js';
export type { ChangeCursor, HistoryChange } from './derived.js';
export { positionOf, type LogPosition } from './position.js';
export { SessionView, type ModelRequest, type SurfaceSnapshot } from './view.js';
export * from './store.js';
export { BlockAssembler } from './assembler.js';
export { SessionReader, readHeaderLine, type LoadedSession } from './reader.js';
export { openBlob, openSource, type LogSource, type OpenLogOptions } from './open.js';
export { applyHeaderDelta, canonicalHeader, diffHeader, foldRequestHeader, headerEquals } from './header.js';
export { interruptedTurnClosers, isToolPairingBalanced } from './repair.js';
