/** @internal Values and content as logs of any origin hold them: walked without the call stack, whatever they are. */

import { isObject } from './arguments.js';
import type { ContentBlock } from './events.js';

/** Levels that other programs' recursion is trusted with: `JSON.stringify` gives up at some thousands. */
export const MOST_LEVELS = 500;

/** Whether a value is nested deeper than {@link MOST_LEVELS}. */
export function isDeep(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS) return true;
    const below: unknown[] = [];
    for (const item of level) if (isObject(item)) for (const child of Object.values(item) as unknown[]) if (isObject(child)) below.push(child);
    level = below;
  }
  return false;
}

/** What is a block in what stands where content should: an object with a type. */
export function blocksIn(content: unknown): ContentBlock[] {
  return Array.isArray(content) ? (content as unknown[]).filter(isBlock) : [];
}

/** Whether this is a block, of whatever type. */
export function isBlock(value: unknown): value is ContentBlock {
  return isObject(value) && typeof (value as { type?: unknown }).type === 'string';
}

/** Whether this is an object and no array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && !Array.isArray(value);
}

/** A text, or nothing in place of what is none. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A value in a message: a text in quotes, anything else by its kind. */
export function quoted(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : value === undefined ? 'nothing' : `a value of type ${value === null ? 'null' : typeof value}`;
}

/** A copy of a JSON value that may be changed. */
export function thawed<T>(value: T): T {
  const top: unknown[] = [value];
  const waiting: object[] = [top];
  for (let into = waiting.pop(); into !== undefined; into = waiting.pop()) {
    for (const [key, child] of Object.entries(into) as [string, unknown][]) {
      if (!isObject(child)) continue;
      const copy = Array.isArray(child) ? [...(child as unknown[])] : { ...child };
      // Defined, not assigned: the key may be __proto__.
      Object.defineProperty(into, key, { value: copy, enumerable: true, writable: true, configurable: true });
      waiting.push(copy);
    }
  }
  return top[0] as T;
}
