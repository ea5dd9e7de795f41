/**
 * A session: one append-only log, and what is derived from it.
 *
 * The core keeps the log's bytes; this class keeps no second copy of old events. What it does keep: the events that
 * have not crossed into the core yet, and the messages of the nodes on the surface.
 *
 * Invariants:
 * - `#length` counts every accepted event; the core may lag behind by the records that wait (see records.ts), which
 *   are log-only and not refused any more. Whatever reads the core calls `#synced()` first.
 * - Listeners run after the core call has returned, and cannot append to the session that they are told about.
 *
 * One file, though a long one: everything here works on the same private state.
 */

import { isObject, need, needObject } from './arguments.js';
import { calling, CoreSession, fromCore } from './core.js';
import { encodeRead } from './encode.js';
import { Derived, type ChangeCursor, type HistoryChange } from './derived.js';
import { PalimpsestError } from './errors.js';
import { quoted } from './depth.js';
import { eventList } from './event-list.js';
import {
  SESSION_FORMAT_VERSION,
  type EpochHeader,
  type IntentArguments,
  type Message,
  type SessionEvent,
  type SessionEventMap,
  type SessionEventType,
  type SessionHeader,
  type SessionId,
  type SessionSurface,
} from './events.js';
import { parseFrozen } from './freeze.js';
import { headerToRecord } from './header.js';
import { checkPayload, KINDS, KindNumber, LAST_SURFACE_KIND } from './kinds.js';
import { putEvents } from './lines.js';
import { messagesOf } from './messages.js';
import { deriveEventMessage } from './project.js';
import { addRecord, dropRecords, freezeIntent, sendIfFull, sendRecords, type Batch, type FrozenIntent } from './records.js';
import { pending } from './scratch.js';
import { surfaceOf } from './surface.js';
import { SessionView } from './view.js';

/** @internal Who hears a session's appends; see {@link connect}. */
export interface AppendSink {
  /** Once per append, after commit, in order. Must not throw. */
  event(event: SessionEvent): void;
  /** Exact JSONL bytes of `count` events from `firstSeq`, a copy that the receiver owns. */
  bytes(firstSeq: number, count: number, bytes: Uint8Array): void;
  /** Whether {@link AppendSink.bytes} is to be called for what is appended now. */
  wantsBytes(): boolean;
  /** The session is about to be freed, and can still be read. */
  freed(): void;
}

/** Events that were appended last and are kept as they were returned. */
const RECENT = 64;

/** @internal Looks at events as they enter; see {@link Internals.guards}. */
export interface Guard {
  /**
   * The event whose record is the first `used` bytes of the scratch area is about to enter. What this throws refuses it,
   * and the log is then as it was. No code of a user may run in here.
   */
  before(core: CoreSession, used: number): void;
  /** The event has entered. Must not throw. */
  after(): void;
}

/** Set while a session is built around a core handle that exists already (a load, a fork). */
let adopted: CoreSession | undefined;

/** @internal A session around a core handle, which it then owns. */
export function adopt(core: CoreSession): Session {
  adopted = core;
  try {
    return new Session('');
  } finally {
    adopted = undefined;
  }
}

/** The parts of a session that other modules of the package work on. */
interface Internals {
  /** The core handle, holding every event. */
  core(): CoreSession;
  /** Whoever looks at events before they enter. While there is one, each event crosses alone. */
  readonly guards: Set<Guard>;
  /** The surface with its messages. */
  derived(): Derived;
  connect(sink: AppendSink | undefined): void;
  deliver(): void;
  appendEvents(events: readonly SessionEvent[]): void;
  fork(boundary: number, header: SessionHeader): Session;
}
const internals = new WeakMap<Session, Internals>();

/** @internal */
export function internal(session: Session): Internals {
  const found = internals.get(session);
  if (found === undefined) throw new PalimpsestError('SESSION_NOT_LIVE', 'this is not a session of this package');
  return found;
}

/** One append-only log and what is derived from it. Live sessions come from a {@link SessionStore}. */
export class Session {
  /** Creation metadata, frozen. */
  readonly header: SessionHeader;
  /** The log as a read-only array; see event-list.ts for what is lazy about it. */
  readonly events: readonly SessionEvent[];
  /** What the model sees now, as an ordered list. */
  readonly surface: SessionSurface;

  #core: CoreSession | undefined;
  /** Where this session's waiting records go. */
  readonly #batch: Batch = {
    commit: (used) => {
      const core = this.#live();
      try {
        return calling(undefined, () => core.appendRecords(used));
      } catch (error) {
        // The core lacks events that were accepted: it had no memory for them.
        if (core.length() < this.#length) this.#lost = error;
        throw error;
      }
    },
  };
  #length: number;
  /** Why accepted events are missing in the core; nothing can be done with the session then. */
  #lost: unknown;
  /** Events that have not crossed yet; `#recent[0]` has seq `#recentFrom`. */
  #recent: SessionEvent[] = [];
  #recentFrom: number;
  /** Undefined until somebody derives from a log that was loaded or forked. */
  #derived: Derived | undefined;
  #headerCache: { count: number; header: EpochHeader | undefined } | undefined;
  #headerEvents: number;
  #recorded = false;
  #sink: AppendSink | undefined;
  /** Events before this seq have been handed to the sink as bytes, or were not wanted. */
  #delivered: number;
  #scheduled = false;
  #notifying = false;
  readonly #guards = new Set<Guard>();

  /**
   * A detached session.
   * @param id its id
   * @param seed events to start from, held to the rules of `append` and to contiguous seqs
   * @param header metadata; a minimal one is made when none is given
   * @throws PalimpsestError when the seed or the header breaks a rule; the message names the seq. `INVALID_ARGUMENT`
   */
  constructor(id: SessionId, seed?: readonly SessionEvent[], header?: SessionHeader) {
    let core = adopted;
    if (core === undefined) {
      need(seed === undefined || Array.isArray(seed), 'seed', seed, 'an array of events');
      const record = headerToRecord(id, header ?? { version: SESSION_FORMAT_VERSION, id, createdAt: Date.now() });
      core = calling(id, () => new CoreSession(record));
      if (seed !== undefined && seed.length > 0) {
        try {
          putEvents(core, seed, id, 'seed');
        } catch (error) {
          core.free();
          throw error;
        }
      }
    }
    this.#core = core;
    const { type: _, ...rest } = JSON.parse(core.header()) as SessionHeader & { type: string };
    this.header = Object.freeze(rest);
    this.#length = this.#recentFrom = this.#delivered = core.length();
    this.#headerEvents = core.headerEvents();
    if (this.#length === 0) this.#derived = new Derived();
    this.events = eventList({ length: () => this.#length, read: (from, to) => this.#read(from, to) });
    this.surface = surfaceOf({
      seqs: () => (this.#derived === undefined ? [...this.#synced().surfaceSeqs(this.#length)] : this.#derived.seqs()),
      generation: () => this.#synced().replaceGeneration(),
      invalidate: () => {
        this.#synced().invalidate();
        this.#derived = undefined;
      },
    });
    internals.set(this, {
      core: () => this.#synced(),
      guards: this.#guards,
      derived: () => this.#warm(),
      connect: (sink) => this.#connect(sink),
      deliver: () => this.#deliver(),
      appendEvents: (events) => this.#appendEvents(events),
      fork: (boundary, childHeader) => this.#fork(boundary, childHeader),
    });
  }

  /** The session's id. */
  get id(): SessionId {
    return this.header.id;
  }

  /** Seq of the next event: the number of events. */
  get seq(): number {
    return this.#length;
  }

  /** Whether {@link Session.free} was called. */
  get disposed(): boolean {
    return this.#core === undefined;
  }

  /**
   * Logs one event. Synchronous, no I/O.
   * @param type a key of {@link SessionEventMap}
   * @param data the payload: anything that JSON keeps without loss
   * @param intent how a surface event joins the surface, and where it comes from; for surface types only
   * @returns the logged event, deeply frozen: a snapshot, which later changes of `data` do not reach
   * @throws PalimpsestError naming session, seq and path; the log is then as it was
   */
  append<T extends SessionEventType>(type: T, data: SessionEventMap[T], ...intent: IntentArguments<T>): SessionEvent<T>;
  append(type: SessionEventType, data: unknown, intent?: unknown): SessionEvent {
    if (this.#notifying) throw this.#refusal('REENTRANT_APPEND', 'a listener appends to the session whose event it is being told about; append after it has returned (queueMicrotask)');
    if (typeof type !== 'string' || (type as string) === '') throw this.#refusal('INVALID_TYPE', 'the event type must be a non-empty string');
    this.#live();
    const kind = KINDS.get(type) ?? 0;
    // Read before the seq is taken: a getter in it may append as well.
    const fields = freezeIntent(intent, this, this.#length);
    const seq = this.#length;
    const time = Math.max(0, Math.trunc(Date.now()));
    // Whatever the core may refuse crosses at once and alone: nothing that waits can be refused with it.
    const checked = (kind !== 0 && kind !== KindNumber.chunk) || fields !== undefined || this.#guards.size > 0;
    let snapshot: unknown;
    let crossed = checked;
    try {
      if (checked) sendRecords(this.#batch);
      snapshot = addRecord(this.#batch, kind, type, time, data, fields);
      if (!checked) {
        crossed = sendIfFull();
      } else {
        if (kind !== 0 && kind <= LAST_SURFACE_KIND) checkPayload(kind, snapshot, type);
        for (const guard of this.#guards) guard.before(this.#live(), pending);
        sendRecords(this.#batch);
      }
    } catch (error) {
      // A checked event waits alone; what others wait for must not be thrown away with it.
      if (checked) dropRecords(this.#batch);
      throw this.#named(error, seq);
    }
    const event = eventOf(type, seq, time, snapshot, fields);
    this.#length = seq + 1;
    this.#recent.push(event);
    if (crossed && this.#recent.length > RECENT) this.#forgetRecent();
    if (kind === KindNumber.requestHeader || kind === KindNumber.requestHeaderDelta) this.#headerEvents++;
    if (this.#derived !== undefined && fields?.surfaceOp !== undefined) {
      this.#derived.add(seq, fields.surfaceOp, deriveEventMessage(event));
    }
    if (this.#guards.size > 0) this.#telling(() => this.#guards.forEach((guard) => guard.after()));
    if (this.#sink !== undefined) this.#notify(event);
    return event;
  }

  /** The history that the model sees: a fresh array of shared, deeply frozen messages. */
  deriveMessages(): Message[] {
    return this.#warm().messages();
  }

  /**
   * How the derived history has changed since an earlier call: enough to patch an array of one's own,
   * `history.splice(at, removed, ...inserted)`. Takes time that grows with the change; after a replace of several nodes also
   * the time of such a splice.
   * @param cursor the `cursor` of the last change; without one, or with one that is too old, everything
   * @throws PalimpsestError `INVALID_ARGUMENT`
   */
  changesSince(cursor?: ChangeCursor): HistoryChange {
    need(cursor === undefined || (isObject(cursor) && Number.isInteger(cursor.length)), 'cursor', cursor, 'the cursor of an earlier change');
    return this.#warm().changesSince(cursor);
  }

  /**
   * The message of one event; `null` for a log-only event and for an assistant message with empty content.
   * @throws PalimpsestError `INVALID_PAYLOAD` where no message can be made of it, `INVALID_ARGUMENT`
   */
  deriveEventMessage(event: SessionEvent): Message | null {
    needObject('event', event);
    const kind = KINDS.get(event.type) ?? 0;
    if (kind !== 0 && kind <= LAST_SURFACE_KIND) checkPayload(kind, event.data, event.type);
    return deriveEventMessage(event);
  }

  /** The request header in force, frozen; `undefined` before the first one. */
  requestHeader(): EpochHeader | undefined {
    const count = this.#headerEvents;
    if (this.#headerCache?.count !== count) {
      this.#headerCache = { count, header: this.at(this.#length - 1).requestHeader() };
    }
    return this.#headerCache.header;
  }

  /**
   * Logs the header of the next request as the smallest event that says it: nothing when it equals the one in force, a
   * delta where a delta can express the change, else a snapshot; a snapshot for the first that this instance records.
   * @returns the logged event, or `undefined` when there was nothing to log
   * @throws PalimpsestError `INVALID_PAYLOAD` where it is no header, `INVALID_JSON_VALUE`, both with the path
   */
  recordRequestHeader(header: EpochHeader): SessionEvent<'request/header' | 'request/header-delta'> | undefined {
    let event;
    try {
      event = SessionView.headerEvent(this.requestHeader(), header, this.#recorded);
    } catch (error) {
      throw this.#named(error, this.#length);
    }
    if (event === undefined) return undefined;
    const logged = this.append(event.type as 'request/header', event.data as SessionEventMap['request/header']);
    this.#recorded = true;
    return logged;
  }

  /**
   * The session as it was once event `seq` had been logged.
   * @param seq an event's seq, or -1 for the empty log
   * @throws PalimpsestError `INVALID_SEQ` outside the log
   */
  at(seq: number): SessionView {
    if (!Number.isInteger(seq) || seq < -1 || seq >= this.#length) {
      throw this.#refusal('INVALID_SEQ', `at(${seqText(seq)}) is outside the log, which holds ${this.#length} events; give a seq from -1 to ${this.#length - 1}`);
    }
    return new SessionView(this, seq, () => this.#synced());
  }

  /**
   * The exact JSONL bytes of the events `from..to` (default all), without the header line.
   * @throws PalimpsestError `INVALID_SEQ` where these are not seqs of the log in this order, `OUT_OF_MEMORY`
   */
  jsonl(from = 0, to = this.#length): Uint8Array {
    if (!Number.isInteger(from) || !Number.isInteger(to) || from < 0 || to < from || to > this.#length) {
      throw this.#refusal('INVALID_SEQ', `jsonl(${seqText(from)}, ${seqText(to)}) is no range of the log, which holds ${this.#length} events; give whole numbers from 0 to ${this.#length}, the smaller one first`);
    }
    const core = this.#synced();
    return calling(this.id, () => core.lines(from, to));
  }

  /** The exact header line with its line end. */
  headerLine(): Uint8Array {
    return this.#live().headerLine();
  }

  /** Gives the log's memory back; a live session leaves its store first. Whatever needs the log throws `DISPOSED` from then on. */
  free(): void {
    this.#sink?.freed();
    // A listener that was told may have freed it.
    if (this.#core === undefined) return;
    dropRecords(this.#batch);
    this.#core.free();
    this.#core = undefined;
    this.#sink = undefined;
    this.#derived = undefined;
    this.#recent = [];
    this.#recentFrom = this.#length;
  }

  /** {@link Session.free}, for `using`. */
  [Symbol.dispose](): void {
    this.free();
  }

  #live(): CoreSession {
    if (this.#core === undefined) throw this.#refusal('DISPOSED', 'the session was freed; load it again');
    if (this.#lost !== undefined) throw this.#named(this.#lost, this.#length);
    return this.#core;
  }

  #synced(): CoreSession {
    const core = this.#live();
    sendRecords(this.#batch);
    if (this.#recent.length > RECENT) this.#forgetRecent();
    return core;
  }

  /** Old events are read from the core's bytes; nothing may be waiting to cross. */
  #forgetRecent(): void {
    this.#recent = [];
    this.#recentFrom = this.#length;
  }

  #refusal(code: PalimpsestError['code'], what: string): PalimpsestError {
    return new PalimpsestError(code, `session ${JSON.stringify(this.id)}: ${what}`, { session: this.id });
  }

  /** An append's error with the session and seq in it. */
  #named(error: unknown, seq: number): unknown {
    if (!(error instanceof PalimpsestError) || error.session !== undefined) return error;
    const place = `session ${JSON.stringify(this.id)}, seq ${seq}`;
    const message = error.message.startsWith('seq ') ? error.message.replace(/^seq \d+/, place) : `${place}, ${error.message}`;
    const { path, cause } = error;
    return new PalimpsestError(error.code, message, { session: this.id, seq, path, cause });
  }

  /** The first of the events `from..to`: as many as are read at once. */
  #read(from: number, to: number): readonly SessionEvent[] {
    if (from >= this.#recentFrom) return this.#recent.slice(from - this.#recentFrom, to - this.#recentFrom);
    const core = this.#synced();
    return parseFrozen<SessionEvent[]>(calling(this.id, () => core.eventsJson(from, to)));
  }

  #warm(): Derived {
    if (this.#derived === undefined) {
      const core = this.#synced();
      const seqs = core.surfaceSeqs(this.#length);
      this.#derived = new Derived([...seqs], messagesOf(core, seqs));
    }
    return this.#derived;
  }

  #notify(event: SessionEvent): void {
    const sink = this.#sink!;
    if (!sink.wantsBytes()) {
      this.#delivered = this.#length;
    } else if (!this.#scheduled) {
      this.#scheduled = true;
      queueMicrotask(() => {
        this.#scheduled = false;
        if (this.#core !== undefined) this.#deliver();
      });
    }
    this.#telling(() => sink.event(event));
  }

  /** Runs what may call a user's code, which may not append. */
  #telling(tell: () => void): void {
    this.#notifying = true;
    try {
      tell();
    } finally {
      this.#notifying = false;
    }
  }

  #connect(sink: AppendSink | undefined): void {
    if (this.#sink !== undefined) this.#deliver();
    this.#sink = sink;
    this.#delivered = this.#length;
  }

  #deliver(): void {
    const first = this.#delivered;
    const sink = this.#sink;
    if (sink === undefined || first === this.#length) return;
    this.#delivered = this.#length;
    sink.bytes(first, this.#length - first, this.jsonl(first));
  }

  #appendEvents(events: readonly SessionEvent[]): void {
    if (this.#notifying) throw this.#refusal('REENTRANT_APPEND', 'a listener appends to the session whose event it is being told about');
    const core = this.#synced();
    const first = this.#length;
    try {
      putEvents(core, events, this.id, 'events', encodeRead);
    } finally {
      this.#length = core.length();
      this.#forgetRecent();
      this.#headerEvents = core.headerEvents();
      if (this.#length > first) this.#derived = undefined;
    }
    for (let seq = first; this.#sink !== undefined && seq < this.#length; ) {
      for (const event of this.#read(seq, this.#length)) {
        this.#notify(event);
        seq = event.seq + 1;
      }
    }
  }

  #fork(boundary: number, header: SessionHeader): Session {
    const core = this.#synced();
    const record = headerToRecord(header.id, header);
    let childCore: CoreSession;
    try {
      childCore = core.fork(boundary < 0 ? undefined : boundary, record);
    } catch (thrown) {
      throw fromCore(thrown, this.id);
    }
    const child = adopt(childCore);
    // With no replace after the boundary, the child's surface is the first nodes of this one.
    if (this.#derived !== undefined && childCore.replaceGeneration() === core.replacesBefore(this.#length)) {
      child.#derived = this.#derived.share(childCore.surfaceLength());
    }
    return child;
  }
}

/** The frozen event, its keys in the order of a line. Written out, since spreading the fields takes longer than the rest. */
function eventOf(type: string, seq: number, time: number, data: unknown, fields: FrozenIntent | undefined): SessionEvent {
  let event: object;
  // The core has refused sources that come without an operation.
  if (fields?.surfaceOp === undefined) event = { type, seq, time, data };
  else if (fields.sourceEventSeqs === undefined) event = { type, seq, time, data, surfaceOp: fields.surfaceOp };
  else event = { type, seq, time, data, sourceEventSeqs: fields.sourceEventSeqs, surfaceOp: fields.surfaceOp };
  return Object.freeze(event) as SessionEvent;
}

/** @internal Sets who hears the session's appends; `undefined` for nobody. */
export function connect(session: Session, sink: AppendSink | undefined): void {
  internal(session).connect(sink);
}

/** A seq in a message, or what was given in its place. */
function seqText(seq: unknown): string {
  return typeof seq === 'number' ? String(seq) : quoted(seq);
}

/** @internal Makes sure that an argument is a session. @throws PalimpsestError `INVALID_ARGUMENT` */
export function needSession(session: unknown): void {
  need(session instanceof Session, 'session', session, 'a Session');
}

/** @internal Hands over what the sink has not received as bytes yet. */
export function deliver(session: Session): void {
  internal(session).deliver();
}

/** @internal A detached child that shares the source's storage; `boundary` is inclusive, -1 for no events. */
export function forkSession(source: Session, boundary: number, header: SessionHeader): Session {
  return internal(source).fork(boundary, header);
}

/** @internal Whether event `seq` ends a turn. */
export function isTurnEnd(session: Session, seq: number): boolean {
  return internal(session).core().kindAt(seq) === KindNumber.turnEnd;
}

/** @internal Appends finished events as they are; they must continue the log. */
export function appendEvents(session: Session, events: readonly SessionEvent[]): void {
  internal(session).appendEvents(events);
}
