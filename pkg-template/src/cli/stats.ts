/** `palimpsest stats`: what a session has cost, and what happened in it. */

import { estimateTokens } from '../compaction/estimate.js';
import { positionOf } from '../position.js';
import { messagesOf } from '../messages.js';
import { internal, type Session } from '../session.js';
import { openInput } from './input.js';
import { field, list, text } from './describe.js';
import { count, Exit, paint, print, printable, printJson, size, table, time } from './host.js';

/** Token counts, added up over the calls that logged them. */
export interface Tokens {
  /** Model calls with usage in the log. */
  readonly calls: number;
  /** Input that came from no cache. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  /** Part of `output` that was reasoning, where the provider says so. */
  readonly reasoning: number;
  /** Share of all input that was read from a cache, from 0 to 1; absent without input. */
  readonly cachedShare?: number;
}

/** What there is to say about a session in numbers. */
export interface Stats {
  readonly id: string;
  readonly format: string;
  readonly events: number;
  readonly bytes: number;
  readonly first?: number;
  readonly last?: number;
  readonly turns: number;
  readonly turnOpen: boolean;
  readonly steps: number;
  /** Nodes of the surface, and an estimate of their tokens. */
  readonly surface: { readonly nodes: number; readonly estimatedTokens: number };
  readonly tokens: Tokens;
  readonly models: readonly string[];
  readonly tools: readonly { readonly name: string; readonly calls: number; readonly errors: number }[];
  readonly compactions: { readonly done: number; readonly failed: number; readonly shadowedTokens: number };
  readonly replaces: number;
  readonly types: Readonly<Record<string, number>>;
}

/** Options of the command. */
export interface StatsOptions {
  readonly session?: string;
  readonly json?: true;
}

/** Counts what is in a session. */
export async function stats(path: string, { session: id, json }: StatsOptions): Promise<number> {
  const { session, format, sessions } = await openInput(path, id);
  const found = statsOf(session, format);
  if (json) await printJson({ ...found, sessions: sessions.map((one) => one.id) });
  else await show(found, sessions.length);
  return Exit.ok;
}

/** The numbers of a session. */
export function statsOf(session: Session, format = 'palimpsest'): Stats {
  const types = new Map<string, number>();
  const tools = new Map<string, { calls: number; errors: number }>();
  const names = new Map<string, string>();
  const models = new Set<string>();
  const tokens = { calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
  const compactions = { done: 0, failed: 0, shadowedTokens: 0 };
  let [first, last] = [Infinity, -Infinity];
  const tool = (name: string): { calls: number; errors: number } => {
    const known = tools.get(name) ?? { calls: 0, errors: 0 };
    tools.set(name, known);
    return known;
  };
  for (const event of session.events) {
    const type = event.type as string;
    const data = event.data as unknown;
    types.set(type, (types.get(type) ?? 0) + 1);
    first = Math.min(first, event.time);
    last = Math.max(last, event.time);
    if (type === 'assistant/message') {
      addUsage(tokens, field(data, 'usage'));
      for (const block of list(field(data, 'content'))) {
        if (field(block, 'type') !== 'tool-call') continue;
        const name = text(field(block, 'name'));
        names.set(text(field(block, 'id')), name);
        tool(name).calls++;
      }
    } else if (type === 'tool/result') {
      const name = names.get(text(field(data, 'callId')));
      if (name !== undefined && field(data, 'isError') === true) tool(name).errors++;
    } else if (type === 'compact/summary') {
      compactions.shadowedTokens += number(field(data, 'shadowedTokenCount'));
    } else if (type === 'compact/end') {
      if (field(data, 'error') === undefined) compactions.done++;
      else compactions.failed++;
    } else if (type === 'request/header' || type === 'request/header-delta') {
      const model = field(field(field(data, 'header'), 'config') ?? field(data, 'config'), 'model');
      if (typeof model === 'string') models.add(model);
    }
  }
  const input = tokens.input + tokens.cacheRead + tokens.cacheWrite;
  const { turnOpen } = positionOf(session);
  return {
    id: session.id,
    format,
    events: session.seq,
    bytes: byteLength(session),
    ...(session.seq > 0 && { first, last }),
    turns: types.get('turn/start') ?? 0,
    turnOpen,
    steps: types.get('step/start') ?? 0,
    surface: surfaceOf(session),
    tokens: { ...tokens, ...(input > 0 && { cachedShare: tokens.cacheRead / input }) },
    models: [...models],
    tools: [...tools].map(([name, counts]) => ({ name, ...counts })).sort((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1)),
    compactions,
    replaces: session.surface.replaceGeneration,
    types: Object.fromEntries([...types].sort((a, b) => b[1] - a[1])),
  };
}

function byteLength(session: Session): number {
  return session.headerLine().length + internal(session).core().byteLength();
}

/** Messages that are looked at together. */
const PAGE = 256;

/** The surface in numbers; its messages are looked at and not kept. */
function surfaceOf(session: Session): Stats['surface'] {
  const core = internal(session).core();
  const seqs = core.surfaceSeqs(session.seq);
  let estimatedTokens = 0;
  for (let from = 0; from < seqs.length; from += PAGE) {
    for (const message of messagesOf(core, seqs.subarray(from, from + PAGE))) {
      if (message !== null) estimatedTokens += estimateTokens(message);
    }
  }
  return { nodes: seqs.length, estimatedTokens };
}

function number(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

function addUsage(tokens: { calls: number; input: number; output: number; cacheRead: number; cacheWrite: number; reasoning: number }, usage: unknown): void {
  if (typeof usage !== 'object' || usage === null) return;
  tokens.calls++;
  tokens.input += number(field(usage, 'inputTokens'));
  tokens.output += number(field(usage, 'outputTokens'));
  tokens.cacheRead += number(field(usage, 'cacheReadTokens'));
  tokens.cacheWrite += number(field(usage, 'cacheWriteTokens'));
  tokens.reasoning += number(field(usage, 'reasoningTokens'));
}

/** Tools and types that are listed; the others are counted. */
const MOST = 12;

async function show(found: Stats, sessions: number): Promise<void> {
  const { tokens, compactions } = found;
  const n = (value: number): string => value.toLocaleString('en-US');
  const rows: [string, string][] = [
    ['session', `${printable(found.id)}${found.format === 'palimpsest' ? '' : ` (${found.format})`}`],
    ['log', `${count(found.events, 'event')}, ${size(found.bytes)}`],
  ];
  if (found.first !== undefined && found.last !== undefined) rows.push(['time', `${time(found.first)} to ${time(found.last)} UTC`]);
  rows.push(['turns', `${n(found.turns)}${found.turnOpen ? ', the last one open' : ''}, ${count(found.steps, 'step')}`]);
  if (found.models.length > 0) rows.push(['models', printable(found.models.join(', '))]);
  if (tokens.calls > 0) {
    const share = tokens.cachedShare === undefined ? '' : `; ${(tokens.cachedShare * 100).toFixed(1)}% of the input from a cache`;
    rows.push(['tokens', `${n(tokens.input)} in, ${n(tokens.cacheRead)} cache read, ${n(tokens.cacheWrite)} cache write, ${n(tokens.output)} out (${n(tokens.reasoning)} reasoning)${share}`]);
  } else {
    rows.push(['tokens', 'no usage in the log']);
  }
  rows.push(['surface', `${count(found.surface.nodes, 'message')}, about ${n(found.surface.estimatedTokens)} tokens`]);
  rows.push(['compactions', `${n(compactions.done)}${compactions.failed > 0 ? `, ${compactions.failed} failed` : ''}${compactions.shadowedTokens > 0 ? `, ${n(compactions.shadowedTokens)} tokens shadowed` : ''}; ${count(found.replaces, 'replace')} in all`]);
  if (sessions > 1) rows.push(['file', `${sessions} sessions; --session ID shows another one`]);
  for (const line of table(rows.map(([name, value]) => [paint('bold', name), value]))) await print(line);
  if (found.tools.length > 0) {
    await print(`\n${paint('bold', 'tools')}`);
    for (const line of table(found.tools.slice(0, MOST).map(({ name, calls, errors }) => [n(calls), printable(name), errors > 0 ? paint('red', count(errors, 'error')) : '']), [0])) await print(`  ${line.trimEnd()}`);
    if (found.tools.length > MOST) await print(paint('dim', `  and ${found.tools.length - MOST} more`));
  }
  await print(`\n${paint('bold', 'events')}`);
  const types = Object.entries(found.types);
  for (const line of table(types.slice(0, MOST).map(([type, times]) => [n(times), printable(type)]), [0])) await print(`  ${line}`);
  if (types.length > MOST) await print(paint('dim', `  and ${types.length - MOST} more types`));
}
