/** A record of the file that has no place yet. */

import type { Place } from './branch.js';
import type { FaultCode } from './finding.js';
import { type Envelope, parseRecord } from './record.js';

export interface Entry extends Place {
  readonly text: string;
  readonly envelope: Envelope;
  /** Bytes of the file that it covers. */
  readonly length: number;
  /** What was wrong with its bytes, and where in them. */
  readonly fault?: { readonly code: FaultCode; readonly at: number };
  /** It is the first of so many that stand behind others whose seqs are higher. */
  readonly late?: number;
}

/** A record that is kept for long: what its text says is not held beside the text. */
export type StoredEntry = Omit<Entry, 'envelope'> & { readonly seq: number };

export function stored({ envelope: { seq }, ...entry }: Entry): StoredEntry {
  return { ...entry, seq };
}

export function restored({ seq: _, ...entry }: StoredEntry): Entry {
  const parsed = parseRecord(entry.text);
  if (parsed?.kind !== 'event') throw new Error('a record was stored that is none');
  return { ...entry, envelope: parsed.envelope };
}
