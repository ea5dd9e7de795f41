/** Where each item of a long list stands. */

/** Heights of items from the first on. */
export interface Heights {
  readonly count: number;
  readonly total: number;
  /** Where an item begins. */
  offsetOf(index: number): number;
  /** The item at an offset. */
  indexAt(offset: number): number;
  heightOf(index: number): number;
  /** @returns how much taller the item has become */
  set(index: number, height: number): number;
  resize(count: number): void;
}

/** Items of one height. */
export class EvenHeights implements Heights {
  count = 0;
  readonly #height: number;

  constructor(height: number) {
    this.#height = height;
  }

  get total(): number {
    return this.count * this.#height;
  }

  offsetOf(index: number): number {
    return index * this.#height;
  }

  indexAt(offset: number): number {
    return Math.min(Math.max(0, this.count - 1), Math.max(0, Math.floor(offset / this.#height)));
  }

  heightOf(): number {
    return this.#height;
  }

  set(): number {
    return 0;
  }

  resize(count: number): void {
    this.count = count;
  }
}

/** Items that are measured when they are seen, and guessed until then: sums in a Fenwick tree, so that a change costs little. */
export class MeasuredHeights implements Heights {
  count = 0;
  readonly #guess: number;
  #heights = new Float32Array(0);
  /** By item, 1 + its index: sums of what each item differs from the guess. */
  #tree = new Float64Array(1);

  constructor(guess: number) {
    this.#guess = guess;
  }

  get total(): number {
    return this.offsetOf(this.count);
  }

  offsetOf(index: number): number {
    let sum = index * this.#guess;
    for (let at = Math.min(index, this.count); at > 0; at -= at & -at) sum += this.#tree[at]!;
    return sum;
  }

  indexAt(offset: number): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.offsetOf(middle + 1) <= offset) low = middle + 1;
      else high = middle;
    }
    return Math.min(low, Math.max(0, this.count - 1));
  }

  heightOf(index: number): number {
    return this.#guess + (this.#heights[index] ?? 0);
  }

  set(index: number, height: number): number {
    if (index >= this.count) return 0;
    const delta = height - this.heightOf(index);
    if (Math.abs(delta) < 0.5) return 0;
    this.#heights[index]! += delta;
    for (let at = index + 1; at <= this.count; at += at & -at) this.#tree[at]! += delta;
    return delta;
  }

  resize(count: number): void {
    if (count === this.count) return;
    const heights = new Float32Array(count);
    heights.set(this.#heights.subarray(0, count));
    this.#heights = heights;
    this.count = count;
    this.#tree = new Float64Array(count + 1);
    for (let at = 1; at <= count; at++) {
      this.#tree[at]! += heights[at - 1]!;
      const parent = at + (at & -at);
      if (parent <= count) this.#tree[parent]! += this.#tree[at]!;
    }
  }
}

/** Browsers stop at about 17 (Firefox) or 33 million pixels: a longer list is scrolled through less. */
const TALLEST = 6_000_000;

/**
 * A scroll position within a list that may be longer than an element can be. A small movement moves the list by as much;
 * a jump of the scroll bar goes to the same share of the whole. The element's own position is set right when all is quiet.
 */
export class ScrollScale {
  /** Position within the list. */
  top = 0;
  /** Position of the element. */
  physical = 0;
  viewport = 0;

  constructor(readonly heights: Heights) {}

  get height(): number {
    return Math.min(this.heights.total, TALLEST);
  }

  get #scaled(): boolean {
    return this.heights.total > TALLEST;
  }

  get #range(): number {
    return Math.max(0, this.heights.total - this.viewport);
  }

  get #physicalRange(): number {
    return Math.max(1, this.height - this.viewport);
  }

  get atEnd(): boolean {
    return this.top >= this.#range - 4;
  }

  /** The element was scrolled. */
  scrolled(physical: number): void {
    const moved = physical - this.physical;
    this.physical = physical;
    if (!this.#scaled) this.top = physical;
    else if (physical <= 0) this.top = 0;
    else if (physical >= this.#physicalRange - 1) this.top = this.#range;
    else if (Math.abs(moved) <= this.viewport * 2) this.top = clamp(this.top + moved, 0, this.#range);
    else this.top = (physical / this.#physicalRange) * this.#range;
  }

  /** Goes to a position; returns where the element must be. */
  go(top: number): number {
    this.top = clamp(top, 0, this.#range);
    return this.settle();
  }

  /** Where the element belongs for the present position. */
  settle(): number {
    this.top = clamp(this.top, 0, this.#range);
    this.physical = this.#scaled ? Math.round((this.top / Math.max(1, this.#range)) * this.#physicalRange) : this.top;
    return this.physical;
  }

  /** Where an item stands in the element. */
  placeOf(index: number): number {
    return this.heights.offsetOf(index) - this.top + this.physical;
  }
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
