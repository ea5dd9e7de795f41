/** A log's lines piece by piece: all of them at once may be more than an array or a string can hold. */

import { internal, type Session } from './session.js';

/** Most events of a piece; the core bounds its bytes. */
const MOST = 1024;

/** Some lines of a log that follow each other. */
export interface LinesPiece {
  /** Seq of the first event. */
  readonly first: number;
  /** Number of events. */
  readonly count: number;
  /** Their lines, exactly as stored; the receiver's own. */
  readonly bytes: Uint8Array;
}

/** The events `from..to` of a session: pieces of some MB, or of one event. */
export function* piecesOf(session: Session, from = 0, to = session.seq): Generator<LinesPiece, void, undefined> {
  for (let first = from; first < to; ) {
    const piece = pieceAt(session, first, to);
    yield piece;
    first += piece.count;
  }
}

/** The first of {@link piecesOf}; there must be an event. */
export function pieceAt(session: Session, first: number, to: number): LinesPiece {
  const end = internal(session).core().pageEnd(first, Math.min(first + MOST, to));
  return { first, count: end - first, bytes: session.jsonl(first, end) };
}
