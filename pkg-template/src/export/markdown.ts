/** A session as Markdown. */

import { needSession, type Session } from '../session.js';
import { argumentsText, type Entry, type Part, sizeText, timeText, transcript, type TranscriptOptions } from './transcript.js';

/** A session as one Markdown text. What was said stands as it was logged; what tools were given and gave stands in code. */
export function toMarkdown(session: Session, options: TranscriptOptions = {}): string {
  return [...markdownParts(session, options)].join('');
}

/** {@link toMarkdown} in pieces, for sessions that are longer than a string may be. */
export function* markdownParts(session: Session, options: TranscriptOptions = {}): Generator<string> {
  needSession(session);
  const { header } = session;
  yield `# ${inline(options.title ?? header.id)}\n\n`;
  yield `- session: ${code(header.id)}\n- created: ${timeText(header.createdAt)}\n`;
  if (header.cwd !== undefined) yield `- working directory: ${code(header.cwd)}\n`;
  if (header.parentSession !== undefined) yield `- forked from: ${code(header.parentSession)}, with its first ${header.seedLength ?? 0} events\n`;
  if (options.at !== undefined) yield `- as of event ${options.at} of ${session.seq}\n`;
  yield '\n';
  for (const entry of transcript(session, options)) yield entryText(entry);
}

const SPEAKERS = { user: 'User', assistant: 'Assistant', tool: 'Result', context: 'Context', steering: 'Steering' } as const;

function entryText(entry: Entry): string {
  switch (entry.kind) {
    case 'turn':
      return `## Turn ${entry.turn}\n\n`;
    case 'turn-end':
      return entry.reason === 'completed' ? '' : `*The turn ended: ${inline(entry.reason)}.*\n\n`;
    case 'compaction':
      return `*Compaction: ${entry.shadowed} messages before this point were replaced by a summary.*\n\n`;
    case 'header':
      return `*Model: ${code(entry.model ?? 'not named')}.*\n\n${entry.system === undefined || entry.system === '' ? '' : `**System**\n\n${fenced(entry.system)}`}`;
    case 'message': {
      const of = entry.speaker === 'tool' ? ` of ${code(entry.toolName ?? entry.callId ?? '')}` : '';
      const marks = [entry.isError ? 'error' : '', entry.shadowed ? 'shadowed' : ''].filter((mark) => mark !== '').join(', ');
      const head = `**${SPEAKERS[entry.speaker]}**${of} <sub>${entry.seq} · ${timeText(entry.time)}${marks === '' ? '' : ` · ${marks}`}</sub>\n\n`;
      return head + entry.parts.map((part) => partText(part, entry.speaker === 'tool')).join('');
    }
  }
}

function partText(part: Part, asCode: boolean): string {
  switch (part.kind) {
    case 'text':
      return asCode ? fenced(part.text) : `${part.text}\n\n`;
    case 'reasoning':
      return part.text === '' ? '' : `${part.text.split('\n').map((line) => `> ${line}`).join('\n')}\n\n`;
    case 'call':
      return `Calls ${code(part.name)}:\n\n${fenced(argumentsText(part.arguments), 'json')}`;
    case 'image':
      return `*[image, ${inline(part.mimeType)}, ${sizeText(part.data.length)} of base64]*\n\n`;
    case 'other':
      return `*[${inline(part.type === '' ? 'a block without a type' : part.type)}, ${sizeText(part.json.length)}]*\n\n`;
    case 'cut':
      return `*[${sizeText(part.chars)} more]*\n\n`;
  }
}

/** A code block whose fence is longer than any run of backticks in it. */
function fenced(text: string, language = ''): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}${language}\n${text}${text.endsWith('\n') ? '' : '\n'}${fence}\n\n`;
}

function code(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  const ticks = '`'.repeat(longestRun(line) + 1);
  return line === '' ? '` `' : ticks.length === 1 ? `\`${line}\`` : `${ticks} ${line} ${ticks}`;
}

function longestRun(text: string): number {
  let longest = 0;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return longest;
}

/** Text that is no markup. */
function inline(text: string): string {
  return text.replace(/\s+/g, ' ').replace(/[\\`*_[\]<>#|]/g, '\\$&');
}
