/** The rules of a correct log, checked once the log is open: nobody waits for it but who asks what is wrong. */

import { LogChecker, type Finding as CheckFinding } from 'palimpsest/invariants';
import type { Finding } from '../lib/protocol.js';
import type { Log } from './log.js';

/** Small, so that what the page asks meanwhile is answered soon. */
const PIECE = 1 << 20;
/** More would not be read by anybody. */
const MOST = 5000;

/** What is wrong with a log, each with its row; what was found so far where the signal is aborted. */
export async function check(log: Log, signal: AbortSignal): Promise<Finding[]> {
  const checker = new LogChecker();
  const found: Finding[] = [];
  const note = (findings: readonly CheckFinding[]): void => {
    for (const finding of findings) if (found.length < MOST) found.push({ ...finding, row: rowOf(log, finding) });
  };
  // What a live log gains later is not looked at.
  const { size } = log.store;
  for (let at = 0; at < size && !signal.aborted; at += PIECE) note(checker.push(await log.store.read(at, Math.min(size, at + PIECE))));
  note(checker.finish());
  return found;
}

function rowOf({ outline }: Log, { byte, seq }: CheckFinding): number {
  if (byte !== undefined) return outline.rowAtByte(byte);
  return seq === undefined ? -1 : outline.rowOf(seq);
}
