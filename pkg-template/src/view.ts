/** Time travel: a session as it was at some event. */

import { calling, type CoreSession } from './core.js';
import type { EpochHeader, Message, SessionEventMap, SurfaceNode } from './events.js';
import { parseFrozen } from './freeze.js';
import { applyHeaderDelta, canonicalHeader, checkHeader, diffHeader, headerEquals } from './header.js';
import { messagesOf } from './messages.js';
import type { Session } from './session.js';
import { nodesOf } from './surface.js';

/** A model call's request as the log reconstructs it. */
export interface ModelRequest extends Partial<EpochHeader> {
  /** `messagePrefix` and the derived history, in this order. */
  readonly messages: readonly Message[];
}

/** The surface at one point of the log. */
export interface SurfaceSnapshot {
  /** Head to tail. */
  readonly nodes: readonly SurfaceNode[];
  /** Number of replaces up to there. */
  readonly replaceGeneration: number;
}

/** A read-only view of a session as of one event, that event included. It stays right while the session grows. */
export class SessionView {
  /** Seq of the last event that the view includes; -1 for none. */
  readonly seq: number;
  readonly #session: Session;
  readonly #core: () => CoreSession;

  /** @internal Use {@link Session.at}. */
  constructor(session: Session, seq: number, core: () => CoreSession) {
    this.#session = session;
    this.seq = seq;
    this.#core = core;
  }

  /** The history derived from the events through {@link SessionView.seq}; fresh array, frozen messages. */
  messages(): Message[] {
    return this.#messagesBefore(this.seq + 1);
  }

  /** The surface as it was. */
  get surface(): SurfaceSnapshot {
    const core = this.#core();
    const end = this.seq + 1;
    return Object.freeze({ nodes: nodesOf(core.surfaceSeqs(end)), replaceGeneration: core.replacesBefore(end) });
  }

  /** The request header that was in force, frozen. @throws PalimpsestError `DELTA_WITHOUT_HEADER` on a corrupt log */
  requestHeader(): EpochHeader | undefined {
    return this.#headerBefore(this.seq + 1);
  }

  /**
   * What the model call of the step that was open carried: its header, and its prefix with the history derived from
   * the events before its `step/start`. With no step open, what the next call would carry.
   */
  request(): ModelRequest {
    const [messagesEnd, headerEnd] = this.#core().requestScope(this.seq + 1) as unknown as [number, number];
    const { messagePrefix, ...header } = this.#headerBefore(headerEnd) ?? {};
    // In a log of another origin it may be anything.
    const prefix = Array.isArray(messagePrefix) ? (messagePrefix as readonly Message[]) : [];
    return Object.freeze({ ...header, messages: Object.freeze([...prefix, ...this.#messagesBefore(messagesEnd)]) });
  }

  #messagesBefore(end: number): Message[] {
    if (end === this.#session.seq) return this.#session.deriveMessages();
    const core = this.#core();
    return messagesOf(core, core.surfaceSeqs(end)).filter((message) => message !== null);
  }

  #headerBefore(end: number): EpochHeader | undefined {
    const text = calling(this.#session.id, () => this.#core().requestHeader(end));
    return text === undefined ? undefined : parseFrozen<EpochHeader>(text);
  }

  /** @internal The event that says `next` after `current`; `recorded` once this instance has written one. */
  static headerEvent(
    current: EpochHeader | undefined,
    next: EpochHeader,
    recorded: boolean,
  ): { [T in 'request/header' | 'request/header-delta']: { type: T; data: SessionEventMap[T] } }['request/header' | 'request/header-delta'] | undefined {
    const header = canonicalHeader(next);
    checkHeader(header);
    if (current !== undefined && headerEquals(current, header)) return undefined;
    if (current === undefined || !recorded) {
      return { type: 'request/header', data: { header, reason: current === undefined ? 'initial' : 'resume' } };
    }
    const delta = diffHeader(current, header);
    if (delta !== undefined && headerEquals(applyHeaderDelta(current, delta), header)) return { type: 'request/header-delta', data: delta };
    return { type: 'request/header', data: { header, reason: 'fallback' } };
  }
}
