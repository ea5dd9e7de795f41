// In the page: assertions, and small tools for tests.
import { FlushError, PalimpsestError, type Session } from 'palimpsest/inline';

export function ok(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Error(what);
}

export function equal(actual: unknown, expected: unknown, what: string): void {
  ok(actual === expected, `${what}: got ${String(actual)}, not ${String(expected)}`);
}

export function deepEqual(actual: unknown, expected: unknown, what: string): void {
  equal(JSON.stringify(actual), JSON.stringify(expected), what);
}

/** The error that a promise must reject with. */
export async function refused(promise: Promise<unknown>, code: PalimpsestError['code'], what: string): Promise<PalimpsestError> {
  try {
    await promise;
  } catch (error) {
    const cause = firstOf(error);
    ok(cause instanceof PalimpsestError && cause.code === code, `${what}: rejected with ${String(cause)}, not ${code}`);
    return cause;
  }
  throw new Error(`${what}: not refused`);
}

function firstOf(error: unknown): unknown {
  return error instanceof FlushError ? firstOf(error.errors[0]) : error;
}

export async function settledWithin<T>(ms: number, promise: Promise<T>, what: string): Promise<T> {
  const late = new Promise<never>((_resolve, reject) => setTimeout(() => reject(new Error(`${what}: not settled within ${ms} ms`)), ms));
  return Promise.race([promise, late]);
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let waited = 0; !(await condition()); waited += 5) {
    ok(waited < 5000, `${what}: has not come`);
    await pause(5);
  }
}

/** Runs something while a method is another one. */
export async function patched<T extends object>(target: T, method: keyof T & string, by: unknown, run: () => Promise<void>): Promise<void> {
  const own = Object.getOwnPropertyDescriptor(target, method);
  Object.defineProperty(target, method, { value: by, configurable: true, writable: true });
  try {
    await run();
  } finally {
    if (own) Object.defineProperty(target, method, own);
    else Reflect.deleteProperty(target, method);
  }
}

/** Runs something while each call of a method is seen. */
export async function watched<T extends object>(target: T, method: keyof T & string, see: (on: T) => unknown, run: () => Promise<void>): Promise<void> {
  const original = target[method] as (...args: unknown[]) => unknown;
  const by = function (this: T, ...args: unknown[]): unknown {
    see(this);
    return original.apply(this, args);
  };
  await patched(target, method, by, run);
}

/** A connection that nothing closes, as an old page or another program may hold. */
export function rawOpen(name: string, version: number, upgrade: (database: IDBDatabase) => unknown = () => undefined): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(name, version);
    request.onupgradeneeded = () => upgrade(request.result);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('not opened'));
  });
}

export function say(session: Session, words: string): void {
  session.append('user/message', { content: [{ type: 'text', text: words }], source: { kind: 'user' } }, { surfaceOp: 'append' });
}

export function text(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
}
