/** Which rows the timeline shows: what is folded away and what is filtered out, over all rows at once. */

import { familyOf, Flag, Kind, NONE } from '../lib/kinds.js';
import { type Filters, NO_FILTERS } from '../lib/protocol.js';
import { words } from './columns.js';
import type { Outline } from './outline.js';

/** Indices that differ from a default. */
class Folds {
  #closed = false;
  readonly #others = new Set<number>();

  isOpen(index: number): boolean {
    return this.#closed === this.#others.has(index);
  }

  set(index: number, open: boolean): void {
    if (open === !this.#closed) this.#others.delete(index);
    else this.#others.add(index);
  }

  all(open: boolean): void {
    this.#closed = !open;
    this.#others.clear();
  }
}

export class Visible {
  readonly #outline: Outline;
  #rows = words();
  #done = 0;
  #filters: Filters = NO_FILTERS;
  #only: Uint8Array | undefined;
  #heading = { turn: NONE, step: NONE };
  readonly #turns = new Folds();
  readonly #steps = new Folds();
  readonly #chunks = new Folds();

  constructor(outline: Outline) {
    this.#outline = outline;
    this.#chunks.all(false);
  }

  get length(): number {
    return this.#rows.length;
  }

  rowAt(index: number): number {
    return this.#rows.at(index);
  }

  /** Where a row is shown, or the one that it is folded into. */
  indexOf(row: number): number {
    return Math.max(0, this.#rows.lastAtMost(row));
  }

  isShown(row: number): boolean {
    const at = this.#rows.lastAtMost(row);
    return at >= 0 && this.#rows.at(at) === row;
  }

  get filtered(): boolean {
    const { families, type, tool, errors } = this.#filters;
    return families.length > 0 || type !== '' || tool !== '' || errors || this.#only !== undefined;
  }

  filter(filters: Filters): void {
    this.#filters = filters;
    this.#only = undefined;
    if (filters.rows) {
      this.#only = new Uint8Array(Math.ceil(this.#outline.length / 8) + 1);
      for (const row of filters.rows) this.#only[row >> 3]! |= 1 << (row & 7);
    }
    this.refresh();
  }

  /** Opens or closes what a row holds. */
  fold(row: number, open: boolean): void {
    const { turns, steps, kinds, turnOf, stepOf } = this.#outline;
    const turn = turnOf.at(row);
    const step = stepOf.at(row);
    if (turn !== NONE && turns.row.at(turn) === row) this.#turns.set(turn, open);
    else if (step !== NONE && steps.row.at(step) === row) this.#steps.set(step, open);
    else if (kinds.at(row) === Kind.assistant || kinds.at(row) === Kind.chunk) this.#chunks.set(step, open);
    this.refresh();
  }

  foldAll(what: 'turns' | 'steps' | 'chunks', open: boolean): void {
    (what === 'turns' ? this.#turns : what === 'steps' ? this.#steps : this.#chunks).all(open);
    this.refresh();
  }

  /** Opens what a row is folded into. */
  reveal(row: number): void {
    const { turnOf, stepOf, kinds } = this.#outline;
    if (this.isShown(row)) return;
    const turn = turnOf.at(row);
    const step = stepOf.at(row);
    if (turn !== NONE) this.#turns.set(turn, true);
    if (step !== NONE) this.#steps.set(step, true);
    if (kinds.at(row) === Kind.chunk) this.#chunks.set(step, true);
    this.refresh();
    if (!this.isShown(row) && this.filtered) this.filter(NO_FILTERS);
  }

  /** Whether what a row holds is shown; undefined where it holds nothing. */
  openness(row: number): boolean | undefined {
    const { turns, steps, kinds, turnOf, stepOf } = this.#outline;
    const turn = turnOf.at(row);
    const step = stepOf.at(row);
    if (turn !== NONE && turns.row.at(turn) === row) return this.#turns.isOpen(turn);
    if (step === NONE) return undefined;
    if (steps.row.at(step) === row) return this.#steps.isOpen(step);
    const holder = steps.message.at(step);
    if (steps.chunks.at(step) > 0 && (holder === row || (holder === NONE && kinds.at(row) === Kind.chunk && kinds.at(row - 1) !== Kind.chunk))) return this.#chunks.isOpen(step);
    return undefined;
  }

  refresh(): void {
    this.#rows = words();
    this.#done = 0;
    this.#heading = { turn: NONE, step: NONE };
    this.extend();
  }

  /** Takes in the rows that were added since. */
  extend(): void {
    const { length } = this.#outline;
    const filtered = this.filtered;
    for (let row = this.#done; row < length; row++) {
      if (filtered) this.#ifMatching(row);
      else if (this.#unfolded(row)) this.#rows.push(row);
    }
    this.#done = length;
  }

  #unfolded(row: number): boolean {
    const { turns, steps, kinds, turnOf, stepOf } = this.#outline;
    const turn = turnOf.at(row);
    if (turn !== NONE && !this.#turns.isOpen(turn) && turns.row.at(turn) !== row) return false;
    const step = stepOf.at(row);
    if (step !== NONE && !this.#steps.isOpen(step) && steps.row.at(step) !== row) return false;
    if (kinds.at(row) !== Kind.chunk || this.#chunks.isOpen(step)) return true;
    // Chunks of a step that has no message have nothing to be folded into but the first of them.
    return step === NONE || (steps.message.at(step) === NONE && kinds.at(row - 1) !== Kind.chunk);
  }

  #ifMatching(row: number): void {
    const { turns, steps, turnOf, stepOf } = this.#outline;
    if (!this.#matches(row)) return;
    const turn = turnOf.at(row);
    const step = stepOf.at(row);
    if (turn !== NONE && turn !== this.#heading.turn && turns.row.at(turn) !== row) this.#rows.push(turns.row.at(turn));
    if (step !== NONE && step !== this.#heading.step && steps.row.at(step) !== row) this.#rows.push(steps.row.at(step));
    this.#heading = { turn, step };
    this.#rows.push(row);
  }

  #matches(row: number): boolean {
    const { kinds, flags, types, tools, typeNames, toolNames } = this.#outline;
    const { families, type, tool, errors } = this.#filters;
    if (this.#only && ((this.#only[row >> 3] ?? 0) & (1 << (row & 7))) === 0) return false;
    if (errors && (flags.at(row) & (Flag.error | Flag.bad)) === 0) return false;
    if (families.length > 0 && !families.includes(familyOf(kinds.at(row)))) return false;
    if (type !== '' && types.at(row) !== typeNames.find(type)) return false;
    if (tool !== '' && (tools.at(row) === 0 || tools.at(row) !== toolNames.find(tool))) return false;
    return true;
  }
}
