/** Where a log stands: what an agent that counts turns and steps asks, above all after a load or a fork. */

import { internal, type Session } from './session.js';

/** Where a log stands at its end. */
export interface LogPosition {
  /** Number of the last turn; 0 before the first. The next one is `turn + 1`. */
  readonly turn: number;
  /** Whether that turn is open. */
  readonly turnOpen: boolean;
  /** Number of the last step of the open turn; 0 before its first. */
  readonly step: number;
  /** Whether that step is open. */
  readonly stepOpen: boolean;
  /** Seq of the `compact/start` of a compaction that is open; it dies with the turn that it stands in. */
  readonly compaction: number | undefined;
}

const NONE = 0xffffffff;

/** Where a session's log stands now. */
export function positionOf(session: Session): LogPosition {
  const [turn, openTurn, step, openStep, compaction] = internal(session).core().position() as unknown as [number, number, number, number, number];
  return { turn, turnOpen: openTurn !== NONE, step, stepOpen: openStep !== NONE, compaction: compaction === NONE ? undefined : compaction };
}
