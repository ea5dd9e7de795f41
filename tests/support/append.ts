/** Appends that the types would refuse: raw events, wrong values. */

import type { Session, SessionEvent } from 'palimpsest';

type Loose = (type: unknown, data: unknown, intent?: unknown) => SessionEvent;

/** Calls `append` with whatever it is given. */
export function appendLoosely(session: Session, type: unknown, data: unknown, intent?: unknown): SessionEvent {
  return (session.append as unknown as Loose).call(session, type, data, intent);
}

/** Appends an event of another log again. */
export function appendAgain(session: Session, { type, data, surfaceOp, sourceEventSeqs }: SessionEvent): SessionEvent {
  const intent = surfaceOp === undefined ? undefined : { surfaceOp, ...(sourceEventSeqs && { sourceEventSeqs }) };
  return appendLoosely(session, type, data, intent);
}
