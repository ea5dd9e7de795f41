/**
 * Request headers as pure functions, and the session header's stored form.
 *
 * The core holds the one implementation; here values become text and back.
 */

import { need, needObject } from './arguments.js';
import { core, pure } from './core.js';
import { isRecord } from './depth.js';
import { encode, encodeRead } from './encode.js';
import { PalimpsestError } from './errors.js';
import type { EpochHeader, HeaderDelta, Message, SessionEvent, SessionHeader } from './events.js';
import { parseFrozen } from './freeze.js';
import { bytes, pending, release } from './scratch.js';

const decoder = new TextDecoder();

/** JSON text of a value that must survive JSON without loss. */
function textOf(value: unknown, root: string, write = encode): string {
  core();
  try {
    const { end } = write(value, pending, root);
    return decoder.decode(bytes.subarray(pending, end));
  } finally {
    if (pending === 0) release();
  }
}

/** The one form in which a header is logged and compared: empty `system`, `tools`, `messagePrefix` are absent. Frozen. */
export function canonicalHeader(header: EpochHeader): EpochHeader {
  return parseFrozen(pure.canonicalHeader(textOf(header, 'header')));
}

/** @internal {@link canonicalHeader} of one that a log may hold: a file brings numbers that an append refuses. */
export function loggedHeader(header: EpochHeader): EpochHeader {
  return parseFrozen(pure.canonicalHeader(textOf(header, 'header', encodeRead)));
}

const ROLES: readonly unknown[] = ['user', 'assistant', 'system'] satisfies Message['role'][];

/**
 * @internal Makes sure that a header in canonical form has the shape of one. What is in `config`, in the schemas and in
 * the content of messages is the program's own.
 * @throws PalimpsestError `INVALID_PAYLOAD` with the path
 */
export function checkHeader({ config, system, tools, messagePrefix }: EpochHeader): void {
  const check = (holds: boolean, path: string, what: string): void => {
    if (!holds) throw new PalimpsestError('INVALID_PAYLOAD', `${path}: a request header’s ${path.slice(7)} must be ${what}`, { path });
  };
  check(isRecord(config), 'header.config', 'an object');
  check(system === undefined || typeof system === 'string', 'header.system', 'a string');
  check(tools === undefined || Array.isArray(tools), 'header.tools', 'an array of tool schemas');
  tools?.forEach((tool, at) => check(isRecord(tool), `header.tools[${at}]`, 'a tool schema, an object'));
  check(messagePrefix === undefined || Array.isArray(messagePrefix), 'header.messagePrefix', 'an array of messages');
  messagePrefix?.forEach((message, at) => {
    const path = `header.messagePrefix[${at}]`;
    check(isRecord(message), path, 'a message, an object');
    check(ROLES.includes(message.role), `${path}.role`, `one of ${ROLES.join(', ')}`);
    check(Array.isArray(message.content), `${path}.content`, 'an array of blocks');
  });
}

/** Whether two headers say the same in canonical form. Schemas compare by `JSON.stringify`, so key order counts. */
export function headerEquals(a: EpochHeader, b: EpochHeader): boolean {
  return pure.headerEquals(textOf(a, 'a', encodeRead), textOf(b, 'b', encodeRead));
}

/**
 * The change from `previous` to `next`; `undefined` when they are equal. Not every change can be expressed (tools in
 * another order cannot): apply the delta and compare before logging it.
 */
export function diffHeader(previous: EpochHeader, next: EpochHeader): HeaderDelta | undefined {
  const delta = pure.diffHeader(textOf(previous, 'previous', encodeRead), textOf(next, 'next'));
  return delta === undefined ? undefined : parseFrozen(delta);
}

/** The header after a delta. Frozen. */
export function applyHeaderDelta(previous: EpochHeader, delta: HeaderDelta): EpochHeader {
  return parseFrozen(pure.applyHeaderDelta(textOf(previous, 'previous', encodeRead), textOf(delta, 'delta', encodeRead)));
}

/**
 * Folds the header events of a log, or of any part of one, into the header in force.
 * @param from the header in force before `events`
 * @throws PalimpsestError `DELTA_WITHOUT_HEADER` with the seq, where a delta stands before any snapshot; `INVALID_ARGUMENT`
 */
export function foldRequestHeader(events: Iterable<SessionEvent>, from?: EpochHeader): EpochHeader | undefined {
  need(typeof (events as Partial<Iterable<unknown>> | null | undefined)?.[Symbol.iterator] === 'function', 'events', events, 'iterable');
  let state = from;
  for (const event of events) {
    needObject('an event of `events`', event);
    if (event.type === 'request/header') {
      // As the core reads it: a log of another origin may lack the header, or the whole payload.
      state = loggedHeader((event.data as Partial<typeof event.data> | null | undefined)?.header ?? ({} as EpochHeader));
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
