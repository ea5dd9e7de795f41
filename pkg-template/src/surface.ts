/** `session.surface`: the core's surface as the linked list that people know, made when somebody looks. */

import type { SessionSurface, SurfaceNode } from './events.js';

interface Source {
  /** Seqs head to tail. */
  seqs(): readonly number[] | Uint32Array;
  generation(): number;
  invalidate(): void;
}

/** Frozen nodes of a surface, head to tail. */
export function nodesOf(seqs: ArrayLike<number>): readonly SurfaceNode[] {
  const nodes: SurfaceNode[] = [];
  for (let i = 0; i < seqs.length; i++) {
    nodes.push(Object.freeze({ seq: seqs[i]!, prev: seqs[i - 1] ?? null, next: seqs[i + 1] ?? null }));
  }
  return Object.freeze(nodes);
}

/** A surface over a source; `nodes` is the same array for as long as nothing changes. */
export function surfaceOf(source: Source): SessionSurface {
  let cached: { nodes: readonly SurfaceNode[]; generation: number; length: number; tail: number | undefined } | undefined;
  return Object.freeze({
    get nodes() {
      const seqs = source.seqs();
      const generation = source.generation();
      const tail = seqs[seqs.length - 1];
      if (cached?.generation !== generation || cached.length !== seqs.length || cached.tail !== tail) {
        cached = { nodes: nodesOf(seqs), generation, length: seqs.length, tail };
      }
      return cached.nodes;
    },
    get replaceGeneration() {
      return source.generation();
    },
    invalidate: () => source.invalidate(),
  });
}
