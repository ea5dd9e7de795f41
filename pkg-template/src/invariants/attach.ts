/** The rules over live sessions: each event is checked before it enters its log. */

import { isObject, need, needFunction, needObject } from '../arguments.js';
import { CoreChecker } from '../core.js';
import { reportFailure } from '../feed.js';
import type { SessionOwner } from '../scope.js';
import { type Guard, internal, type Session } from '../session.js';
import { named } from '../wording.js';
import { replay } from './check-log.js';
import { type CheckOptions, type Finding, InvariantError, limitsOf, takeFindings } from './finding.js';

/** How to check live sessions. */
export interface InvariantOptions extends CheckOptions {
  /**
   * `throw` (when absent): an event that breaks a rule is refused, `append` throws an {@link InvariantError}, and the
   * log stays as it was. `report`: it is logged and reported. Warnings are reported in either mode.
   */
  readonly mode?: 'throw' | 'report' | undefined;
  /** Told what is reported, after the event is in its log; `console.warn` when absent. It cannot append to that session. */
  readonly onFinding?: ((finding: Finding, session: Session) => void) | undefined;
}

/**
 * Checks all sessions of a store or scope from now on: those that are live are replayed first, those to come when they
 * are created. Meant for development and tests: every event then crosses into the core alone, and calls and the surface
 * are kept a second time.
 * @param owner a store, for all its sessions, or a scope, for its own
 * @returns ends the checking
 * @throws InvariantError in mode `throw`, where a live session breaks a rule already; nothing is attached then.
 *   PalimpsestError `INVALID_ARGUMENT`
 */
export function attachInvariants(owner: SessionOwner, options: InvariantOptions = {}): () => void {
  need(isObject(owner) && typeof owner.on === 'function' && typeof owner.list === 'function', 'owner', owner, 'a SessionStore or one of its scopes');
  needObject('options', options);
  const { mode, onFinding } = options;
  need([undefined, 'throw', 'report'].includes(mode), 'options.mode', mode, '"throw" or "report"');
  if (onFinding !== undefined) needFunction('options.onFinding', onFinding);
  limitsOf(options);
  const watches = new Map<Session, Watch>();
  const unwatch = (session: Session): void => {
    watches.get(session)?.end();
    watches.delete(session);
  };
  const watch = (session: Session): void => {
    if (!watches.has(session)) watches.set(session, new Watch(session, options));
  };
  const end = (): void => {
    for (const session of [...watches.keys()]) unwatch(session);
  };
  try {
    for (const session of owner.list()) watch(session);
  } catch (error) {
    end();
    throw error;
  }
  const subscriptions = [owner.on('session/created', watch), owner.on('session/disposed', unwatch)];
  return () => {
    for (const unsubscribe of subscriptions) unsubscribe();
    end();
  };
}

/** The check of one session. */
class Watch implements Guard {
  readonly #session: Session;
  readonly #options: InvariantOptions;
  readonly #checker: CoreChecker;
  #reports: readonly Finding[] = [];

  constructor(session: Session, options: InvariantOptions) {
    this.#session = session;
    this.#options = options;
    this.#checker = new CoreChecker(...limitsOf(options));
    try {
      replay(this.#checker, session);
      this.#judge();
    } catch (error) {
      this.#checker.free();
      throw error;
    }
    this.after();
    internal(session).guards.add(this);
  }

  before(core: Parameters<Guard['before']>[0], used: number): void {
    this.#checker.examine(core, used, limitsOf(this.#options)[1]);
    this.#judge();
  }

  after(): void {
    const reports = this.#reports;
    if (reports.length === 0) return;
    this.#reports = [];
    const { onFinding = warn } = this.#options;
    for (const finding of reports) {
      try {
        onFinding(finding, this.#session);
      } catch (error) {
        reportFailure(error, { feed: 'session/event', session: this.#session });
      }
    }
  }

  end(): void {
    if (!this.#session.disposed) internal(this.#session).guards.delete(this);
    this.#checker.free();
  }

  /** Throws for what must not enter, and keeps the rest for a report. */
  #judge(): void {
    const findings = takeFindings(this.#checker);
    const { mode = 'throw' } = this.#options;
    const worst = mode === 'throw' ? findings.find(({ severity }) => severity === 'error') : undefined;
    if (worst !== undefined) throw new InvariantError(worst, this.#session.id);
    this.#reports = findings;
  }
}

function warn({ code, severity, message, seq }: Finding, session: Session): void {
  console.warn(`palimpsest: ${named(session.id)}, seq ${seq}: ${severity} ${code}: ${message}`);
}
