/**
 * What a storage must do to hold sessions. The coordinator (`attach`) does everything else: it batches, orders, retries,
 * repairs and reports. A backend keeps no list of sessions and starts nothing on its own.
 *
 * A stored log is a header line and one line per event, UTF-8, each ending in `"\n"`: the bytes that a session hands out
 * and takes back. A backend need not keep them in that form, but must give back the same bytes.
 */

import type { SessionId } from '../events.js';

/** Which stored session. Sessions of different working directories are different, even under one id. */
export interface StoredQuery {
  readonly id: SessionId;
  /** Absent: in whichever working directory it is. `null`: stored without one. */
  readonly cwd?: string | null | undefined;
}

/** A stored session that was found. */
export interface StoredLog {
  /** Where it is, for messages and for {@link EventBatch.location}: a path, or a name inside a database. */
  readonly location: string;
  /** Its bytes, in chunks of any size that may split lines. A chunk is only read before the next one is asked for. */
  readonly chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** How far a stored session is known to reach. */
export interface StoredPosition {
  /** Seq of the next event. */
  readonly seq: number;
  /** Length in bytes, header line included, up to there; 0 where the storage has no such length. */
  readonly bytes: number;
  /** Length of a torn last record after it, which was never acknowledged and goes with the next write. */
  readonly torn: number;
}

/** Events to store, as whole lines. */
export interface EventBatch {
  readonly id: SessionId;
  readonly cwd?: string | undefined;
  /** The `location` of the log that was loaded; absent for one that this writer has created. */
  readonly location?: string | undefined;
  /** Where the stored log ends; absent when there is none yet and this batch must create it. */
  readonly position?: StoredPosition | undefined;
  /** The header line. Written when the log is created. */
  readonly header: Uint8Array;
  /** How many events follow. */
  readonly count: number;
  /** Their lines, some to a chunk. May be walked more than once; chunks are made on the way and not kept. */
  readonly lines: Iterable<Uint8Array>;
  /**
   * An earlier attempt at the same position failed, and may have left a part of these bytes, or all of them. Whatever
   * else is found there belongs to somebody else.
   */
  readonly retry: boolean;
}

/** Which log to write: where it was found, or else where a session of this id and working directory belongs. */
export type LogName = Pick<EventBatch, 'id' | 'cwd' | 'location'>;

/** The right to write to one session, which nobody else has until it is given back. */
export interface SessionLock {
  release(): Promise<void>;
}

/** A stored session to begin with the events of another one. */
export interface StoredFork {
  /** Location of the log whose events are inherited. */
  readonly source: string;
  readonly sourceId: SessionId;
  /** Seq of the last inherited event; absent for all of them. */
  readonly boundary: number | undefined;
  readonly id: SessionId;
  readonly cwd?: string | undefined;
  /** The child's header line, given how many events it inherits. */
  readonly header: (seedLength: number) => Uint8Array;
}

/** One entry of a listing: the beginning of a stored log, or why it cannot be read. */
export type StoredHeader =
  | { readonly location: string; readonly head: Uint8Array }
  | { readonly location: string; readonly error: unknown };

/** Storage for sessions. The coordinator never runs two operations on one session at the same time. */
export interface StorageBackend {
  /**
   * Finds a stored session.
   * @returns undefined when there is none
   * @throws PalimpsestError `SESSION_COLLISION` when several match and the query names no working directory
   */
  loadStored(query: StoredQuery): Promise<StoredLog | undefined>;
  /**
   * Stores a batch; resolves once it is durable, with the position of the next one. All or nothing where the storage
   * can; else a reader may find some whole events of a batch that failed.
   * @throws PalimpsestError `SESSION_COLLISION` when the log must be created and exists, `WRITE_CONFLICT` when it does
   * not end at `position`; any other error means that the storage failed and that the batch may be tried again
   */
  appendBatch(batch: EventBatch): Promise<StoredPosition>;
  /** As `appendBatch`, for the events that close a turn which a crash left open; the torn record goes in the same step. */
  commitRepair(batch: EventBatch): Promise<StoredPosition>;
  /** Every stored session, good or broken, by the first bytes of its log: enough for the header line if there is one. */
  list(): AsyncIterable<StoredHeader>;
  /** Gives up what the backend holds. Called once, when nothing is pending. */
  close?(): Promise<void>;

  // What follows a backend may leave out; the coordinator then does without, or does it by the operations above.

  /**
   * Becomes the only writer of a session, at once or not at all. Whoever held it and is gone does not count. Readers
   * never ask. Without this method, two writers meet at the conditions of `appendBatch` alone.
   * @returns undefined where nothing can be written anyway; asked again before the first write
   * @throws PalimpsestError `SESSION_LOCKED` naming the holder (see `locked`)
   */
  lock?(log: LogName): Promise<SessionLock | undefined>;
  /** As `loadStored`, from `position` on; may be lazy. For `follow`, which else reads from the beginning each time. */
  loadTail?(location: string, position: StoredPosition): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /**
   * Calls `changed` when the log may have grown, rather too often than too seldom: `follow` looks again from time to
   * time in any case. Returns the function that ends it.
   */
  watch?(location: string, changed: () => void): () => void;
  /**
   * Stores a session that begins with another's events without moving them through this program. Forks by copying when
   * absent. Durable when it resolves.
   * @throws PalimpsestError `SESSION_COLLISION`; `INVALID_BOUNDARY` or `OPEN_TURN` (see `refuseBoundary`, `refuseOpenTurn`)
   */
  fork?(fork: StoredFork): Promise<void>;
  /** Removes a stored session for good. What others inherited from it stays theirs. */
  delete?(log: LogName & { readonly location: string }): Promise<void>;
}
