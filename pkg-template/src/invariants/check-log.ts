/** The rules over a log that is there already: a session's, or a stored one, damaged or not. */

import { need, needBytes } from '../arguments.js';
import { core, CoreChecker } from '../core.js';
import { PalimpsestError } from '../errors.js';
import { internal, Session } from '../session.js';
import { type CheckOptions, type Finding, limitsOf, takeFindings } from './finding.js';

/** Bytes, or events, that cross at once: wasm has no on-stack replacement, so a long check is many calls of a short one. */
const PIECE = 1 << 18;
const EVENTS = 4096;

/**
 * Checks a stored log that comes in chunks. Where a load refuses a log, this goes on: bad lines are findings, and what
 * can be read around them is checked.
 */
export class LogChecker {
  #checker: CoreChecker | undefined;

  constructor(options: CheckOptions = {}) {
    core();
    this.#checker = new CoreChecker(...limitsOf(options));
  }

  /** Checks a chunk of any size; what it adds to the findings. @throws PalimpsestError `INVALID_ARGUMENT`, `DISPOSED` */
  push(chunk: Uint8Array): Finding[] {
    needBytes('chunk', chunk);
    const checker = this.#live();
    for (let from = 0; from < chunk.length; from += PIECE) checker.push(chunk.subarray(from, from + PIECE));
    return takeFindings(checker);
  }

  /** Ends the log; what that adds to the findings. @throws PalimpsestError `DISPOSED` */
  finish(): Finding[] {
    const checker = this.#live();
    this.#checker = undefined;
    checker.finishLines();
    const findings = takeFindings(checker);
    checker.free();
    return findings;
  }

  #live(): CoreChecker {
    if (this.#checker === undefined) throw new PalimpsestError('DISPOSED', 'the checker has finished; make a new one for each log');
    return this.#checker;
  }
}

/**
 * Lists everything that breaks a rule, in log order.
 * @param source a session, or a stored log's bytes, which may be damaged
 * @throws PalimpsestError `INVALID_ARGUMENT`
 */
export function checkLog(source: Session | Uint8Array, options: CheckOptions = {}): Finding[] {
  if (source instanceof Uint8Array) {
    const checker = new LogChecker(options);
    return [...checker.push(source), ...checker.finish()];
  }
  need((source as unknown) instanceof Session, 'source', source, 'a session, or the bytes of a log as a Uint8Array');
  const checker = new CoreChecker(...limitsOf(options));
  try {
    replay(checker, source);
    checker.finish();
    return takeFindings(checker);
  } finally {
    checker.free();
  }
}

/** Checks the events of a session that the checker has not seen. */
export function replay(checker: CoreChecker, session: Session): void {
  const handle = internal(session).core();
  for (let seq = 0; seq < session.seq; seq += EVENTS) checker.catchUp(handle, Math.min(seq + EVENTS, session.seq));
}
