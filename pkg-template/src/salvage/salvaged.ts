/** What a salvage gives: sessions that load, and the findings about the file and about their events. */

import { checkLog } from '../invariants/check-log.js';
import { isSurfaceEvent, type SessionEvent } from '../events.js';
import { adopt, type Session } from '../session.js';
import type { Branch, Hole } from './branch.js';
import { FAULTS, type KeptText, type LostRange, type SalvageFinding } from './finding.js';
import type { Draft, Findings } from './findings.js';
import type { Writers } from './writers.js';

/** A damaged log, as far as it can be read. The caller owns the sessions, and may `free` them. */
export interface Salvaged {
  /**
   * The log, and after it one session for each other writer's branch, with `parentSession` and `seedLength` saying
   * what it shares. Empty where the file holds no event, or is of another format version.
   */
  readonly sessions: readonly Session[];
  /** Everything that is wrong, or worth knowing, in file order. */
  readonly findings: readonly SalvageFinding[];
  /** Bytes from which nothing could be read. */
  readonly lost: readonly LostRange[];
  /** JSON of the file that is no event. */
  readonly kept: readonly KeptText[];
  /** Records that were read. Each is an event of exactly one session (in the sessions after the first: behind the seed), but for the copies. */
  readonly records: number;
  /** How many of these repeat another one byte for byte, and are in the sessions once. */
  readonly copies: number;
  /** Bytes of the source. */
  readonly bytes: number;
}

/** @internal What {@link repaired} has to know besides. */
export const spareHoles = new WeakMap<Salvaged, readonly Hole[]>();

/** @internal */
export function conclude(writers: Writers, found: Findings, rest: Omit<Salvaged, 'sessions' | 'findings'>): Salvaged {
  const branches = writers.branches.filter((branch, index) => index === 0 || branch.next > branch.seedLength);
  for (const branch of writers.branches) if (!branches.includes(branch)) branch.free();
  const sessions = branches.map(({ core }) => adopt(core));
  const drafts = found.list();
  branches.forEach((branch, index) => drafts.push(...rules(branch, sessions[index]!)));
  const findings = drafts
    .map(({ branch, ...draft }): SalvageFinding => {
      const index = branch === undefined ? 0 : branches.indexOf(branch);
      return index > 0 ? { ...draft, session: sessions[index]!.id } : draft;
    })
    .sort((a, b) => a.byte - b.byte);
  const salvaged = { sessions, findings, ...rest };
  spareHoles.set(salvaged, [...writers.spare, ...writers.holes]);
  return salvaged;
}

/** What breaks the rules in a session. */
function rules(branch: Branch, session: Session): Draft[] {
  const drafts: Draft[] = [];
  let last = { line: 1, byte: 0 };
  const placeOf = (seq: number): { line: number; byte: number } => {
    for (let at = seq; at >= branch.seedLength; at--) {
      const place = branch.placeOf(at);
      if (place !== undefined) return (last = place);
    }
    return last;
  };
  for (const { code, severity, message, seq = session.seq - 1, related } of checkLog(session)) {
    // What the seed breaks is said of the branch that it comes from; and a repair may write where nobody else may.
    if (seq < branch.seedLength && branch.seedLength > 0) continue;
    if (code === 'OUTSIDE_TURN' && isRepair(session.events[seq])) continue;
    const beside = related.length === 0 ? '' : ` (see seq ${related.join(' and ')})`;
    drafts.push({ code, severity, message: message + beside, ...placeOf(seq), seq, branch });
  }
  for (const seq of textsBetweenPairs(session)) drafts.push({ code: 'TEXT_BETWEEN_PAIR', severity: 'warning', message: FAULTS.TEXT_BETWEEN_PAIR, ...placeOf(seq), seq, branch });
  return drafts;
}

function isRepair(event: SessionEvent | undefined): boolean {
  return event !== undefined && (event.type as string).startsWith('repair/');
}

/** Seqs of the messages on the surface that stand between a call and its result. */
function textsBetweenPairs(session: Session): number[] {
  const between: number[] = [];
  let waiting: { open: Set<unknown>; texts: number[] } = { open: new Set(), texts: [] };
  for (const { seq } of session.surface.nodes) {
    const event = session.events[seq];
    if (event === undefined || !isSurfaceEvent(event)) continue;
    if (event.type === 'assistant/message') {
      waiting = { open: new Set(event.data.content.flatMap((block) => (isCall(block) ? [block.id] : []))), texts: [] };
    } else if (event.type === 'tool/result') {
      if (waiting.open.delete(event.data.callId)) between.push(...waiting.texts.splice(0));
    } else if (waiting.open.size > 0) {
      waiting.texts.push(seq);
    }
  }
  return between;
}

function isCall(block: unknown): block is { id: unknown } {
  return typeof block === 'object' && block !== null && (block as { type?: unknown }).type === 'tool-call';
}
