/** What a tolerant reading finds, and the faults of stored bytes by name. Rules about events are those of `palimpsest/invariants`. */

import type { ErrorCode } from '../errors.js';
import type { RuleCode } from '../invariants/finding.js';

/** Faults of a stored log's bytes, each with the sentence that says what it is. */
export const FAULTS = {
  EMPTY_FILE: 'the file holds nothing',
  MISSING_HEADER: 'the file does not begin with a session header; one was made up',
  SECOND_HEADER: 'a second header line stands inside the log: another session was written into the same file',
  TORN_TAIL: 'the last record was cut off',
  UNENDED_LINE: 'the last record is whole and only its line end is missing',
  NUL_RUN: 'zero bytes, as a crash leaves them where a write was not finished',
  BAD_UTF8: 'bytes that are not UTF-8',
  BYTE_ORDER_MARK: 'the file begins with a byte-order mark',
  MISPLACED_BYTE_ORDER_MARK: 'a byte-order mark stands inside the file',
  UNPARSABLE_LINE: 'the line is not a record, and none can be recovered from it',
  GLUED_RECORDS: 'several records, or parts of them, stand on one line',
  INTERLEAVED_RECORDS: 'another record was written into the middle of this one',
  BROKEN_STRING: 'a line end stands inside a string, so that the record covers several lines',
  NON_FINITE_NUMBER: 'NaN or Infinity, which JSON does not have',
  NOT_AN_EVENT: 'the line is JSON but no event',
  FORKED_SEQUENCE: 'a second writer went on from an earlier event',
  SEQ_IMPLAUSIBLE: 'the seq is far from the one that was due',
  OUT_OF_ORDER: 'a record stands before others whose seqs are lower',
  LONE_SURROGATE: 'a text holds half a surrogate pair; providers refuse it',
  TEXT_BETWEEN_PAIR: 'a message stands between a tool call and its result; providers refuse it',
  UNKNOWN_TYPE: 'events of a type that this build does not know; they are kept and have no meaning to it',
  TIME_BACKWARD: 'the clock ran backwards; only seq orders a log',
  CRLF: 'lines end in CR LF; only LF is written',
  BLANK_LINE: 'blank lines',
} as const;

/** Code of a fault of stored bytes. Stable. */
export type FaultCode = keyof typeof FAULTS;

/** One thing that is wrong with a stored log, or worth knowing about it. */
export interface SalvageFinding {
  /** The fault, or the rule of `palimpsest/invariants` that is broken, or the error for which a load refuses the record. */
  readonly code: FaultCode | RuleCode | ErrorCode;
  /** An `error` is damage or breaks the contract; a `warning` is allowed and yet trouble; `info` is tolerated. */
  readonly severity: 'error' | 'warning' | 'info';
  /** What is wrong, in one sentence. */
  readonly message: string;
  /** Line of the file, counted from 1. */
  readonly line: number;
  /** Byte offset, counted from 0: of the damage itself where it is known, else of the line. */
  readonly byte: number;
  /** Seq that the event has in the salvaged session, where it is about an event. */
  readonly seq?: number;
  /** The salvaged session that it is about, where it is not the first one. */
  readonly session?: string;
  /** What the salvage did about it; absent where there was nothing to do. */
  readonly action?: string;
}

/** Bytes of the file from which no record could be read. */
export interface LostRange {
  /** Byte offset of the first one. */
  readonly from: number;
  /** Byte offset behind the last one. */
  readonly to: number;
  /** Line in which they begin. */
  readonly line: number;
  /** The fault. */
  readonly code: FaultCode;
}

/** JSON of the file that has no place in a log: it is no event, or its seq is wrong. */
export interface KeptText {
  readonly line: number;
  readonly byte: number;
  /** As it stands in the file. */
  readonly text: string;
}
