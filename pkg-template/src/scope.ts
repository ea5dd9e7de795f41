/** Owners of sessions: the verbs that a store and its scopes share, and the scope. */

import { need, needObject } from './arguments.js';
import { FlushError, PalimpsestError, SessionForkError } from './errors.js';
import { SESSION_FORMAT_VERSION, type SessionEvent, type SessionHeader, SessionId } from './events.js';
import type { FeedName, SessionFeed, Unsubscribe } from './feed.js';
import type { Entry, Owner, Registry } from './registry.js';
import { Session, forkSession, isTurnEnd } from './session.js';
import { messageOf, named } from './wording.js';

/** What a session is created with, beside its id and version. */
export interface SessionMeta {
  /** Absolute path of the working directory: POSIX, with a drive letter, or UNC. */
  readonly cwd?: string | undefined;
  /** The session that the seed came from. */
  readonly parentSession?: SessionId | undefined;
  /** Milliseconds since 1970; now when absent. */
  readonly createdAt?: number | undefined;
  /** How many events of the seed were inherited. */
  readonly seedLength?: number | undefined;
}

/** How to create a session. */
export interface CreateOptions {
  /** Events to begin with; held to the same rules as `append`. */
  readonly seed?: readonly SessionEvent[] | undefined;
  readonly meta?: SessionMeta | undefined;
}

/** Takes an entered session out of the store; safe to call again, and harmless to a later session of the same id. */
export type Detach = () => void;

/** What a store and a scope have in common: the verbs that make, own and watch sessions. */
export abstract class SessionOwner {
  /** Name of the scope; `'store'` for the store itself. */
  readonly name: string;
  /** @internal */
  protected readonly registry: Registry;
  /** @internal */
  protected readonly owner: Owner;
  #disposing: Promise<void> | undefined;

  /** @internal */
  constructor(registry: Registry, owner: Owner) {
    this.registry = registry;
    this.owner = owner;
    this.name = owner.name;
  }

  /** The live session of this id that belongs here. A store answers for all its scopes. */
  abstract get(id: SessionId): Session | undefined;

  /** The live sessions that belong here, in the order in which they entered. A store lists those of all its scopes. */
  abstract list(): Session[];

  /**
   * Creates a live session.
   * @param id the next free `session-<n>` when absent; with persistence, choose ids that are unique for ever
   * @throws PalimpsestError `SESSION_ALREADY_EXISTS`, `INVALID_ID`, `INVALID_CWD`, `INVALID_HEADER`, `INVALID_ARGUMENT`,
   * or what is wrong with the seed. Throws what a `session/created` listener throws, and the session is taken out again.
   */
  create(id?: SessionId, options?: CreateOptions): Session {
    return this.#publish(this.prepare(id, options));
  }

  /** Makes a session as `create` does, but leaves it out of the store: nobody hears of it until it is entered. */
  prepare(id?: SessionId, options: CreateOptions = {}): Session {
    this.refuseClosed();
    needObject('options', options);
    const { seed, meta = {} } = options;
    needObject('options.meta', meta);
    if (id !== undefined) this.registry.refuseTaken(SessionId(id));
    const chosen = id ?? this.registry.nextId();
    return new Session(chosen, seed, headerOf(chosen, meta));
  }

  /**
   * Puts a session in: from now on its appends are told, and it belongs to this owner. It is not announced, so that the
   * caller can first arrange for the returned `detach` to run.
   * @throws PalimpsestError `SESSION_ALREADY_EXISTS` when the id has become live since `prepare`; `INVALID_ARGUMENT`
   */
  enter(session: Session): Detach {
    this.refuseClosed();
    need((session as unknown) instanceof Session, 'session', session, 'a session of this package');
    const entry = this.registry.enter(session, this.owner);
    return () => {
      this.registry.detach(entry);
    };
  }

  /**
   * Tells `session/created` of an entered session, once. A listener's error is thrown; the caller then detaches.
   * @throws PalimpsestError `SESSION_NOT_LIVE`
   */
  announce(session: Session): void {
    this.registry.announce(this.registry.live(session, 'announce'));
  }

  /**
   * Takes a live session out: its last bytes are delivered and, when it was announced, `session/disposed` is told. It
   * stays readable; `free()` gives its memory back. Nothing happens when the session is not live here. Call `flush`
   * first to be sure that all is durable.
   */
  detach(session: Session): void {
    const entry = this.registry.entryOf(session);
    if (entry) this.registry.detach(entry);
  }

  /**
   * Creates a live child that begins with the source's events through `boundary` (inclusive; the last event when
   * absent), sharing their storage. The child keeps the source's `cwd` and names it as its `parentSession`.
   * @param source a live session of any scope of the store, or its id
   * @throws SessionForkError; the conditions are checked in the order of {@link SessionForkErrorCode}
   */
  fork(source: Session | SessionId, boundary?: number, childId?: SessionId): Session {
    this.refuseClosed();
    need(typeof source === 'string' || (source as unknown) instanceof Session, 'source', source, 'a live session or its id');
    const parent = this.#forkable(source, boundary, childId);
    const last = boundary ?? parent.seq - 1;
    const { cwd } = parent.header;
    const id = childId ?? this.registry.nextId();
    return this.#publish(forkSession(parent, last, headerOf(id, { cwd, parentSession: parent.id, seedLength: last + 1 })));
  }

  /**
   * The durability checkpoint: resolves once every `session/flush` listener has done its part.
   * @throws (rejects) FlushError with every failure, after all listeners have settled; PalimpsestError
   * `SESSION_NOT_LIVE` when the object is not the live instance of its id
   */
  async flush(session: Session): Promise<void> {
    await this.registry.flush(this.registry.live(session, 'flush'));
  }

  /**
   * Listens to the sessions that belong here; on a store, to all. A scope's listeners hear before the store's.
   * @throws PalimpsestError `INVALID_ARGUMENT` where there is no such signal, or the listener is no function; `CLOSED`
   */
  on<N extends FeedName>(name: N, listener: SessionFeed[N]): Unsubscribe {
    this.refuseClosed();
    return this.owner.listeners.add(name, listener);
  }

  /**
   * Flushes all sessions that belong here, then detaches them in order, then drops the listeners. From the first moment
   * nothing new can enter. Calls share one promise, also those of the listeners that run meanwhile; a `session/flush`
   * listener that waits for it waits for itself.
   * @throws (rejects) FlushError when a flush failed; the sessions are detached all the same
   */
  dispose(): Promise<void> {
    if (this.#disposing === undefined) {
      let settle!: (closed: Promise<void>) => void;
      // Set before any listener runs, which may call this again.
      this.#disposing = new Promise((resolve) => (settle = resolve));
      this.seal();
      settle(this.close());
    }
    return this.#disposing;
  }

  /** As `dispose`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** @internal From now on nothing new can enter. */
  seal(): void {
    this.owner.closed = true;
  }

  /** @internal */
  protected async close(): Promise<void> {
    const entries = [...this.owner.entries];
    const results = await Promise.allSettled(entries.map((entry) => this.registry.flush(entry)));
    for (const entry of this.owner.entries) this.registry.detach(entry);
    this.owner.listeners.clear();
    throwFailures(this.name, results);
  }

  /** @internal */
  report(error: unknown, session: Session): void {
    this.registry.report(error, 'persistence', session);
  }

  #publish(session: Session): Session {
    const entry = this.registry.enter(session, this.owner);
    try {
      this.registry.announce(entry);
    } catch (error) {
      this.registry.detach(entry);
      session.free();
      throw error;
    }
    return session;
  }

  #forkable(source: Session | SessionId, boundary: number | undefined, childId: SessionId | undefined): Session {
    const refuse = (code: SessionForkError['code'], why: string, seq?: number): never => {
      const id = typeof source === 'string' ? source : source.id;
      throw new SessionForkError(code, `${named(id)}: cannot be forked, ${why}`, { session: id, seq });
    };
    if (childId !== undefined && this.registry.find(SessionId(childId))) {
      refuse('SESSION_ALREADY_EXISTS', `${named(childId)} is live already, choose another id for the child`);
    }
    let entry: Entry | undefined;
    if (typeof source === 'string') {
      entry = this.registry.find(source) ?? refuse('SESSION_NOT_FOUND', 'no live session has this id');
    } else {
      entry = this.registry.entryOf(source) ?? refuse('SESSION_NOT_LIVE', 'this object is not the live session of that id in this store');
    }
    const { session } = entry;
    if (boundary !== undefined && !(Number.isInteger(boundary) && boundary >= 0 && boundary < session.seq)) {
      refuse('INVALID_BOUNDARY', `${boundary} is not the seq of one of its ${session.seq} events`);
    }
    const last = boundary ?? session.seq - 1;
    if (last >= 0 && !isTurnEnd(session, last)) {
      refuse('OPEN_TURN', `event ${last} is not a turn/end; fork at the end of a turn`, last);
    }
    return session;
  }

  /** @internal */
  protected refuseClosed(): void {
    if (this.owner.closed) throw new PalimpsestError('CLOSED', `${this.name} is disposed and takes nothing new`);
  }
}

/** A part of a store with its own sessions and listeners, for one agent, plugin or request. Made by `store.scope()`. */
export class SessionScope extends SessionOwner {
  readonly #forget: () => void;

  /** @internal */
  constructor(registry: Registry, owner: Owner, forget: () => void) {
    super(registry, owner);
    this.#forget = forget;
  }

  override get(id: SessionId): Session | undefined {
    const entry = this.registry.find(id);
    return entry?.owner === this.owner ? entry.session : undefined;
  }

  override list(): Session[] {
    return this.registry.list(this.owner);
  }

  /** @internal */
  protected override async close(): Promise<void> {
    try {
      await super.close();
    } finally {
      this.#forget();
    }
  }
}

/** @internal Rejects a dispose with everything that failed on the way. */
export function throwFailures(name: string, results: readonly PromiseSettledResult<unknown>[]): void {
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  if (errors.length > 0) throw new FlushError(`${name}: while it was disposed, ${errors.map(messageOf).join('; ')}`, errors);
}

function headerOf(id: SessionId, { cwd, parentSession, createdAt = Date.now(), seedLength }: SessionMeta): SessionHeader {
  if (cwd !== undefined && !isAbsolute(cwd)) {
    throw new PalimpsestError('INVALID_CWD', `${named(id)}: meta.cwd must be an absolute path, not ${JSON.stringify(cwd)}`, { session: id });
  }
  if (!Number.isSafeInteger(createdAt)) invalid(id, 'createdAt', 'milliseconds since 1970 as an integer');
  if (seedLength !== undefined && !(Number.isSafeInteger(seedLength) && seedLength >= 0)) {
    invalid(id, 'seedLength', 'a count of events');
  }
  return {
    version: SESSION_FORMAT_VERSION,
    id,
    createdAt,
    ...(cwd !== undefined && { cwd }),
    ...(parentSession !== undefined && { parentSession: SessionId(parentSession) }),
    ...(seedLength !== undefined && { seedLength }),
  };
}

function invalid(id: SessionId, field: string, wanted: string): never {
  throw new PalimpsestError('INVALID_HEADER', `${named(id)}: meta.${field} must be ${wanted}`, { session: id, path: `meta.${field}` });
}

/** POSIX, drive letter, or UNC: the same answer on every host, since logs travel between them. */
function isAbsolute(path: unknown): boolean {
  return typeof path === 'string' && /^(\/|[A-Za-z]:[\\/]|\\\\[^\\/]+[\\/]+[^\\/])/.test(path);
}
