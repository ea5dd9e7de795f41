/** What an import takes and gives. */

import type { SessionHeader, SessionId } from '../events.js';
import type { Session } from '../session.js';

/** Bytes that can be read more than once. */
export interface ImportSource {
  /** A file's name or path: for messages, and a hint for {@link detect}. */
  readonly name: string;
  /** Length in bytes. */
  readonly size: number;
  /** The bytes from `offset` on, `length` of them, or fewer where the source ends before. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

/** Agents whose logs can be imported. */
export type ForeignFormat = 'claude-code' | 'codex' | 'pi' | 'dsh';

/** Who wrote a file. */
export interface Detected {
  readonly format: ForeignFormat | 'palimpsest';
  /** How it was told, and the generation where there are several; for people. */
  readonly detail: string;
}

/** How a session came about. `fork`: it shares its start with another. `child`: a sub-agent's. */
export type SessionRole = 'main' | 'fork' | 'child';

/** The part of another session that a session begins with. */
export interface ImportSeed {
  /** The session that holds it; the sink has finished it already. */
  readonly session: SessionId;
  /** How many events. */
  readonly length: number;
}

/** Takes one session's events as they are made. */
export interface ImportAppender {
  /**
   * Whole lines of stored form, each with its line end, in order; the first one continues the seed.
   * @param count how many events they are
   */
  append(lines: Uint8Array, count: number): void | Promise<void>;
  /** The import has failed or was aborted before the session was complete; nothing follows. */
  abort?(): void | Promise<void>;
  /** The session is complete. What is returned becomes {@link ImportedSession.session}. */
  finish(): Session | undefined | Promise<Session | undefined>;
}

/** Where the sessions of an import go. */
export interface ImportSink {
  /**
   * A session begins. One is written at a time; one that others start from comes before them.
   * @param about its role, and the seed that the sink puts before what is appended
   */
  begin(header: SessionHeader, about: { readonly role: SessionRole; readonly seed?: ImportSeed }): ImportAppender | Promise<ImportAppender>;
}

/** How to import. */
export interface ImportOptions {
  /** Who wrote the file; found out by {@link detect} when absent. */
  readonly format?: ForeignFormat | 'palimpsest' | undefined;
  /** Ends the import; what the sink has received by then stays where it is. */
  readonly signal?: AbortSignal | undefined;
  /** How far it is: `done` of `total` bytes of work; a file that is read twice counts twice. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
  /** Where the sessions go; into memory when absent. */
  readonly sink?: ImportSink | undefined;
  /**
   * Whether other leaves, and turns that were rolled back, become forks; they do when absent. A stored fork holds its seed
   * again, which adds up in a large file. Without forks, their records are kept in the main session.
   */
  readonly forks?: boolean | undefined;
  /** The files of sub-agents that lie beside the log; asked once. */
  related?(): AsyncIterable<ImportSource> | Iterable<ImportSource>;
}

/** One session that was made. */
export interface ImportedSession {
  readonly id: SessionId;
  readonly role: SessionRole;
  readonly header: SessionHeader;
  /** How many events its log holds, those of its seed included. */
  readonly events: number;
  /** Id in the source of what the session was made for: the leaf of a branch, a sub-agent, a thread. */
  readonly origin?: string;
  /** The session, where the sink builds sessions. */
  readonly session?: Session;
}

/** Something odd in the source. */
export interface ImportAnomaly {
  /** What it is, for programs: `not-json`, `duplicate-uuid`, `phantom-parent`, `unanswered-call`, … Listed in `IMPORT.md`. */
  readonly code: string;
  /** What it is, for people. */
  readonly message: string;
  /** Line of the source, counted from 1. */
  readonly line?: number;
  /** Byte offset of that line. */
  readonly byte?: number;
  /** The id concerned, as the source has it. */
  readonly id?: string;
  /** Further lines concerned. */
  readonly lines?: readonly number[];
  /** Name of the source, where it is not the one that was imported but one beside it. */
  readonly source?: string;
  /** The session that shows it. */
  readonly session?: SessionId;
}

/** Times of a source's records, in milliseconds since 1970, in file order. */
export interface ImportTimes {
  readonly first: number;
  readonly last: number;
  readonly min: number;
  readonly max: number;
  /** How often a record's time is before that of the record above it. */
  readonly backwardSteps: number;
  /** The first twenty lines where that is so. */
  readonly backwardAtLines: readonly number[];
}

/** What an import did. */
export interface ImportReport {
  /** Bytes of the sources, as they lie there. */
  readonly bytes: number;
  /** Records of the sources: lines that are JSON objects. Each is mapped or kept: `mapped + kept === records`. */
  readonly records: number;
  /** Records that gave events of the vocabulary. */
  readonly mapped: number;
  /** Records that are in the log as they were, and only so. */
  readonly kept: number;
  /** Lines that are no records, blank ones apart; their text is kept, each with an anomaly. */
  readonly broken: number;
  readonly blankLines: number;
  /** Records by their type in the source. */
  readonly byKind: Readonly<Record<string, { readonly mapped: number; readonly kept: number }>>;
  /** What is odd, in the order in which it was found; of each code at most a thousand. */
  readonly anomalies: readonly ImportAnomaly[];
  /** How often each code was found. */
  readonly anomalyCounts: Readonly<Record<string, number>>;
  /** Times of the records; absent where none has one. */
  readonly times?: ImportTimes;
}

/** What came of an import. */
export interface ImportResult {
  readonly format: ForeignFormat | 'palimpsest';
  readonly detail: string;
  /** The main session first; a session stands behind the one that it starts from. */
  readonly sessions: readonly ImportedSession[];
  readonly report: ImportReport;
}
