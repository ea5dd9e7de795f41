/**
 * Persistence of a store's sessions, whatever the storage.
 *
 * The adapter listens to the feed and writes behind it: a session's events go to the backend a moment after the first of
 * them, or when somebody flushes. Nothing is written for a session without events. What a new session finds stored under
 * its id is another's, and is neither adopted nor overwritten.
 */

import { isObject, need, needAmount, needObject } from '../arguments.js';
import { FlushError, PalimpsestError } from '../errors.js';
import { type SessionEvent, type SessionHeader, SessionId } from '../events.js';
import type { Unsubscribe } from '../feed.js';
import type { SessionOwner } from '../scope.js';
import { type Session, appendEvents, deliver } from '../session.js';
import { messageOf, named } from '../wording.js';
import type {
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
import type { SessionLock, StorageBackend, StoredPosition } from './backend.js';
import type { Chunks } from './bytes.js';
import { storageError } from './faults.js';
import { followStored } from './follow.js';
import { deleteStored, exportStored, forkStored, importLog } from './manage.js';
import { type SessionListing, type StoredSession, listStored, matches, readStored } from './stored.js';
import { type Timers, hostTimers } from './timers.js';
import { type SaveState, SessionWriter, type WriterContext } from './writer.js';

/** What every backend has. */
const METHODS = ['loadStored', 'appendBatch', 'commitRepair', 'list'] as const satisfies readonly (keyof StorageBackend)[];

/**
 * Attaches a storage to a store, or to one of its scopes: `const adapter = attach(store, jsonl({ root }))`. Sessions that
 * are live already are saved as well, and so is what a session that leaves the store, or is freed, has not saved yet. One that
 * comes and goes in one step without an event of its own leaves nothing.
 * @throws PalimpsestError `INVALID_ARGUMENT`, `CLOSED`
 */
export function attach(owner: SessionOwner, backend: StorageBackend, options: AttachOptions = {}): PersistenceAdapter {
  need(isObject(owner) && typeof owner.on === 'function' && typeof owner.list === 'function', 'owner', owner, 'a SessionStore or one of its scopes');
  const holds = isObject(backend) && METHODS.every((method) => typeof backend[method] === 'function');
  need(holds, 'backend', backend, `a storage with the methods ${METHODS.join(', ')}`);
  needObject('options', options);
  if (options.flushWindow !== undefined) needAmount('options.flushWindow', options.flushWindow);
  return new Adapter(owner, backend, options);
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
  /** Locks on their way back: whoever wants one waits for them. */
  readonly #releases = new Set<Promise<void>>();
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
    this.#release(writer);
  }

  /** A lock that cannot be given back now is given back when the backend closes. */
  #release(writer: SessionWriter): void {
    const release = writer.release().catch(() => undefined);
    this.#releases.add(release);
    void release.then(() => this.#releases.delete(release));
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
    SessionId(id);
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
    const lock = await this.#lock(id, cwd);
    try {
      return await this.#open(id, cwd, scope, lock);
    } catch (error) {
      await lock?.release().catch(() => undefined);
      throw error;
    }
  }

  /** The lock of a stored session. */
  async #lock(id: SessionId, cwd: string | null | undefined): Promise<SessionLock | undefined> {
    if (!this.backend.lock) return undefined;
    await Promise.all(this.#releases);
    try {
      const stored = await this.backend.loadStored({ id, cwd });
      return stored && (await this.backend.lock({ id, cwd: cwd ?? undefined, location: stored.location }));
    } catch (error) {
      throw storageError(error, id);
    }
  }

  async #open(id: SessionId, cwd: string | null | undefined, scope: SessionOwner, lock: SessionLock | undefined): Promise<Session> {
    const { session, location, committedBytes, tornBytes, closers } = await this.read(id, { cwd });
    try {
      let position: StoredPosition = { seq: session.seq, bytes: committedBytes, torn: tornBytes };
      if (closers.length > 0) {
        appendEvents(session, closers);
        position = await this.#repair(session, location, position);
      }
      this.#refuseClosed();
      const writer = new SessionWriter(session, { kind: 'loaded', position, location, lock }, this);
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

  async *follow(id: SessionId, options: FollowOptions = {}): AsyncGenerator<SessionEvent, void, undefined> {
    this.#refuseClosed();
    yield* followStored(this.backend, this.timers, id, options, () => this.#closed);
  }

  // ------------------------------------------------------------------------------------------------- stored sessions

  async fork(id: SessionId, boundary?: number, { cwd, childId }: StoredForkOptions = {}): Promise<SessionHeader> {
    this.#refuseClosed();
    if (childId !== undefined) this.#refuseLive(childId);
    await this.#settle(id);
    return forkStored(this.backend, id, cwd, boundary, childId);
  }

  async delete(id: SessionId, { cwd }: OpenOptions = {}): Promise<void> {
    this.#refuseClosed();
    this.#refuseLive(id, cwd);
    await this.#settle(id);
    const lock = await this.#lock(id, cwd);
    try {
      await deleteStored(this.backend, id, cwd);
    } finally {
      await lock?.release();
    }
  }

  async export(id: SessionId, { cwd }: OpenOptions = {}): Promise<Uint8Array> {
    await this.#settle(id);
    return exportStored(await this.read(id, { cwd }));
  }

  async import(bytes: Uint8Array | Chunks): Promise<ImportedLog> {
    this.#refuseClosed();
    return importLog(this.backend, bytes instanceof Uint8Array ? [bytes] : bytes, (header) => {
      this.#refuseLive(header.id);
    });
  }

  /** What this adapter has yet to save of a session belongs to what is stored. */
  async #settle(id: SessionId): Promise<void> {
    SessionId(id);
    await Promise.allSettled(this.#loading.values());
    const writer = this.#byId.get(id);
    const live = this.#owner.get(id);
    if (live) deliver(live);
    await writer?.flush().catch((error: unknown) => {
      if (!writer.hopeless) throw error;
    });
  }

  #refuseLive(id: SessionId, cwd?: string | null): void {
    const live = this.#owner.get(id);
    if (!live || !matches(live.header, cwd)) return;
    throw new PalimpsestError('SESSION_ALREADY_EXISTS', `${named(id)} is live: detach it first, or choose another id`, { session: id });
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

  close(options?: CloseOptions): Promise<void> {
    this.#closing ??= this.#close(options).catch((error: unknown) => {
      this.#closing = undefined;
      throw error;
    });
    return this.#closing;
  }

  async #close({ abandon = false }: CloseOptions = {}): Promise<void> {
    await Promise.allSettled(this.#loading.values());
    try {
      do await this.#drain();
      while (this.#isBehind());
    } catch (error) {
      if (!abandon) throw error;
    }
    for (const unsubscribe of this.#subscriptions) unsubscribe();
    this.#closed = true;
    for (const writer of this.#writers) this.#release(writer);
    // What comes after is saved by nobody, and nothing is said about it.
    this.#writers.clear();
    this.#byId.clear();
    await Promise.all(this.#releases);
    try {
      await this.backend.close?.();
    } catch (error) {
      if (error instanceof PalimpsestError) throw error;
      throw new PalimpsestError('STORAGE_FAILED', `All is saved, but the storage could not be closed, try again: ${messageOf(error)}`, { cause: error });
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #refuseClosed(): void {
    if (this.#closed) throw new PalimpsestError('CLOSED', 'The persistence adapter is closed: attach a new one');
  }
}
