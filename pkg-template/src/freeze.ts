/** Deep freezing of values that `JSON.parse` made: no cycles, no accessors, any depth. */

/** Freezes a parsed value and everything in it; the value itself. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  const waiting: object[] = [value];
  for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
    Object.freeze(item);
    if (Array.isArray(item)) {
      for (const child of item as unknown[]) if (typeof child === 'object' && child !== null) waiting.push(child);
    } else {
      for (const key of Object.keys(item)) {
        const child = (item as Record<string, unknown>)[key];
        if (typeof child === 'object' && child !== null) waiting.push(child);
      }
    }
  }
  return value;
}

/** Parses JSON text that the core made, and freezes it. */
export function parseFrozen<T>(text: string): T {
  return deepFreeze(JSON.parse(text) as T);
}
