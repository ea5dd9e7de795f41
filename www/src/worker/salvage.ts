/** What can be read of a log that the package refuses to load. */

import { repaired, salvage } from 'palimpsest/salvage';
import type { SalvageFacts } from '../lib/protocol.js';
import type { Log } from './log.js';

const FINDINGS = 5000;

/** Reads the damaged log again, tolerantly. The file is not changed. */
export async function salvageOf(log: Log): Promise<SalvageFacts> {
  const found = await salvage(log.store.blob().stream(), { name: log.name });
  try {
    return {
      records: found.records,
      copies: found.copies,
      lost: found.lost.slice(0, FINDINGS).map((range) => ({ ...range, row: log.outline.rowAtByte(range.from) })),
      sessions: found.sessions.map((session) => ({ id: session.id, events: session.seq, bytes: new Blob([session.headerLine(), session.jsonl()] as BlobPart[]) })),
      findings: found.findings.slice(0, FINDINGS).map(({ session: _, ...finding }) => ({ ...finding, row: log.outline.rowAtByte(finding.byte), related: [] })),
    };
  } finally {
    for (const session of found.sessions) session.free();
  }
}

/** The bytes of the repaired log: what was salvaged, with a note of what was done. */
export async function repairOf(log: Log): Promise<Blob> {
  const found = await salvage(log.store.blob().stream(), { name: log.name });
  try {
    const [first] = repaired(found);
    if (!first) throw new Error('Nothing in this file can be read as an event, so there is nothing to repair.');
    return new Blob([...first.chunks()] as BlobPart[]);
  } finally {
    for (const session of found.sessions) session.free();
  }
}
