/**
 * Ids of a source, and a number for each. A large log has a million of them; as strings in a `Map` they would be most of
 * what an import holds, so only a hash of each is kept: 128 bits with a seed of this process, which no file can foresee.
 */

import { NONE } from './records.js';

let seed: Uint32Array | undefined;

/** The hash of the last text: four lanes. */
const lanes = new Uint32Array(4);

/** Hashes a text into {@link lanes}. */
function hash(text: string): void {
  seed ??= crypto.getRandomValues(new Uint32Array(4));
  let a = seed[0]! ^ text.length;
  let b = seed[1]!;
  let c = seed[2]!;
  let d = seed[3]!;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x27d4eb2f);
    b = Math.imul(b ^ unit, 0x165667b1);
    c = Math.imul(c ^ unit, 0x5bd1e995);
    d = Math.imul(d ^ unit, 0x2c1b3c6d);
    // Multiplication carries only upwards; this brings the high bits down.
    a ^= b >>> 15;
    c ^= d >>> 13;
  }
  lanes[0] = spread(a);
  lanes[1] = spread(b);
  lanes[2] = spread(c);
  lanes[3] = spread(d);
}

/** Spreads what the last units have changed over all bits. */
function spread(lane: number): number {
  const mixed = Math.imul(lane ^ (lane >>> 16), 0x735a2d97);
  const more = Math.imul(mixed ^ (mixed >>> 15), 0x3c6ef375);
  return (more ^ (more >>> 16)) >>> 0;
}

/** The hash of a text, as text. */
export function fingerprint(text: string): string {
  hash(text);
  return `${text.length}.${lanes[0]!.toString(36)}.${lanes[1]!.toString(36)}.${lanes[2]!.toString(36)}.${lanes[3]!.toString(36)}`;
}

/** Numbers by id. Open addressing. */
export class IdTable {
  #keys = new Uint32Array(4 * 256);
  #values = new Int32Array(256).fill(NONE);
  #size = 0;

  /** The id's number; {@link NONE} for one that is not known. */
  get(id: string): number {
    hash(id);
    return this.#values[this.#find(lanes[0]!, lanes[1]!, lanes[2]!, lanes[3]!)]!;
  }

  has(id: string): boolean {
    return this.get(id) !== NONE;
  }

  /** Gives an id a number, which is not negative. */
  set(id: string, value: number): void {
    hash(id);
    const at = this.#find(lanes[0]!, lanes[1]!, lanes[2]!, lanes[3]!);
    if (this.#values[at] === NONE) {
      this.#size++;
      this.#keys.set(lanes, 4 * at);
    }
    this.#values[at] = value;
    if (this.#size * 2 > this.#values.length) this.#grow();
  }

  /** Where a key is, or would be. */
  #find(a: number, b: number, c: number, d: number): number {
    const keys = this.#keys;
    const mask = this.#values.length - 1;
    let at = a & mask;
    while (this.#values[at] !== NONE && !(keys[4 * at] === a && keys[4 * at + 1] === b && keys[4 * at + 2] === c && keys[4 * at + 3] === d)) at = (at + 1) & mask;
    return at;
  }

  #grow(): void {
    const [keys, values] = [this.#keys, this.#values];
    this.#keys = new Uint32Array(keys.length * 2);
    this.#values = new Int32Array(values.length * 2).fill(NONE);
    for (let from = 0; from < values.length; from++) {
      if (values[from] === NONE) continue;
      const key = keys.subarray(4 * from, 4 * from + 4);
      const at = this.#find(key[0]!, key[1]!, key[2]!, key[3]!);
      this.#keys.set(key, 4 * at);
      this.#values[at] = values[from]!;
    }
  }
}

/** Lists of numbers by number, in the order in which they were added. */
export class Lists {
  readonly #first: number[] = [];
  readonly #last: number[] = [];
  readonly #next: number[] = [];
  readonly #items: number[] = [];

  add(list: number, item: number): void {
    const node = this.#items.push(item) - 1;
    this.#next.push(NONE);
    while (this.#first.length <= list) {
      this.#first.push(NONE);
      this.#last.push(NONE);
    }
    const last = this.#last[list]!;
    if (last === NONE) this.#first[list] = node;
    else this.#next[last] = node;
    this.#last[list] = node;
  }

  of(list: number): number[] {
    const items: number[] = [];
    for (let node = this.#first[list] ?? NONE; node !== NONE; node = this.#next[node]!) items.push(this.#items[node]!);
    return items;
  }
}
