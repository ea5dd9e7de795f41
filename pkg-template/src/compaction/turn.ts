/** The turn in which the surface is changed: every surface event stands in one. */

import { PalimpsestError } from '../errors.js';
import type { TurnEndReason } from '../events.js';
import { positionOf } from '../position.js';
import type { Session } from '../session.js';
import { named } from '../wording.js';

/** Who compacts and prunes. */
export const SOURCE = Object.freeze({ kind: 'plugin', plugin: 'compaction' } as const);

/** A turn to work in. */
export interface WorkTurn {
  readonly turn: number;
  /** Ends the turn, where it was begun for the work. */
  end(reason: TurnEndReason): void;
}

/** The open turn; where none is open, a new one of the work's own, begun by an injection. */
export function enterTurn(session: Session): WorkTurn {
  const { turn, turnOpen } = positionOf(session);
  if (turnOpen) return { turn, end: () => {} };
  const own = turn + 1;
  session.append('turn/start', { turn: own, trigger: { kind: 'injection', source: SOURCE } });
  return { turn: own, end: (reason) => void session.append('turn/end', { turn: own, reason }) };
}

/**
 * Makes sure that no compaction is open. The log is the lock: a `compact/start` holds until its `compact/end`, or until
 * its turn ends. A process that died in mid-compaction holds nothing, since the repair at the next load ends its turn.
 * @throws PalimpsestError `COMPACTION_OPEN`
 */
export function refuseOpenCompaction(session: Session): void {
  const seq = positionOf(session).compaction;
  if (seq === undefined) return;
  throw new PalimpsestError('COMPACTION_OPEN', `${named(session.id)}: a compaction is open since seq ${seq}; wait for its end, or end its turn`, {
    session: session.id,
    seq,
  });
}
