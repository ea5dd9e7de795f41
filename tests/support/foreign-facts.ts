// What an import has made of a sample, in the words of the sample's expected file, so that the two can be compared.
import type { SessionEvent, Usage } from 'palimpsest';
import type { ImportedSession, ImportResult } from 'palimpsest/import';

/** One fact: what the sample's expected file says, and what the import has made. */
export interface Fact {
  readonly fact: string;
  readonly expected: unknown;
  readonly got: unknown;
}

type Json = Record<string, unknown>;
type Counts = Record<string, number>;

export const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {});
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

/** A record that stands in a session, whole or in part. */
export interface Kept {
  readonly kind: string;
  readonly line: number;
  readonly raw: Json;
  readonly seq: number;
}

/** One session, counted. */
export class Tally {
  readonly events: readonly SessionEvent[];
  /** Without what a compaction has laid again. */
  readonly own: readonly SessionEvent[];
  readonly records: readonly Kept[];

  constructor(
    readonly imported: ImportedSession,
    readonly result: ImportResult,
    from = 0,
  ) {
    this.events = imported.session!.events.slice(from);
    const own: SessionEvent[] = [];
    const records: Kept[] = [];
    let compacting = false;
    for (const event of this.events) {
      if (event.type === 'compact/start') compacting = true;
      if (!compacting || event.type === 'compact/start') own.push(event);
      if (event.type === 'compact/end') compacting = false;
      if (event.type === 'import/record') records.push({ kind: event.data.kind, line: event.data.source.line, raw: objectOf(event.data.raw), seq: event.seq });
    }
    this.own = own;
    this.records = records;
  }

  count(type: string, where: (data: Json) => boolean = () => true): number {
    return this.own.filter((event) => event.type === type && where(event.data as unknown as Json)).length;
  }

  prompts(kind = 'user'): number {
    return this.count('user/message', (data) => objectOf(data.source).kind === kind);
  }

  /** Lines of the user's prompts. */
  promptLines(): number[] {
    return this.own.flatMap((event) => (event.type === 'user/message' && event.data.source.kind === 'user' ? [this.records.find(({ seq }) => seq > event.seq)!.line] : []));
  }

  injected(...labels: string[]): number {
    return this.count('context/message', (data) => labels.includes(String(objectOf(data.source).label)));
  }

  /** Blocks of the model's messages. */
  blocks(where: (block: Json) => boolean): number {
    return this.own.flatMap((event) => (event.type === 'assistant/message' ? listOf(event.data.content) : [])).filter((block) => where(objectOf(block))).length;
  }

  images(): number {
    return this.own.flatMap((event) => listOf(objectOf(event.data).content)).filter((block) => objectOf(block).type === 'image').length;
  }

  kinds(kind: string): Kept[] {
    return this.records.filter((record) => record.kind === kind);
  }

  ids(code: string): string[] {
    return this.result.report.anomalies.filter((anomaly) => anomaly.code === code && anomaly.session === this.imported.id).map(({ id }) => id!);
  }

  models(): string[] {
    const models = this.own.flatMap((event) => {
      const config = event.type === 'request/header' ? event.data.header.config : event.type === 'request/header-delta' ? event.data.config : undefined;
      return typeof config?.model === 'string' ? [config.model] : [];
    });
    return [...new Set(models)].sort();
  }

  usage(): Required<Usage> {
    const sum = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
    for (const event of this.events) {
      if (event.type !== 'assistant/message' || event.data.usage === undefined) continue;
      for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += event.data.usage[key] ?? 0;
    }
    return sum;
  }
}

export function usageFact({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Required<Usage>): Counts {
  return { input: inputTokens, output: outputTokens, cacheRead: cacheReadTokens, cacheWrite: cacheWriteTokens };
}

export function sumOf(usages: readonly Counts[]): Counts {
  const sum: Counts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  for (const usage of usages) for (const key of Object.keys(sum)) sum[key]! += usage[key] ?? 0;
  return sum;
}

/** Records of the report by their type, or by what stands before or behind the slash. */
export function kindsOf(result: ImportResult, pick: (kind: string) => string | undefined): Counts {
  const counts: Counts = {};
  for (const [kind, { mapped, kept }] of Object.entries(result.report.byKind)) {
    const name = pick(kind);
    if (name !== undefined) counts[name] = (counts[name] ?? 0) + mapped + kept;
  }
  return counts;
}

/** Anomalies of the codes that the expected file has, in its form. */
export function anomaliesOf(result: ImportResult, expected: readonly Json[]): unknown[] {
  const kinds = new Set(['not-json', 'not-an-object', 'duplicate-uuid', 'duplicate-id', 'phantom-parent', 'malformed-user-message', 'message-without-timestamp', 'no-type', 'cycle', 'entry-without-id', ...expected.map(({ kind }) => String(kind))]);
  // Some are told without their line.
  const lineless = new Set(expected.flatMap(({ kind, line, lines }) => (line === undefined && lines === undefined ? [String(kind)] : [])));
  return result.report.anomalies.filter(({ code }) => kinds.has(code)).map(({ code, line, lines, id }) => sorted({ kind: code, line: lineless.has(code) ? undefined : line, lines, id }));
}

const sorted = ({ kind, line, lines, id }: Json): string => JSON.stringify([kind, lines ?? line ?? null, id ?? null]);

/** The expected anomalies in the form of {@link anomaliesOf}. */
export function expectedAnomalies(expected: readonly Json[]): unknown[] {
  return expected.map((anomaly) => sorted({ kind: anomaly.kind, line: anomaly.line, lines: anomaly.lines, id: anomaly.uuid ?? anomaly.callId ?? anomaly.parent ?? anomaly.id ?? anomaly.type }));
}

/** What every format has: counts of lines, times, anomalies. */
export function commonFacts(result: ImportResult, expected: Json): Map<string, unknown> {
  const { report } = result;
  const facts = new Map<string, unknown>();
  facts.set('bytes', report.bytes);
  facts.set('records', report.records);
  facts.set('blankLines', report.blankLines);
  facts.set('anomalies', anomaliesOf(result, listOf(expected.anomalies) as Json[]).sort());
  const { times } = report;
  facts.set('firstTimestamp', times?.first ?? null);
  facts.set('lastTimestamp', times?.last ?? null);
  facts.set('minTimestamp', times?.min ?? null);
  facts.set('maxTimestamp', times?.max ?? null);
  facts.set('backwardSteps', times?.backwardSteps ?? 0);
  facts.set('backwardAtLines', times?.backwardAtLines ?? []);
  return facts;
}

/** Expected values in the form in which facts are compared. */
export function normalized(key: string, value: unknown): unknown {
  if (key.endsWith('Timestamp')) return typeof value === 'string' ? Date.parse(value) : value;
  if (key === 'anomalies') return expectedAnomalies(value as Json[]).sort();
  return value;
}
