/** What imports add to the vocabulary. */

import type { JsonValue } from '../ids.js';

/** Where an imported record stands in its source. */
export interface ImportRecordSource {
  /** Format of the source. */
  readonly format: string;
  /** Line, counted from 1. */
  readonly line: number;
  /** Name of the source, where it is not the session's own. */
  readonly file?: string;
}

declare module '../events.js' {
  interface SessionEventMap {
    /**
     * Log-only. A record of another agent's log as it was, or what of it has no home in the events beside this one.
     * `kind` is its type there; `raw` is text where the record is no JSON object. A text that an event beside it holds
     * already is not repeated: `{ sameAs: 'content' }` stands in its place.
     */
    'import/record': { readonly source: ImportRecordSource; readonly kind: string; readonly raw: JsonValue };
  }

  interface MessageSourceMap {
    /** Something that an agent put among the user's messages; `label` says what. Made by imports. */
    injected: { label: string };
    /** The agent that gave a sub-agent its task. Made by imports. */
    task: object;
  }
}
