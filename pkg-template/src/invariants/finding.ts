/** What the checks find, and the rules by name. The rules themselves are in the core (`src/invariants`). */

import { need, needAmount, needObject } from '../arguments.js';
import type { CoreChecker } from '../core.js';
import { type ErrorCode, PalimpsestError } from '../errors.js';
import { named } from '../wording.js';

/** Each rule's code with the sentence that says what breaks it; `#` stands for the number that it is about. */
export const RULES = {
  /** Stored logs only. */
  SEQ_GAP: 'events are missing before this one, from seq # on',
  /** Stored logs only. The event itself is left out of all further checks. */
  SEQ_REPEATED: 'the seq was used before, by a second writer or a copy; seq # was due',
  /** Stored logs only. */
  UNKNOWN_SOURCE: 'sourceEventSeqs names seq #, which is missing',
  /** Stored logs only. A warning: the write was never acknowledged. */
  TORN_TAIL: 'the last record was cut off; the next load drops its # bytes',
  /** A warning. */
  TIME_IN_FUTURE: "the event's time is far in the future",
  TURN_NESTED: 'a turn starts while another is open',
  TURN_NUMBER: 'turns count up from 1 without gaps; turn # was due',
  TURN_NOT_OPEN: 'a turn ends and none is open',
  /** A warning: a running agent, or one that crashed. */
  TURN_OPEN_AT_END: 'the log ends in an open turn; the next load ends it as interrupted',
  WRONG_TURN: 'the event names another turn than the open one, which is turn #',
  OUTSIDE_TURN: 'the event stands outside of any turn; only request headers may',
  STEP_NESTED: 'a step starts while another is open',
  STEP_NUMBER: 'the steps of a turn count up from 1 without gaps; step # was due',
  STEP_NOT_OPEN: 'a step ends and none is open',
  STEP_NOT_CLOSED: 'the turn ends while a step is open',
  WRONG_STEP: 'the event names another step than the open one, which is step #',
  /** Not for an event that replaces: it names the step that it comes from. */
  OUTSIDE_STEP: 'chunks, assistant messages, tool calls and results belong to an open step',
  CALL_WITHOUT_RESULT: 'the step ends and a call in it has no result',
  CALL_MALFORMED: 'a tool-call block needs an id, a name, and its arguments as text',
  CALL_ID_DUPLICATE: 'another call that the model still sees has the same id',
  /** A warning: the earlier call is shadowed. */
  CALL_ID_REUSED: 'an earlier call had the same id',
  RESULT_WITHOUT_CALL: 'the result answers no call of the open step',
  /** Not for a result with the error code `interrupted`, which the repair writes. */
  RESULT_OF_UNLOGGED_CALL: 'the result answers a call for which the step holds no tool/call',
  RESULT_DUPLICATE: 'the call has a result already',
  RESULT_BEFORE_CALL: 'the replace leaves a result standing before its call',
  REPLACE_SPLITS_PAIR: 'the replace leaves half of a call and its result on the surface',
  COMPACTION_NESTED: 'a compaction starts while another is open',
  COMPACTION_NOT_OPEN: 'no compaction is open',
  /** Not for a turn that ends as `interrupted`: a crash cannot close anything. */
  COMPACTION_NOT_CLOSED: 'the turn ends while a compaction is open',
  /** A warning. */
  COMPACTION_OPEN_AT_END: 'the log ends in an open compaction; it dies with its turn',
  DELTA_WITHOUT_HEADER: 'a request/header-delta stands before any request/header',
  /** A warning: providers refuse such a block, so the converters leave it out. */
  EMPTY_TEXT: 'a text block is empty or blank',
  /** A warning. */
  EMPTY_CONTENT: 'the message has no content',
  OVERSIZED_BLOB: 'a block holds more data than providers accept; the session would be stuck with it',
  /** Of {@link checkRequest} only. */
  REQUEST_MISMATCH: 'the request is not what the log reconstructs',
} as const;

/** Code of a rule. Stable. */
export type RuleCode = keyof typeof RULES;

/** One thing that is wrong with a log. */
export interface Finding {
  /** The rule that is broken; or, in a stored log, the error for which a load would refuse the line. */
  readonly code: RuleCode | ErrorCode;
  /** An `error` breaks the contract; a `warning` is allowed, and yet what providers or people stumble over. */
  readonly severity: 'error' | 'warning';
  /** What is wrong, in one sentence. */
  readonly message: string;
  /** Seq of the event that breaks the rule (of a bad line: the seq that it should have); absent for a header line. */
  readonly seq?: number;
  /** Seqs of the other events concerned. */
  readonly related: readonly number[];
  /** Line of the stored log, counted from 1. */
  readonly line?: number;
  /** Byte offset of that line, counted from 0. */
  readonly byte?: number;
}

/** An event, or a request, that breaks a rule. */
export class InvariantError extends PalimpsestError {
  declare readonly code: 'INVARIANT';
  /** The rule. */
  readonly rule: RuleCode | ErrorCode;
  /** What was found; the first one, where there are more. */
  readonly finding: Finding;

  constructor(finding: Finding, session: string) {
    const place = finding.seq === undefined ? named(session) : `${named(session)}, seq ${finding.seq}`;
    const related = finding.related.length === 0 ? '' : ` (see seq ${finding.related.join(' and ')})`;
    super('INVARIANT', `${place}: ${finding.code}: ${finding.message}${related}`, { session, seq: finding.seq });
    this.name = 'InvariantError';
    this.rule = finding.code;
    this.finding = finding;
  }
}

/** What counts as too much, and as too late. */
export interface CheckOptions {
  /** Longest string, in bytes, that a block other than text may hold: 5 MiB when absent, which is what base64 of an image may take. */
  readonly maxBlobBytes?: number | undefined;
  /** The time that it is, in epoch milliseconds; `Date.now()` when absent. */
  readonly now?: number | undefined;
  /** How far ahead of now a time may be, in milliseconds: a day when absent, `Infinity` for any. */
  readonly maxAheadMs?: number | undefined;
}

/** The options as the core takes them. */
export function limitsOf(options: CheckOptions): [maxBlob: number, latest: number] {
  needObject('options', options);
  const { maxBlobBytes = 5 * 1024 * 1024, now = Date.now(), maxAheadMs = 86_400_000 } = options;
  needAmount('options.maxBlobBytes', maxBlobBytes);
  need(Number.isFinite(now), 'options.now', now, 'milliseconds since 1970');
  needAmount('options.maxAheadMs', maxAheadMs);
  return [maxBlobBytes, now + maxAheadMs];
}

interface CoreFinding {
  code: RuleCode | ErrorCode;
  severity: 'error' | 'warning';
  message: string;
  seq?: number;
  number?: number;
  first?: number;
  second?: number;
  line?: number;
  byte?: number;
}

/** The findings that a checker has gathered; it forgets them. */
export function takeFindings(checker: CoreChecker): Finding[] {
  const text = checker.take();
  if (text === undefined) return [];
  return (JSON.parse(text) as CoreFinding[]).map(({ code, severity, message, number, first, second, ...place }) => {
    const rule = message === '' ? (RULES as Partial<Record<string, string>>)[code] : undefined;
    const related = [first, second].filter((seq) => seq !== undefined);
    return { code, severity, message: rule?.replace('#', String(number)) ?? message, ...place, related };
  });
}
