/**
 * Brings one session's events into storage.
 *
 * Invariants: events reach the backend in order and once; at most one operation runs at a time; what is not durable is
 * kept here, or can be read from the live session, until it is.
 */

import type { PalimpsestError } from '../errors.js';
import type { SessionId } from '../events.js';
import { pieceAt, piecesOf } from '../pieces.js';
import type { Session } from '../session.js';
import type { EventBatch, SessionLock, StorageBackend, StoredPosition } from './backend.js';
import { LineMeter, beginsWith } from './bytes.js';
import { collision, storageError } from './faults.js';
import type { Timers } from './timers.js';

/** How well a session is saved. `durableSeq` is the last event that is durable, -1 when none is. */
export type SaveState =
  | { readonly status: 'durable'; readonly durableSeq: number }
  | { readonly status: 'pending'; readonly durableSeq: number }
  | { readonly status: 'failing'; readonly durableSeq: number; readonly error: PalimpsestError };

/** What a writer shares with its coordinator. */
export interface WriterContext {
  readonly backend: StorageBackend;
  readonly timers: Timers;
  /** Milliseconds from the first pending event to the write that nobody has asked for. */
  readonly flushWindow: number;
  stateChanged(writer: SessionWriter): void;
  /** A write that nobody waits for has failed, after the one before it had succeeded. */
  failed(writer: SessionWriter, error: unknown): void;
}

/** Where a session's storage stands when its writer is made. */
export type Origin =
  /** The session is new: whatever is stored under its id is another's. */
  | { readonly kind: 'new' }
  /** The session was live before anybody listened: what is stored may be its own beginning. */
  | { readonly kind: 'adopted' }
  /** The session was read from storage. */
  | { readonly kind: 'loaded'; readonly position: StoredPosition; readonly location: string; readonly lock: SessionLock | undefined };

export class SessionWriter {
  readonly id: SessionId;
  readonly session: Session;
  readonly #context: WriterContext;
  readonly #header: Uint8Array;
  readonly #cwd: string | undefined;

  #origin: Origin['kind'];
  /** Events that the session had when its writer was made: as far as a log stored before can go. */
  readonly #inherited: number;
  #location: string | undefined;
  /** Held from the first write on, or since the session was loaded, until the session is given up. */
  #lock: SessionLock | undefined;
  #position: StoredPosition | undefined;
  /** Events before this seq are durable. */
  #durable = 0;
  /** Events from here on are in `#chunks`; those between `#durable` and here are read from the session when needed. */
  #chunksFrom: number;
  #next: number;
  readonly #chunks = new Map<number, { readonly count: number; readonly bytes: Uint8Array }>();

  #queue: Promise<void> = Promise.resolve();
  #timer: unknown;
  #error: PalimpsestError | undefined;
  #retry = false;

  constructor(session: Session, origin: Origin, context: WriterContext) {
    this.id = session.id;
    this.session = session;
    this.#context = context;
    this.#header = session.headerLine();
    this.#cwd = session.header.cwd;
    this.#origin = origin.kind;
    if (origin.kind === 'loaded') {
      this.#position = origin.position;
      this.#location = origin.location;
      this.#lock = origin.lock;
      this.#durable = origin.position.seq;
    }
    this.#next = this.#chunksFrom = this.#inherited = session.seq;
    if (this.pending) this.#arm();
  }

  get pending(): boolean {
    return this.#durable < this.#next;
  }

  /** True when the storage holds this session's log. */
  get stored(): boolean {
    return this.#position !== undefined;
  }

  /** True when no retry can help: what is stored is another's, or another has changed it. */
  get hopeless(): boolean {
    const { code } = this.#error ?? {};
    // Who holds the lock of a new session's name has stored another one under it.
    if (code === 'SESSION_LOCKED') return this.#origin === 'new';
    return code === 'SESSION_COLLISION' || code === 'WRITE_CONFLICT';
  }

  get state(): SaveState {
    const durableSeq = this.#durable - 1;
    if (this.#error) return { status: 'failing', durableSeq, error: this.#error };
    return { status: this.pending ? 'pending' : 'durable', durableSeq };
  }

  /** Takes the next events. */
  push(firstSeq: number, count: number, bytes: Uint8Array): void {
    const end = firstSeq + count;
    if (end <= this.#next) return;
    const wasPending = this.pending;
    // Bytes that begin elsewhere (the session was out of the store, or others were to be told first) are read anew.
    const fits = firstSeq === this.#next;
    this.#chunks.set(this.#next, { count: end - this.#next, bytes: fits ? bytes : this.session.jsonl(this.#next, end) });
    this.#next = end;
    this.#arm();
    if (!wasPending) this.#context.stateChanged(this);
  }

  /** Catches up with a session that may have grown while nobody listened. */
  resume(): void {
    const { seq } = this.session;
    for (const { first, count, bytes } of piecesOf(this.session, this.#next, seq)) this.push(first, count, bytes);
  }

  /** The session leaves the store and may be freed: what is still to be read from it is copied. */
  leave(): void {
    for (const { first, count, bytes } of piecesOf(this.session, this.#durable, this.#chunksFrom)) this.#chunks.set(first, { count, bytes });
    this.#chunksFrom = Math.min(this.#chunksFrom, this.#durable);
  }

  /** Resolves once all that is known now is durable; rejects with the failure, and keeps everything for the next call. */
  flush(): Promise<void> {
    this.disarm();
    const target = this.#next;
    const run = this.#queue.then(() => (this.#durable < target ? this.#write() : undefined));
    this.#queue = run.catch(() => undefined);
    return run;
  }

  /** Writes what is pending without anybody waiting for it. */
  flushLater(): void {
    const wasFailing = this.#error !== undefined;
    this.flush().catch((error: unknown) => {
      if (!wasFailing) this.#context.failed(this, error);
    });
  }

  /** Lets others write to the session, after what is under way. A later write takes the lock again. */
  release(): Promise<void> {
    const release = this.#queue.then(async () => {
      const lock = this.#lock;
      this.#lock = undefined;
      await lock?.release();
    });
    this.#queue = release.catch(() => undefined);
    return release;
  }

  disarm(): void {
    this.#context.timers.clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #arm(): void {
    this.#timer ??= this.#context.timers.setTimeout(() => {
      this.#timer = undefined;
      this.flushLater();
    }, this.#context.flushWindow);
  }

  async #write(): Promise<void> {
    try {
      this.#lock ??= await this.#context.backend.lock?.({ id: this.id, cwd: this.#cwd, location: this.#location });
      if (this.#origin === 'adopted') await this.#recognise();
      const to = this.#next;
      if (this.#durable < to) {
        this.#position = await this.#context.backend.appendBatch(this.#batch(this.#durable, to));
        this.#advance(to);
      }
      this.#origin = 'loaded';
      this.#retry = false;
      this.#error = undefined;
    } catch (error) {
      this.#error = storageError(error, this.id);
      // A refusal has left nothing that could be taken for this session's own.
      if (this.#error.code !== 'SESSION_COLLISION' && this.#error.code !== 'SESSION_LOCKED') this.#retry = true;
      throw this.#error;
    } finally {
      this.#context.stateChanged(this);
    }
  }

  #batch(from: number, to: number): EventBatch {
    const lines = { [Symbol.iterator]: () => this.#lines(from, to) };
    const { id } = this;
    return { id, cwd: this.#cwd, location: this.#location, position: this.#position, header: this.#header, count: to - from, lines, retry: this.#retry };
  }

  *#lines(from: number, to: number): Generator<Uint8Array, void, undefined> {
    for (let seq = from; seq < to; ) {
      const chunk = this.#chunks.get(seq);
      if (chunk) {
        yield chunk.bytes;
        seq += chunk.count;
      } else {
        // One at a time: the session may leave between two of them.
        const { count, bytes } = pieceAt(this.session, seq, this.#chunksFrom);
        yield bytes;
        seq += count;
      }
    }
  }

  #advance(to: number): void {
    this.#durable = to;
    for (const seq of this.#chunks.keys()) if (seq < to) this.#chunks.delete(seq);
    this.#chunksFrom = Math.max(this.#chunksFrom, to);
  }

  /** The session was live before it was persisted: a stored log is its own when it is byte for byte its beginning. */
  async #recognise(): Promise<void> {
    const stored = await this.#context.backend.loadStored({ id: this.id, cwd: this.#cwd ?? null });
    if (stored) {
      const meter = new LineMeter();
      const isOwn = await beginsWith(this.#log(), meter.over(stored.chunks));
      if (!isOwn || meter.lines === 0) throw collision(this.id, stored.location);
      this.#position = { seq: meter.lines - 1, bytes: meter.bytes, torn: meter.rest };
      this.#location = stored.location;
      this.#advance(this.#position.seq);
    }
    this.#origin = stored ? 'loaded' : 'new';
  }

  *#log(): Generator<Uint8Array, void, undefined> {
    yield this.#header;
    yield* this.#lines(0, this.#inherited);
  }
}
