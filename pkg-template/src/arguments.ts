/** @internal Arguments that no call can work with: what a caller without types, or with a wrong sum, gets wrong. */

import { PalimpsestError } from './errors.js';

/** An argument is not what it must be. */
export function badArgument(name: string, value: unknown, wanted: string): PalimpsestError {
  return new PalimpsestError('INVALID_ARGUMENT', `${name} is ${shown(value)}, and must be ${wanted}`);
}

/** Makes sure that an argument is what it must be. @throws PalimpsestError `INVALID_ARGUMENT` */
export function need(holds: boolean, name: string, value: unknown, wanted: string): void {
  if (!holds) throw badArgument(name, value, wanted);
}

export function needObject(name: string, value: unknown, wanted = 'an object'): void {
  need(isObject(value), name, value, wanted);
}

export function needFunction(name: string, value: unknown): void {
  need(typeof value === 'function', name, value, 'a function');
}

export function needBytes(name: string, value: unknown): void {
  need(value instanceof Uint8Array, name, value, 'a Uint8Array');
}

/** A number from 0; `Infinity` for without end. */
export function needAmount(name: string, value: unknown): void {
  need(typeof value === 'number' && value >= 0, name, value, 'a number, 0 or more');
}

/** A whole number from 0; `Infinity` for without end. */
export function needCount(name: string, value: unknown): void {
  need(value === Infinity || (Number.isInteger(value) && (value as number) >= 0), name, value, 'a whole number, 0 or more');
}

/** A finite number above 0. */
export function needPositive(name: string, value: unknown): void {
  need(Number.isFinite(value) && (value as number) > 0, name, value, 'a number above 0');
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** The value in a few words; never its whole content, which may be a secret or endless. */
function shown(value: unknown): string {
  if (typeof value === 'string') return value.length > 40 ? `the text ${JSON.stringify(value.slice(0, 40))}…` : `the text ${JSON.stringify(value)}`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'an array';
  return isObject(value) ? 'an object' : String(value);
}
