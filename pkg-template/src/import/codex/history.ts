/**
 * What a compaction leaves of the history.
 *
 * A rollout repeats the whole history that is left at every compaction, which is what makes it grow. Here, what stands on
 * the surface already and still stands at its place is left standing; one replace covers the rest, and what is new
 * follows it. So a text enters the log again only where it has moved.
 *
 * Items are told apart by their fingerprints; see `id-table.ts` for why that is enough.
 */

import type { JsonValue } from '../../ids.js';
import { fingerprint } from '../id-table.js';

/** The fingerprint of an item's content. */
export function printOf(parts: JsonValue): string {
  return fingerprint(JSON.stringify(parts));
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
