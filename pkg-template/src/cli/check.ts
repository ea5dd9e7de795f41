/** `palimpsest check`: everything that is wrong with a log. */

import { stat } from 'node:fs/promises';
import { PalimpsestError } from '../errors.js';
import { openFile } from '../persistence/open-file.js';
import { readHeaderLine } from '../reader.js';
import { inspect, salvage, type SalvageFinding } from '../salvage/index.js';
import { type ByteSource, head, isSqlite, peeked, reading, source, STANDARD } from './bytes.js';
import { CliError, count, Exit, paint, print, printable, printJson, report, type Style } from './host.js';
import { foreignFindings, isForeign } from './foreign.js';
import { logsBelow } from './heads.js';

/** What is known of one file. */
export interface CheckedFile {
  readonly file: string;
  /** `palimpsest`, or the foreign format. */
  readonly format: string;
  readonly bytes: number;
  readonly records: number;
  /** Ids of the sessions that it holds. */
  readonly sessions: readonly string[];
  readonly findings: readonly (Omit<SalvageFinding, 'code'> & { readonly code: string })[];
  /** Bytes from which nothing could be read. */
  readonly lostBytes: number;
}

/** Options of the command. */
export interface CheckOptions {
  readonly json?: true;
  readonly level: 'error' | 'warning' | 'info';
  readonly all?: true;
}

const LEVELS = ['info', 'warning', 'error'];

/** Checks files, and the logs below directories. */
export async function check(paths: readonly string[], { json, level, all }: CheckOptions): Promise<number> {
  const least = LEVELS.indexOf(level);
  const files: CheckedFile[] = [];
  let failed = 0;
  const totals = { error: 0, warning: 0, info: 0 };
  for await (const one of checked(paths)) {
    try {
      const found = await one();
      const shown = { ...found, findings: found.findings.filter(({ severity }) => LEVELS.indexOf(severity) >= least) };
      for (const { severity } of shown.findings) totals[severity]++;
      files.push(json ? shown : { ...shown, findings: [] });
      if (!json) await show(shown, all === true ? Infinity : MOST_OF_A_CODE);
    } catch (error) {
      // One file that cannot be read hides no other.
      failed++;
      report(error);
    }
  }
  if (json) await printJson({ files, ...totals, failed });
  else if (files.length + failed !== 1) await print(`${count(files.length, 'file')}: ${count(totals.error, 'error')}, ${count(totals.warning, 'warning')}${failed > 0 ? `, ${failed} could not be read` : ''}`);
  if (failed > 0) return Exit.failed;
  return totals.error + totals.warning > 0 ? Exit.found : Exit.ok;
}

/** One check for each log that the paths name: files, logs below directories, sessions of databases. */
async function* checked(paths: readonly string[]): AsyncGenerator<() => Promise<CheckedFile>> {
  for (const path of paths) {
    const found = path === STANDARD ? undefined : await stat(path).catch(() => undefined);
    if (found?.isDirectory() === true) {
      let logs = 0;
      const failures: Error[] = [];
      for await (const file of logsBelow(path, (_, error) => failures.push(error instanceof Error ? error : new Error(String(error))))) {
        logs++;
        yield () => checkFile(file);
      }
      // A script that misspells a directory must not be told that all is well.
      if (logs + failures.length === 0) failures.push(new CliError(`${path} holds no logs`, { hint: 'logs are files that end in .jsonl, in it or in directories below' }));
      for (const failure of failures) yield () => Promise.reject(failure);
    } else if (found?.isFile() === true && isSqlite(await head(path, 16).catch(() => new Uint8Array(0)))) yield* checkedSessions(path);
    else yield () => checkFile(path);
  }
}

async function* checkedSessions(database: string): AsyncGenerator<() => Promise<CheckedFile>> {
  const { sqlite } = await import('../persistence/sqlite.js');
  const backend = sqlite(database);
  try {
    for await (const stored of backend.list()) {
      yield async () => {
        if ('error' in stored) throw stored.error;
        const header = readHeaderLine(stored.head, stored.location);
        const log = header && (await backend.loadStored({ id: header.id, cwd: header.cwd ?? null }));
        if (!log) throw new CliError(`${stored.location} does not begin with a session header`);
        const file = `${database}: ${header.id}`;
        return { file, ...(await checkOwn({ path: header.id, size: undefined, chunks: () => log.chunks as AsyncIterable<Uint8Array> })) };
      };
    }
  } finally {
    await backend.close?.();
  }
}

async function checkFile(path: string): Promise<CheckedFile> {
  const { first, from } = await peeked(await source(path), 64 * 1024);
  if (isForeign(first, path)) return { file: path, ...(await foreignFindings(from)) };
  return { file: path, ...(await checkOwn(from)) };
}

async function checkOwn(from: ByteSource): Promise<Omit<CheckedFile, 'file'>> {
  const sound = from.file === undefined ? undefined : await checkSound(from, from.file);
  if (sound !== undefined) return sound;
  const { sessions, findings, lost, records, bytes } = await salvage(reading(from, 'checking'), { name: from.path });
  const ids = sessions.map(({ id }) => id);
  for (const session of sessions) session.free();
  return { format: 'palimpsest', bytes, records, sessions: ids, findings, lostBytes: lost.reduce((sum, { from: start, to }) => sum + to - start, 0) };
}

/** A file that loads is not held, however large it is; undefined for any other. */
async function checkSound(from: ByteSource, file: string): Promise<Omit<CheckedFile, 'file'> | undefined> {
  let opened;
  try {
    opened = await openFile(file);
  } catch (error) {
    if (error instanceof PalimpsestError && error.code !== 'STORAGE_FAILED') return undefined;
    throw error;
  }
  const { session, tornBytes } = opened;
  try {
    if (tornBytes > 0) return undefined;
    const findings = await inspect(session, reading(from, 'checking'), { name: from.path });
    return { format: 'palimpsest', bytes: from.size ?? 0, records: session.seq, sessions: [session.id], findings, lostBytes: 0 };
  } finally {
    session.free();
  }
}

const STYLES: Readonly<Record<SalvageFinding['severity'], Style>> = { error: 'red', warning: 'yellow', info: 'dim' };

/** Findings of one code that are listed on a terminal. */
const MOST_OF_A_CODE = 5;

async function show({ file, format, records, findings, lostBytes }: CheckedFile, most: number): Promise<void> {
  const worst = findings.some(({ severity }) => severity === 'error') ? 'red' : findings.some(({ severity }) => severity === 'warning') ? 'yellow' : 'green';
  const verdict = findings.length === 0 ? 'nothing found' : count(findings.length, 'finding');
  const lost = lostBytes > 0 ? `, ${count(lostBytes, 'byte')} unreadable` : '';
  await print(`${paint('bold', printable(file))}  ${paint(worst, verdict)}  ${paint('dim', `${format === 'palimpsest' ? '' : `${format}, `}${count(records, 'record')}${lost}`)}`);
  const counts = new Map<string, number>();
  for (const finding of findings) {
    const number = (counts.get(finding.code) ?? 0) + 1;
    counts.set(finding.code, number);
    if (number <= most) await print(`  ${line(finding)}`);
  }
  for (const [code, number] of counts) if (number > most) await print(`  ${paint('dim', `and ${number - most} more of ${code}; --all lists them`)}`);
}

function line({ code, severity, message, line: at, byte, seq, session }: CheckedFile['findings'][number]): string {
  const place = [`line ${at}`, `byte ${byte}`, ...(seq === undefined ? [] : [`seq ${seq}`])].join(', ');
  const of = session === undefined ? '' : paint('dim', ` [${printable(session)}]`);
  return `${paint(STYLES[severity], severity.padEnd(7))} ${paint('bold', code)}  ${paint('dim', place)}${of}\n          ${printable(message)}`;
}
