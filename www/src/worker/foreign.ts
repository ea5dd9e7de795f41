/** Logs of other agents: which agent wrote a file, and what the package makes of it. */

import { blobSource, detect, importLog, type Detected } from 'palimpsest/import';
import type { Log } from './log.js';

const HEAD = 1 << 16;
const ANOMALIES = 500;

/** Who wrote a file, when it was not this package; undefined for what is to be read as it is. */
export async function foreignFormat(file: Blob, name: string): Promise<Detected | undefined> {
  const found = detect(new Uint8Array(await file.slice(0, HEAD).arrayBuffer()), name);
  return found?.format === 'palimpsest' ? undefined : found;
}

/** The main session of a file as bytes of this package; what was made of the rest is told in `log.imported`. */
export async function convert(log: Log, file: Blob, { format, detail }: Detected, signal: AbortSignal, onProgress: (done: number, total: number) => void): Promise<Blob> {
  const result = await importLog(blobSource(file, log.name), { format, signal, onProgress });
  const made = result.sessions.flatMap(({ session, role }) => (session ? [{ id: session.id, role, events: session.seq, bytes: new Blob([session.headerLine(), session.jsonl()] as BlobPart[]), session }] : []));
  for (const { session } of made) session.free();
  const [main, ...others] = made;
  if (!main) throw new Error(`${log.name} is a log of ${detail}, and holds no conversation.`);
  const { records, mapped, kept, broken, anomalies, anomalyCounts } = result.report;
  log.imported = {
    format: result.format,
    detail,
    records,
    mapped,
    kept,
    broken,
    anomalies: anomalies.slice(0, ANOMALIES).map(({ code, message, line }) => ({ code, message, ...(line !== undefined && { line }) })),
    anomalyCount: Object.values(anomalyCounts).reduce((sum, n) => sum + n, 0),
    others: others.map(({ id, role, events, bytes }) => ({ id, role, events, bytes })),
  };
  return main.bytes;
}
