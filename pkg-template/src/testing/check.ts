/** Assertions that need no test runner. */

import { FlushError, PalimpsestError, type ErrorCode } from '../errors.js';

/** Fails a case. */
export function fail(what: string): never {
  throw new Error(what);
}

/** Deep equality, key order included. */
export function equal(actual: unknown, expected: unknown, what: string): void {
  const [found, wanted] = [show(actual), show(expected)];
  if (found === wanted) return;
  let at = 0;
  while (found[at] === wanted[at]) at++;
  const part = (text: string): string => text.slice(Math.max(0, at - 40), at + 120);
  fail(`${what}: got …${part(found)}…, not …${part(wanted)}…`);
}

export function ok(condition: boolean, what: string): asserts condition {
  if (!condition) fail(what);
}

/** The error that a promise must reject with. Of a failed flush, that of its first session. */
export async function rejects(promise: Promise<unknown>, code: ErrorCode, what: string): Promise<PalimpsestError> {
  let value: unknown;
  try {
    value = await promise;
  } catch (error) {
    const cause = error instanceof FlushError ? error.errors[0] : error;
    if (!(cause instanceof PalimpsestError)) return fail(`${what}: rejected with what is no error of the package: ${String(cause)}`);
    if (cause.code !== code) fail(`${what}: rejected with ${cause.code}, not ${code}: ${cause.message}`);
    return cause;
  }
  return fail(`${what}: resolved with ${show(value)}, and should have been rejected with ${code}`);
}

// JSON.stringify is not enough: it takes undefined, -0 and functions for something else.
function show(value: unknown): string {
  const text = JSON.stringify(value, (_key, item: unknown) => {
    if (item === undefined) return '(undefined)';
    if (Object.is(item, -0)) return '(-0)';
    return typeof item === 'number' && !Number.isFinite(item) ? `(${item})` : item;
  }) as string | undefined;
  return text ?? String(value);
}
