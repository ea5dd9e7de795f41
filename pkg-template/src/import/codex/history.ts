/**
 * What a compaction leaves of the history.
 *
 * A rollout repeats the whole history that is left at every compaction, which is what makes it grow. Here, what stands on
 * the surface already and still stands at its place is left standing; one replace covers the rest, and what is new
 * follows it. So a text enters the log again only where it has moved.
 *
 * Items are told apart by a hash with a seed of its own for each import: 106 bits that a file's author cannot foresee.
 */

import type { JsonValue } from '../../ids.js';

/** Hashes of one import. */
export class Fingerprints {
  readonly #seed = crypto.getRandomValues(new Uint32Array(2));

  /** The fingerprint of an item's content. */
  of(parts: JsonValue): string {
    const text = JSON.stringify(parts);
    return `${text.length}.${mix(text, this.#seed[0]!)}.${mix(text, this.#seed[1]!)}`;
  }
}

/** A multiplicative hash of 53 bits over the text's units. */
function mix(text: string, seed: number): number {
  let a = 0x9e3779b9 ^ seed;
  let b = 0x85ebca6b ^ seed;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 0x27d4eb2f);
    b = Math.imul(b ^ unit, 0x165667b1);
  }
  a = Math.imul(a ^ (a >>> 15), 0x735a2d97) ^ Math.imul(b ^ (b >>> 13), 0x3c6ef372);
  b = Math.imul(b ^ (b >>> 16), 0x735a2d97) ^ Math.imul(a ^ (a >>> 13), 0x3c6ef372);
  return (b >>> 0) * 2097152 + (a >>> 11);
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
