/** What a user of persistence sees: options, and the adapter that `attach` gives. */

import type { SessionEvent, SessionHeader, SessionId } from '../events.js';
import type { Unsubscribe } from '../feed.js';
import type { SessionOwner } from '../scope.js';
import type { Session } from '../session.js';
import type { Chunks } from './bytes.js';
import type { SessionListing, StoredSession } from './stored.js';
import type { Timers } from './timers.js';
import type { SaveState } from './writer.js';

/** How to attach a storage. */
export interface AttachOptions {
  /** Milliseconds from the first pending event to the write that nobody has asked for; 200 when absent. */
  readonly flushWindow?: number | undefined;
  /** Timers to use in place of the host's. */
  readonly timers?: Timers | undefined;
}

/** Which stored session to open. */
export interface OpenOptions {
  /** The working directory it belongs to; `null` for none. Only needed when several hold a session of this id. */
  readonly cwd?: string | null | undefined;
}

/** How to load a stored session. */
export interface LoadOptions extends OpenOptions {
  /** The scope that shall own the session; the store or scope that the storage is attached to when absent. */
  readonly scope?: SessionOwner | undefined;
}

/** Told when the state of a session's storage changes. */
export type StateListener = (id: SessionId, state: SaveState) => void;

/** How to follow a stored session. */
export interface FollowOptions extends OpenOptions {
  /** Seq of the first event that is wanted; 0 when absent. */
  readonly from?: number | undefined;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds after which to look again though nothing was heard; 1000 when absent. */
  readonly interval?: number | undefined;
}

/** How to fork a stored session. */
export interface StoredForkOptions extends OpenOptions {
  /** Id of the child; a new one when absent. */
  readonly childId?: SessionId | undefined;
}

/** A log that was imported. */
export interface ImportedLog {
  readonly header: SessionHeader;
  /** How many events it has. */
  readonly events: number;
  /** Length of a torn last record, which was left out. */
  readonly tornBytes: number;
}

/** How to close. */
export interface CloseOptions {
  /**
   * Gives up, after one more try, what cannot be saved: it stays in memory only. For what `state` says is failing for
   * good, such as an id that is too long for the file system.
   */
  readonly abandon?: boolean | undefined;
}

/** A storage at work on a store. */
export interface PersistenceAdapter {
  /**
   * Opens a stored session as a live one. A torn last record is dropped. When a crash left its last turn open, the turn
   * is closed, and the closing events are durable before the promise resolves. A session that this adapter already keeps
   * live is returned as it is; calls at the same time share one promise.
   * @throws (rejects) PalimpsestError `SESSION_NOT_FOUND`; `CORRUPT_LOG`, `UNSUPPORTED_VERSION`, … with line, byte and seq;
   * `SESSION_ALREADY_EXISTS` when another session of this id is live; `SESSION_LOCKED` when somebody else writes to it;
   * `STORAGE_FAILED`
   */
  load(id: SessionId, options?: LoadOptions): Promise<Session>;
  /** Reads a stored session, which the caller frees, without repairing or writing anything: storage may be read-only. */
  read(id: SessionId, options?: OpenOptions): Promise<StoredSession>;
  /** Lists what is stored, from headers alone. Broken logs never hide the others. */
  list(): Promise<SessionListing>;
  /**
   * The stored events of a session from `from` on, and then each new one once it is stored, whoever writes it: every
   * event once, in order. Ends when the signal is aborted or the loop is left; nothing is written or repaired.
   * @throws (rejects) PalimpsestError `SESSION_NOT_FOUND`, also when it is deleted; `CORRUPT_LOG`, …
   */
  follow(id: SessionId, options?: FollowOptions): AsyncGenerator<SessionEvent, void, undefined>;
  /**
   * Stores a child that begins with the events of a stored session through `boundary` (inclusive; the last one when
   * absent). Neither of them becomes live: `load` the child to go on with it.
   * @returns the child's header
   * @throws (rejects) SessionForkError as `store.fork`; PalimpsestError `SESSION_COLLISION` when the child's id is taken
   */
  fork(id: SessionId, boundary?: number, options?: StoredForkOptions): Promise<SessionHeader>;
  /**
   * Removes a stored session for good. Forks keep what they inherited from it.
   * @throws (rejects) PalimpsestError `SESSION_NOT_FOUND`; `SESSION_ALREADY_EXISTS` while it is live here,
   * `SESSION_LOCKED` while it is elsewhere
   */
  delete(id: SessionId, options?: OpenOptions): Promise<void>;
  /** A stored session as JSONL bytes: its header line and every whole event, unchanged. */
  export(id: SessionId, options?: OpenOptions): Promise<Uint8Array>;
  /**
   * Stores a session from JSONL bytes, as they are. A torn last record is left out and counted.
   * @throws (rejects) PalimpsestError `SESSION_COLLISION` when one of its id and working directory is stored,
   * `SESSION_ALREADY_EXISTS` when one of its id is live; `CORRUPT_LOG`, … with line, byte and seq
   */
  import(bytes: Uint8Array | Chunks): Promise<ImportedLog>;
  /** How well a live session, or one whose last events are still on their way, is saved; undefined for any other. */
  state(id: SessionId): SaveState | undefined;
  /** Listens to changes of state, so that an interface can show what is not saved. */
  on(name: 'state', listener: StateListener): Unsubscribe;
  /**
   * Resolves once everything appended so far, to all sessions or to one, is durable.
   * @throws (rejects) FlushError; everything is kept, and the next flush tries again
   */
  flush(id?: SessionId): Promise<void>;
  /**
   * Saves everything and lets go of the store and the storage. When something cannot be saved it rejects and the adapter
   * stays attached, so that it can be tried again, or be closed with `abandon` when it never will. Calls at the same
   * time share one promise.
   */
  close(options?: CloseOptions): Promise<void>;
  /** As `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
