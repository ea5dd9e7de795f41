/**
 * Secrets that a stream has cut: an answer is logged in pieces as it comes in, and half a key in one event and half in the
 * next match no pattern. The pieces of a block are put together, and what is found is traced back to them.
 */

import { piecesOf } from '../pieces.js';
import type { Session } from '../session.js';

/** A stretch of a text to take out. */
export interface Found {
  readonly from: number;
  readonly to: number;
  readonly kind: string;
  /** All of the secret, of which the stretch may be a part. */
  readonly secret: string;
  /** The secret begins in an earlier piece: nothing stands in place of this part. */
  readonly continued?: true;
}

interface Piece {
  readonly seq: number;
  readonly text: string;
}

/** Most text of one block that is put together; a longer one is looked at in stretches. */
const LONGEST = 4 << 20;

const decoder = new TextDecoder();

/** What is to be taken out of the deltas of a session, by seq: all of it, for each block in which anything is found. */
export function secretsInDeltas(session: Session, find: (text: string) => readonly Found[]): Map<number, Found[]> {
  const cuts = new Map<number, Found[]>();
  const open = new Map<string, { pieces: Piece[]; length: number }>();
  const close = (key: string): void => {
    const pieces = open.get(key)?.pieces ?? [];
    open.delete(key);
    if (pieces.length > 1) trace(pieces, find(pieces.map(({ text }) => text).join('')), cuts);
  };
  for (const { first, bytes } of piecesOf(session)) {
    const lines = decoder.decode(bytes).split('\n');
    for (let index = 0; index < lines.length - 1; index++) {
      const line = lines[index]!;
      // A block ends with its step at the latest; most logs have no deltas at all.
      if (open.size > 0 && /^\{"type":"(?:step|turn)\//.test(line)) for (const key of [...open.keys()]) close(key);
      const delta = line.includes('assistant/chunk') && line.includes('-delta"') ? deltaOf(line) : undefined;
      if (delta === undefined) continue;
      const { key, text } = delta;
      const block = open.get(key) ?? { pieces: [], length: 0 };
      open.set(key, block);
      block.pieces.push({ seq: first + index, text });
      block.length += text.length;
      if (block.length > LONGEST) close(key);
    }
  }
  for (const key of [...open.keys()]) close(key);
  return cuts;
}

function deltaOf(line: string): { key: string; text: string } | undefined {
  const { type, data } = JSON.parse(line) as { type: unknown; data: { turn?: unknown; step?: unknown; chunk?: { type?: unknown; index?: unknown; text?: unknown; argumentsDelta?: unknown } | null } | null };
  const chunk = data?.chunk;
  const text = chunk?.text ?? chunk?.argumentsDelta;
  if (type !== 'assistant/chunk' || typeof text !== 'string') return undefined;
  return { key: JSON.stringify([data?.turn, data?.step, chunk?.type, chunk?.index]), text };
}

/** Where in the pieces the stretches of the whole are. */
function trace(pieces: readonly Piece[], found: readonly Found[], cuts: Map<number, Found[]>): void {
  let start = 0;
  let next = 0;
  for (const { seq, text } of pieces) {
    const end = start + text.length;
    for (let at = next; at < found.length && found[at]!.from < end; at++) {
      const { from, to, kind, secret } = found[at]!;
      if (to <= end) next = at + 1;
      const cut = { from: Math.max(from, start) - start, to: Math.min(to, end) - start, kind, secret, ...(from < start && { continued: true as const }) };
      cuts.set(seq, [...(cuts.get(seq) ?? []), cut]);
    }
    start = end;
  }
}
