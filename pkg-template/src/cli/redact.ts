/** `palimpsest redact`: a copy without secrets. */

import { findSecrets, type Pattern, type RedactHit, type RedactOptions, redactSession, type SecretKind } from '../redact/index.js';
import { CliError, count, Exit, oneLine, paint, print, printable, printJson, table, warn } from './host.js';
import { openInput } from './input.js';
import { STANDARD } from './bytes.js';
import { notItself, writeSession } from './output.js';

/** Options of the command. */
export interface RedactCommandOptions {
  readonly output?: string;
  readonly dryRun?: true;
  readonly kind?: SecretKind[];
  readonly pattern?: string[];
  readonly word?: string[];
  readonly session?: string;
  readonly json?: true;
}

/** Writes a copy without secrets, or lists what would be taken out. */
export async function redact(path: string, { output, dryRun, kind, pattern = [], word = [], session: id, json }: RedactCommandOptions): Promise<number> {
  if (output === undefined && dryRun !== true) throw new CliError('there is no place to write to', { hint: 'give one with -o NEW, or look first with --dry-run', exit: Exit.usage });
  if (output !== undefined) notItself(path, output);
  const options: RedactOptions = { ...(kind && { kinds: kind }), patterns: pattern.map(ownPattern), words: word };
  const { session } = await openInput(path, id);
  if (dryRun === true || output === undefined) {
    const { hits, counts } = findSecrets(session, options);
    if (json) await printJson({ file: path, counts, hits });
    else await show(hits, counts, 'would be taken out', 'nothing would be taken out');
    return Exit.ok;
  }
  const { session: clean, hits, counts } = redactSession(session, options);
  const written = await writeSession(clean, output);
  if (output === STANDARD) return Exit.ok;
  if (json) await printJson({ file: path, written, counts, hits });
  else await show(hits, counts, `taken out; the copy is ${printable(written)}`, `nothing was found to take out; the copy is ${printable(written)}`);
  const broken = hits.filter(({ breaksSignature }) => breaksSignature).length;
  if (broken > 0) warn(`${paint('yellow', 'note:')} ${count(broken, 'hit')} stood in signed reasoning, which providers will no longer take back`);
  return Exit.ok;
}

function ownPattern(source: string): Pattern {
  if (source === '') throw new CliError('an empty --pattern would match everywhere', { hint: 'give a regular expression', exit: Exit.usage });
  try {
    return { kind: 'own', pattern: new RegExp(source, 'u') };
  } catch (cause) {
    throw new CliError(`${JSON.stringify(source)} is not a regular expression`, { hint: cause instanceof Error ? cause.message : '', exit: Exit.usage, cause });
  }
}

/** Hits that are listed on a terminal. */
const MOST = 200;

async function show(hits: readonly RedactHit[], counts: Readonly<Record<string, number>>, what: string, none: string): Promise<void> {
  const rows = hits.slice(0, MOST).map(({ seq, path, kind, masked, excerpt }) => [seq === undefined ? 'header' : String(seq), paint('yellow', kind), oneLine(masked, 30), oneLine(path, 40), paint('dim', oneLine(excerpt, 60))]);
  for (const line of table(rows, [0])) await print(line);
  if (hits.length > MOST) await print(paint('dim', `and ${hits.length - MOST} more; --json lists them`));
  const total = Object.values(counts).reduce((sum, number) => sum + number, 0);
  const kinds = Object.entries(counts).map(([kind, number]) => `${number} ${kind}`).join(', ');
  await print(total === 0 ? none : `${count(total, 'secret')} (${kinds}) ${what}`);
}
