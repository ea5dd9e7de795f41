/** `palimpsest search`: a pattern in the texts of all logs below a directory. */

import { stat } from 'node:fs/promises';
import { headOf } from '../salvage/record.js';
import { LineCutter } from '../salvage/lines.js';
import { pathText, stringsOf } from '../redact/strings.js';
import { logSource, STANDARD } from './bytes.js';
import { CliError, columns, count, Exit, paint, print, printable, printJson, report, warn } from './host.js';
import { logsBelow } from './heads.js';
import { typeText } from './describe.js';
import { Progress } from './progress.js';

/** Options of the command. */
export interface SearchOptions {
  readonly ignoreCase?: true;
  readonly fixed?: true;
  readonly type?: string[];
  readonly max?: number;
  readonly json?: true;
}

/** One place where the pattern matches. */
export interface Match {
  readonly file: string;
  /** Line of the file, counted from 1. */
  readonly line: number;
  /** Of a log of ours. */
  readonly seq?: number;
  readonly type?: string;
  /** Where in the record. */
  readonly path: string;
  /** The text around the match. */
  readonly excerpt: string;
}

/** Searches logs. Lines are read one by one, so that broken files can be searched as well. */
export async function search(pattern: string, roots: readonly string[], { ignoreCase, fixed, type, max = Infinity, json }: SearchOptions): Promise<number> {
  const expression = compiled(pattern, fixed === true, ignoreCase === true);
  const types = type === undefined ? undefined : new Set(type);
  const progress = new Progress('searching');
  const found: Match[] = [];
  const total = { files: 0, bytes: 0, matches: 0, failed: 0 };
  for (const root of roots) {
    for await (const file of filesOf(root, () => total.failed++)) {
      try {
        total.files++;
        for await (const match of matchesIn(file, expression, types, (bytes) => progress.at((total.bytes += bytes)))) {
          total.matches++;
          if (json) found.push(match);
          else {
            progress.end();
            await print(line(match));
          }
          if (total.matches >= max) break;
        }
      } catch (error) {
        total.failed++;
        report(error);
      }
      if (total.matches >= max) break;
    }
  }
  progress.end();
  if (json) await printJson({ matches: found, files: total.files, bytes: total.bytes, failed: total.failed });
  else if (total.matches === 0) warn(`no match in ${count(total.files, 'file')}`);
  if (total.failed > 0) return Exit.failed;
  return total.matches > 0 ? Exit.ok : Exit.found;
}

function compiled(pattern: string, fixed: boolean, ignoreCase: boolean): RegExp {
  if (pattern === '') throw new CliError('an empty pattern is everywhere', { hint: 'give a text or a regular expression to look for', exit: Exit.usage });
  const text = fixed ? pattern.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&') : pattern;
  try {
    return new RegExp(text, ignoreCase ? 'iu' : 'u');
  } catch (cause) {
    throw new CliError(`${JSON.stringify(pattern)} is not a regular expression`, { hint: 'use --fixed to look for the text as it is', exit: Exit.usage, cause });
  }
}

/** What cannot be read is told of, and counted by `failed`; it hides nothing else. */
async function* filesOf(root: string, failed: () => void): AsyncGenerator<string> {
  const tell = (error: unknown): undefined => {
    failed();
    report(error);
    return undefined;
  };
  const found = root === STANDARD ? undefined : await stat(root).catch(tell);
  if (found?.isDirectory() === true) {
    yield* logsBelow(root, (_, error) => {
      tell(error);
    });
  } else if (found !== undefined || root === STANDARD) yield root;
}

const decoder = new TextDecoder();

async function* matchesIn(file: string, expression: RegExp, types: ReadonlySet<string> | undefined, progress: (bytes: number) => void): AsyncGenerator<Match> {
  const cutter = new LineCutter();
  const quick = quickTest(expression);
  const look = function* ({ bytes, number }: { bytes: Uint8Array; number: number }): Generator<Match> {
    const text = decoder.decode(bytes);
    if (!quick(text)) return;
    const head = headOf(text);
    if (types === undefined ? head?.type === 'assistant/chunk' : !types.has(head?.type ?? '')) return;
    for (const { value, path, isKey } of tokensOf(text)) {
      // A record's type and its members' names are no words of anybody.
      if (isKey || path.length < 2) continue;
      const match = expression.exec(value);
      if (match === null || match[0] === '') continue;
      yield { file, line: number, ...(head && { seq: head.seq, type: head.type }), path: pathText(path), excerpt: around(value, match.index, match[0].length) };
    }
  };
  for await (const chunk of (await logSource(file)).chunks()) {
    progress(chunk.length);
    for (const line of cutter.push(chunk)) yield* look(line);
  }
  const last = cutter.finish();
  if (last !== undefined) yield* look(last);
}

/** The strings of a line, as far as it is JSON. */
function* tokensOf(text: string): Generator<{ value: string; path: readonly (string | number)[]; isKey: boolean }> {
  try {
    JSON.parse(text);
  } catch {
    return;
  }
  yield* stringsOf(text);
}

/** Tells by the stored text which lines cannot match: only for words that are stored as they are. */
function quickTest({ source: text, flags }: RegExp): (line: string) => boolean {
  if (!/^[A-Za-z0-9 _]+$/.test(text)) return () => true;
  const stored = new RegExp(`${text}|\\\\u00`, flags);
  return (line) => stored.test(line);
}

const BEFORE = 40;

function around(text: string, at: number, length: number): string {
  const from = Math.max(0, at - BEFORE);
  return text.slice(from, at + Math.min(length, 200) + BEFORE * 2);
}

function line({ file, line: at, seq, type, excerpt }: Match): string {
  const head = `${printable(file)}:${at}`;
  const about = seq === undefined ? '' : `  ${paint('dim', `seq ${seq}`)} ${typeText(type ?? '')}`;
  const words = printable(excerpt.replace(/\s+/g, ' ').trim());
  return `${paint('magenta', head)}${about}  ${words.slice(0, Math.max(60, columns()))}`;
}
