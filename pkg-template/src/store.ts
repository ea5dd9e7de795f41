/** The store: all live sessions of a program, and the scopes that own them. */

import { need, needFunction, needObject } from './arguments.js';
import type { SessionId } from './events.js';
import { type FailureHandler, reportFailure } from './feed.js';
import { Owner, Registry } from './registry.js';
import { SessionOwner, SessionScope, throwFailures } from './scope.js';
import type { Session } from './session.js';

export type { FailureContext, FailureHandler, FeedName, SessionFeed, Unsubscribe } from './feed.js';
export type { CreateOptions, Detach, SessionMeta, SessionOwner, SessionScope } from './scope.js';

/** How to make a store. */
export interface StoreOptions {
  /** Told what listeners and background writes throw; the host's report of uncaught errors, or the console, when absent. */
  readonly onError?: FailureHandler | undefined;
}

/**
 * Holds live sessions, tells about them, and makes new ones. It does no I/O: persistence listens to it (`attach`).
 *
 * A session that is created on the store itself belongs to the store; one created on a scope belongs to that scope.
 * `get` and `list` see all of them.
 */
export class SessionStore extends SessionOwner {
  readonly #scopes = new Set<SessionScope>();
  #scopeCounter = 0;

  /** @throws PalimpsestError `INVALID_ARGUMENT` */
  constructor(options: StoreOptions = {}) {
    needObject('options', options);
    const { onError = reportFailure } = options;
    needFunction('options.onError', onError);
    const registry = new Registry(onError);
    super(registry, registry.root);
  }

  override get(id: SessionId): Session | undefined {
    return this.registry.find(id)?.session;
  }

  override list(): Session[] {
    return this.registry.list();
  }

  /**
   * Makes an owner for a part of the program. Disposing it flushes and detaches its sessions and drops its listeners.
   * @param name for messages; `scope-<n>` when absent
   */
  scope(name = `scope-${++this.#scopeCounter}`): SessionScope {
    this.refuseClosed();
    need(typeof name === 'string', 'name', name, 'a string');
    const scope = new SessionScope(this.registry, new Owner(name), () => this.#scopes.delete(scope));
    this.#scopes.add(scope);
    return scope;
  }

  /** @internal */
  override seal(): void {
    super.seal();
    for (const scope of this.#scopes) scope.seal();
  }

  /** @internal */
  protected override async close(): Promise<void> {
    const results = await Promise.allSettled([...this.#scopes].map((scope) => scope.dispose()));
    results.push(...(await Promise.allSettled([super.close()])));
    throwFailures(this.name, results);
  }
}
