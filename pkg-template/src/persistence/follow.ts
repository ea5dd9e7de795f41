/**
 * Following a stored session: its events so far, then each new one.
 *
 * There is no seam between the two: what is new is read from where the last reading ended, as often as somebody says that
 * there is more. A signal that comes too often costs a look; one that is lost is made up for by looking from time to time.
 */

import { PalimpsestError } from '../errors.js';
import type { SessionEvent, SessionId } from '../events.js';
import { parseFrozen } from '../freeze.js';
import { messageOf, named } from '../wording.js';
import type { FollowOptions } from './adapter.js';
import type { StorageBackend, StoredPosition } from './backend.js';
import { type Chunks, NEWLINE } from './bytes.js';
import { conflict, storageError } from './faults.js';
import { findStored } from './stored.js';
import type { Timers } from './timers.js';

/** Bytes that are read before their events are handed out: whoever takes them may be slow, and holds nothing open. */
const ROUND = 1 << 20;
const INTERVAL = 1000;

export async function* followStored(
  backend: StorageBackend,
  timers: Timers,
  id: SessionId,
  { cwd, from = 0, signal, interval = INTERVAL }: FollowOptions,
  isClosed: () => boolean,
): AsyncGenerator<SessionEvent, void, undefined> {
  const { location } = await findStored(backend, id, cwd);
  const tail = new Tail(backend, id, cwd, location);
  const bell = new Bell(timers);
  const ring = (): void => {
    bell.ring();
  };
  const unwatch = backend.watch?.(location, ring);
  signal?.addEventListener('abort', ring);
  const ended = (): boolean => signal?.aborted === true || isClosed();
  try {
    while (!ended()) {
      bell.reset();
      const { events, more } = await tail.next();
      for (const event of events) {
        if (event.seq >= from) yield event;
        if (ended()) return;
      }
      if (!more) await bell.wait(interval);
    }
  } finally {
    signal?.removeEventListener('abort', ring);
    unwatch?.();
  }
}

/** Rings at most once between two looks. */
class Bell {
  readonly #timers: Timers;
  #rung = false;
  #wake: (() => void) | undefined;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  reset(): void {
    this.#rung = false;
  }

  async wait(ms: number): Promise<void> {
    if (this.#rung) return;
    let timer: unknown;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      timer = this.#timers.setTimeout(resolve, ms);
    });
    this.#wake = undefined;
    this.#timers.clearTimeout(timer);
  }
}

/** What a log has beyond the last look. */
class Tail {
  readonly #backend: StorageBackend;
  readonly #id: SessionId;
  readonly #cwd: string | null | undefined;
  readonly #location: string;
  #position: StoredPosition = { seq: 0, bytes: 0, torn: 0 };
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });

  constructor(backend: StorageBackend, id: SessionId, cwd: string | null | undefined, location: string) {
    this.#backend = backend;
    this.#id = id;
    this.#cwd = cwd;
    this.#location = location;
  }

  /** The next events, at most about a round of bytes; `more` when it has stopped before the end. */
  async next(): Promise<{ readonly events: SessionEvent[]; readonly more: boolean }> {
    const events: SessionEvent[] = [];
    const start = this.#position.bytes;
    let broken: PalimpsestError | undefined;
    try {
      for await (const { line, end } of lines(await this.#chunks(), start)) {
        // A record that is no JSON may be torn, which only the last one can be.
        if (broken !== undefined) throw broken;
        try {
          this.#take(line, end, events);
        } catch (error) {
          if (error instanceof PalimpsestError) throw error;
          broken = this.#corrupt(error, end - line.length - 1);
          continue;
        }
        if (end - start >= ROUND && events.length > 0) return { events, more: true };
      }
    } catch (error) {
      throw storageError(error, this.#id, this.#location);
    }
    return { events, more: false };
  }

  async #chunks(): Promise<Chunks> {
    if (this.#backend.loadTail) return this.#backend.loadTail(this.#location, this.#position);
    const stored = await this.#backend.loadStored({ id: this.#id, cwd: this.#cwd });
    if (!stored) throw new PalimpsestError('SESSION_NOT_FOUND', `${named(this.#id)} is stored no more`, { session: this.#id });
    return stored.chunks;
  }

  #take(line: Uint8Array, end: number, events: SessionEvent[]): void {
    const text = this.#decoder.decode(line).trim();
    if (text !== '') {
      const record = parseFrozen<Partial<SessionEvent> | null>(text);
      const { seq } = this.#position;
      // The header has none. Without tails a log is read from its beginning each time.
      const found = record?.seq ?? -1;
      const isOld = found < seq;
      if (found > seq) throw conflict(this.#id, this.#location, `event ${found} stands where ${seq} should`);
      if (!isOld) events.push(record as SessionEvent);
      this.#position = { seq: isOld ? seq : seq + 1, bytes: Math.max(end, this.#position.bytes), torn: 0 };
    }
  }

  #corrupt(error: unknown, byte: number): PalimpsestError {
    const { seq } = this.#position;
    return new PalimpsestError('CORRUPT_LOG', `${named(this.#id)}, seq ${seq}: the record in ${this.#location} cannot be read, ${messageOf(error)}`, {
      session: this.#id,
      path: this.#location,
      seq,
      byte,
      cause: error,
    });
  }
}

/** The whole lines of a stream, and where in the log each ends. What has no line end is not there yet. */
async function* lines(chunks: Chunks, start: number): AsyncGenerator<{ readonly line: Uint8Array; readonly end: number }> {
  let at = start;
  let held: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const piece = chunk.subarray(from, end);
      yield { line: held.length === 0 ? piece : joined([...held, piece]), end: at + end + 1 };
      held = [];
      from = end + 1;
    }
    if (from < chunk.length) held.push(chunk.slice(from));
    at += chunk.length;
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  pieces.reduce((at, piece) => (whole.set(piece, at), at + piece.length), 0);
  return whole;
}
