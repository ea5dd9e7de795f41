/** `palimpsest import`: another agent's logs as sessions of ours. */

import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { link, mkdir, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { bytesSource, importLog, type ImportReport, type ImportResult } from '../import/index.js';
import { fileSink, fileSource } from '../import/node.js';
import { directoryOf } from '../persistence/jsonl.js';
import { encodeSegment } from '../persistence/segments.js';
import { head, source as byteSource, STANDARD } from './bytes.js';
import { beside, isForeign, whole } from './foreign.js';
import { logsBelow } from './heads.js';
import { CliError, count, Exit, onInterrupt, paint, print, printable, printJson, report as tellError, size } from './host.js';
import { isDirectory, notItself } from './output.js';
import { Progress } from './progress.js';

/** Options of the command. */
export interface ImportOptions {
  readonly output: string;
  readonly forks: boolean;
  readonly json?: true;
}

/** What became of one source. */
interface Imported {
  readonly source: string;
  readonly format: string;
  readonly detail: string;
  readonly sessions: readonly { readonly id: string; readonly role: string; readonly events: number; readonly file: string }[];
  readonly report: ImportReport;
}

/** Imports logs, each by itself: one that cannot be read hides no other. */
export async function importLogs(paths: readonly string[], { output, forks, json }: ImportOptions): Promise<number> {
  const isStore = await isDirectory(output);
  if (output === STANDARD) throw new CliError('an import may make several files', { hint: "name a store's directory, or a new file", exit: Exit.usage });
  const done: Imported[] = [];
  let failed = 0;
  const sources = await expanded(paths, (error) => {
    failed++;
    tellError(error);
  });
  if (!isStore && sources.length > 1) throw new CliError(`${sources.length} logs do not go into one file`, { hint: "name a store's directory, with a slash at its end where it is new", exit: Exit.usage });
  for (const source of sources) {
    notItself(source, output);
    try {
      const imported = await importOne(source, output, isStore, forks);
      done.push(imported);
      if (!json) await show(imported);
    } catch (error) {
      failed++;
      tellError(error);
    }
  }
  if (json) await printJson({ imported: done, failed });
  else if (sources.length !== 1) await print(`${count(done.length, 'log')} imported as ${count(done.reduce((sum, { sessions }) => sum + sessions.length, 0), 'session')}${failed > 0 ? `, ${failed} failed` : ''}`);
  return failed > 0 ? Exit.failed : Exit.ok;
}

async function expanded(paths: readonly string[], failed: (error: unknown) => void): Promise<string[]> {
  const sources: string[] = [];
  for (const path of paths) {
    try {
      if (path === STANDARD || !(await stat(path)).isDirectory()) {
        sources.push(path);
        continue;
      }
      const before = sources.length;
      for await (const file of logsBelow(path, (_, error) => failed(error))) {
        if (await comesWithItsSession(file)) continue;
        if (isForeign(await head(file, 64 * 1024), file)) sources.push(file);
      }
      if (sources.length === before) throw new CliError(`${path} holds no logs of another agent`, { hint: '`palimpsest ls DIR` lists what is below a directory' });
    } catch (error) {
      failed(error);
    }
  }
  return sources;
}

/** Whether a file is that of a sub-agent, which is imported with the session that has started it; alone, when that is gone. */
async function comesWithItsSession(file: string): Promise<boolean> {
  const folder = dirname(resolve(file));
  if (basename(folder) !== 'subagents' || !basename(file).startsWith('agent-')) return false;
  return (await stat(`${dirname(folder)}.jsonl`).catch(() => undefined))?.isFile() ?? false;
}

/** Everything is written beside its place first: what is interrupted leaves nothing that looks like a session. */
async function importOne(path: string, output: string, isStore: boolean, forks: boolean): Promise<Imported> {
  const staging = join(isStore ? resolve(output) : dirname(resolve(output)), `.import-${randomUUID()}`);
  const progress = new Progress(`importing ${basename(path)}`);
  const given = await byteSource(path);
  const file = given.file === undefined ? undefined : await fileSource(path);
  const source = file ?? bytesSource(await whole(given), given.path);
  const release = onInterrupt(() => rmSync(staging, { recursive: true, force: true }));
  try {
    await mkdir(staging, { recursive: true });
    const sink = fileSink(staging);
    const result = await importLog(source, { sink, forks, related: () => beside(path), onProgress: (done, total) => progress.at(done, total) });
    progress.end();
    const places = placesOf(result, output, isStore);
    const placed: string[] = [];
    try {
      for (const { id, place } of places) {
        await mkdir(dirname(place), { recursive: true });
        await link(sink.files.get(id)!, place);
        placed.push(place);
      }
    } catch (error) {
      for (const place of placed) await rm(place, { force: true });
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw new CliError(`${path}: ${(error as NodeJS.ErrnoException & { dest?: string }).dest ?? output} exists already`, { hint: 'it was imported before, it seems; nothing is ever overwritten', cause: error });
    }
    const { format, detail, report, sessions } = result;
    return { source: path, format, detail, report, sessions: sessions.map(({ id, role, events }, index) => ({ id, role, events, file: places[index]!.place })) };
  } finally {
    release();
    progress.end();
    await file?.close();
    await rm(staging, { recursive: true, force: true });
  }
}

function placesOf({ sessions }: ImportResult, output: string, isStore: boolean): { id: string; place: string }[] {
  const stem = basename(output).replace(/\.jsonl$/, '');
  return sessions.map(({ id, role, header }, index) => ({
    id,
    place: isStore ? join(output, directoryOf(header.cwd), `${encodeSegment(id)}.jsonl`) : index === 0 ? output : join(dirname(output), `${stem}-${role}-${index}.jsonl`),
  }));
}

/** Sessions that are listed; more are counted. */
const MOST = 10;

async function show({ source, format, detail, sessions, report }: Imported): Promise<void> {
  await print(`${paint('bold', printable(source))}  ${detail === '' ? format : printable(detail)}, ${size(report.bytes)}: ${count(report.records, 'record')}, ${report.mapped.toLocaleString('en-US')} mapped, ${report.kept.toLocaleString('en-US')} kept as they were${report.broken > 0 ? `, ${count(report.broken, 'line')} broken` : ''}`);
  for (const { id, role, events, file } of sessions.slice(0, MOST)) await print(`  ${paint('green', role.padEnd(5))} ${printable(id)}  ${count(events, 'event')}  ${paint('dim', printable(file))}`);
  if (sessions.length > MOST) await print(paint('dim', `  and ${count(sessions.length - MOST, 'more session')}`));
  const anomalies = Object.entries(report.anomalyCounts).map(([code, number]) => `${number} ${code}`);
  if (anomalies.length > 0) await print(`  ${paint('yellow', 'odd')}   ${anomalies.join(', ')}; \`palimpsest check\` says where`);
}
