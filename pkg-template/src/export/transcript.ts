/** A session as what was said and done, in order: what the exports to pages are made of. */

import { type EpochHeader, isSurfaceEligibleType, type SessionEvent } from '../events.js';
import type { Session } from '../session.js';

/** What to put into a page. */
export interface TranscriptOptions {
  /** Seq of the last event to look at; the last one when absent. */
  readonly at?: number | undefined;
  /**
   * `log` (when absent): all that was said, with what a compaction has shadowed since. `surface`: what the model sees at
   * that point, and nothing else.
   */
  readonly what?: 'log' | 'surface' | undefined;
  /** Whether to show what the model thought: yes when absent. */
  readonly reasoning?: boolean | undefined;
  /** Whether to show tool calls and their results: yes when absent. */
  readonly tools?: boolean | undefined;
  /** Longest tool result, in UTF-16 units; the rest of a longer one is left out, and the page says so. No limit when absent. */
  readonly maxResult?: number | undefined;
  /** Heading of the page; the session's id when absent. */
  readonly title?: string | undefined;
}

/** Who speaks. */
export type Speaker = 'user' | 'assistant' | 'tool' | 'context' | 'steering';

/** A piece of what was said. Texts are as they were logged. */
export type Part =
  | { readonly kind: 'text' | 'reasoning'; readonly text: string }
  | { readonly kind: 'call'; readonly id: string; readonly name: string; readonly arguments: string }
  | { readonly kind: 'image'; readonly mimeType: string; readonly data: string }
  | { readonly kind: 'other'; readonly type: string; readonly json: string }
  | { readonly kind: 'cut'; readonly chars: number };

/** One entry of a transcript. */
export type Entry =
  | { readonly kind: 'turn'; readonly turn: number; readonly seq: number; readonly time: number }
  | { readonly kind: 'turn-end'; readonly reason: string; readonly seq: number }
  | { readonly kind: 'header'; readonly seq: number; readonly model: string | undefined; readonly system: string | undefined }
  | { readonly kind: 'compaction'; readonly seq: number; readonly shadowed: number }
  | {
      readonly kind: 'message';
      readonly seq: number;
      readonly time: number;
      readonly speaker: Speaker;
      readonly parts: readonly Part[];
      /** The model does not see it any more. */
      readonly shadowed: boolean;
      readonly isError: boolean;
      /** Of a result: the call that it answers. */
      readonly callId?: string;
      readonly toolName?: string;
    };

const SPEAKERS: Readonly<Record<string, Speaker>> = {
  'user/message': 'user',
  'assistant/message': 'assistant',
  'tool/result': 'tool',
  'context/message': 'context',
  'steering/message': 'steering',
};

/** The entries of a session, made on the way. */
export function* transcript(session: Session, options: TranscriptOptions = {}): Generator<Entry> {
  const { at = session.seq - 1, what = 'log' } = options;
  const surface = new Set(session.at(at).surface.nodes.map(({ seq }) => seq));
  const names = new Map<string, string>();
  let system: string | undefined;
  const order = what === 'surface' ? session.at(at).surface.nodes.map(({ seq }) => seq) : undefined;
  const length = order?.length ?? at + 1;
  for (let index = 0; index < length; index++) {
    const seq = order === undefined ? index : order[index]!;
    const event = session.events[seq]!;
    if (isSurfaceEligibleType(event.type)) {
      const entry = message(event, !surface.has(seq), names, options);
      if (entry !== undefined) yield entry;
      continue;
    }
    const data = event.data as unknown;
    if (event.type === 'turn/start') yield { kind: 'turn', turn: Number(field(data, 'turn')), seq, time: event.time };
    else if (event.type === 'turn/end') yield { kind: 'turn-end', reason: text(field(field(data, 'reason'), 'kind')), seq };
    else if (event.type === 'compact/summary') yield { kind: 'compaction', seq, shadowed: list(field(data, 'shadowedSeqs')).length };
    else if (event.type === 'request/header' || event.type === 'request/header-delta') {
      const header: unknown = headerAt(session, seq);
      const words = field(header, 'system');
      const now = typeof words === 'string' ? words : undefined;
      const changed = now !== system;
      system = now;
      const model = field(field(header, 'config'), 'model');
      yield { kind: 'header', seq, model: typeof model === 'string' ? model : undefined, system: changed ? (system ?? '') : undefined };
    }
  }
}

/** The header in force; none where the log is corrupt in this. */
function headerAt(session: Session, seq: number): EpochHeader | undefined {
  try {
    return session.at(seq).requestHeader();
  } catch {
    return undefined;
  }
}

function message(event: SessionEvent, shadowed: boolean, names: Map<string, string>, options: TranscriptOptions): Entry | undefined {
  const { reasoning = true, tools = true } = options;
  const speaker = SPEAKERS[event.type]!;
  if (speaker === 'tool' && !tools) return undefined;
  const data = event.data as unknown;
  const parts = list(field(data, 'content'))
    .map(partOf)
    .filter(({ kind }) => (reasoning || kind !== 'reasoning') && (tools || kind !== 'call'));
  for (const part of parts) if (part.kind === 'call') names.set(part.id, part.name);
  if (parts.length === 0 && speaker !== 'tool') return undefined;
  const callId = speaker === 'tool' ? text(field(data, 'callId')) : undefined;
  const toolName = callId === undefined ? undefined : names.get(callId);
  return {
    kind: 'message',
    seq: event.seq,
    time: event.time,
    speaker,
    parts: speaker === 'tool' ? cut(parts, options.maxResult) : parts,
    shadowed,
    isError: field(data, 'isError') === true,
    ...(callId !== undefined && { callId }),
    ...(toolName !== undefined && { toolName }),
  };
}

/** The parts up to a length. */
function cut(parts: readonly Part[], most = Infinity): readonly Part[] {
  const kept: Part[] = [];
  let room = most;
  let over = 0;
  for (const part of parts) {
    if (part.kind !== 'text') {
      kept.push(part);
      continue;
    }
    const shown = part.text.slice(0, room);
    room -= shown.length;
    over += part.text.length - shown.length;
    if (shown !== '') kept.push({ kind: 'text', text: shown });
  }
  return over === 0 ? parts : [...kept, { kind: 'cut', chars: over }];
}

/** A block of content, whatever it is: other programs' logs may hold anything in this place. */
function partOf(block: unknown): Part {
  const type = text(field(block, 'type'));
  const words = field(block, 'text');
  if ((type === 'text' || type === 'reasoning') && typeof words === 'string') return { kind: type, text: words };
  if (type === 'tool-call') return { kind: 'call', id: text(field(block, 'id')), name: text(field(block, 'name')), arguments: text(field(block, 'arguments')) };
  const source = field(block, 'source') ?? block;
  const data = field(source, 'data');
  const mimeType = field(source, 'mimeType') ?? field(source, 'media_type');
  if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string') return { kind: 'image', mimeType, data };
  return { kind: 'other', type, json: jsonText(block) };
}

/** JSON of any depth, or a word about it. */
function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2);
  } catch {
    return '(nested too deeply to be shown)';
  }
}

/** A property of a value that may be anything. */
export function field(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A time as ISO text, or the bare number where it is no date. */
export function timeText(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : date.toISOString().slice(0, 19) + 'Z';
}

/** Arguments as they are read best; the model's own text where they are not JSON, or would not survive a parse. */
export function argumentsText(raw: string): string {
  // A number that is rounded would be shown as the model's own words.
  if (/\d{16}/.test(raw)) return raw;
  try {
    return JSON.stringify(JSON.parse(raw), null, 2);
  } catch {
    return raw;
  }
}

/** Sizes for people. */
export function sizeText(chars: number): string {
  return chars < 1000 ? `${chars} characters` : `${(chars / 1000).toFixed(chars < 10_000 ? 1 : 0)} thousand characters`;
}
