/**
 * The bytes of a repaired log.
 *
 * The records stand as they were salvaged. Behind them comes what the next load would write anyway, the events that close
 * an open turn, and a `repair/note` that says what was done, in a turn of its own where none is open: a log ends with a
 * closed turn.
 */

import { need, needObject } from '../arguments.js';
import { PalimpsestError } from '../errors.js';
import { interruptedTurnClosers } from '../repair.js';
import { positionOf } from '../position.js';
import { piecesOf } from '../pieces.js';
import type { Session } from '../session.js';
import type { SessionEvent, SessionHeader } from '../events.js';
import type { Hole } from './branch.js';
import type { SalvageFinding } from './finding.js';
import { details, type Salvaged } from './salvaged.js';

/** One thing that a repair did. */
export interface RepairAction {
  readonly code: string;
  readonly line: number;
  readonly byte: number;
  readonly action: string;
  readonly seq?: number;
}

/** One repaired log. */
export interface RepairedLog {
  readonly header: SessionHeader;
  /** Events at its start that it shares with another of the logs; 0 for the first one. */
  readonly shared: number;
  /** Events that were written besides the salvaged ones. */
  readonly added: readonly SessionEvent[];
  /** What was done to this log. */
  readonly done: readonly RepairAction[];
  /** The file's bytes, in pieces that are made on the way. */
  chunks(): Iterable<Uint8Array>;
}

/** Findings with an action that are no change of the log, or speak for themselves. */
const NOTHING_DONE: readonly string[] = ['UNENDED_LINE', 'TORN_TAIL'];

/** Actions that a note lists; more are counted. */
const MOST_ACTIONS = 200;

const encoder = new TextEncoder();

/**
 * The logs to write in place of a damaged one, each of which a load accepts. Where there was nothing to repair, the bytes
 * are those of the file.
 * @throws PalimpsestError `CORRUPT_LOG` where nothing was salvaged
 */
export function repaired(salvaged: Salvaged): RepairedLog[] {
  needObject('salvaged', salvaged, 'what salvage() gave');
  need(Array.isArray(salvaged.sessions) && Array.isArray(salvaged.findings), 'salvaged', salvaged, 'what salvage() gave');
  if (salvaged.sessions.length === 0) {
    const why = salvaged.findings.find(({ code }) => code === 'UNSUPPORTED_VERSION');
    throw new PalimpsestError(why ? 'UNSUPPORTED_VERSION' : 'CORRUPT_LOG', why?.message ?? 'nothing in it can be read as a session log, so there is nothing to repair');
  }
  const { holes, shared } = details.get(salvaged) ?? { holes: [], shared: [] };
  return salvaged.sessions.map((session, index) => ({ ...repairedLog(session, index === 0, salvaged, holes), shared: shared[index] ?? 0 }));
}

function repairedLog(session: Session, isFirst: boolean, salvaged: Salvaged, holes: readonly Hole[]): Omit<RepairedLog, 'shared'> {
  const mine = salvaged.findings.filter((finding) => (isFirst ? finding.session === undefined : finding.session === session.id));
  const done = mine.flatMap(({ code, line, byte, action, seq }: SalvageFinding) => (action === undefined ? [] : [{ code, line, byte, action, ...(seq !== undefined && { seq }) }]));
  const kept = isFirst ? salvaged.kept : [];
  const unreadable = isFirst ? holes : [];
  const noted = done.some(({ code }) => !NOTHING_DONE.includes(code)) || kept.length > 0 || unreadable.some(({ line }) => !salvaged.lost.some((lost) => lost.line === line && lost.code === 'TORN_TAIL'));
  const added = tail(session, noted ? { reason: 'repaired', done: done.slice(0, MOST_ACTIONS), ...(kept.length > 0 && { kept }), ...(unreadable.length > 0 && { unreadable: unreadable.slice(0, MOST_ACTIONS) }) } : undefined);
  return {
    header: session.header,
    added,
    done,
    *chunks() {
      yield session.headerLine();
      for (const { bytes } of piecesOf(session)) yield bytes;
      for (const event of added) yield encoder.encode(`${JSON.stringify(event)}\n`);
    },
  };
}

/** The events behind the last one. */
function tail(session: Session, note: SessionEvent<'repair/note'>['data'] | undefined): SessionEvent[] {
  const { turn, turnOpen } = positionOf(session);
  const { seq } = session;
  const time = session.events[seq - 1]?.time ?? session.header.createdAt;
  if (note === undefined) return turnOpen ? closers(session, []) : [];
  const noteAt = (at: number): SessionEvent => ({ type: 'repair/note', seq: at, time, data: note });
  if (turnOpen) {
    const written = noteAt(seq);
    return [written, ...closers(session, [written])];
  }
  const source = { kind: 'plugin', plugin: 'palimpsest-repair' } as const;
  return [
    { type: 'turn/start', seq, time, data: { turn: turn + 1, trigger: { kind: 'injection', source } } },
    noteAt(seq + 1),
    { type: 'turn/end', seq: seq + 2, time, data: { turn: turn + 1, reason: { kind: 'completed' } } },
  ];
}

function closers(session: Session, more: readonly SessionEvent[]): SessionEvent[] {
  let first = session.seq - 1;
  while (first > 0 && session.events[first]?.type !== 'turn/start') first--;
  return interruptedTurnClosers([...session.events.slice(first), ...more]);
}
