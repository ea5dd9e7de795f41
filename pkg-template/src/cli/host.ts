/** What every command shares: where to write, in which colours, and how to fail. */

import process from 'node:process';
import { PalimpsestError } from '../errors.js';
import type { JsonValue } from '../ids.js';
import { deepText } from '../import/json.js';

/** Exit codes. Stable; `palimpsest --help` lists them. */
export const Exit = {
  /** Done. */
  ok: 0,
  /** Done, and there is something to look at: a check with findings, a search without a match. */
  found: 1,
  /** The command line is wrong. */
  usage: 2,
  /** Not done: a file cannot be read, written or understood. */
  failed: 3,
} as const;

/** A failure to be told in one line, with what to do about it in the next. */
export class CliError extends Error {
  readonly hint: string | undefined;
  readonly exit: number;

  constructor(message: string, { hint, exit = Exit.failed, cause }: { hint?: string; exit?: number; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.hint = hint;
    this.exit = exit;
  }
}

/** Ends the process at a signal, having undone what is half done. @returns what takes that back */
export function onInterrupt(undo: () => void): () => void {
  const codes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };
  const handlers = Object.entries(codes).map(([signal, code]) => {
    const end = (): void => {
      undo();
      process.exit(code);
    };
    process.once(signal, end);
    return () => process.off(signal, end);
  });
  return () => handlers.forEach((off) => off());
}

/** Whether a stream takes colours: a terminal does, unless NO_COLOR is set to anything; FORCE_COLOR makes any stream take them. */
function takesColour(stream: NodeJS.WriteStream): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  if (NO_COLOR !== undefined && NO_COLOR !== '') return false;
  if (FORCE_COLOR !== undefined && FORCE_COLOR !== '' && FORCE_COLOR !== '0') return true;
  return stream.isTTY && TERM !== 'dumb';
}

const CODES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39] } as const;

/** A colour, or a weight. */
export type Style = keyof typeof CODES;

function painter(stream: NodeJS.WriteStream): (style: Style, text: string) => string {
  const colours = takesColour(stream);
  return (style, text) => (colours && text !== '' ? `\u001b[${CODES[style][0]}m${text}\u001b[${CODES[style][1]}m` : text);
}

/** Paints text for standard output. */
export const paint = painter(process.stdout);
/** Paints text for standard error. */
export const paintError = painter(process.stderr);

/** Writes to standard output; waits where the reader is slower. */
export async function write(text: string | Uint8Array): Promise<void> {
  if (text.length === 0 || process.stdout.write(text)) return;
  await new Promise<void>((resolve) => process.stdout.once('drain', resolve));
}

/** Writes a line to standard output. */
export function print(line = ''): Promise<void> {
  return write(`${line}\n`);
}

/** Writes a value as indented JSON to standard output. */
export function printJson(value: unknown): Promise<void> {
  return print(jsonText(value));
}

/** A value as indented JSON; in one line where it is nested too deeply for that. @throws CliError where no string can hold it */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  try {
    return deepText(value as JsonValue);
  } catch (cause) {
    throw new CliError('it is too large for one JSON document', { hint: '`palimpsest show FILE --as events --json` prints records one by one', cause });
  }
}

/** Writes a line to standard error. */
export function warn(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Tells of a failure on standard error. @returns the exit code */
export function report(error: unknown): number {
  const known = error instanceof CliError ? error : fromError(error);
  warn(`${paintError('red', 'error:')} ${printable(known.message)}`);
  if (known.hint !== undefined) warn(`${paintError('dim', 'hint:')} ${printable(known.hint)}`);
  return known.exit;
}

const SYSTEM: Readonly<Record<string, string>> = {
  ENOENT: '`palimpsest ls DIR` lists the sessions of a directory',
  EACCES: 'you may not read or write it',
  EPERM: 'you may not read or write it',
  EISDIR: 'it is a directory; name a file in it, or use `palimpsest ls`',
  EEXIST: 'it exists already; nothing is ever overwritten, so name another file',
  ENOSPC: 'the disk is full',
};

function fromError(error: unknown): CliError {
  if (error instanceof PalimpsestError) return new CliError(error.message, { hint: HINTS[error.code] ?? `the error's code is ${error.code}`, cause: error });
  const { code, path } = Object(error) as { code?: unknown; path?: unknown };
  const message = error instanceof Error ? error.message : String(error);
  // Node's messages name the call as well: `ENOENT: no such file or directory, open 'x'`.
  const words = /^[A-Z0-9_]+: (.*), [a-z]+(?: '.*')?$/s.exec(message)?.[1];
  if (typeof code === 'string') return new CliError(words !== undefined && typeof path === 'string' ? `${path}: ${words}` : message, { hint: SYSTEM[code] ?? `the system's code is ${code}`, cause: error });
  return new CliError(message, { hint: 'this is a fault of palimpsest itself; please report it with the command that you ran', cause: error });
}

const HINTS: Partial<Record<PalimpsestError['code'], string>> = {
  CORRUPT_LOG: '`palimpsest check FILE` says what is wrong with it, `palimpsest repair FILE -o NEW` writes a repaired copy',
  SEQ_MISMATCH: '`palimpsest check FILE` says what is wrong with it, `palimpsest repair FILE -o NEW` writes a repaired copy',
  INVALID_HEADER: 'is it a session log? `palimpsest check FILE` says what can be read of it',
  UNKNOWN_FORMAT: 'is it a session log? `palimpsest check FILE` says what its bytes are',
  INVALID_ID: 'give another one with --id',
  UNSUPPORTED_VERSION: 'open it with the version of palimpsest that wrote it',
  INVALID_SEQ: '`palimpsest show FILE --as events` lists the seqs',
  SESSION_COLLISION: 'a session of this id is stored there already; give another one with --id',
  SESSION_LOCKED: 'end the program that writes to it, or write to another place',
  OPEN_TURN: 'give the seq of a turn/end with --at',
};

/**
 * Text that a terminal shows and does not obey: a log may hold escape sequences, which could rewrite what stands above
 * them. Line ends and tabs stay.
 */
export function printable(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Text in one line, at most so many characters long. */
export function oneLine(text: string, most: number): string {
  const line = printable(text.slice(0, most * 4).replace(/\s+/g, ' ').trim());
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/** Columns of the terminal; 100 where there is none. */
export function columns(): number {
  return process.stdout.isTTY ? Math.max(40, process.stdout.columns) : 100;
}

/** Bytes for people. */
export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]!}`;
}

/** A count with its noun. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number.toLocaleString('en-US')} ${number === 1 ? noun : plural}`;
}

/** A time for people, in UTC; the bare number where it is no date. */
export function time(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : date.toISOString().slice(0, 19).replace('T', ' ');
}

/** Rows as columns; all but the last column are padded, those named in `right` on their left. */
export function table(rows: readonly (readonly string[])[], right: readonly number[] = []): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => width(row[column] ?? ''))));
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const room = ' '.repeat(widths[column]! - width(cell));
        if (right.includes(column)) return room + cell;
        return column === row.length - 1 ? cell : cell + room;
      })
      .join('  '),
  );
}

/** Length of a text as it is shown, colours not counted. */
function width(text: string): number {
  // eslint-disable-next-line no-control-regex
  return text.replace(/\u001b\[\d+m/g, '').length;
}
