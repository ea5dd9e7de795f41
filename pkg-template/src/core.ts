/**
 * The one instance of the wasm core, and how its errors become ours.
 *
 * Entries (`entry/*.ts`) start it, each in the way of its host; everything else asks {@link core} for it.
 */

import { PalimpsestError, type ErrorCode } from './errors.js';
import * as glue from './wasm/palimpsest.js';

export { CoreChecker, CoreReader, CoreSession } from './wasm/palimpsest.js';
export * as pure from './wasm/palimpsest.js';

let instance: glue.InitOutput | undefined;

/** The core's exports. @throws PalimpsestError `NOT_INITIALIZED` before an entry has started it */
export function core(): glue.InitOutput {
  if (instance === undefined) {
    throw new PalimpsestError('NOT_INITIALIZED', "palimpsest is used before it is ready: `await init()` (import { init } from 'palimpsest') first");
  }
  return instance;
}

/** Starts the core from compiled or raw wasm; later calls change nothing. */
export function startSync(module: BufferSource | WebAssembly.Module): void {
  instance ??= glue.initSync({ module });
}

let starting: Promise<void> | undefined;

/**
 * Starts the core from wherever the wasm is. Concurrent and later calls share the first one's result; a failed start
 * may be tried again.
 */
export function start(source: glue.InitInput | Promise<glue.InitInput>): Promise<void> {
  if (instance !== undefined) return Promise.resolve();
  starting ??= Promise.resolve(source)
    .then((input) => glue.default({ module_or_path: input }))
    .then(
      (exports) => {
        instance = exports;
      },
      (cause: unknown) => {
        starting = undefined;
        throw new PalimpsestError('NOT_INITIALIZED', `the wasm core could not be loaded: ${String(cause)}`, { cause });
      },
    );
  return starting;
}

/** An error of the core. */
interface Thrown {
  code: ErrorCode;
  message: string;
  seq?: number;
  path?: string;
  line?: number;
  byte?: number;
}

/** What the core threw, which it throws as JSON text; `undefined` for anything else. */
export function thrownByCore(value: unknown): Thrown | undefined {
  return typeof value === 'string' && value.startsWith('{"code":') ? (JSON.parse(value) as Thrown) : undefined;
}

/** The error to throw for what the core threw: with the session's name, and `where` in front (a file's path). */
export function fromCore(thrown: unknown, session?: string, where?: string): unknown {
  const error = thrownByCore(thrown);
  return error === undefined ? thrown : errorOf(error, session, where);
}

/** {@link fromCore}, of what has been parsed already. */
export function errorOf(thrown: Thrown, session?: string, where?: string): PalimpsestError {
  const { code, seq, path, line, byte } = thrown;
  const place = [
    where,
    session === undefined ? undefined : `session ${JSON.stringify(session)}`,
    seq === undefined ? undefined : `seq ${seq}`,
    path,
    line === undefined ? undefined : `line ${line}, byte ${byte}`,
  ].filter((part) => part !== undefined);
  const message = place.length === 0 ? thrown.message : `${place.join(', ')}: ${thrown.message}`;
  return new PalimpsestError(code, message, { session, seq, path: where ?? path, line, byte });
}

/** Runs a call into the core and throws its errors as ours. */
export function calling<T>(session: string | undefined, call: () => T): T {
  try {
    return call();
  } catch (thrown) {
    throw fromCore(thrown, session);
  }
}
