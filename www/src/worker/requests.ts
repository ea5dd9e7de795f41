/** What the model saw: the surface at a seq, a step's request, and how it differs from the one before. */

import type { EpochHeader, Message } from 'palimpsest';
import { estimateTokens } from 'palimpsest/compaction';
import { field } from '../lib/describe.js';
import { Kind, NONE } from '../lib/kinds.js';
import type { MessageText, ModelState, RequestDiff, UsageFacts } from '../lib/protocol.js';
import type { Log } from './log.js';

/** Above this many messages their tokens are guessed from their bytes. */
const COUNTED = 2000;
const OUTPUTS: ReadonlySet<number> = new Set([Kind.chunk, Kind.assistant, Kind.toolCall, Kind.toolResult, Kind.stepStart, Kind.stepEnd, Kind.turnEnd]);

interface Scope {
  readonly step: number;
  /** Seq behind the last event whose message the request carries, and behind the last that its header was told by. */
  readonly messagesEnd: number;
  readonly headerEnd: number;
}

/** What a request was made of. */
interface Side {
  readonly seqs: readonly number[];
  readonly header: EpochHeader | undefined;
  readonly prefix: readonly Message[];
}

/** The same scope as `session.at(seq).request()`, which would build all messages to tell it. */
function scopeAt({ outline }: Log, seq: number): Scope {
  const step = seq < 0 ? NONE : outline.stepOf.at(seq);
  if (step === NONE || outline.kinds.at(seq) === Kind.stepEnd) return { step: NONE, messagesEnd: seq + 1, headerEnd: seq + 1 };
  const start = outline.steps.row.at(step);
  let headerEnd = start + 1;
  while (headerEnd < outline.length && !OUTPUTS.has(outline.kinds.at(headerEnd))) headerEnd++;
  return { step, messagesEnd: start, headerEnd };
}

/** @param row a row; a torn last line is no event, so the last event stands for it */
export function modelAt(log: Log, row: number, what: 'surface' | 'request'): ModelState {
  const session = log.live;
  const seq = Math.min(row, session.seq - 1);
  const open = scopeAt(log, seq);
  const scope = what === 'request' ? open : { step: NONE, messagesEnd: seq + 1, headerEnd: seq + 1 };
  const header = session.at(scope.headerEnd - 1).requestHeader();
  const surface = session.at(scope.messagesEnd - 1).surface;
  const nodes = Uint32Array.from(surface.nodes, (node) => node.seq);
  return {
    seq,
    ...(open.step !== NONE && { step: placeOf(log, open.step) }),
    ...(scope.step !== NONE && { request: true, usage: usageOf(log, scope.step) }),
    messagesEnd: scope.messagesEnd,
    headerEnd: scope.headerEnd,
    nodes,
    ...(header && { header: jsonText(header) }),
    prefix: header?.messagePrefix?.length ?? 0,
    tokens: headerTokens(header) + tokensOf(log, nodes),
    messages: messagesIn(log, nodes) + (header?.messagePrefix?.length ?? 0),
    generation: surface.replaceGeneration,
  };
}

/** The exact request, as JSON text laid out by `JSON.stringify`. */
export function requestText(log: Log, seq: number): string {
  return jsonText(log.live.at(Math.min(seq, log.live.seq - 1)).request(), 2);
}

/** The messages of surface nodes; one that yields none has an empty text. */
export function messagesOf(log: Log, seqs: readonly number[]): MessageText[] {
  const session = log.live;
  return seqs.map((seq) => {
    const event = session.events[seq];
    const message = event ? session.deriveEventMessage(event) : null;
    return { ...placed(log, seq), seq, type: event?.type ?? '', json: message ? jsonText(message) : '' };
  });
}

/** Where a message stands, and what lies over or under it. */
export function placed({ outline }: Log, row: number): Omit<MessageText, 'seq' | 'type' | 'json'> {
  const seq = outline.seqOf(row);
  const replace = outline.shadows.replaceOf(seq);
  const cover = outline.shadows.coverOf(seq);
  const [turn, step] = [outline.turnOf.at(row), outline.stepOf.at(row)];
  return {
    row,
    ...(replace && { replace: { start: replace.start, end: replace.end, count: replace.count } }),
    ...(cover && { coveredBy: cover.seq }),
    ...(turn !== NONE && { turn: outline.turns.number.at(turn) }),
    ...(step !== NONE && { step: outline.steps.number.at(step) }),
  };
}

/** The request of step `index` beside that of the step before it. */
export function diffOf(log: Log, index: number): RequestDiff {
  const { steps } = log.outline;
  const session = log.live;
  const at = (step: number): Side => {
    const scope = scopeAt(log, steps.row.at(step));
    const header = session.at(scope.headerEnd - 1).requestHeader();
    return { seqs: session.at(scope.messagesEnd - 1).surface.nodes.map((node) => node.seq), header, prefix: header?.messagePrefix ?? [] };
  };
  const after = at(index);
  const places = { after: placeOf(log, index), ...usage(log, index, 'usage') };
  if (index === 0) {
    return { ...places, changed: [], texts: [], removed: new Uint32Array(), added: Uint32Array.from(after.seqs), kept: 0, keptTokens: 0, allTokens: headerTokens(after.header) + tokensOf(log, after.seqs) };
  }
  const before = at(index - 1);
  let kept = 0;
  while (kept < Math.min(before.seqs.length, after.seqs.length) && before.seqs[kept] === after.seqs[kept]) kept++;
  const parts = partsOf(before.header, after.header);
  const changed = parts.filter(({ before: a, after: b }) => a !== b);
  const [was, is] = [new Set(before.seqs), new Set(after.seqs)];
  const header = headerTokens(after.header);
  const divergence = divergenceOf(log, changed.map(({ part }) => part), before, after, kept);
  const keptTokens = divergence === undefined || divergence.part === 'messages' ? header + tokensOf(log, after.seqs.slice(0, kept)) : divergence.part === 'prefix' ? headerTokens(after.header && { ...after.header, messagePrefix: [] }) : 0;
  return {
    ...places,
    before: placeOf(log, index - 1),
    ...usage(log, index - 1, 'usageBefore'),
    ...(divergence && { divergence }),
    changed: changed.map(({ part }) => part),
    texts: changed,
    removed: Uint32Array.from(before.seqs.filter((seq) => !is.has(seq))),
    added: Uint32Array.from(after.seqs.filter((seq) => !was.has(seq))),
    kept,
    keptTokens,
    allTokens: header + tokensOf(log, after.seqs),
  };
}

type Part = 'config' | 'tools' | 'system' | 'prefix';

function partsOf(before: EpochHeader | undefined, after: EpochHeader | undefined): { part: Part; before: string; after: string }[] {
  const texts = (header: EpochHeader | undefined): Record<Part, string> => ({
    config: header ? jsonText(header.config, 2) : '',
    tools: header?.tools ? jsonText(header.tools, 2) : '',
    system: header?.system ?? '',
    prefix: header?.messagePrefix ? jsonText(header.messagePrefix, 2) : '',
  });
  const [a, b] = [texts(before), texts(after)];
  return (['config', 'tools', 'system', 'prefix'] as const).map((part) => ({ part, before: a[part], after: b[part] }));
}

/** Providers cache from the start: model, then tools and system, then the messages in order. */
function divergenceOf(log: Log, changed: readonly Part[], before: Side, after: Side, kept: number): RequestDiff['divergence'] {
  if (changed.includes('config') && jsonText(field(before.header?.config, 'model') ?? null) !== jsonText(field(after.header?.config, 'model') ?? null)) {
    return { part: 'config', index: 0, reason: 'The model changed, and each model has a cache of its own.' };
  }
  if (changed.includes('tools')) return { part: 'tools', index: 0, reason: 'The tools changed. They stand before everything else, so nothing after them is served from the cache.' };
  if (changed.includes('system')) return { part: 'system', index: 0, reason: 'The system prompt changed. All messages stand behind it, so none is served from the cache.' };
  if (changed.includes('prefix')) return { part: 'prefix', index: 0, reason: 'The messages before the history changed.' };
  const lost = before.seqs[kept];
  if (lost === undefined) return undefined;
  const index = after.prefix.length + kept;
  const cover = log.outline.shadows.coverOf(lost);
  const replace = log.outline.shadows.replaceOf(after.seqs[kept] ?? NONE) ?? cover;
  if (!replace) return { part: 'messages', index, reason: `Message ${index + 1} is another one.` };
  return {
    part: 'messages',
    index,
    replace,
    reason: replace.start === replace.end
      ? `Event ${replace.seq} replaced event ${replace.start}.`
      : `Event ${replace.seq} replaced ${replace.count} messages, events ${replace.start} to ${replace.end}.`,
  };
}

export function placeOf({ outline }: Log, step: number): { index: number; turn: number; step: number; seq: number } {
  return { index: step, turn: outline.steps.turn.at(step), step: outline.steps.number.at(step), seq: outline.steps.row.at(step) };
}

export function usageOf({ outline: { steps } }: Log, step: number): UsageFacts {
  return { input: steps.input.at(step), output: steps.output.at(step), cacheRead: steps.cacheRead.at(step), cacheWrite: steps.cacheWrite.at(step), reasoning: steps.reasoning.at(step) };
}

function usage<K extends string>(log: Log, step: number, key: K): Partial<Record<K, UsageFacts>> {
  const found = usageOf(log, step);
  return Object.values(found).some((value) => value > 0) ? ({ [key]: found } as Partial<Record<K, UsageFacts>>) : {};
}

const counted = new WeakMap<Log, Map<number, number>>();

/** Estimated tokens of surface nodes. */
export function tokensOf(log: Log, seqs: ArrayLike<number>): number {
  if (seqs.length > COUNTED) {
    let bytes = 0;
    for (const seq of Array.from(seqs)) bytes += log.outline.endOf(seq) - log.outline.offsets.at(seq);
    return Math.round(bytes / 4.4);
  }
  let cache = counted.get(log);
  if (!cache) counted.set(log, (cache = new Map<number, number>()));
  const session = log.live;
  let tokens = 0;
  for (const seq of Array.from(seqs)) {
    let found = cache.get(seq);
    if (found === undefined) {
      const event = session.events[seq];
      const message = event ? session.deriveEventMessage(event) : null;
      cache.set(seq, (found = message ? guess(message) : 0));
    }
    tokens += found;
  }
  return Math.round(tokens);
}

/** How many nodes yield a message; beyond {@link COUNTED} all are taken to. */
function messagesIn(log: Log, nodes: Uint32Array): number {
  return nodes.length > COUNTED ? nodes.length : nodes.reduce((sum, seq) => sum + (tokensOf(log, [seq]) > 0 ? 1 : 0), 0);
}

/** A log may hold blocks of any shape, which an estimate need not understand. At least 1. */
function guess(message: Message): number {
  try {
    return Math.max(1, estimateTokens(message));
  } catch {
    return 1;
  }
}

function headerTokens(header: EpochHeader | undefined): number {
  if (!header) return 0;
  const { system = '', tools = [], messagePrefix = [] } = header;
  return Math.ceil((system.length + (tools.length > 0 ? jsonText(tools).length : 0)) / 4) + messagePrefix.reduce((sum, message) => sum + guess(message), 0);
}

/** JSON text of a parsed value, however deep it is nested. */
export function jsonText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch {
    return JSON.stringify({ role: 'user', content: [{ type: 'text', text: '(nested too deeply to be written out here; the stored event has its text)' }] });
  }
}
