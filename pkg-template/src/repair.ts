/** Crash repair and tool pairing as pure functions over arrays of events. */

import { need, needObject } from './arguments.js';
import { calling, core, errorOf, pure, thrownByCore } from './core.js';
import type { SessionEvent, SurfaceNode } from './events.js';
import { parseFrozen } from './freeze.js';
import { withLines } from './lines.js';

/**
 * The events that close an open tail turn, in order: an error result for each call of the open step that has none,
 * `step/end`, `turn/end` with reason `interrupted`. Deterministic; their time is the last event's.
 * @param events a whole log, or its end from any point before the last `turn/start`
 * @returns nothing when the log ends in a closed turn
 * @throws PalimpsestError `INVALID_ARGUMENT`
 */
export function interruptedTurnClosers(events: readonly SessionEvent[]): SessionEvent[] {
  core();
  need(Array.isArray(events), 'events', events, 'an array');
  let first = events.length - 1;
  while (first >= 0 && events[first]?.type !== 'turn/start') {
    if (events[first]?.type === 'turn/end') return [];
    first--;
  }
  const start = events[first];
  if (start === undefined) return [];
  const closers = withLines(events.slice(first), 'events', (used) => calling(undefined, () => pure.closersOf(used, start.seq)));
  return [...parseFrozen<SessionEvent[]>(closers)];
}

/**
 * Whether a cut through the surface leaves every tool call and its result on the same side.
 * @param nodes the surface, head to tail
 * @param events the log that the nodes' seqs index
 * @param beforeSeq the node before which the cut stands; `null` for after the tail
 * @throws PalimpsestError `UNPAIRED_TOOL_RESULT` for a result before the cut that answers no call before it,
 *   `INVALID_SEQ` where `beforeSeq` is not a node, `INVALID_ARGUMENT`
 */
export function isToolPairingBalanced(nodes: readonly SurfaceNode[], events: readonly SessionEvent[], beforeSeq: number | null): boolean {
  core();
  need(Array.isArray(nodes), 'nodes', nodes, 'an array');
  need(Array.isArray(events), 'events', events, 'an array');
  need(beforeSeq === null || typeof beforeSeq === 'number', 'beforeSeq', beforeSeq, 'the seq of a node, or null');
  for (let at = 0; at < nodes.length; at++) needObject(`nodes[${at}]`, nodes[at]);
  const at = beforeSeq === null ? undefined : nodes.findIndex((node) => node.seq === beforeSeq);
  const before = at === -1 ? nodes.length : at;
  const lines = nodes.flatMap((node) => events[node.seq] ?? []);
  return withLines(lines, 'events', (used) => {
    try {
      return pure.isBalancedOf(used, before);
    } catch (thrown) {
      const error = thrownByCore(thrown);
      if (error === undefined) throw thrown;
      // The core has counted nodes, not seqs.
      const { seq: node = lines.length, ...rest } = error;
      const seq = lines[node]?.seq ?? beforeSeq;
      throw errorOf({ ...rest, ...(seq !== null && { seq }) });
    }
  });
}
