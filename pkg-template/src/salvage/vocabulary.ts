/** What a repair adds to the vocabulary. */

import type { JsonValue } from '../ids.js';

/** The events. */
export interface RepairEventMap {
  /**
   * Log-only. What a repair did: in place of an event that is missing (`reason` `missing` or `unreadable`, then with
   * where its bytes were), or at the end of the log (`repaired`).
   */
  'repair/note': {
    readonly reason: 'missing' | 'unreadable' | 'repaired';
    readonly line?: number;
    readonly byte?: number;
    readonly bytes?: number;
    readonly excerpt?: string;
    /** What was found and done. */
    readonly done?: readonly { readonly code: string; readonly line: number; readonly byte: number; readonly action: string; readonly seq?: number }[];
    /** JSON of the file that was no event. */
    readonly kept?: readonly { readonly line: number; readonly byte: number; readonly text: string }[];
    /** What could not be read, and had no place in the sequence. */
    readonly unreadable?: readonly { readonly line: number; readonly byte: number; readonly bytes: number; readonly excerpt: string }[];
  };
  /** Log-only. A record that could not stand in the log as an event, whole: `line` and `byte` say where it was. */
  'repair/record': { readonly code: string; readonly line: number; readonly byte: number; readonly record: JsonValue };
}
