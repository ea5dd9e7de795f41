/**
 * The live sessions of one store: who owns each, and how its signals travel.
 *
 * Invariants: an id is live at most once; a session is live in at most one store; a session's signals go to the scope
 * that entered it and then to the store, whatever happens to the scope later.
 */

import { needObject } from './arguments.js';
import { FlushError, PalimpsestError } from './errors.js';
import type { SessionEvent, SessionId } from './events.js';
import { type FailureHandler, type FeedName, Listeners, type SessionFeed, type Slot } from './feed.js';
import { type Session, connect, deliver } from './session.js';
import { messageOf, named } from './wording.js';

/** One owner of sessions: the store itself or a scope. */
export class Owner {
  readonly listeners = new Listeners();
  readonly entries = new Set<Entry>();
  closed = false;

  constructor(readonly name: string) {}
}

/** One stay of a session in the store. */
export interface Entry {
  readonly session: Session;
  readonly owner: Owner;
  announced: boolean;
  live: boolean;
}

// Across all stores: a session reports its appends to one place only.
const liveEntries = new WeakMap<Session, Entry>();

export class Registry {
  readonly root = new Owner('store');
  readonly #entries = new Map<SessionId, Entry>();
  readonly #onError: FailureHandler;
  #counter = 0;

  constructor(onError: FailureHandler) {
    this.#onError = onError;
  }

  /** The next free `session-<n>`. */
  nextId(): SessionId {
    let id;
    do id = `session-${++this.#counter}`;
    while (this.find(id));
    return id;
  }

  find(id: SessionId): Entry | undefined {
    return this.#entries.get(id);
  }

  /** The entry of `session` while it is the live instance of its id in this store. */
  entryOf(session: Session): Entry | undefined {
    needObject('session', session, 'a session');
    const entry = this.find(session.id);
    return entry?.session === session ? entry : undefined;
  }

  live(session: Session, verb: string): Entry {
    const entry = this.entryOf(session);
    if (entry) return entry;
    throw new PalimpsestError(
      'SESSION_NOT_LIVE',
      `${named(session.id)}: cannot ${verb} it, this object is not the live session of that id in this store`,
      { session: session.id },
    );
  }

  /** Every live session, or those of one owner, in the order in which they entered. */
  list(owner?: Owner): Session[] {
    return [...(owner ? owner.entries : this.#entries.values())].map((entry) => entry.session);
  }

  refuseTaken(id: SessionId): void {
    if (!this.find(id)) return;
    throw new PalimpsestError('SESSION_ALREADY_EXISTS', `${named(id)} is live already: take it by get(), or choose another id`, {
      session: id,
    });
  }

  enter(session: Session, owner: Owner): Entry {
    const { id } = session;
    if (session.disposed) throw new PalimpsestError('DISPOSED', `${named(id)} was freed and cannot enter a store`, { session: id });
    this.refuseTaken(id);
    if (liveEntries.has(session)) {
      throw new PalimpsestError('SESSION_ALREADY_EXISTS', `${named(id)} is live in another store: detach it there first`, { session: id });
    }
    const entry: Entry = { session, owner, announced: false, live: true };
    connect(session, {
      event: (event: SessionEvent) => {
        this.#emit('session/event', entry, session, event);
      },
      bytes: (firstSeq, count, bytes) => {
        this.#emit('session/bytes', entry, session, firstSeq, count, bytes);
      },
      wantsBytes: () => this.#listeners('session/bytes', entry).length > 0,
      freed: () => {
        this.detach(entry);
      },
    });
    this.#entries.set(id, entry);
    owner.entries.add(entry);
    liveEntries.set(session, entry);
    return entry;
  }

  /** Tells the listeners in order; the first that throws ends the round, and the caller takes the session out again. */
  announce(entry: Entry): void {
    if (entry.announced) return;
    entry.announced = true;
    for (const slot of this.#listeners('session/created', entry)) {
      if (!slot.active) continue;
      const listener: (session: Session) => unknown = slot.listener;
      this.#watch(listener(entry.session), 'session/created', entry);
    }
  }

  detach(entry: Entry): void {
    if (!entry.live) return;
    const { session, owner } = entry;
    deliver(session);
    connect(session, undefined);
    entry.live = false;
    this.#entries.delete(session.id);
    owner.entries.delete(entry);
    liveEntries.delete(session);
    if (entry.announced) this.#emit('session/disposed', entry, session);
  }

  async flush(entry: Entry): Promise<void> {
    const { session } = entry;
    deliver(session);
    const results = await Promise.allSettled(
      this.#listeners('session/flush', entry).map(async (slot) => slot.active && slot.listener(session)),
    );
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    if (errors.length === 0) return;
    throw new FlushError(`${named(session.id)}: the flush failed, nothing is lost, flush again: ${errors.map(messageOf).join('; ')}`, errors, {
      session: session.id,
    });
  }

  #listeners<N extends FeedName>(name: N, { owner }: Entry): readonly Slot<N>[] {
    const rest = this.root.listeners.of(name);
    if (owner === this.root) return rest;
    const own = owner.listeners.of(name);
    return own.length === 0 ? rest : [...own, ...rest];
  }

  /** Dispatches where nobody may fail for another: not the appender, not the next listener. */
  #emit<N extends Exclude<FeedName, 'session/flush'>>(name: N, entry: Entry, ...args: Parameters<SessionFeed[N]>): void {
    for (const slot of this.#listeners(name, entry)) {
      if (!slot.active) continue;
      try {
        this.#watch((slot.listener as (...args: Parameters<SessionFeed[N]>) => unknown)(...args), name, entry);
      } catch (error) {
        this.report(error, name, entry.session);
      }
    }
  }

  /** A listener that is an async function gives a promise, whatever its type says, and fails after it has returned. */
  #watch(result: unknown, feed: FeedName, { session }: Entry): void {
    if (result instanceof Promise) {
      result.catch((error: unknown) => {
        this.report(error, feed, session);
      });
    }
  }

  /** Hands a failure to the store's handler, which must not become a failure of the appender either. */
  report(error: unknown, feed: FeedName | 'persistence', session: Session): void {
    try {
      this.#onError(error, { feed, session });
    } catch (second) {
      console.error('palimpsest: onError failed:', second, 'while it was told of:', error);
    }
  }
}
