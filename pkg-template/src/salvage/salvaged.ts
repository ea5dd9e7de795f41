/** What a salvage gives: sessions that load, and the findings about the file and about their events. */

import { checkLog } from '../invariants/check-log.js';
import type { SessionEvent } from '../events.js';
import { messagesOf } from '../messages.js';
import { adopt, internal, type Session } from '../session.js';
import { Branch, type Hole } from './branch.js';
import { FAULTS, type KeptText, type LostRange, type SalvageFinding } from './finding.js';
import type { Draft, Findings } from './findings.js';
import type { Writers } from './writers.js';

/** A damaged log, as far as it can be read. The caller owns the sessions, and may `free` them. */
export interface Salvaged {
  /**
   * The log, and after it one session for each other writer's branch, whose `parentSession` and `seedLength` say what it
   * shares, and for each other log in the same file. Empty where the file holds no event, or is of another format version.
   */
  readonly sessions: readonly Session[];
  /** Everything that is wrong, or worth knowing, in file order. */
  readonly findings: readonly SalvageFinding[];
  /** Bytes from which nothing could be read. */
  readonly lost: readonly LostRange[];
  /** JSON of the file that is no event, and records that have no place in the order of seqs. */
  readonly kept: readonly KeptText[];
  /** Records that have a place. Each is an event of exactly one session, not counting what a session shares with another, but for the copies. */
  readonly records: number;
  /** How many of these repeat another one byte for byte, and are in the sessions once. */
  readonly copies: number;
  /** Bytes of the source. */
  readonly bytes: number;
}

/** @internal What `repaired` has to know besides: what could not be read and had no place, and the events each session has from another one. */
export const details = new WeakMap<Salvaged, { readonly holes: readonly Hole[]; readonly shared: readonly number[] }>();

/** @internal */
export function conclude(writers: Writers, spare: readonly Hole[], found: Findings, rest: Omit<Salvaged, 'sessions' | 'findings'>): Salvaged {
  const branches = writers.finish();
  const sessions = branches.map(({ core }) => adopt(core));
  const drafts = found.list();
  branches.forEach((branch, index) => drafts.push(...rules(sessions[index]!, branch)));
  const findings = drafts
    .map(({ branch, ...draft }): SalvageFinding => {
      // Where two part, it is said of the one that did not keep the name.
      const loser = draft.code === 'FORKED_SEQUENCE' && branch?.origin?.source?.branch === branch ? branch?.origin : branch;
      const index = loser === undefined ? 0 : branches.indexOf(loser);
      return index > 0 ? { ...draft, session: sessions[index]!.id } : draft;
    })
    .sort((a, b) => a.byte - b.byte);
  const salvaged = { sessions, findings, ...rest };
  details.set(salvaged, { holes: spare, shared: branches.map(({ seedLength }) => seedLength) });
  return salvaged;
}

/** @internal What breaks the rules in a session whose events stand where `branch` says. */
export function rules(session: Session, branch: Pick<Branch, 'placeOf' | 'seedLength'>): Draft[] {
  const owner = branch instanceof Branch ? { branch } : {};
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
    drafts.push({ code, severity, message: message + beside, ...placeOf(seq), seq, ...owner });
  }
  for (const seq of textsBetweenPairs(session)) drafts.push({ code: 'TEXT_BETWEEN_PAIR', severity: 'warning', message: FAULTS.TEXT_BETWEEN_PAIR, ...placeOf(seq), seq, ...owner });
  return drafts;
}

function isRepair(event: SessionEvent | undefined): boolean {
  return event !== undefined && (event.type as string).startsWith('repair/');
}

/** Nodes of the surface whose messages are looked at together. */
const PIECE = 256;

/** Seqs of the messages on the surface that stand between a call and its result. */
function textsBetweenPairs(session: Session): number[] {
  const core = internal(session).core();
  const seqs = core.surfaceSeqs(session.seq);
  const between: number[] = [];
  let open = new Set<string>();
  let texts: number[] = [];
  for (let from = 0; from < seqs.length; from += PIECE) {
    const piece = seqs.subarray(from, from + PIECE);
    for (const [index, message] of messagesOf(core, piece).entries()) {
      if (message === null) continue;
      const result = message.content.length === 1 ? (message.content[0] as { type?: unknown; toolCallId?: string } | null) : null;
      if (message.role === 'assistant') {
        open = new Set(message.content.flatMap((block) => (isCall(block) ? [block.id] : [])));
        texts = [];
      } else if (result?.type === 'tool-result' && typeof result.toolCallId === 'string') {
        if (open.delete(result.toolCallId)) between.push(...texts.splice(0));
      } else if (open.size > 0) {
        texts.push(piece[index]!);
      }
    }
  }
  return between;
}

function isCall(block: unknown): block is { id: string } {
  return typeof block === 'object' && block !== null && (block as { type?: unknown }).type === 'tool-call' && typeof (block as { id?: unknown }).id === 'string';
}
