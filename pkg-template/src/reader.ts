/** Reading a stored session from JSONL bytes. */

import { need, needAmount, needBytes, needFunction } from './arguments.js';
import { core, CoreReader, fromCore, pure } from './core.js';
import { PalimpsestError } from './errors.js';
import type { SessionEvent, SessionHeader } from './events.js';
import { parseFrozen } from './freeze.js';
import type { Guard } from './open.js';
import { adopt, type Session } from './session.js';

/** Bytes that cross at once: wasm has no on-stack replacement, so a long scan is many calls of a short one. */
const PIECE = 1 << 18;

/** Memory that is reserved ahead at most: what cannot be had would end the core. */
const MOST_EXPECTED = 1 << 30;

/** What a reader found. */
export interface LoadedSession {
  /** The session with every whole event; detached, owned by the caller. */
  readonly session: Session;
  readonly header: SessionHeader;
  /** File offset where the next write goes. */
  readonly committedBytes: number;
  /** Bytes behind it: a torn last record, which was dropped. */
  readonly tornBytes: number;
  /** Events that close an open tail turn; not appended yet. */
  readonly closers: readonly SessionEvent[];
}

/** Reads one stored session from bytes that come in chunks of any size. */
export class SessionReader {
  readonly #where: string | undefined;
  #core: CoreReader | undefined;
  #file: Guard | undefined;

  /**
   * @param where what error messages call the source, for example a file's path
   * @param expectedBytes about how many bytes will come, saves memory growth when it is known
   * @throws PalimpsestError `INVALID_ARGUMENT`
   */
  constructor(where?: string, expectedBytes = 0) {
    core();
    need(where === undefined || typeof where === 'string', 'where', where, 'a string');
    needAmount('expectedBytes', expectedBytes);
    this.#where = where;
    this.#core = new CoreReader(Math.min(expectedBytes, MOST_EXPECTED));
  }

  /** @internal A reader of a source whose bytes are not to be kept. */
  static over(file: Guard, where: string): SessionReader {
    const reader = new SessionReader(where);
    reader.#core?.free();
    reader.#file = file;
    reader.#core = CoreReader.over(
      (offset: number, at: number, length: number) => file.read(offset, new Uint8Array(core().memory.buffer, at, length)),
      () => {
        file.close();
      },
    );
    return reader;
  }

  /**
   * Reads a chunk.
   * @throws PalimpsestError `CORRUPT_LOG`, `UNSUPPORTED_VERSION`, `INVALID_HEADER`, or the rule that an event breaks,
   *   with line, byte and seq; every later call fails with the same error. `INVALID_ARGUMENT` changes nothing;
   *   `OUT_OF_MEMORY` ends the reader, and `openFile` or `openBlob` may open the log
   */
  push(chunk: Uint8Array): void {
    needBytes('chunk', chunk);
    for (let from = 0; from < chunk.length; from += PIECE) {
      const piece = chunk.subarray(from, from + PIECE);
      this.fill(piece.length, (target) => {
        target.set(piece);
        return piece.length;
      });
    }
  }

  /**
   * Reads what `read` puts into a stretch of the core's own memory, without a copy between.
   * @param length room wanted, at most 256 KiB
   * @param read fills the start of its argument, which is good only until it returns; returns how many bytes
   * @returns what `read` returned
   * @throws PalimpsestError as {@link SessionReader.push}
   */
  fill(length: number, read: (target: Uint8Array) => number): number {
    const reader = this.#live();
    need(Number.isInteger(length) && length >= 0 && length <= PIECE, 'length', length, `a whole number from 0 to ${PIECE}`);
    needFunction('read', read);
    let at;
    try {
      at = this.#throwing(() => reader.reserve(length));
    } catch (error) {
      // What there was no room for is missing: nothing may be read behind it.
      this.free();
      throw error;
    }
    let filled = 0;
    try {
      const count = read(new Uint8Array(core().memory.buffer, at, length));
      need(Number.isInteger(count) && count >= 0 && count <= length, 'what `read` returns', count, `a whole number from 0 to ${length}`);
      filled = count;
    } finally {
      this.#throwing(() => reader.commit(length, filled));
    }
    return filled;
  }

  /** Ends the source. @throws PalimpsestError as {@link SessionReader.push}, or where not even the header is whole */
  finish(): LoadedSession {
    const reader = this.#live();
    this.#core = undefined;
    const loaded = this.#throwing(() => reader.finish());
    const { committedBytes, tornBytes } = loaded;
    const closers = parseFrozen<SessionEvent[]>(loaded.closers());
    const session = adopt(this.#file === undefined ? loaded : this.#file.guarded(loaded));
    return { session, header: session.header, committedBytes, tornBytes, closers };
  }

  /** Gives the memory back when the reader is given up before {@link SessionReader.finish}. */
  free(): void {
    this.#core?.free();
    this.#core = undefined;
  }

  /** {@link SessionReader.free}, for `using`. */
  [Symbol.dispose](): void {
    this.free();
  }

  #live(): CoreReader {
    if (this.#core === undefined) throw new PalimpsestError('DISPOSED', 'the reader has ended; make a new one for each source');
    return this.#core;
  }

  #throwing<T>(call: () => T): T {
    try {
      return call();
    } catch (thrown) {
      throw fromCore(thrown, undefined, this.#where);
    }
  }
}

/**
 * The header of a stored session, from its first bytes.
 * @returns `undefined` where `bytes` does not reach the end of the first line
 * @throws PalimpsestError `INVALID_HEADER`, `UNSUPPORTED_VERSION`, `INVALID_ARGUMENT`
 */
export function readHeaderLine(bytes: Uint8Array, where?: string): SessionHeader | undefined {
  core();
  needBytes('bytes', bytes);
  // Blank lines before the header are tolerated, as the reader tolerates them.
  let start = 0;
  let end = bytes.indexOf(0x0a);
  while (end >= 0 && bytes.subarray(start, end).every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)) {
    start = end + 1;
    end = bytes.indexOf(0x0a, start);
  }
  if (end < 0) return undefined;
  try {
    const { type: _, ...header } = JSON.parse(pure.checkHeaderLine(bytes.subarray(start, end))) as SessionHeader & { type: string };
    return Object.freeze(header);
  } catch (thrown) {
    throw fromCore(thrown, undefined, where);
  }
}
