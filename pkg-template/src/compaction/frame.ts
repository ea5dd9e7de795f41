/** The framed summary that the model sees, and what a summarizer is asked. */

import { need } from '../arguments.js';
import { blocksIn, isBlock, textOf } from '../depth.js';
import { type ContentBlock, isSurfaceEvent, type Message, type SessionEvent } from '../events.js';

const OPEN = '<compacted-summary>';
const CLOSE = '</compacted-summary>';

/** The text of the message that takes a region's place. */
export function frameSummary(summary: string): string {
  need(typeof summary === 'string', 'summary', summary, 'a text');
  return `${OPEN}\n${summary}\n${CLOSE}`;
}

/** A summary as a model gave it, without blanks and without tags of its own around it. */
export function cleanSummary(text: string): string {
  let summary = text.trim();
  if (summary.startsWith(OPEN) && summary.endsWith(CLOSE)) summary = summary.slice(OPEN.length, -CLOSE.length).trim();
  return summary;
}

/**
 * The summary in an event that a compaction has laid over a region; `undefined` for any other event. What a user types
 * is never taken for one, however it is framed.
 */
export function summaryOf(event: SessionEvent): string | undefined {
  if (!isSurfaceEvent(event) || event.type !== 'user/message' || typeof event.surfaceOp !== 'object') return undefined;
  return looksFramed(event.data.content) ? cleanSummary(event.data.content[0].text) : undefined;
}

/** Whether content may be a framed summary. */
export function looksFramed(content: readonly ContentBlock[]): content is readonly [Extract<ContentBlock, { type: 'text' }>] {
  const [block] = content;
  return content.length === 1 && isBlock(block) && block.type === 'text' && typeof block.text === 'string' && block.text.startsWith(OPEN) && block.text.endsWith(CLOSE);
}

/** What a summarizer is told to do, unless the caller says otherwise. */
export const INSTRUCTIONS = `Summarize the conversation so far for the assistant that will continue it without seeing it again.
Keep what is needed to go on: the user's goals and constraints, decisions with their reasons, names, paths, identifiers and numbers exactly as they are, what was tried and how it turned out, what is done and what is open.
Earlier summaries stand first: carry over what still matters. Answer with the summary only.`;

/** What a summarizer is given. */
export interface SummaryRequest {
  /** What to do, for the system prompt. */
  readonly instructions: string;
  /** Summaries of what came before, oldest first. */
  readonly previous: readonly string[];
  /** The messages to summarize, without those summaries. Calls and results are paired. */
  readonly messages: readonly Message[];
  /** Earlier summaries and messages as one plain text, for a model that is asked in a single user message. Without media. */
  readonly prompt: string;
  /** Estimated tokens of the region. */
  readonly tokens: number;
  /** How long the summary may be, when the caller has said. */
  readonly maxTokens?: number;
}

/** Makes a {@link SummaryRequest}; the prompt is written when somebody reads it. */
export function summaryRequest(parts: Omit<SummaryRequest, 'prompt'>): SummaryRequest {
  let prompt: string | undefined;
  return Object.freeze({
    ...parts,
    get prompt() {
      return (prompt ??= promptOf(parts.previous, parts.messages));
    },
  });
}

function promptOf(previous: readonly string[], messages: readonly Message[]): string {
  const lines = previous.map((summary) => `${OPEN}\n${summary}\n${CLOSE}\n`);
  for (const { role, content } of messages) transcribe(role, content, lines);
  // Half a surrogate pair would make the request invalid JSON for most providers.
  return lines.join('\n').replace(/\p{Surrogate}/gu, '\ufffd');
}

/** Iterative, since results may be nested in results. */
function transcribe(role: string, content: readonly ContentBlock[], lines: string[]): void {
  const waiting = [{ speaker: role, blocks: blocksIn(content).values() }];
  for (let said = waiting.at(-1); said !== undefined; said = waiting.at(-1)) {
    const { speaker, blocks } = said;
    const { value: block, done } = blocks.next();
    if (done === true) {
      waiting.pop();
      continue;
    }
    switch (block.type) {
      case 'text':
        lines.push(`[${speaker}] ${textOf(block.text)}`);
        break;
      case 'reasoning':
        break;
      case 'tool-call':
        lines.push(`[${speaker} calls ${textOf(block.name)}] ${textOf(block.arguments)}`);
        break;
      case 'tool-result':
        waiting.push({ speaker: block.isError === true ? 'tool failed' : 'tool', blocks: blocksIn(block.content).values() });
        break;
      default:
        lines.push(`[${speaker}] (${(block as { type: string }).type} left out)`);
    }
  }
}
