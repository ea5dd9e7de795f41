/** Growing typed arrays: a million rows of a few bytes each, where objects would take a hundred. */

type Typed = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** Numbers of one kind, in a row. */
export class Column<A extends Typed> {
  #data: A;
  #length = 0;
  readonly #make: (length: number) => A;

  constructor(make: (length: number) => A) {
    this.#make = make;
    this.#data = make(256);
  }

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#data.length) {
      const grown = this.#make(Math.ceil(this.#length * 1.6));
      grown.set(this.#data);
      this.#data = grown;
    }
    this.#data[this.#length++] = value;
  }

  /** The value at `index`; 0 outside. */
  at(index: number): number {
    return index < this.#length ? (this.#data[index] ?? 0) : 0;
  }

  set(index: number, value: number): void {
    if (index < this.#length) this.#data[index] = value;
  }

  /** The largest index whose value is at most `value`, in a column that never falls; -1 when there is none. */
  lastAtMost(value: number): number {
    let low = 0;
    let high = this.#length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.at(middle) <= value) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** A copy of the values `from` to `to`. */
  slice(from = 0, to = this.#length): A {
    return this.#data.slice(from, Math.min(to, this.#length)) as A;
  }
}

export const bytes = (): Column<Uint8Array> => new Column((length) => new Uint8Array(length));
export const shorts = (): Column<Uint16Array> => new Column((length) => new Uint16Array(length));
export const words = (): Column<Uint32Array> => new Column((length) => new Uint32Array(length));
export const doubles = (): Column<Float64Array> => new Column((length) => new Float64Array(length));

/** Words by number. A log may hold any number of them: beyond the limit all are number 0, which means «some other». */
export class Names {
  readonly #limit: number;
  readonly #numbers = new Map<string, number>();
  readonly #names: string[] = [''];

  constructor(limit = 0xffff) {
    this.#limit = limit;
  }

  numberOf(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    if (this.#names.length >= this.#limit || name.length > 400) return 0;
    this.#numbers.set(name, this.#names.length);
    return this.#names.push(name) - 1;
  }

  /** The number of a name that was met; undefined for any other. */
  find(name: string): number | undefined {
    return this.#numbers.get(name);
  }

  nameOf(number: number): string {
    return this.#names[number] ?? '';
  }

  get all(): readonly string[] {
    return this.#names.slice(1);
  }
}
