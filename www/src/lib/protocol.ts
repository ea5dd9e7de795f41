/** What the page and its worker say to each other. Everything here is plain data. */

import type { Family } from './kinds.js';

/** Where a log comes from. A file may have the files of its sub-agents beside it. */
export type Source =
  | { readonly kind: 'file'; readonly name: string; readonly file: Blob; readonly related?: readonly { readonly name: string; readonly file: Blob }[] }
  /** A URL of this same origin. */
  | { readonly kind: 'url'; readonly name: string; readonly url: string }
  /** A session in the browser's own storage, by id. */
  | { readonly kind: 'stored'; readonly name: string; readonly id: string };

/** The session header as far as a log of any kind has one. */
export interface HeaderFacts {
  readonly id: string;
  readonly createdAt: number;
  readonly cwd?: string;
  readonly parentSession?: string;
  readonly seedLength?: number;
}

/** How far a log is read. */
export interface Progress {
  readonly log: number;
  /** Reading and indexing it; before that, converting it; after it, opening a large one with its bytes left in the file. */
  readonly stage: 'read' | 'convert' | 'open';
  /** Bytes done, and all there are where that is known. */
  readonly read: number;
  readonly total?: number;
  readonly rows: number;
  readonly visible: number;
}

/** What is known of a log once it is read, or given up. */
export interface LogFacts {
  readonly log: number;
  readonly name: string;
  readonly header?: HeaderFacts;
  readonly rows: number;
  /** Whether the number of every row is its place; not so in a log with gaps, repetitions or lines that are no events. */
  readonly numbered: boolean;
  /** The number of the last event; -1 where there is none. */
  readonly lastSeq: number;
  readonly visible: number;
  readonly bytes: number;
  readonly turns: number;
  readonly steps: number;
  readonly replaces: number;
  readonly firstTime: number;
  readonly lastTime: number;
  /** Type names with how many rows each has, most first. */
  readonly types: readonly { readonly name: string; readonly family: Family; readonly count: number }[];
  readonly tools: readonly string[];
  /** Whether the package has opened it: what the model saw can be told. */
  readonly whole: boolean;
  /** Why not: the package's error. */
  readonly failure?: { readonly code: string; readonly message: string };
  /** Reading was stopped by the person. */
  readonly stopped: boolean;
  readonly tornBytes: number;
  /** Types of the events that a load would close the open turn with. */
  readonly closers: readonly string[];
  readonly errors: number;
  /** Of which agent it was before it was converted. */
  readonly imported?: ImportFacts;
}

/** What was made of another agent's log. */
export interface ImportFacts {
  readonly format: string;
  readonly detail: string;
  /** Records of the file; those that became events, those that are kept as they were, and lines that are none. */
  readonly records: number;
  readonly mapped: number;
  readonly kept: number;
  readonly broken: number;
  readonly anomalies: readonly { readonly code: string; readonly message: string; readonly line?: number }[];
  readonly anomalyCount: number;
  /** The other sessions of the file: forks and sub-agents. */
  readonly others: readonly { readonly header: HeaderFacts; readonly role: string; readonly events: number; readonly bytes: Blob }[];
}

/** One row of the timeline. */
export interface Row {
  readonly row: number;
  readonly seq: number;
  readonly type: string;
  readonly family: Family;
  readonly time: number;
  readonly level: number;
  readonly summary: string;
  readonly error: boolean;
  /** On the surface now, shadowed now (by which seq), replacing, or of no surface. */
  readonly mark: 'on' | 'off' | 'none';
  readonly coveredBy?: number;
  readonly replaces?: number;
  /** Whether what it holds is shown; absent where it holds nothing. */
  readonly open?: boolean;
  readonly inside: number;
  readonly turn?: number;
  readonly step?: number;
  readonly tokens?: number;
  readonly duration?: number;
  readonly bytes: number;
}

/** What the timeline shows. Empty lists and texts ask for nothing. */
export interface Filters {
  readonly families: readonly Family[];
  readonly type: string;
  readonly tool: string;
  readonly errors: boolean;
  /** Rows that a text search has found; undefined for all. */
  readonly rows?: Uint32Array;
}

export const NO_FILTERS: Filters = { families: [], type: '', tool: '', errors: false };

/** One bin of the strip. */
export interface StripBins {
  readonly from: number;
  readonly to: number;
  /** The first row of each bin. */
  readonly firstRow: Uint32Array;
  /** Rows, tokens, milliseconds, errors, compactions by bin; `families` is the most frequent family. */
  readonly count: Float64Array;
  readonly tokens: Float64Array;
  readonly duration: Float64Array;
  readonly errors: Float64Array;
  readonly replaces: Float64Array;
  readonly families: Uint8Array;
  /** Bins at which a turn begins. */
  readonly turns: Uint8Array;
  readonly startTime: number;
  readonly endTime: number;
}

/** A message of a request, or of the conversation: its JSON text, since nesting may be deeper than a copy can be. */
export interface MessageText {
  readonly seq: number;
  readonly row: number;
  readonly type: string;
  readonly json: string;
  readonly replace?: { readonly start: number; readonly end: number; readonly count: number };
  readonly coveredBy?: number;
  readonly turn?: number;
  readonly step?: number;
}

/** An item of the conversation, with the results of the calls in it. */
export interface ConversationItem extends MessageText {
  readonly time: number;
  readonly results: readonly { readonly seq: number; readonly row: number; readonly json: string; readonly duration: number }[];
}

/** The result of a call, beside it. */
export interface Answer {
  readonly seq: number;
  readonly data: unknown;
  /** Milliseconds. */
  readonly duration: number;
}

/** What the model saw at a seq. */
export interface ModelState {
  readonly seq: number;
  /** The step that was open; absent between steps. */
  readonly step?: { readonly index: number; readonly turn: number; readonly step: number; readonly seq: number };
  /** It is that step's request; else the surface, which the next call would carry. */
  readonly request?: boolean;
  readonly messagesEnd: number;
  readonly headerEnd: number;
  /** Seqs of the surface, head to tail. */
  readonly nodes: Uint32Array;
  /** JSON of the header in force, prefix included; undefined before the first. */
  readonly header?: string;
  readonly prefix: number;
  /** Messages, those of the prefix included; a node with empty content yields none. */
  readonly messages: number;
  readonly tokens: number;
  readonly generation: number;
  readonly usage?: UsageFacts;
}

export interface UsageFacts {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
}

/** How a step's request differs from the one before. */
export interface RequestDiff {
  readonly before?: { readonly index: number; readonly turn: number; readonly step: number; readonly seq: number };
  readonly after: { readonly index: number; readonly turn: number; readonly step: number; readonly seq: number };
  /** Where the provider's prefix cache breaks; undefined when the request only grew. */
  readonly divergence?: {
    readonly part: 'config' | 'tools' | 'system' | 'prefix' | 'messages';
    /** Place in the messages, prefix included. */
    readonly index: number;
    /** The replace that changed it. */
    readonly replace?: { readonly seq: number; readonly start: number; readonly end: number; readonly count: number };
    readonly reason: string;
  };
  readonly changed: readonly ('config' | 'tools' | 'system' | 'prefix')[];
  readonly texts: { readonly part: string; readonly before: string; readonly after: string }[];
  /** Seqs that left, came, and stand in both. */
  readonly removed: Uint32Array;
  readonly added: Uint32Array;
  readonly kept: number;
  /** Estimated tokens of what stands before the divergence, and of all. */
  readonly keptTokens: number;
  readonly allTokens: number;
  readonly usage?: UsageFacts;
  readonly usageBefore?: UsageFacts;
}

/** A replacement and what lies under it. */
export interface Stratum {
  readonly seq: number;
  readonly row: number;
  readonly start: number;
  readonly end: number;
  /** What is shadowed, in surface order. */
  readonly shadowed: readonly StratumNode[];
  /** Shadowed nodes in all; `shadowed` holds at most the first thousand. */
  readonly count: number;
  /** Log-only events that the replacement names as its sources. */
  readonly sources: readonly number[];
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly coveredBy?: number;
  readonly kind: 'summary' | 'pruned' | 'other';
  readonly summary: string;
  readonly time: number;
}

export interface StratumNode {
  readonly seq: number;
  readonly type: string;
  readonly family: Family;
  readonly summary: string;
  readonly tokens: number;
  /** It is a replacement itself. */
  readonly nested: boolean;
}

export interface Finding {
  readonly code: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly row: number;
  readonly seq?: number;
  readonly line?: number;
  readonly byte?: number;
  readonly related: readonly number[];
}

/** What lies over an event. */
export interface Provenance {
  /** The message that a log-only event is a part of: a chunk of its stream, a call that it makes, the text of a summary. */
  readonly part?: { readonly seq: number; readonly type: string };
  /** The replacements over it, or over that message, from the one that covers it to the one on the surface. */
  readonly covers: readonly number[];
}

export interface StepNumbers {
  readonly steps: number;
  /** One value for each bin of steps. */
  readonly x: Float64Array;
  readonly seq: Float64Array;
  readonly input: Float64Array;
  readonly cacheRead: Float64Array;
  readonly cacheWrite: Float64Array;
  readonly output: Float64Array;
  readonly context: Float64Array;
  readonly perBin: number;
}

export interface ToolNumbers {
  readonly name: string;
  readonly calls: number;
  readonly failed: number;
  readonly open: number;
  readonly median: number;
  readonly p95: number;
  readonly longest: number;
  readonly longestSeq: number;
}

export interface Numbers {
  readonly steps: StepNumbers;
  readonly tools: readonly ToolNumbers[];
  readonly totals: UsageFacts;
  /** Of the inherited part alone. */
  readonly inherited: UsageFacts;
  readonly inheritedSteps: number;
  readonly peakContext: number;
  /** The context window, where a config names one. */
  readonly window?: number;
}

export interface SearchQuery {
  readonly text: string;
  readonly regex: boolean;
  readonly matchCase: boolean;
  readonly chunks: boolean;
}

export interface SearchProgress {
  readonly search: number;
  readonly log: number;
  /** New rows with matches, in order. */
  readonly rows: Uint32Array;
  readonly counts: Uint32Array;
  readonly matches: number;
  readonly read: number;
  readonly total: number;
  readonly done: boolean;
  readonly error?: string;
}

export interface Hit {
  readonly row: number;
  readonly seq: number;
  readonly type: string;
  readonly family: Family;
  /** Where in the event, and the text around: before, match, after. */
  readonly pieces: readonly { readonly path: string; readonly before: string; readonly match: string; readonly after: string }[];
}

/** Two sessions beside each other. */
export interface Comparison {
  readonly left: { readonly log: number; readonly rows: number };
  readonly right: { readonly log: number; readonly rows: number };
  /** Rows that both begin with, byte for byte. */
  readonly shared: number;
  /** Conversation items of the shared part, and of each side after it. */
  readonly sharedItems: number;
  readonly leftItems: number;
  readonly rightItems: number;
}

/** What the worker tells without being asked. */
export type Notice =
  | { readonly notice: 'progress'; readonly progress: Progress }
  | { readonly notice: 'search'; readonly progress: SearchProgress }
  /** An opened log was checked. */
  | { readonly notice: 'checked'; readonly log: number; readonly findings: number }
  /** A followed log has grown. */
  | { readonly notice: 'grown'; readonly facts: LogFacts }
  | { readonly notice: 'follow-failed'; readonly log: number; readonly message: string };

/** What is taken away. Seqs are inclusive. */
export type TakeForm =
  | { readonly what: 'jsonl' | 'markdown' | 'html' }
  | { readonly what: 'selection'; readonly from: number; readonly to: number }
  | { readonly what: 'request' | 'messages'; readonly seq: number };

/** What is taken out before. */
export interface Redaction {
  /** Kinds of secrets that the package knows. */
  readonly kinds: readonly string[];
  readonly words: readonly string[];
  /** Regular expressions. */
  readonly patterns: readonly string[];
}

/** What a redaction finds. */
export interface Secrets {
  readonly hits: readonly { readonly seq?: number; readonly path: string; readonly kind: string; readonly placeholder: string; readonly excerpt: string; readonly masked: string }[];
  readonly counts: Readonly<Record<string, number>>;
}

/** What can be read of a damaged log. */
export interface SalvageFacts {
  readonly records: number;
  readonly copies: number;
  readonly lost: readonly { readonly from: number; readonly to: number; readonly line: number; readonly code: string; readonly row: number }[];
  readonly sessions: readonly { readonly id: string; readonly events: number; readonly bytes: Blob }[];
  readonly findings: readonly (Omit<Finding, 'severity'> & { readonly severity: 'error' | 'warning' | 'info'; readonly action?: string })[];
}
