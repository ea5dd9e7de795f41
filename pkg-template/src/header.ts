/**
 * Request headers as pure functions, and the session header's stored form.
 *
 * The core holds the one implementation; here values become text and back.
 */

import { core, pure } from './core.js';
import { encode } from './encode.js';
import { PalimpsestError } from './errors.js';
import type { EpochHeader, HeaderDelta, SessionEvent, SessionHeader } from './events.js';
import { parseFrozen } from './freeze.js';
import { bytes, pending, release } from './scratch.js';

const decoder = new TextDecoder();

/** JSON text of a value that must survive JSON without loss. */
function textOf(value: unknown, root: string): string {
  core();
  try {
    const { end } = encode(value, pending, root);
    return decoder.decode(bytes.subarray(pending, end));
  } finally {
    if (pending === 0) release();
  }
}

/** The one form in which a header is logged and compared: empty `system`, `tools`, `messagePrefix` are absent. Frozen. */
export function canonicalHeader(header: EpochHeader): EpochHeader {
  return parseFrozen(pure.canonicalHeader(textOf(header, 'header')));
}

/** Whether two headers say the same in canonical form. Schemas compare by `JSON.stringify`, so key order counts. */
export function headerEquals(a: EpochHeader, b: EpochHeader): boolean {
  return pure.headerEquals(textOf(a, 'a'), textOf(b, 'b'));
}

/**
 * The change from `previous` to `next`; `undefined` when they are equal. Not every change can be expressed (tools in
 * another order cannot): apply the delta and compare before logging it.
 */
export function diffHeader(previous: EpochHeader, next: EpochHeader): HeaderDelta | undefined {
  const delta = pure.diffHeader(textOf(previous, 'previous'), textOf(next, 'next'));
  return delta === undefined ? undefined : parseFrozen(delta);
}

/** The header after a delta. Frozen. */
export function applyHeaderDelta(previous: EpochHeader, delta: HeaderDelta): EpochHeader {
  return parseFrozen(pure.applyHeaderDelta(textOf(previous, 'previous'), textOf(delta, 'delta')));
}

/**
 * Folds the header events of a log, or of any part of one, into the header in force.
 * @param from the header in force before `events`
 * @throws PalimpsestError `DELTA_WITHOUT_HEADER` with the seq, where a delta stands before any snapshot
 */
export function foldRequestHeader(events: Iterable<SessionEvent>, from?: EpochHeader): EpochHeader | undefined {
  let state = from;
  for (const event of events) {
    if (event.type === 'request/header') {
      state = canonicalHeader(event.data.header);
    } else if (event.type === 'request/header-delta') {
      if (state === undefined) {
        throw new PalimpsestError('DELTA_WITHOUT_HEADER', `seq ${event.seq}: a request/header-delta stands before any request/header; the log is corrupt`, { seq: event.seq });
      }
      state = applyHeaderDelta(state, event.data);
    }
  }
  return state;
}

/** The stored form of a session header: one JSON object with its type first. */
export function headerToRecord(id: string, header: SessionHeader): string {
  if (typeof id !== 'string' || id === '') throw new PalimpsestError('INVALID_ID', 'a session id must be a non-empty string');
  const { version, id: ownId, createdAt, cwd, parentSession, seedLength, ...rest } = header;
  if (ownId !== id) {
    throw new PalimpsestError('INVALID_HEADER', `session ${JSON.stringify(id)}: the header names another session, ${JSON.stringify(ownId)}`, { session: id });
  }
  const record: Record<string, unknown> = { type: 'session', version, id, createdAt };
  if (cwd !== undefined) record.cwd = cwd;
  if (parentSession !== undefined) record.parentSession = parentSession;
  if (seedLength !== undefined) record.seedLength = seedLength;
  return textOf({ ...record, ...rest }, 'header');
}
