/**
 * Opening a log whose bytes stay where they are: what is kept is an index, so a log may be larger than memory. The
 * session is like any other; what is appended to it is kept in memory.
 */

import { isObject, need, needAmount, needObject } from './arguments.js';
import type { CoreSession } from './core.js';
import { PalimpsestError } from './errors.js';
import { SessionReader, type LoadedSession } from './reader.js';
import { messageOf } from './wording.js';

/** Stored bytes that can be read at any place, any number of times, without waiting. They must not change. */
export interface LogSource {
  /** Length in bytes. */
  readonly size: number;
  /** Fills `into` with the bytes at `offset`, all of them within `size`. Throws when it cannot. */
  read(offset: number, into: Uint8Array): void;
  /** The same bytes from the first on, where that is faster than reading them piece by piece. */
  chunks?(): AsyncIterable<Uint8Array>;
  /** Called once, when no session needs the source any more. */
  close?(): void;
}

/** How to open. */
export interface OpenLogOptions {
  /** Gives up when it is aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Told from time to time how many bytes have been read, and at the end. */
  readonly onProgress?: ((bytes: number, size: number) => void) | undefined;
}

/** Bytes that are scanned at once: wasm has no on-stack replacement, so a long scan is many calls of a short one. */
const PIECE = 1 << 18;
/** Bytes between two turns of the host's event loop. */
const TURN = 1 << 24;

/**
 * Opens a log over a source. Reads it once, to check and index it, and later what is asked for.
 * @param name what error messages call the source, for example a file's path
 * @throws PalimpsestError as {@link SessionReader.push}, `STORAGE_FAILED` where the source cannot be read; later, when
 *   an event is asked for, `STORAGE_FAILED` also where another event, or none, stands in its place; `INVALID_ARGUMENT`
 */
export async function openSource(source: LogSource, name: string, options: OpenLogOptions = {}): Promise<LoadedSession> {
  needObject('source', source);
  needAmount('source.size', source.size);
  need('read' in source && typeof source.read === 'function', 'source', source, 'an object with a size and a method read');
  need(typeof name === 'string', 'name', name, 'a string');
  needObject('options', options);
  const { signal, onProgress } = options;
  const { size } = source;
  signal?.throwIfAborted();
  const file = new Guard(source, name);
  const reader = SessionReader.over(file, name);
  let done = 0;
  // What the caller's own function throws is no fault of the source.
  let own: unknown;
  const tell = (): void => {
    try {
      onProgress?.(done, size);
    } catch (error) {
      own = error;
      throw error;
    }
  };
  const turn = async (): Promise<void> => {
    tell();
    await nextTurn();
    signal?.throwIfAborted();
  };
  try {
    if (source.chunks === undefined) {
      for (let next = TURN; done < size; ) {
        const offset = done;
        done += reader.fill(Math.min(PIECE, size - done), (target) => file.fill(offset, target));
        if (done >= next) {
          next = done + TURN;
          await turn();
        }
      }
    } else {
      let next = TURN;
      for await (const chunk of source.chunks()) {
        signal?.throwIfAborted();
        reader.push(chunk);
        done += chunk.length;
        if (done < next) continue;
        next = done + TURN;
        await turn();
      }
    }
    // Whatever is missing would pass for the end that a crash has torn off.
    if (done !== size) throw new Error(`it gave ${done} bytes in place of ${size}`);
    tell();
    return reader.finish();
  } catch (error) {
    reader.free();
    throw error instanceof PalimpsestError || signal?.aborted === true || error === own ? error : file.failure(error);
  }
}

/**
 * Opens a log in a Blob (a file that a person chose). In a worker its bytes stay in the Blob; elsewhere a Blob cannot
 * be read without waiting, so they are kept in memory.
 * @param options as for {@link openSource}; `name` is what error messages call the Blob
 * @throws PalimpsestError as {@link openSource}
 */
export async function openBlob(blob: Blob, options: OpenLogOptions & { readonly name?: string | undefined } = {}): Promise<LoadedSession> {
  need(isObject(blob) && typeof blob.stream === 'function', 'blob', blob, 'a Blob or a File');
  needObject('options', options);
  const { name = 'name' in blob && typeof blob.name === 'string' ? blob.name : 'the log' } = options;
  const chunks = (): AsyncIterable<Uint8Array> => streamed(blob);
  if (typeof FileReaderSync === 'undefined') return readAll(blob, name, options);
  const files = new FileReaderSync();
  const read = (offset: number, into: Uint8Array): void => {
    into.set(new Uint8Array(files.readAsArrayBuffer(blob.slice(offset, offset + into.length))));
  };
  return openSource({ size: blob.size, read, chunks }, name, options);
}

// In the libraries of workers only.
declare const FileReaderSync: (new () => { readAsArrayBuffer(blob: Blob): ArrayBuffer }) | undefined;

async function readAll(blob: Blob, name: string, { signal, onProgress }: OpenLogOptions): Promise<LoadedSession> {
  const reader = new SessionReader(name, blob.size);
  let done = 0;
  try {
    for await (const chunk of streamed(blob)) {
      signal?.throwIfAborted();
      reader.push(chunk);
      done += chunk.length;
      onProgress?.(done, blob.size);
    }
    return reader.finish();
  } catch (error) {
    reader.free();
    throw error;
  }
}

/** Streams are not async iterable everywhere. */
async function* streamed(blob: Blob): AsyncGenerator<Uint8Array> {
  const reader = blob.stream().getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    // Timers are held back in pages that are out of sight; a message is not.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}

/** @internal A source that remembers what went wrong, since errors do not cross the core. */
export class Guard {
  readonly #source: LogSource;
  readonly #name: string;
  #cause: unknown;

  constructor(source: LogSource, name: string) {
    this.#source = source;
    this.#name = name;
  }

  /** Reads for the core, into its memory. */
  read(offset: number, into: Uint8Array): boolean {
    try {
      this.#source.read(offset, into);
      return true;
    } catch (error) {
      this.#cause = error;
      return false;
    }
  }

  fill(offset: number, into: Uint8Array): number {
    this.#source.read(offset, into);
    return into.length;
  }

  close(): void {
    this.#source.close?.();
  }

  failure(cause = this.#cause): PalimpsestError {
    const why = cause === undefined ? 'it has changed since it was opened; open it again' : messageOf(cause);
    return new PalimpsestError('STORAGE_FAILED', `${this.#name} cannot be read: ${why}`, { path: this.#name, cause });
  }

  /** The core's session, whose every call fails where the source does. */
  guarded(core: CoreSession): CoreSession {
    return new Proxy(core, {
      get: (target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== 'function') return value;
        if (key === 'free') return value.bind(target) as unknown;
        return (...args: unknown[]): unknown => {
          const result: unknown = Reflect.apply(value, target, args);
          if (target.failed()) throw this.failure();
          return key === 'fork' ? this.guarded(result as CoreSession) : result;
        };
      },
    });
  }
}
