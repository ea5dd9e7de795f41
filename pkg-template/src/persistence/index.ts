/**
 * Persistence: `attach(store, backend)` saves a store's sessions.
 *
 * A backend is one of `memory()`, `jsonl()` of `palimpsest/jsonl`, or your own {@link StorageBackend}.
 */

export { attach } from './coordinator.js';
export type {
  AttachOptions,
  LoadOptions,
  OpenOptions,
  PersistenceAdapter,
  StateListener,
} from './coordinator.js';
export type { EventBatch, StorageBackend, StoredHeader, StoredLog, StoredPosition, StoredQuery } from './backend.js';
export { ambiguous, collision, conflict, storageError } from './faults.js';
export { memory } from './memory.js';
export { encodeSegment } from './segments.js';
export type { BrokenLog, SessionListing, StoredSession } from './stored.js';
export type { SaveState, Timers } from './writer.js';
