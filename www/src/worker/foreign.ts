/** Logs of other agents: which agent wrote a file, and what the package makes of it. */

import { blobSource, detect, importLog, type Detected } from 'palimpsest/import';
import type { SessionHeader } from 'palimpsest';
import type { HeaderFacts } from '../lib/protocol.js';
import type { Log } from './log.js';

const HEAD = 1 << 16;
const ANOMALIES = 500;

/** Who wrote a file, when it was not this package; undefined for what is to be read as it is. */
export async function foreignFormat(file: Blob, name: string): Promise<Detected | undefined> {
  const found = detect(new Uint8Array(await file.slice(0, HEAD).arrayBuffer()), name);
  return found?.format === 'palimpsest' ? undefined : found;
}

/** The header that a file's main session would get, as far as its beginning tells; undefined where it does not. */
export async function foreignHeader(head: Blob, name: string, { format }: Detected): Promise<HeaderFacts | undefined> {
  let header: SessionHeader | undefined;
  const nowhere = { append: () => undefined, finish: () => undefined };
  // What is cut off at the end of the beginning is odd, and of no matter here.
  await importLog(blobSource(head, name), { format, sink: { begin: (found) => { header ??= found; return nowhere; } } }).catch(() => undefined);
  return header && headerFacts(header);
}

export function headerFacts({ id, createdAt, cwd, parentSession, seedLength }: SessionHeader): HeaderFacts {
  return { id, createdAt, ...(cwd !== undefined && { cwd }), ...(parentSession !== undefined && { parentSession }), ...(seedLength !== undefined && { seedLength }) };
}

/** The main session of a file as bytes of this package; what was made of the rest is told in `log.imported`. */
export async function convert(log: Log, file: Blob, related: readonly { name: string; file: Blob }[], { format, detail }: Detected, signal: AbortSignal, onProgress: (done: number, total: number) => void): Promise<Blob> {
  const beside = related.map((one) => blobSource(one.file, one.name));
  const result = await importLog(blobSource(file, log.name), { format, signal, onProgress, related: () => beside });
  const made = result.sessions.flatMap(({ session, role, header }) => (session ? [{ header: headerFacts(header), role, events: session.seq, bytes: new Blob([session.headerLine(), session.jsonl()] as BlobPart[]), session }] : []));
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
    others: others.map(({ header, role, events, bytes }) => ({ header, role, events, bytes })),
  };
  return main.bytes;
}
