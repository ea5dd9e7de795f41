/** Deep freezing of values that `JSON.parse` made: no cycles, no accessors, any depth. */

/** Levels that the call stack is trusted with. */
const DEEP = 200;

/** Freezes a parsed value and everything in it; the value itself. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) freezeWithin(value, 0);
  return value;
}

function freezeWithin(value: object, depth: number): void {
  Object.freeze(value);
  if (depth >= DEEP) {
    freezeDeep(value);
  } else if (Array.isArray(value)) {
    for (const child of value as unknown[]) {
      if (typeof child === 'object' && child !== null) freezeWithin(child, depth + 1);
    }
  } else {
    // Parsed objects have no prototype of their own; what others put on Object.prototype is no object's child.
    for (const key in value) {
      const child = (value as Record<string, unknown>)[key];
      if (typeof child === 'object' && child !== null && Object.hasOwn(value, key)) freezeWithin(child, depth + 1);
    }
  }
}

/** Freezes what is in a frozen value, with a stack of its own. */
function freezeDeep(value: object): void {
  const waiting: object[] = [value];
  for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
    for (const child of Object.values(item) as unknown[]) {
      if (typeof child === 'object' && child !== null) waiting.push(Object.freeze(child));
    }
  }
}

/** Parses JSON text that the core made, and freezes it. */
export function parseFrozen<T>(text: string): T {
  return deepFreeze(JSON.parse(text) as T);
}
