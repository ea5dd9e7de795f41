/** Logs of other agents, by the importer. */

import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { detect, importLog, type ImportReport, type ImportSink, type ImportSource, bytesSource } from '../import/index.js';
import { fileSource } from '../import/node.js';
import { type ByteSource, STANDARD } from './bytes.js';
import type { CheckedFile } from './check.js';
import { count } from './host.js';
import type { Opened } from './input.js';
import { Progress } from './progress.js';

const decoder = new TextDecoder();

/** Whether a file's first bytes are those of another agent's log. Some of these begin as ours do. */
export function isForeign(first: Uint8Array, path: string): boolean {
  // What was imported keeps the words of its origin, and is ours.
  const text = decoder.decode(first);
  if (text.includes('{"type":"import/record",')) return false;
  const found = detect(first, path);
  // A log of ours of a version to come is not one of the harness, whose first line says how deep it delegates.
  if (found?.format === 'dsh' && /^[^\n]*"type"\s*:\s*"session"/.test(text) && !/^[^\n]*"(?:delegationDepth|agentPreset|origin|isSeeded)"/.test(text) && !/^[^\n]*"version"\s*:\s*0\b/.test(text)) return false;
  return found !== undefined && found.format !== 'palimpsest';
}

/** Runs `use` with a source of the bytes and a progress line. */
async function importing<T>(from: ByteSource, what: string, use: (source: ImportSource, options: { onProgress: (done: number, total: number) => void; related: () => AsyncIterable<ImportSource> }) => Promise<T>): Promise<T> {
  const progress = new Progress(what);
  const file = from.file === undefined ? undefined : await fileSource(from.file);
  try {
    const source = file ?? bytesSource(await whole(from), from.path);
    return await use(source, { onProgress: (done, total) => progress.at(done, total), related: () => beside(from.file) });
  } finally {
    progress.end();
    await file?.close();
  }
}

/** All bytes of a source. */
export async function whole(from: ByteSource): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of from.chunks()) parts.push(chunk.slice());
  return Buffer.concat(parts);
}

/** The logs of sub-agents that Claude Code keeps beside a session's: `<session>/subagents/agent-*.jsonl`. */
export async function* beside(path: string | undefined): AsyncGenerator<ImportSource> {
  if (path === undefined || path === STANDARD) return;
  const folder = join(dirname(path), basename(path).replace(/\.jsonl$/, ''), 'subagents');
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((one) => one.startsWith('agent-') && one.endsWith('.jsonl')).sort()) {
    const source = await fileSource(join(folder, name));
    try {
      yield source;
    } finally {
      await source.close();
    }
  }
}

/** The sessions of a foreign log, in memory. */
export async function openForeign(from: ByteSource): Promise<Opened> {
  const { format, sessions } = await importing(from, 'importing', importLog);
  const made = sessions.flatMap(({ session }) => (session === undefined ? [] : [session]));
  return { session: made[0]!, sessions: made, format, bytes: from.size, damaged: false };
}

/** A sink that keeps nothing: for what an import says, not for what it makes. */
const NOWHERE: ImportSink = { begin: () => ({ append: () => undefined, finish: () => undefined }) };

/** What the importer says about a foreign log. */
export async function foreignFindings(from: ByteSource): Promise<Omit<CheckedFile, 'file'>> {
  const { format, sessions, report } = await importing(from, 'checking', (source, options) => importLog(source, { ...options, sink: NOWHERE }));
  return { format, bytes: report.bytes, records: report.records, sessions: sessions.map(({ id }) => id), findings: findingsOf(report), lostBytes: 0 };
}

/** Anomalies after which something is missing in what the agent has written. */
const DAMAGE: readonly string[] = ['not-json', 'not-utf-8', 'torn-tail', 'damaged-frame', 'cut-frame', 'seq-gap'];

function findingsOf({ anomalies, anomalyCounts }: ImportReport): CheckedFile['findings'] {
  const findings = anomalies.map(({ code, message, line = 1, byte = 0, source, session }): CheckedFile['findings'][number] => ({
    code,
    severity: DAMAGE.includes(code) ? 'error' : 'warning',
    message: source === undefined ? message : `${basename(source)}: ${message}`,
    line,
    byte,
    ...(session !== undefined && { session }),
  }));
  for (const [code, number] of Object.entries(anomalyCounts)) {
    const listed = anomalies.filter((anomaly) => anomaly.code === code).length;
    if (number > listed) findings.push({ code, severity: 'warning', message: `${count(number - listed, 'more finding')} of this code`, line: 1, byte: 0 });
  }
  return findings;
}
