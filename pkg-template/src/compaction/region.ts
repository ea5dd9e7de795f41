/** Which stretch of the surface may be cut out, and which should be. */

import { blocksIn } from '../depth.js';
import { PalimpsestError } from '../errors.js';
import type { Message } from '../events.js';
import { positionOf } from '../position.js';
import { internal, type Session } from '../session.js';
import { named } from '../wording.js';
import { estimateTokens, type EstimateOptions } from './estimate.js';
import { looksFramed, summaryOf } from './frame.js';

/** A stretch of the surface. */
export interface Region {
  /** Its nodes in surface order. */
  readonly seqs: readonly number[];
  /** Their messages; `null` for a node that yields none. */
  readonly messages: readonly (Message | null)[];
}

/**
 * For each place between nodes (`cuts[i]` before the `i`-th, the last one after all): whether a cut there keeps every
 * call together with its result. A call that waits for its result keeps everything behind it; one that was left open in
 * a step that is over will never have a result, and binds nothing.
 */
export function balancedCuts(session: Session): boolean[] {
  const { seqs, messages } = internal(session).derived().nodes();
  const open = new Map<string, number[]>();
  const bound = new Int32Array(seqs.length + 2);
  const bind = (from: number, to: number): void => {
    bound[from + 1]! += 1;
    bound[to + 1]! -= 1;
  };
  for (let at = 0; at < seqs.length; at++) {
    for (const block of blocksIn(messages[at]?.content)) {
      if (block.type === 'tool-call') {
        const calls = open.get(block.id);
        if (calls === undefined) open.set(block.id, [at]);
        else calls.push(at);
      } else if (block.type === 'tool-result') {
        const call = open.get(block.toolCallId)?.pop();
        if (call !== undefined) bind(call, at);
      }
    }
  }
  for (const at of [...open.values()].flat()) if (waits(session, seqs[at]!)) bind(at, seqs.length);
  let depth = 0;
  return Array.from({ length: seqs.length + 1 }, (_, at) => (depth += bound[at]!) === 0);
}

/** Whether the step that an assistant message belongs to is still open. */
function waits(session: Session, seq: number): boolean {
  const { turn, turnOpen, step, stepOpen } = positionOf(session);
  const event = session.events[seq];
  return turnOpen && stepOpen && event?.type === 'assistant/message' && event.data.turn === turn && event.data.step === step;
}

/**
 * The region from node `start` through node `end`.
 * @throws PalimpsestError `INVALID_REPLACE` where they are not on the surface in this order, `UNBALANCED_REGION` where a
 *   call would be separated from its result
 */
export function regionOf(session: Session, start: number, end: number): Region {
  const { seqs, messages } = internal(session).derived().nodes();
  const from = seqs.indexOf(start);
  const last = seqs.indexOf(end, from);
  if (from < 0 || last < 0) {
    const what = seqs.includes(start) && seqs.includes(end) ? 'stand in the other order on the surface' : 'are not both on the surface';
    throw new PalimpsestError('INVALID_REPLACE', `${named(session.id)}: the ends ${start} and ${end} of the region ${what}; take them from surface.nodes`, { session: session.id });
  }
  const cuts = balancedCuts(session);
  for (const [cut, seq] of [[from, start], [last + 1, end]] as const) {
    if (cuts[cut]) continue;
    throw new PalimpsestError('UNBALANCED_REGION', `${named(session.id)}, seq ${seq}: a region that ends here would separate a tool call from its result; move the end to the other side of the pair`, {
      session: session.id,
      seq,
    });
  }
  return { seqs: seqs.slice(from, last + 1), messages: messages.slice(from, last + 1) };
}

/**
 * Everything on the surface but what stands at its tail and is to be kept: the longest run of whole units that costs at
 * most `retainTokens`, and one unit in any case. A unit is a message with, where it calls tools, all their results.
 * @returns `undefined` where nothing would be left to cut
 */
export function regionBeforeTail(session: Session, retainTokens: number, options: EstimateOptions): Region | undefined {
  const { seqs, messages } = internal(session).derived().nodes();
  const cuts = balancedCuts(session);
  let kept = 0;
  let cut: number | undefined;
  for (let at = seqs.length - 1; at >= 0; at--) {
    const message = messages[at];
    if (message) kept += estimateTokens(message, options);
    if (kept > retainTokens && cut !== undefined) break;
    if (cuts[at]) cut = at;
  }
  return !cut ? undefined : { seqs: seqs.slice(0, cut), messages: messages.slice(0, cut) };
}

/** A region's earlier summaries, and its other messages. */
export function splitSummaries(session: Session, { seqs, messages }: Region): { summaries: string[]; framed: Message[]; rest: Message[] } {
  const summaries: string[] = [];
  const framed: Message[] = [];
  const rest: Message[] = [];
  messages.forEach((message, index) => {
    if (message === null) return;
    const event = looksFramed(message.content) ? session.events[seqs[index]!] : undefined;
    const summary = event && summaryOf(event);
    if (summary === undefined) {
      rest.push(message);
    } else {
      summaries.push(summary);
      framed.push(message);
    }
  });
  return { summaries, framed, rest };
}
