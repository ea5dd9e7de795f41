/**
 * Persistence of a store's sessions, whatever the storage.
 *
 * The adapter listens to the feed and writes behind it: a session's events go to the backend a moment after the first of
 * them, or when somebody flushes. Nothing is written for a session without events. What a new session finds stored under
 * its id is another's, and is neither adopted nor overwritten.
 */

import { FlushError, PalimpsestError } from '../errors.js';
import type { SessionId } from '../events.js';
import type { Unsubscribe } from '../feed.js';
import type { SessionOwner } from '../scope.js';
import { type Session, appendEvents, deliver } from '../session.js';
import { messageOf, named } from '../wording.js';
import type { StorageBackend, StoredPosition } from './backend.js';
import { storageError } from './faults.js';
import { type SessionListing, type StoredSession, listStored, matches, readStored } from './stored.js';
import { type SaveState, SessionWriter, type Timers, type WriterContext } from './writer.js';

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

/**
 * Attaches a storage to a store, or to one of its scopes: `const adapter = attach(store, jsonl({ root }))`. Sessions that
 * are live already are saved as well.
 *
 * Detach a session before it is freed: what it inherited is read from it when it is first written. A session that comes
 * and goes in one step without an event of its own leaves nothing.
 */
export function attach(owner: SessionOwner, backend: StorageBackend, options: AttachOptions = {}): PersistenceAdapter {
  return new Adapter(owner, backend, options);
}

/** A storage at work on a store. */
export interface PersistenceAdapter {
  /**
   * Opens a stored session as a live one. A torn last record is dropped. When a crash left its last turn open, the turn
   * is closed, and the closing events are durable before the promise resolves. A session that this adapter already keeps
   * live is returned as it is; calls at the same time share one promise.
   * @throws (rejects) PalimpsestError `SESSION_NOT_FOUND`; `CORRUPT_LOG`, `UNSUPPORTED_VERSION`, … with line, byte and seq;
   * `SESSION_ALREADY_EXISTS` when another session of this id is live; `STORAGE_FAILED`
   */
  load(id: SessionId, options?: LoadOptions): Promise<Session>;
  /** Reads a stored session, which the caller frees, without repairing or writing anything: storage may be read-only. */
  read(id: SessionId, options?: OpenOptions): Promise<StoredSession>;
  /** Lists what is stored, from headers alone. Broken logs never hide the others. */
  list(): Promise<SessionListing>;
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
   * stays attached, so that it can be tried again. Calls at the same time share one promise.
   */
  close(): Promise<void>;
  /** As `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

class Adapter implements PersistenceAdapter, WriterContext {
  readonly backend: StorageBackend;
  readonly timers: Timers;
  readonly flushWindow: number;
  readonly #owner: SessionOwner;
  readonly #subscriptions: readonly Unsubscribe[];
  /** Those at work: of live sessions, and of gone ones that still have something to save. */
  readonly #writers = new Set<SessionWriter>();
  readonly #byId = new Map<SessionId, SessionWriter>();
  /** Also those of sessions that are gone, and may come back. */
  readonly #bySession = new WeakMap<Session, SessionWriter>();
  /** Writers of sessions created in this very step, which a failing listener may yet undo. */
  readonly #unconfirmed = new Set<SessionWriter>();
  readonly #loading = new Map<string, Promise<Session>>();
  readonly #stateListeners = new Set<StateListener>();
  #closing: Promise<void> | undefined;
  #closed = false;

  constructor(owner: SessionOwner, backend: StorageBackend, { flushWindow = 200, timers = hostTimers }: AttachOptions) {
    this.backend = backend;
    this.timers = timers;
    this.flushWindow = flushWindow;
    this.#owner = owner;
    this.#subscriptions = [
      owner.on('session/created', (session) => {
        this.#created(session);
      }),
      owner.on('session/bytes', (session, firstSeq, count, bytes) => {
        this.#appended(session, firstSeq, count, bytes);
      }),
      owner.on('session/flush', (session) => this.#bySession.get(session)?.flush()),
      owner.on('session/disposed', (session) => {
        this.#gone(session);
      }),
    ];
    for (const session of owner.list()) this.#keep(new SessionWriter(session, { kind: 'adopted' }, this));
  }

  // ------------------------------------------------------------------------------------------------------ the feed

  #keep(writer: SessionWriter): void {
    this.#writers.add(writer);
    this.#byId.set(writer.id, writer);
    this.#bySession.set(writer.session, writer);
  }

  #drop(writer: SessionWriter): void {
    this.#writers.delete(writer);
    if (this.#byId.get(writer.id) === writer) this.#byId.delete(writer.id);
  }

  #created(session: Session): void {
    const known = this.#bySession.get(session);
    if (known) {
      this.#keep(known);
      known.resume();
      return;
    }
    const writer = new SessionWriter(session, { kind: 'new' }, this);
    this.#keep(writer);
    this.#unconfirmed.add(writer);
    queueMicrotask(() => this.#unconfirmed.delete(writer));
  }

  #appended(session: Session, firstSeq: number, count: number, bytes: Uint8Array): void {
    const writer = this.#bySession.get(session);
    // Before `announce` nobody has decided yet that the session stays; its events are read when it is announced.
    if (!writer) return;
    this.#unconfirmed.delete(writer);
    writer.push(firstSeq, count, bytes);
  }

  #gone(session: Session): void {
    const writer = this.#bySession.get(session);
    if (!writer) return;
    if (this.#unconfirmed.delete(writer)) {
      writer.disarm();
      this.#bySession.delete(session);
      this.#drop(writer);
      return;
    }
    writer.leave();
    if (writer.pending && !writer.hopeless) writer.flushLater();
    else this.#drop(writer);
  }

  stateChanged(writer: SessionWriter): void {
    const { id, state } = writer;
    for (const listener of [...this.#stateListeners]) {
      try {
        listener(id, state);
      } catch (error) {
        this.#owner.report(error, writer.session);
      }
    }
    if ((state.status === 'durable' || writer.hopeless) && !this.#isLive(writer)) this.#drop(writer);
  }

  failed(writer: SessionWriter, error: unknown): void {
    this.#owner.report(error, writer.session);
  }

  #isLive({ id, session }: SessionWriter): boolean {
    return this.#owner.get(id) === session;
  }

  // ------------------------------------------------------------------------------------------------------- reading

  load(id: SessionId, { cwd, scope = this.#owner }: LoadOptions = {}): Promise<Session> {
    const key = JSON.stringify([id, cwd]);
    let loading = this.#loading.get(key);
    if (!loading) {
      loading = this.#load(id, cwd, scope).finally(() => this.#loading.delete(key));
      this.#loading.set(key, loading);
    }
    return loading;
  }

  async #load(id: SessionId, cwd: string | null | undefined, scope: SessionOwner): Promise<Session> {
    this.#refuseClosed();
    const earlier = this.#byId.get(id);
    const live = this.#owner.get(id);
    if (live) {
      if (earlier?.session === live && earlier.stored && matches(live.header, cwd)) return live;
      throw new PalimpsestError('SESSION_ALREADY_EXISTS', `${named(id)} is live already: take it by get()`, { session: id });
    }
    // What an earlier instance has not saved yet belongs to the log that is about to be read.
    await earlier?.flush().catch((error: unknown) => {
      if (!earlier.hopeless) throw error;
    });
    const { session, location, committedBytes, tornBytes, closers } = await this.read(id, { cwd });
    try {
      let position: StoredPosition = { seq: session.seq, bytes: committedBytes, torn: tornBytes };
      if (closers.length > 0) {
        appendEvents(session, closers);
        position = await this.#repair(session, location, position);
      }
      this.#refuseClosed();
      const writer = new SessionWriter(session, { kind: 'loaded', position, location }, this);
      this.#bySession.set(session, writer);
      const detach = scope.enter(session);
      try {
        scope.announce(session);
      } catch (error) {
        detach();
        throw error;
      }
      return session;
    } catch (error) {
      session.free();
      throw error;
    }
  }

  async #repair(session: Session, location: string, position: StoredPosition): Promise<StoredPosition> {
    const lines = [session.jsonl(position.seq)];
    const { id, header } = session;
    try {
      return await this.backend.commitRepair({
        id,
        cwd: header.cwd,
        location,
        position,
        header: session.headerLine(),
        count: session.seq - position.seq,
        lines,
        retry: false,
      });
    } catch (error) {
      throw storageError(error, id, location);
    }
  }

  async read(id: SessionId, { cwd }: OpenOptions = {}): Promise<StoredSession> {
    this.#refuseClosed();
    return readStored(this.backend, id, cwd);
  }

  async list(): Promise<SessionListing> {
    this.#refuseClosed();
    return listStored(this.backend);
  }

  // ------------------------------------------------------------------------------------------------ saving, closing

  state(id: SessionId): SaveState | undefined {
    return this.#byId.get(id)?.state;
  }

  on(_name: 'state', listener: StateListener): Unsubscribe {
    const own: StateListener = (id, state) => {
      listener(id, state);
    };
    this.#stateListeners.add(own);
    return () => void this.#stateListeners.delete(own);
  }

  async flush(id?: SessionId): Promise<void> {
    this.#refuseClosed();
    await this.#drain(id);
  }

  async #drain(id?: SessionId): Promise<void> {
    this.#collect(id);
    const writers = [...this.#writers].filter((writer) => id === undefined || writer.id === id);
    const results = await Promise.allSettled(writers.map((writer) => writer.flush()));
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (errors.length === 0) return;
    throw new FlushError(`${errors.length} of ${writers.length} sessions are not saved, flush again: ${messageOf(errors[0])}`, errors);
  }

  #collect(id?: SessionId): void {
    for (const session of this.#owner.list()) if (id === undefined || session.id === id) deliver(session);
  }

  #isBehind(): boolean {
    this.#collect();
    return [...this.#writers].some((writer) => writer.pending);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close().catch((error: unknown) => {
      this.#closing = undefined;
      throw error;
    });
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#loading.values());
    do await this.#drain();
    while (this.#isBehind());
    for (const unsubscribe of this.#subscriptions) unsubscribe();
    this.#closed = true;
    await this.backend.close?.();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #refuseClosed(): void {
    if (this.#closed) throw new PalimpsestError('CLOSED', 'The persistence adapter is closed: attach a new one');
  }
}

const hostTimers: Timers = {
  setTimeout: (callback, ms) => globalThis.setTimeout(callback, ms),
  clearTimeout: (timer) => {
    globalThis.clearTimeout(timer as number | undefined);
  },
};
