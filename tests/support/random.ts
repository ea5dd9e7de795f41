/** Random values from a seed, so that a failure can be run again. */

import type { JsonValue } from 'palimpsest';

/** A generator of numbers in [0, 1): mulberry32. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Picks and makes values. */
export class Dice {
  readonly next: () => number;

  constructor(seed: number) {
    this.next = random(seed);
  }

  /** An integer in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Text with what texts are broken by: escapes, controls, surrogates whole and half, long runs. */
  text(most = 40): string {
    const parts = ['a', 'word ', '"', '\\', '\n', '\r', '\t', '\b', '\f', '\0', '\u001f', '\u007f', 'é', 'ß', '漢', '한글', '😀', '\ud83d', '\ude00', '\u2028', '\ufffd', '\ufeff', '</script>', '__proto__'];
    let text = '';
    for (let n = this.below(most); n > 0; n--) text += this.chance(0.02) ? this.pick(parts).repeat(this.below(300)) : this.pick(parts);
    return text;
  }

  number(): number {
    const numbers = [0, 1, 9, 10, -1, 255, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 0.1, 123456789012, 2 ** 53, -(2 ** 31), 4294967295, 1.5, 100, 1e20];
    if (this.chance(0.7)) return this.pick(numbers);
    const number = (this.next() - 0.5) * 10 ** this.below(30);
    return this.chance(0.5) ? Math.trunc(number) + 0 || 7 : number;
  }

  key(): string {
    return this.chance(0.8) ? this.pick(['a', 'type', 'text', 'key with space', '0', '10', '2', '', '__proto__', 'constructor', 'toString', 'é']) : this.text(6);
  }

  json(depth = 4): JsonValue {
    const kind = this.below(depth > 0 ? 7 : 5);
    if (kind === 0) return null;
    if (kind === 1) return this.chance(0.5);
    if (kind === 2) return this.number();
    if (kind <= 4) return this.text();
    if (kind === 5) return Array.from({ length: this.below(5) }, () => this.json(depth - 1));
    const object: Record<string, JsonValue> = {};
    for (let n = this.below(6); n > 0; n--) {
      Object.defineProperty(object, this.key(), { value: this.json(depth - 1), enumerable: true, writable: true, configurable: true });
    }
    return object;
  }
}
