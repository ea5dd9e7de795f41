/**
 * What a compaction leaves of the history.
 *
 * A rollout repeats the whole history that is left at every compaction, which is what makes it grow. Here, what stands on
 * the surface already and still stands at its place is left standing; one replace covers the rest, and what is new
 * follows it. So a text enters the log again only where it has moved.
 *
 * Items are told apart by a hash with a seed of its own for each import: 128 bits that a file's author cannot foresee.
 */

import type { JsonValue } from '../../ids.js';

/** Hashes of one import. */
export class Fingerprints {
  readonly #seed = crypto.getRandomValues(new Uint32Array(4));

  /** The fingerprint of an item's content. */
  of(parts: JsonValue): string {
    const text = JSON.stringify(parts);
    let [a, b, c, d] = this.#seed as unknown as [number, number, number, number];
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
    return `${text.length}.${finished(a)}.${finished(b)}.${finished(c)}.${finished(d)}`;
  }
}

/** Spreads what the last units have changed over all bits. */
function finished(hash: number): string {
  let mixed = Math.imul(hash ^ (hash >>> 16), 0x735a2d97);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x3c6ef375);
  return ((mixed ^ (mixed >>> 16)) >>> 0).toString(36);
}

/** How many surface nodes from `first` on, and how many of the items, are the same. */
export function standing(nodes: readonly (readonly string[] | undefined)[], first: number, items: readonly string[]): { nodes: number; items: number } {
  let node = first;
  let item = 0;
  for (; node < nodes.length; node++) {
    const own = nodes[node];
    if (own === undefined || own.length === 0 || item + own.length > items.length) break;
    if (!own.every((print, at) => print === items[item + at])) break;
    item += own.length;
  }
  return { nodes: node - first, items: item };
}
