/**
 * Which records make which session.
 *
 * In a tree, the main path is that of the newest leaf. Every other leaf makes a path of its own down from where it leaves
 * one that is there already; it starts from that session's events up to the turn in which it leaves.
 *
 * Invariants:
 * - A record belongs to the path that claimed it first, at one position of its list.
 * - A path's list begins with what it repeats of the turn in which it leaves its parent.
 */

import { Integers, NONE } from './records.js';
import type { SessionRole } from './types.js';

/** One session to be. */
export interface Path {
  readonly role: SessionRole;
  /** Index of the path that it starts from; {@link NONE} for the main one. */
  parent: number;
  /** How many records of the parent's list its seed covers; 0 for none. The parent's turn ends there. */
  at: number;
  /** Records, in the order in which they are read. */
  readonly list: number[];
  /** What the session was made for: an id in the source. */
  readonly origin: string | undefined;
  /** Whether the parent's events are its seed, even where `at` is 0. */
  readonly seeded: boolean;
}

/** What the planner must know of a tree. */
export interface Tree {
  /** The record that a record hangs on; {@link NONE} for a root. */
  parent(index: number): number;
  /** Whether a record begins a turn. */
  startsTurn(index: number): boolean;
  /** Whether a record belongs to the turn that is open before it: a model's message, a result. */
  continuesTurn(index: number): boolean;
  /** Records that belong to one although they do not stand on its path, in the order in which they follow it. */
  companions(index: number, claimed: (other: number) => boolean): readonly number[];
  /** A path stops before a record where this says so. */
  stopsAt?(leaf: number, index: number): boolean;
}

/** Makes paths of leaves. */
export class Planner {
  readonly paths: Path[] = [];
  readonly #tree: Tree;
  readonly #owner = new Integers();
  readonly #position = new Integers();
  /** By path: for each position, where the records that follow it as companions end. */
  readonly #unitEnd: Integers[] = [];

  constructor(tree: Tree) {
    this.#tree = tree;
  }

  /** Whether a record belongs to a path. */
  owned(index: number): boolean {
    return this.#owner.at(index) !== NONE;
  }

  /** Makes the path of a leaf. `cycle` tells that it was cut where it came back to itself. */
  add(leaf: number, role: SessionRole, origin: string | undefined): { cycle: boolean } {
    const own = this.paths.length;
    const chain: number[] = [];
    const seen = new Set<number>();
    let at = leaf;
    while (at !== NONE && !seen.has(at) && !this.owned(at) && this.#tree.stopsAt?.(leaf, at) !== true) {
      seen.add(at);
      chain.push(at);
      at = this.#tree.parent(at);
    }
    const cycle = at !== NONE && seen.has(at);
    const branch = at !== NONE && !cycle && this.owned(at) && this.#tree.stopsAt?.(leaf, at) !== true ? at : NONE;
    const parent = branch !== NONE ? this.#owner.at(branch) : own === 0 ? NONE : 0;
    const path: Path = { role: branch !== NONE && role === 'child' ? 'fork' : role, parent, at: 0, list: [], origin, seeded: branch !== NONE };
    this.paths.push(path);
    this.#unitEnd.push(new Integers());
    if (branch !== NONE) this.#leave(path, branch);
    for (const index of chain.reverse()) this.#claim(own, index);
    return { cycle };
  }

  /** Copies what the new path repeats of the turn in which it leaves its parent. */
  #leave(path: Path, branch: number): void {
    const { list } = this.paths[path.parent]!;
    const end = this.#unitEnd[path.parent]!.at(this.#position.at(branch));
    // The turn may end where the path leaves, unless its parent goes on with it; then the whole turn is repeated.
    let next = end;
    while (next < list.length && !this.#tree.startsTurn(list[next]!) && !this.#tree.continuesTurn(list[next]!)) next++;
    let cut = end;
    if (next < list.length && !this.#tree.startsTurn(list[next]!)) while (cut > 0 && !this.#tree.startsTurn(list[cut]!)) cut--;
    path.at = cut;
    for (let at = cut; at < end; at++) path.list.push(list[at]!);
  }

  #claim(own: number, index: number): void {
    if (this.owned(index)) return;
    const { list } = this.paths[own]!;
    const from = list.length;
    const take = (record: number): void => {
      this.#owner.set(record, own);
      this.#position.set(record, list.push(record) - 1);
    };
    take(index);
    for (const other of this.#tree.companions(index, (record) => this.owned(record))) if (!this.owned(other)) take(other);
    for (let at = from; at < list.length; at++) this.#unitEnd[own]!.set(at, list.length);
  }
}
