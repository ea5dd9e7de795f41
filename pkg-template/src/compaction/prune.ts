/** Pruning: long results of old calls give way to their beginning and end. The log below stays as it is. */

import { needCount, needObject } from '../arguments.js';
import { blocksIn, isBlock } from '../depth.js';
import type { ContentBlock, SessionEvent } from '../events.js';
import { positionOf } from '../position.js';
import { internal, type Session } from '../session.js';
import { charsIn } from './estimate.js';
import { enterTurn, refuseOpenCompaction } from './turn.js';

/** Which results to shorten, and to what. */
export interface PruneOptions {
  /** Only results of turns that lie at least so many turns back: 1 when absent, which spares the running turn. */
  readonly olderThan?: number | undefined;
  /** So many of the newest results on the surface are left alone: 3 when absent. */
  readonly keep?: number | undefined;
  /** Characters that a result may keep: 2,000 when absent, and never less than 100. */
  readonly maxChars?: number | undefined;
}

/** One result that was shortened. */
export interface Pruned {
  /** Seq of the shortened result. */
  readonly seq: number;
  /** Seq of the result that it took the place of. */
  readonly shadowed: number;
  readonly charsBefore: number;
  readonly charsAfter: number;
}

/**
 * Replaces long results of old calls by shortened ones under the same `callId`: the text's beginning and end, and a word
 * for every block of another kind. Outside of a turn, it does so in a turn of its own. What is short enough already is
 * never touched, so a second call changes nothing.
 * @returns what was shortened; nothing is logged where that is nothing
 * @throws PalimpsestError `INVALID_ARGUMENT`, `COMPACTION_OPEN`
 */
export function pruneToolResults(session: Session, options: PruneOptions = {}): Pruned[] {
  needObject('options', options);
  const { olderThan = 1, keep = 3, maxChars = 2000 } = options;
  needCount('options.olderThan', olderThan);
  needCount('options.keep', keep);
  needCount('options.maxChars', maxChars);
  refuseOpenCompaction(session);
  const { turn, turnOpen } = positionOf(session);
  const most = Math.max(100, maxChars);
  const newest = (turnOpen ? turn : turn + 1) - olderThan;
  const { seqs, messages } = internal(session).derived().nodes();
  const results = seqs.filter((_, index) => messages[index]?.content[0]?.type === 'tool-result');
  const shorter = results.slice(0, Math.max(0, results.length - keep)).flatMap((seq) => shorten(session.events[seq], newest, most) ?? []);
  if (shorter.length === 0) return [];
  const work = enterTurn(session);
  const pruned = shorter.map(({ event, content, charsBefore, charsAfter }) => {
    // `meta` is not for the model, and stays where it was logged.
    const { meta: _, ...data } = event.data;
    const intent = { surfaceOp: { op: 'replace', start: event.seq, end: event.seq }, sourceEventSeqs: [event.seq] } as const;
    const { seq } = session.append('tool/result', { ...data, content }, intent);
    return { seq, shadowed: event.seq, charsBefore, charsAfter };
  });
  work.end({ kind: 'completed' });
  return pruned;
}

interface Shorter {
  event: SessionEvent<'tool/result'>;
  content: readonly ContentBlock[];
  charsBefore: number;
  charsAfter: number;
}

/** A shorter form of a result, where it is old and long enough and becomes shorter by it. */
function shorten(event: SessionEvent | undefined, newest: number, most: number): Shorter | undefined {
  if (event?.type !== 'tool/result' || event.data.turn > newest) return undefined;
  const { content } = event.data;
  const charsBefore = sizeOf(content);
  if (charsBefore <= most) return undefined;
  const texts = blocksIn(content).map((block) => (isText(block) ? block.text : `[${block.type} pruned]`));
  const text = ends(texts.join('\n'), most);
  if (text.length >= charsBefore) return undefined;
  return { event, content: [{ type: 'text', text }], charsBefore, charsAfter: text.length };
}

function sizeOf(content: readonly ContentBlock[]): number {
  return content.reduce((sum, block) => sum + (isText(block) ? block.text.length : charsIn(block)), 0);
}

function isText(block: unknown): block is Extract<ContentBlock, { type: 'text' }> {
  return isBlock(block) && block.type === 'text' && typeof block.text === 'string';
}

/** The beginning and the end of a text that is too long, never with half a character at the seam. */
function ends(text: string, most: number): string {
  if (text.length <= most) return text;
  const note = `\n[${text.length} characters, pruned to the beginning and the end]\n`;
  const room = most - note.length;
  let head = Math.ceil((room * 2) / 3);
  let tail = text.length - (room - head);
  if (head > 0 && isHigh(text.charCodeAt(head - 1))) head--;
  if (isLow(text.charCodeAt(tail))) tail++;
  return text.slice(0, head) + note + text.slice(tail);
}

const isHigh = (unit: number): boolean => (unit & 0xfc00) === 0xd800;
const isLow = (unit: number): boolean => (unit & 0xfc00) === 0xdc00;
