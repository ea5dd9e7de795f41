/** What a store and its scopes tell about their sessions, and the lists of those who listen. */

import { need, needFunction } from './arguments.js';
import type { SessionEvent } from './events.js';
import type { Session } from './session.js';
import { named } from './wording.js';

/** The signals of a store by name, with the listeners that they take. */
export interface SessionFeed {
  /** A session has entered. A listener that throws makes `create` and `fork` fail, and the session is taken out again. */
  'session/created': (session: Session) => void;
  /** An event was appended. Told after the commit, in order. The listener must not append to the same session. */
  'session/event': (session: Session, event: SessionEvent) => void;
  /**
   * The exact JSONL bytes, a line with its `"\n"` each, of `count` events from `firstSeq`: in order, without gap or
   * overlap, at the latest in a microtask after the append. The array is shared between listeners: read it, keep it,
   * do not write to it.
   */
  'session/bytes': (session: Session, firstSeq: number, count: number, bytes: Uint8Array) => void;
  /** `flush` was called; it waits for every promise returned here and rejects when one does. */
  'session/flush': (session: Session) => void | PromiseLike<void>;
  /** A session that was announced has left. Its bytes were all delivered; it can still be read. */
  'session/disposed': (session: Session) => void;
}

/** Name of a signal. */
export type FeedName = keyof SessionFeed;

/** Stops a listener; safe to call again. */
export type Unsubscribe = () => void;

/** Where a contained failure happened. */
export interface FailureContext {
  /** The signal whose listener failed, or what a persistence adapter was doing. */
  readonly feed: FeedName | 'persistence';
  readonly session: Session;
}

/** Told of failures that reach nobody else: those of listeners and of background writes. */
export type FailureHandler = (error: unknown, context: FailureContext) => void;

/** The default {@link FailureHandler}: the host's own report of uncaught errors, else the console. */
export function reportFailure(error: unknown, context: FailureContext): void {
  if (typeof reportError === 'function') reportError(error);
  else console.error(`palimpsest: ${context.feed} of ${named(context.session.id)} failed:`, error);
}

/** @internal One listener; `active` ends with its subscription, even in the middle of a dispatch. */
export interface Slot<N extends FeedName> {
  readonly listener: SessionFeed[N];
  active: boolean;
}

/** @internal The listeners of one owner. Lists are replaced, never changed, so that a dispatch walks a stable one. */
export class Listeners {
  readonly #lists: { [N in FeedName]: readonly Slot<N>[] } = emptyLists();

  /** @throws PalimpsestError `INVALID_ARGUMENT` */
  add<N extends FeedName>(name: N, listener: SessionFeed[N]): Unsubscribe {
    need(Object.hasOwn(this.#lists, name), 'the signal’s name', name, `one of ${Object.keys(this.#lists).join(', ')}`);
    needFunction('the listener', listener);
    const slot: Slot<N> = { listener, active: true };
    this.#set(name, [...this.#lists[name], slot]);
    return () => {
      if (!slot.active) return;
      slot.active = false;
      this.#set(name, this.#lists[name].filter((other) => other !== slot));
    };
  }

  of<N extends FeedName>(name: N): readonly Slot<N>[] {
    return this.#lists[name];
  }

  clear(): void {
    for (const slot of Object.values(this.#lists).flat()) slot.active = false;
    Object.assign(this.#lists, emptyLists());
  }

  #set<N extends FeedName>(name: N, slots: readonly Slot<N>[]): void {
    (this.#lists as { [M in N]: readonly Slot<M>[] })[name] = slots;
  }
}

function emptyLists(): { [N in FeedName]: readonly Slot<N>[] } {
  return {
    'session/created': [],
    'session/event': [],
    'session/bytes': [],
    'session/flush': [],
    'session/disposed': [],
  };
}
