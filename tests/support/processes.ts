// Child processes that write, and what they report.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { jsonl } from 'palimpsest/jsonl';
import type { StorageBackend } from 'palimpsest/persistence';
import { sqlite } from 'palimpsest/sqlite';
import { hasNodeSqlite } from './sqlite.js';

const all = ['jsonl', 'better-sqlite3', ...(hasNodeSqlite ? ['node:sqlite'] : [])];

/** Kinds of storage that processes can share; PALIMPSEST_STORAGE names the one that is wanted. */
export const KINDS = all.filter((kind) => kind === (process.env.PALIMPSEST_STORAGE ?? kind));

/** A storage below a directory. */
export function openStorage(kind: string, root: string): StorageBackend {
  if (kind === 'jsonl') return jsonl(root);
  return sqlite({ file: join(root, 'sessions.db'), driver: kind as 'better-sqlite3' | 'node:sqlite' });
}

export interface Writer {
  readonly child: ChildProcess;
  /** What it has reported so far. */
  readonly reports: Record<string, unknown>[];
  /** The next report, or undefined when it has ended. */
  next(): Promise<Record<string, unknown> | undefined>;
  /** Resolves when it has ended and all its reports are in. */
  readonly ended: Promise<void>;
  kill(): Promise<void>;
}

/** Starts tests/processes/writer.ts. */
export function startWriter(kind: string, root: string, command: string, ...args: (string | number)[]): Writer {
  const script = join(process.cwd(), 'target/tests/processes/writer.js');
  const child = spawn(process.execPath, ['--no-warnings', script, kind, root, command, ...args.map(String)], { stdio: ['pipe', 'pipe', 'inherit'] });
  // A process that is gone takes nothing more.
  child.stdin.on('error', () => undefined);
  const reports: Record<string, unknown>[] = [];
  const waiting: ((report: Record<string, unknown> | undefined) => void)[] = [];
  let taken = 0;
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => {
    // Killed in the middle of a line, it has not said it.
    if (!line.endsWith('}')) return;
    const report = JSON.parse(line) as Record<string, unknown>;
    reports.push(report);
    const next = waiting.shift();
    if (next) {
      taken++;
      next(report);
    }
  });
  const ended = Promise.all([once(child, 'exit'), once(reader, 'close')]).then(() => {
    for (const next of waiting.splice(0)) next(undefined);
  });
  return {
    child,
    reports,
    ended,
    next: () => {
      if (taken < reports.length) return Promise.resolve(reports[taken++]);
      if (child.exitCode !== null || child.signalCode !== null) return ended.then(() => reports[taken++]);
      return new Promise((resolve) => waiting.push(resolve));
    },
    kill: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Fails unless the process has ended well. */
export async function endOf(writer: Writer): Promise<Record<string, unknown>[]> {
  await writer.ended;
  if (writer.child.exitCode !== 0) throw new Error(`the process ended with ${writer.child.exitCode ?? writer.child.signalCode}`);
  return writer.reports;
}
