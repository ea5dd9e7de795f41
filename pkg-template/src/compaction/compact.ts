/** Compaction: a summary is laid over a region of the surface. The log below stays as it is. */

import { need, needAmount, needFunction, needPositive } from '../arguments.js';
import { isRecord } from '../depth.js';
import { PalimpsestError } from '../errors.js';
import { positionOf } from '../position.js';
import type { Session } from '../session.js';
import { messageOf, named } from '../wording.js';
import { checkEstimate, estimateTokens, type EstimateOptions, headerMessages } from './estimate.js';
import { cleanSummary, frameSummary, INSTRUCTIONS, type SummaryRequest, summaryRequest } from './frame.js';
import { balancedCuts, type Region, regionBeforeTail, regionOf, splitSummaries } from './region.js';
import { enterTurn, refuseOpenCompaction, SOURCE, type WorkTurn } from './turn.js';

/** Makes the summary, most likely by a model call. It should stop when the signal says so; nobody waits for it then. */
export type Summarizer = (request: SummaryRequest, signal: AbortSignal) => string | Promise<string>;

/** How to compact. */
export interface CompactionOptions extends EstimateOptions {
  readonly summarize: Summarizer;
  /** Ends the compaction; the surface is then as it was. */
  readonly signal?: AbortSignal | undefined;
  /** What the summarizer is told; {@link INSTRUCTIONS} when absent. */
  readonly instructions?: string | undefined;
  /** How long the summary may be: passed on and logged, not enforced. */
  readonly maxTokens?: number | undefined;
  /** Which model summarizes, for the log; the session's own when absent. */
  readonly model?: string | undefined;
}

/** When and how far to compact. */
export interface CompactIfNeededOptions extends CompactionOptions {
  /** Compacts when the estimated request is larger than this. */
  readonly triggerTokens: number;
  /** How much of the newest history stays as it is. */
  readonly retainTokens: number;
}

/** What a compaction has done. */
export interface Compaction {
  /** Seq of the `user/message` that holds the framed summary. */
  readonly seq: number;
  readonly summary: string;
  /** Seqs of the nodes that it shadows, in surface order. */
  readonly shadowedSeqs: readonly number[];
  /** Estimated tokens of the region before and after. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/**
 * Replaces the surface nodes from `start` through `end` by a summary. Logs `compact/start` at once, and when the
 * summary is there `compact/summary`, a replacing `user/message` and `compact/end`; outside of a turn, all that in a
 * turn of its own. Events may be appended meanwhile, but not to the region. When anything goes wrong, the surface stays
 * as it was and `compact/end` names the error; it is thrown as well.
 * @returns `null`, and nothing is logged, where the region holds nothing but earlier summaries
 * @throws (rejects) PalimpsestError `INVALID_ARGUMENT`, `COMPACTION_OPEN`, `INVALID_REPLACE`, `UNBALANCED_REGION` before anything is logged;
 *   `COMPACTION_FAILED` for a summary that is empty or no smaller than the region, and where the turn ended or the
 *   region changed meanwhile; the signal's reason when it aborts; what the summarizer throws
 */
export async function compactRegion(session: Session, start: number, end: number, options: CompactionOptions): Promise<Compaction | null> {
  checkOptions(options);
  options.signal?.throwIfAborted();
  refuseOpenCompaction(session);
  return compact(session, regionOf(session, start, end), options);
}

/**
 * Compacts when the request has grown beyond `triggerTokens`: all but the newest whole units that fit `retainTokens`.
 * Call it between two steps, or between two turns.
 * @returns `null`, and nothing is logged, where that is not needed, where nothing can be cut, and where what is new since
 *   the last summary is less than that summary: it would be written again for little
 * @throws (rejects) as {@link compactRegion}
 */
export async function compactIfNeeded(session: Session, options: CompactIfNeededOptions): Promise<Compaction | null> {
  checkOptions(options);
  needAmount('options.triggerTokens', options.triggerTokens);
  needAmount('options.retainTokens', options.retainTokens);
  options.signal?.throwIfAborted();
  const tokens = estimateTokens([...headerMessages(session.requestHeader()), ...session.deriveMessages()], options);
  if (tokens <= options.triggerTokens) return null;
  refuseOpenCompaction(session);
  const region = regionBeforeTail(session, options.retainTokens, options);
  if (region === undefined) return null;
  const { framed, rest } = splitSummaries(session, region);
  if (estimateTokens(rest, options) < estimateTokens(framed, options)) return null;
  return compact(session, region, options);
}

/** All of them before anything is logged: what is found wrong later has left its trace. */
function checkOptions(options: CompactionOptions): void {
  checkEstimate(options);
  const { summarize, signal, instructions, maxTokens, model } = options;
  needFunction('options.summarize', summarize);
  need(signal === undefined || typeof (signal as Partial<AbortSignal> | null)?.throwIfAborted === 'function', 'options.signal', signal, 'an AbortSignal');
  for (const [name, text] of [['instructions', instructions], ['model', model]] as const) {
    need(text === undefined || typeof text === 'string', `options.${name}`, text, 'a string');
  }
  if (maxTokens !== undefined) needPositive('options.maxTokens', maxTokens);
}

async function compact(session: Session, region: Region, options: CompactionOptions): Promise<Compaction | null> {
  const { summaries, framed, rest } = splitSummaries(session, region);
  if (rest.length === 0) return null;
  const tokens = estimateTokens([...framed, ...rest], options);
  const { instructions = INSTRUCTIONS, maxTokens, signal = new AbortController().signal } = options;
  const request = summaryRequest({ instructions, previous: summaries, messages: rest, tokens, ...(maxTokens !== undefined && { maxTokens }) });
  const bracket = new Bracket(session);
  try {
    const text: unknown = await abortable(options.summarize, request, signal);
    if (typeof text !== 'string') throw failed(session, 'the summarizer has given no string');
    const summary = cleanSummary(text);
    bracket.refuseDead();
    refuseChanged(session, region);
    const tokensAfter = estimateTokens({ role: 'user', content: [{ type: 'text', text: frameSummary(summary) }] }, options);
    if (summary === '') throw failed(session, 'the summary is empty');
    if (tokensAfter >= tokens) throw failed(session, `the summary (about ${tokensAfter} tokens) is no smaller than what it would replace (${tokens})`);
    const seq = write(session, region, summary, tokens, options);
    bracket.close();
    return { seq, summary, shadowedSeqs: region.seqs, tokensBefore: tokens, tokensAfter };
  } catch (error) {
    bracket.fail(error, signal.aborted);
    throw error;
  }
}

/** Lays the summary over the region; the seq of the message. */
function write(session: Session, { seqs }: Region, summary: string, tokens: number, { maxTokens, model }: CompactionOptions): number {
  const [start, end] = [seqs[0]!, seqs[seqs.length - 1]!];
  // A log of another origin may hold a header without a config.
  const config: unknown = session.requestHeader()?.config;
  const own = isRecord(config) ? config.model : undefined;
  const record = session.append('compact/summary', {
    summary: [{ type: 'text', text: summary }],
    shadowedRange: { start, end },
    shadowedSeqs: seqs,
    shadowedTokenCount: tokens,
    model: model ?? (typeof own === 'string' ? own : 'unknown'),
    ...(maxTokens !== undefined && { maxTokens }),
  });
  const message = session.append(
    'user/message',
    { content: [{ type: 'text', text: frameSummary(summary) }], source: SOURCE },
    { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: [...seqs, record.seq] },
  );
  return message.seq;
}

/** `compact/start` and what closes it. */
class Bracket {
  readonly #session: Session;
  readonly #turn: WorkTurn;
  readonly #seq: number;

  constructor(session: Session) {
    this.#session = session;
    this.#turn = enterTurn(session);
    this.#seq = session.append('compact/start', { turn: this.#turn.turn }).seq;
  }

  /** Whether the log still holds the bracket open. */
  get #alive(): boolean {
    return !this.#session.disposed && positionOf(this.#session).compaction === this.#seq;
  }

  refuseDead(): void {
    if (!this.#alive) throw failed(this.#session, `the turn ended while it was open (since seq ${this.#seq})`);
  }

  close(): void {
    this.#session.append('compact/end', { turn: this.#turn.turn });
    this.#turn.end({ kind: 'completed' });
  }

  fail(error: unknown, aborted: boolean): void {
    if (!this.#alive) return;
    const message = messageOf(error);
    try {
      this.#session.append('compact/end', { turn: this.#turn.turn, error: message });
      this.#turn.end(aborted ? { kind: 'aborted', reason: message } : { kind: 'error', step: 0, message });
    } catch {
      // What went wrong first is what the caller is told.
    }
  }
}

/** The region as it was when it was read must be the region that is replaced. */
function refuseChanged(session: Session, { seqs }: Region): void {
  const now = session.surface.nodes.map(({ seq }) => seq);
  const from = now.indexOf(seqs[0]!);
  const same = from >= 0 && seqs.every((seq, index) => now[from + index] === seq);
  const cuts = balancedCuts(session);
  if (!same || !cuts[from] || !cuts[from + seqs.length]) throw failed(session, 'the region changed while it was being summarized');
}

function failed(session: Session, what: string): PalimpsestError {
  return new PalimpsestError('COMPACTION_FAILED', `${named(session.id)}: the compaction failed: ${what}`, { session: session.id });
}

/** Runs the summarizer; an abort does not wait for it. */
async function abortable(summarize: Summarizer, request: SummaryRequest, signal: AbortSignal): Promise<unknown> {
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    const text: unknown = await Promise.race([(async () => summarize(request, signal))(), aborted]);
    signal.throwIfAborted();
    return text;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
