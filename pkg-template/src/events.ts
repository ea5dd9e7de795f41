/**
 * The vocabulary of a session log, as types.
 *
 * Every `…Map` interface is open: a program adds its own members from its own files,
 *
 * ```ts
 * declare module 'palimpsest' {
 *   interface SessionEventMap {
 *     'approval/asked': { callId: CallId };
 *   }
 * }
 * ```
 *
 * and the unions made from the map ({@link SessionEvent}, {@link ContentBlock}, …) then know them. An event type that is
 * added so is log-only: stored and replayed, never on the surface.
 */

import { isObject } from './arguments.js';
import type { LangGraphEventMap } from './adapters/langgraph-events.js';
import type { CallId, JsonObject, JsonValue, SessionId } from './ids.js';
import type { ImportEventMap, ImportSourceMap } from './import/vocabulary.js';
import type { RepairEventMap } from './salvage/vocabulary.js';

export * from './ids.js';

type Flat<T> = { readonly [K in keyof T]: T[K] };

/** The union over an open map: each member's payload with its key as the tag. */
type Tagged<Tag extends string, Members> = {
  [K in keyof Members & string]: Flat<Record<Tag, K> & Members[K]>;
}[keyof Members & string];

// ---------------------------------------------------------------------------------------------------------- messages

/** Kinds of content block by `type`, open for merging. Blocks of unknown types pass through untouched. */
export interface ContentBlockMap {
  /** Text. */
  text: { text: string };
  /** What a model thought before it answered. */
  reasoning: { text: string };
  /** A call that the model makes. `arguments` is its raw JSON text, never parsed, never re-written. */
  'tool-call': { id: CallId; name: string; arguments: string };
  /** The answer to the call `toolCallId`. */
  'tool-result': { toolCallId: CallId; content: readonly ContentBlock[]; isError?: boolean };
}

/** One piece of a message. */
export type ContentBlock = Tagged<'type', ContentBlockMap>;

/** One message of the history that a model sees. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: readonly ContentBlock[];
}

/** Who a message comes from, by `kind`, open for merging. */
export interface MessageSourceMap extends ImportSourceMap {
  /** The person in front of the agent. */
  user: object;
  /** A part of the agent, named by `plugin`. */
  plugin: { plugin: string };
}

/** Who a message comes from. */
export type MessageSource = Tagged<'kind', MessageSourceMap>;

/** Token counts of one model call; they are disjoint, so their sum is the whole. */
export interface Usage {
  /** Input that was not served from a cache. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  readonly reasoningTokens?: number;
}

// ------------------------------------------------------------------------------------------------------------ streams

/** Why a model stopped, by `kind`, open for merging. */
export interface FinishReasonMap {
  /** It said what it had to say. */
  stop: object;
  /** It waits for the results of its calls. */
  'tool-calls': object;
  /** It reached its limit of output tokens. */
  'max-tokens': object;
  /** The provider withheld the rest. */
  'content-filter': object;
  /** The call failed. */
  error: { failure: { readonly message: string; readonly code?: string } };
}

/** Why a model stopped. */
export type FinishReason = Tagged<'kind', FinishReasonMap>;

/** Pieces of a streamed answer by `type`, open for merging. `index` counts the answer's blocks from 0. */
export interface StreamChunkMap {
  /** Block `index` begins. */
  'block-start': { index: number; blockType: string };
  /** More text of block `index`. */
  'text-delta': { index: number; text: string };
  /** More reasoning of block `index`. */
  'reasoning-delta': { index: number; text: string };
  /** More argument text of call `id`; the first delta of a call carries its name. */
  'tool-call-delta': { index: number; id: CallId; name?: string; argumentsDelta: string };
  /** Block `index` is complete. */
  'block-end': { index: number; block: ContentBlock };
  /** What the call has cost. */
  usage: { usage: Usage };
  /** The answer is complete. */
  finish: { reason: FinishReason };
}

/** One piece of a streamed answer. */
export type StreamChunk = Tagged<'type', StreamChunkMap>;

// ---------------------------------------------------------------------------------------------------- request headers

/** A tool as the model is told about it. Two are equal when `JSON.stringify` says so: key order counts. */
export interface ToolSchema {
  readonly name: string;
  readonly description?: string;
  /** JSON Schema of the arguments. */
  readonly parameters: JsonObject;
}

/** What surrounds the history in a model call. Empty `system`, `tools` and `messagePrefix` are absent fields. */
export interface EpochHeader {
  /** Model and options: `model`, `maxTokens`, `temperature`, `stop`, … as the program names them. */
  readonly config: JsonObject;
  /** System prompt. */
  readonly system?: string;
  readonly tools?: readonly ToolSchema[];
  /** Messages that stand before the derived history. */
  readonly messagePrefix?: readonly Message[];
}

/** A change of an {@link EpochHeader}; absent fields stay as they are. */
export interface HeaderDelta {
  /** Lines of the system prompt to keep at the start and at the end, and those that stand between. */
  readonly system?: { readonly keepStart: number; readonly keepEnd: number; readonly insert: readonly string[] };
  /** Tools by name: put at the end in this order, taken out, replaced where they stand. */
  readonly tools?: {
    readonly added?: readonly ToolSchema[];
    readonly removed?: readonly string[];
    readonly changed?: readonly ToolSchema[];
  };
  /** The whole new config. */
  readonly config?: JsonObject;
  /** The whole new prefix; an empty one means none. */
  readonly messagePrefix?: readonly Message[];
}

// ------------------------------------------------------------------------------------------------------------- events

/** What started a turn, by `kind`, open for merging. */
export interface TurnTriggerMap {
  /** A message arrived. */
  message: { source: MessageSource };
  /** A part of the agent put something in while it was idle. */
  injection: { source: MessageSource };
}

/** What started a turn. */
export type TurnTrigger = Tagged<'kind', TurnTriggerMap>;

/** Why a turn ended, by `kind`, open for merging. */
export interface TurnEndReasonMap {
  /** The model had no more to do. */
  completed: object;
  /** Somebody stopped it. */
  aborted: { reason?: string };
  /** Step `step` failed. */
  error: { step: number; message: string; code?: string };
  /** The agent was shut down in mid-turn. */
  disposed: object;
  /** The model reached its limit of output tokens. */
  'max-tokens': object;
  /** The prompt was refused before any step. */
  rejected: { reason: string };
  /** A crash ended it; written by the repair when the log is next loaded. */
  interrupted: object;
}

/** Why a turn ended. */
export type TurnEndReason = Tagged<'kind', TurnEndReasonMap>;

/** One entry of a to-do list. */
export interface TodoItem {
  readonly content: string;
  readonly status: 'pending' | 'in_progress' | 'completed';
}

/**
 * Payloads by event type, open for merging. Members are surface events where their text says so, else log-only.
 * Turns and steps are counted by whoever runs them.
 */
export interface SessionEventMap extends ImportEventMap, LangGraphEventMap, RepairEventMap {
  /** Log-only. A turn begins: one run of the agent, from a trigger to its end. */
  'turn/start': { readonly turn: number; readonly trigger: TurnTrigger };
  /** Log-only. The turn is over. The boundary at which logs are durable and may be forked. */
  'turn/end': { readonly turn: number; readonly reason: TurnEndReason };
  /** Log-only. A step begins: one model call and the tools that it asks for. */
  'step/start': { readonly turn: number; readonly step: number };
  /** Log-only. The step's tools have all answered. */
  'step/end': { readonly turn: number; readonly step: number };
  /** Surface. What the user, or somebody in their name, says to the model. */
  'user/message': { readonly content: readonly ContentBlock[]; readonly source: MessageSource };
  /** Surface. Context that the agent puts in; the model sees it between `<context>` tags. */
  'context/message': { readonly content: readonly ContentBlock[]; readonly source: MessageSource };
  /** Surface. A word to a running turn; the model sees it between `<steering>` tags. */
  'steering/message': {
    readonly turn: number;
    readonly content: readonly ContentBlock[];
    readonly source: MessageSource;
  };
  /** Log-only. A prompt that was refused, and why; the model never sees it. */
  'prompt/blocked': {
    readonly content: readonly ContentBlock[];
    readonly source: MessageSource;
    readonly reason: string;
  };
  /** Log-only. One piece of the model's answer as it streams in. */
  'assistant/chunk': { readonly turn: number; readonly step: number; readonly chunk: StreamChunk };
  /** Surface. The model's whole answer; with empty content it only carries the usage and yields no message. */
  'assistant/message': {
    readonly turn: number;
    readonly step: number;
    readonly content: readonly ContentBlock[];
    readonly usage?: Usage;
  };
  /** Log-only. A tool is run. `arguments` is the model's raw JSON text, never parsed, never re-written. */
  'tool/call': {
    readonly turn: number;
    readonly step: number;
    readonly callId: CallId;
    readonly name: string;
    readonly arguments: string;
  };
  /** Surface. What the tool answered; `meta` is kept beside it and never shown to the model. */
  'tool/result': {
    readonly turn: number;
    readonly step: number;
    readonly callId: CallId;
    readonly content: readonly ContentBlock[];
    readonly isError: boolean;
    readonly error?: { readonly name: string; readonly code: string };
    readonly meta?: JsonValue;
  };
  /** Log-only. The whole to-do list; the last one written counts. */
  'todo/write': { readonly todos: readonly TodoItem[] };
  /** Log-only. The request header in full: the first of a log, the first after a resume, or a change that no delta expresses. */
  'request/header': { readonly header: EpochHeader; readonly reason: 'initial' | 'resume' | 'fallback' };
  /** Log-only. How the request header differs from the one in force. */
  'request/header-delta': HeaderDelta;
  /** Log-only. A compaction begins; none may begin while it is open. */
  'compact/start': { readonly turn: number };
  /** Log-only. What the summarizer made of the shadowed events, before it is laid over them. */
  'compact/summary': {
    readonly summary: readonly ContentBlock[];
    /** First and last shadowed surface event, by surface position. */
    readonly shadowedRange: { readonly start: number; readonly end: number };
    readonly shadowedSeqs: readonly number[];
    readonly shadowedTokenCount: number;
    readonly model: string;
    readonly maxTokens?: number;
  };
  /** Log-only. The compaction is over; with an `error` the surface is as it was. */
  'compact/end': { readonly turn: number; readonly error?: string };
  /** Log-only. A hook is run at `point`. */
  'hook/invoked': {
    readonly turn: number;
    readonly point: string;
    readonly dialect?: string;
    readonly handlerId: string;
    readonly matcher?: string;
  };
  /** Log-only. What the hook decided, after `durationMs` milliseconds. */
  'hook/result': {
    readonly turn: number;
    readonly point: string;
    readonly handlerId: string;
    readonly decision: string;
    readonly exitCode?: number;
    readonly stderrSummary?: string;
    readonly durationMs: number;
  };
}

/** Every event type that the map knows. */
export type SessionEventType = keyof SessionEventMap;

const SURFACE_TYPES = [
  'user/message',
  'assistant/message',
  'tool/result',
  'context/message',
  'steering/message',
] as const satisfies readonly SessionEventType[];

/** The five event types that yield a message. */
export type SurfaceEventType = (typeof SURFACE_TYPES)[number];

/**
 * How an event joins the surface: at its tail, or in place of the nodes from `start` through `end`. Both are seqs of
 * surface nodes, inclusive, in surface position order; `start === end` replaces one node.
 */
export type SurfaceOp = 'append' | { readonly op: 'replace'; readonly start: number; readonly end: number };

/** What `append` must be told about a surface event. */
export interface SurfaceIntent {
  readonly surfaceOp: SurfaceOp;
  /** Seqs of the earlier events that this one derives from; a replace must name every node that it shadows. */
  readonly sourceEventSeqs?: readonly number[];
}

/** The third argument of `append`: required for a surface type, refused for any other, optional for a widened one. */
export type IntentArguments<T extends SessionEventType> = T extends SurfaceEventType ? [intent: SurfaceIntent] : [];

interface EventBase<T extends SessionEventType> {
  readonly type: T;
  /** Position in the log, from 0. The only order. */
  readonly seq: number;
  /** Milliseconds since 1970. May run backwards; orders nothing. */
  readonly time: number;
  readonly data: SessionEventMap[T];
}

interface LogOnlyEvent<T extends SessionEventType> extends EventBase<T> {
  readonly sourceEventSeqs?: never;
  readonly surfaceOp?: never;
}

interface OnSurfaceEvent<T extends SessionEventType> extends EventBase<T> {
  readonly sourceEventSeqs?: readonly number[];
  readonly surfaceOp: SurfaceOp;
}

/** One entry of a log, told apart by `type`. Deeply frozen. */
export type SessionEvent<T extends SessionEventType = SessionEventType> = {
  [K in T]: K extends SurfaceEventType ? OnSurfaceEvent<K> : LogOnlyEvent<K>;
}[T];

/** An event that is, or was, on the surface. */
export type SurfaceEvent = SessionEvent<SurfaceEventType>;

/** True when events of this type yield a message. */
export function isSurfaceEligibleType(type: string): type is SurfaceEventType {
  return (SURFACE_TYPES as readonly string[]).includes(type);
}

/** True when the event is a fully formed surface event: of a surface type, and with its `surfaceOp`. */
export function isSurfaceEvent(event: SessionEvent): event is SurfaceEvent {
  return isObject(event) && isSurfaceEligibleType(event.type) && event.surfaceOp !== undefined;
}

// ------------------------------------------------------------------------------------------------ sessions, surfaces

/** One node of the surface: an event that the model sees now, and its neighbours. */
export interface SurfaceNode {
  readonly seq: number;
  readonly prev: number | null;
  readonly next: number | null;
}

/** The ordered list of the surface events that the model sees now. */
export interface SessionSurface {
  /** Head to tail. */
  readonly nodes: readonly SurfaceNode[];
  /** Grows with every replace and with {@link invalidate}, never goes back: equal numbers mean that nothing was shadowed. */
  readonly replaceGeneration: number;
  /** Makes the next access fold the whole log again. */
  invalidate(): void;
}

/** What is known of a session beside its log; written once, never changed. */
export interface SessionHeader {
  /** {@link SESSION_FORMAT_VERSION} of the build that made it. */
  readonly version: number;
  readonly id: SessionId;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Absolute path of the working directory. */
  readonly cwd?: string;
  /** The session that this one was forked from. */
  readonly parentSession?: SessionId;
  /** How many events at the start of the log were inherited. */
  readonly seedLength?: number;
}
