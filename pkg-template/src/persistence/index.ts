/**
 * Persistence: `attach(store, backend)` saves a store's sessions.
 *
 * A backend is one of `memory()`, `jsonl()` of `palimpsest/jsonl`, `sqlite()` of `palimpsest/sqlite`, `indexeddb()` of
 * `palimpsest/indexeddb`, or your own {@link StorageBackend}.
 */

export { attach } from './coordinator.js';
export type {
  AttachOptions,
  CloseOptions,
  FollowOptions,
  ImportedLog,
  LoadOptions,
  OpenOptions,
  PersistenceAdapter,
  StateListener,
  StoredForkOptions,
} from './adapter.js';
export type {
  EventBatch,
  LogName,
  SessionLock,
  StorageBackend,
  StoredFork,
  StoredHeader,
  StoredLog,
  StoredPosition,
  StoredQuery,
} from './backend.js';
export { ambiguous, collision, conflict, locked, refuseBoundary, refuseOpenTurn, storageError } from './faults.js';
export type { LockHolder } from './faults.js';
export { memory } from './memory.js';
export { encodeSegment } from './segments.js';
export type { BrokenLog, SessionListing, StoredSession } from './stored.js';
export type { Timers } from './timers.js';
export type { SaveState } from './writer.js';
