/** Ways in which a stored log breaks, each with the code that must say so and the records that can still be read. */

import type { Dice } from './random.js';
import type { FaultCode } from 'palimpsest/salvage';
import type { RuleCode } from 'palimpsest/invariants';

/** A stored log in pieces: what is written is `head`, then each part. */
export interface Stored {
  readonly header: string;
  /** Lines without line ends. */
  readonly lines: readonly string[];
}

/** A broken log. */
export interface Damaged {
  readonly bytes: Uint8Array;
  /** The records that are there, whole, as lines; those that the damage hides but does not destroy included. */
  readonly readable: readonly string[];
  /** Codes, each of which must be found. */
  readonly codes: readonly (FaultCode | RuleCode)[];
}

type Break = (log: Stored, dice: Dice) => Damaged;

const bytes = (...parts: (string | Uint8Array)[]): Uint8Array => Buffer.concat(parts.map((part) => Buffer.from(part as string)));
const text = (lines: readonly string[], end = '\n'): string => lines.map((line) => line + end).join('');
/** A place in the log with at least one record before and after it. */
const inside = ({ lines }: Stored, dice: Dice): number => 1 + dice.below(lines.length - 2);

/** A record cut before its end, so that it cannot be read. */
const cut = (line: string, dice: Dice): string => line.slice(0, 12 + dice.below(line.length - 13));

/** A cut that leaves no byte of a character behind. */
function cutBytes(line: string, dice: Dice): Uint8Array {
  const whole = Buffer.from(line);
  return whole.subarray(0, 1 + dice.below(whole.length - 1));
}

/** A record with a seq of the log, that says something else. */
export function other(line: string, mark: string): string {
  return line.replace(/"data":\{/, `"data":{"mark":${JSON.stringify(mark)},`).replace(',}', '}');
}

/** All of them, by name. */
export const BREAKS: Readonly<Record<string, Break>> = {
  'a line mid-file is cut, and a record comes in its place': (log, dice) => {
    const at = inside(log, dice);
    const lines = [...log.lines.slice(0, at), cut(log.lines[at]!, dice), ...log.lines.slice(at + 1)];
    return { bytes: bytes(log.header, text(lines)), readable: log.lines.filter((_, index) => index !== at), codes: ['UNPARSABLE_LINE'] };
  },
  'a cut record stands between whole ones': (log, dice) => {
    const at = inside(log, dice);
    const lines = [...log.lines.slice(0, at), '{"type":"user/mess', ...log.lines.slice(at)];
    return { bytes: bytes(log.header, text(lines)), readable: log.lines, codes: ['UNPARSABLE_LINE'] };
  },
  'the tail is torn': (log, dice) => {
    const [last] = log.lines.slice(-1);
    return { bytes: bytes(log.header, text(log.lines.slice(0, -1)), cutBytes(last!, dice)), readable: log.lines.slice(0, -1), codes: ['TORN_TAIL'] };
  },
  'only the last line end is missing': (log) => ({ bytes: bytes(log.header, text(log.lines).slice(0, -1)), readable: log.lines, codes: ['UNENDED_LINE'] }),
  'zero bytes on a line of their own': (log, dice) => {
    const at = inside(log, dice);
    return { bytes: bytes(log.header, text(log.lines.slice(0, at)), '\0'.repeat(1 + dice.below(700)), '\n', text(log.lines.slice(at))), readable: log.lines, codes: ['NUL_RUN'] };
  },
  'zero bytes before a record, with no line end': (log, dice) => {
    const at = inside(log, dice);
    return { bytes: bytes(log.header, text(log.lines.slice(0, at)), '\0'.repeat(1 + dice.below(700)), text(log.lines.slice(at))), readable: log.lines, codes: ['NUL_RUN'] };
  },
  'zero bytes in place of the middle of a record': (log, dice) => {
    const at = inside(log, dice);
    const line = Buffer.from(log.lines[at]!);
    line.fill(0, 15, 15 + Math.min(line.length - 16, 1 + dice.below(40)));
    return { bytes: bytes(log.header, text(log.lines.slice(0, at)), line, '\n', text(log.lines.slice(at + 1))), readable: log.lines.filter((_, index) => index !== at), codes: ['NUL_RUN'] };
  },
  'a byte-order mark inside the file': (log, dice) => {
    const at = inside(log, dice);
    return { bytes: bytes(log.header, text(log.lines.slice(0, at)), '\ufeff', text(log.lines.slice(at))), readable: log.lines, codes: ['MISPLACED_BYTE_ORDER_MARK'] };
  },
  'a record is missing': (log, dice) => {
    const at = inside(log, dice);
    const lines = log.lines.filter((_, index) => index !== at);
    return { bytes: bytes(log.header, text(lines)), readable: lines, codes: ['SEQ_GAP'] };
  },
  'two records on one line': (log, dice) => {
    const at = inside(log, dice);
    return { bytes: bytes(log.header, text(log.lines.slice(0, at)), log.lines[at]!, text(log.lines.slice(at + 1))), readable: log.lines, codes: ['GLUED_RECORDS'] };
  },
  'a record is written into the middle of another, on one line': (log, dice) => {
    const at = inside(log, dice);
    const [first, second] = [log.lines[at]!, log.lines[at + 1]!];
    const split = 12 + dice.below(first.length - 13);
    return { bytes: bytes(log.header, text(log.lines.slice(0, at)), first.slice(0, split), second, first.slice(split), '\n', text(log.lines.slice(at + 2))), readable: log.lines, codes: ['INTERLEAVED_RECORDS'] };
  },
  'a record is written into the middle of another, with its line end': (log, dice) => {
    const at = inside(log, dice);
    const [first, second] = [log.lines[at]!, log.lines[at + 1]!];
    const split = 12 + dice.below(first.length - 13);
    return { bytes: bytes(log.header, text(log.lines.slice(0, at)), first.slice(0, split), second, '\n', first.slice(split), '\n', text(log.lines.slice(at + 2))), readable: log.lines, codes: ['INTERLEAVED_RECORDS'] };
  },
  'a second writer goes on from an earlier event': (log, dice) => {
    const at = inside(log, dice);
    const theirs = log.lines.slice(at).map((line) => other(line, 'second writer'));
    return { bytes: bytes(log.header, text(log.lines), text(theirs)), readable: [...log.lines, ...theirs], codes: ['FORKED_SEQUENCE'] };
  },
  'a fresh session is written over an old one': (log) => {
    const theirs = log.lines.map((line) => other(line, 'fresh'));
    return { bytes: bytes(log.header, text(log.lines), log.header, text(theirs)), readable: [...log.lines, ...theirs], codes: ['SECOND_HEADER'] };
  },
  'the header is missing': (log) => ({ bytes: bytes(text(log.lines)), readable: log.lines, codes: ['MISSING_HEADER'] }),
  'the header is cut': (log, dice) => ({ bytes: bytes(cut(log.header.trimEnd(), dice), '\n', text(log.lines)), readable: log.lines, codes: ['MISSING_HEADER', 'UNPARSABLE_LINE'] }),
};
