/**
 * Sessions as a service of Cordis 4: `palimpsest/cordis`.
 *
 * `ctx.plugin(Sessions)` gives `ctx.sessions`. A session belongs to the fiber that created it and leaves with it. The
 * store's feed is dispatched as `session/*` events, in the scope of the context that the session was entered from.
 */

import { type Context, Service } from '@deepseek-ai/cordis';
import type { SessionEvent, SessionId } from '../events.js';
import type { CreateOptions, Detach } from '../scope.js';
import type { Session } from '../session.js';
import { SessionStore } from '../store.js';

declare module '@deepseek-ai/cordis' {
  interface Context {
    /** The live sessions; see `palimpsest/cordis`. */
    sessions: Sessions;
  }
  interface Events {
    /** A session has entered. A listener that throws makes `create` and `fork` fail, and the session is taken out again. */
    'session/created'(session: Session): void;
    /** An event was appended. One listener's failure reaches neither the appender nor the other listeners. */
    'session/event'(session: Session, event: SessionEvent): void;
    /** The durability checkpoint; `ctx.sessions.flush` waits for every listener. */
    'session/flush'(session: Session): void | Promise<void>;
    /** A session that was announced has left. */
    'session/disposed'(session: Session): void;
  }
}

type Dispatch = (mode: 'emit', args: unknown[]) => ((...args: unknown[]) => unknown)[];

/** The service behind `ctx.sessions`. */
export class Sessions extends Service {
  /** The store that holds the sessions; attach a storage to it. */
  readonly store: SessionStore;
  /** Whose scope each session's signals travel in: the service as its entering context saw it. */
  private readonly carriers = new WeakMap<Session, Sessions>();
  /** The carrier of the session that the store is about to announce. */
  private readonly entering: { carrier?: Sessions | undefined } = {};

  constructor(ctx: Context) {
    super(ctx, 'sessions');
    this.store = new SessionStore({ onError: (error) => ctx.logger('sessions').error(error) });
    this.store.on('session/created', (session) => {
      const { carrier } = this.entering;
      if (carrier && !this.carriers.has(session)) this.carriers.set(session, carrier);
      for (const listener of this.listeners('session/created', session)) listener(session);
    });
    this.store.on('session/event', (session, event) => this.tell('session/event', session, event));
    this.store.on('session/disposed', (session) => this.tell('session/disposed', session));
    this.store.on('session/flush', async (session) => {
      await ctx.parallel((this.carriers.get(session) ?? this) as never, 'session/flush', session);
    });
    ctx.effect(() => () => this.store.dispose(), 'ctx.sessions');
  }

  /** Creates a live session, which the calling fiber owns. @throws as `SessionStore.create` does */
  create(id?: SessionId, options?: CreateOptions): Session {
    return this.own(() => this.store.create(id, options), 'create');
  }

  /** Makes a session and leaves it out of the store. */
  prepare(id?: SessionId, options?: CreateOptions): Session {
    return this.store.prepare(id, options);
  }

  /** Puts a session in, in the scope of the calling context; the caller arranges for the returned `detach` to run. */
  enter(session: Session): Detach {
    const detach = this.store.enter(session);
    this.carriers.set(session, this);
    return detach;
  }

  /** Tells `session/created` of an entered session. */
  announce(session: Session): void {
    this.store.announce(session);
  }

  /** Waits for every `session/flush` listener. @throws (rejects) FlushError */
  flush(session: Session): Promise<void> {
    return this.store.flush(session);
  }

  /** Creates a live child, which the calling fiber owns. @throws SessionForkError */
  fork(source: Session | SessionId, boundary?: number, childId?: SessionId): Session {
    return this.own(() => this.store.fork(source, boundary, childId), 'fork');
  }

  /** The live session of this id. */
  get(id: SessionId): Session | undefined {
    return this.store.get(id);
  }

  /** The live sessions, in the order in which they entered. */
  list(): Session[] {
    return this.store.list();
  }

  /** Makes a session as an effect of the calling fiber. When a listener throws, the store takes it out again. */
  private own(make: () => Session, verb: string): Session {
    let session!: Session;
    this.ctx.effect(() => {
      const before = this.entering.carrier;
      this.entering.carrier = this;
      try {
        session = make();
      } finally {
        this.entering.carrier = before;
      }
      return () => this.store.detach(session);
    }, `ctx.sessions.${verb}()`);
    return session;
  }

  private listeners(name: string, session: Session): ReturnType<Dispatch> {
    const dispatch = this.ctx.events.dispatch.bind(this.ctx.events) as unknown as Dispatch;
    return dispatch('emit', [this.carriers.get(session) ?? this, name, session]);
  }

  /** Tells everybody, whoever fails. */
  private tell(name: string, ...args: [Session, ...unknown[]]): void {
    for (const listener of this.listeners(name, args[0])) {
      try {
        listener(...args);
      } catch (error) {
        this.ctx.logger('sessions').error(error);
      }
    }
  }
}
