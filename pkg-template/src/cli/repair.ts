/** `palimpsest repair`: a repaired copy of a damaged log. */

import { basename, dirname, join } from 'node:path';
import { PalimpsestError } from '../errors.js';
import { SessionReader } from '../reader.js';
import { repaired, type RepairedLog, salvage, type Salvaged } from '../salvage/index.js';
import { logSource, reading, STANDARD } from './bytes.js';
import { CliError, count, Exit, paint, print, printable, printJson } from './host.js';
import { notItself, writeNew } from './output.js';

/** Options of the command. */
export interface RepairOptions {
  readonly output: string;
  readonly json?: true;
}

/** Writes what can be read of `path` to a new file, and the branches of other writers beside it. */
export async function repair(path: string, { output, json }: RepairOptions): Promise<number> {
  notItself(path, output);
  const from = await logSource(path);
  const salvaged = await salvage(reading(from, 'reading'), { name: path === STANDARD ? output : path });
  try {
    const logs = repaired(salvaged).map((log, index) => ({ log, file: index === 0 ? output : branchFile(output, index) }));
    if (output === STANDARD && logs.length > 1) throw new CliError(`${path} holds ${logs.length} sessions, and standard output takes one`, { hint: 'name a file with -o', exit: Exit.usage });
    for (const { log, file } of logs) {
      mustLoad(log, file);
      await writeNew(file, log.chunks());
    }
    const lostBytes = salvaged.lost.reduce((sum, { from: start, to }) => sum + to - start, 0);
    if (json) {
      await printJson({
        file: path,
        records: salvaged.records,
        copies: salvaged.copies,
        lost: salvaged.lost,
        lostBytes,
        logs: logs.map(({ log, file }) => ({ file, id: log.header.id, ...(log.header.parentSession !== undefined && { parentSession: log.header.parentSession, seedLength: log.header.seedLength }), added: log.added.map(({ type, seq }) => ({ type, seq })), done: log.done })),
      });
    } else if (output !== STANDARD) {
      await show(path, logs, salvaged, lostBytes);
    }
    return Exit.ok;
  } catch (error) {
    if (error instanceof PalimpsestError && error.code === 'CORRUPT_LOG') throw new CliError(`${path}: ${error.message}`, { hint: 'restore it from a backup; `palimpsest check` says what its bytes are', cause: error });
    throw error;
  } finally {
    for (const session of salvaged.sessions) session.free();
  }
}

/** Nothing is written that a load would refuse. */
function mustLoad(log: RepairedLog, file: string): void {
  const reader = new SessionReader(file);
  try {
    for (const chunk of log.chunks()) reader.push(chunk);
    reader.finish().session.free();
  } catch (error) {
    reader.free();
    throw error;
  }
}

function branchFile(output: string, index: number): string {
  return join(dirname(output), `${basename(output).replace(/\.jsonl$/, '')}-branch-${index}.jsonl`);
}

/** Stretches of lost bytes that are listed on a terminal. */
const MOST = 20;

async function show(path: string, logs: readonly { log: RepairedLog; file: string }[], { records, lost }: Salvaged, lostBytes: number): Promise<void> {
  const nothing = logs.every(({ log }) => log.done.length === 0 && log.added.length === 0) && lostBytes === 0;
  for (const { log, file } of logs) {
    await print(`${paint('green', 'wrote')} ${paint('bold', printable(file))}  session ${JSON.stringify(log.header.id)}${log.header.parentSession === undefined ? '' : `, a fork of ${JSON.stringify(log.header.parentSession)} after its first ${count(log.header.seedLength ?? 0, 'event')}`}`);
    for (const { line, code, action } of log.done.slice(0, MOST)) await print(`  line ${line}  ${code}: ${printable(action)}`);
    if (log.done.length > MOST) await print(paint('dim', `  and ${log.done.length - MOST} more; --json lists them`));
    if (log.added.length > 0) await print(`  added at the end: ${log.added.map(({ type }) => type).join(', ')}`);
  }
  for (const { line, from, to, code } of lost.slice(0, MOST)) await print(`${paint('yellow', 'lost')} line ${line}, byte ${from}: ${count(to - from, 'byte')} (${code})`);
  if (lost.length > MOST) await print(paint('dim', `and ${lost.length - MOST} more stretches; --json lists them`));
  const summary = nothing ? 'there was nothing to repair' : lostBytes === 0 ? 'nothing was lost' : `${count(lostBytes, 'byte')} could not be read`;
  await print(`${printable(path)} is as it was; ${count(records, 'record')} read, ${summary}`);
}
