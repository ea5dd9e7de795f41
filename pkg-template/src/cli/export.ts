/** `palimpsest export`: a session in another form. */

import { htmlParts, markdownParts, toMessages, type TranscriptOptions } from '../export/index.js';
import { openInput } from './input.js';
import { count, Exit, jsonText } from './host.js';
import { logOf, notItself, writeNew } from './output.js';
import { tell } from './input.js';

/** Forms to export. */
export const FORMS = ['markdown', 'html', 'messages', 'openai', 'anthropic', 'jsonl'] as const;

/** Options of the command. */
export interface ExportOptions {
  readonly as: (typeof FORMS)[number];
  readonly output: string;
  readonly at?: number;
  readonly session?: string;
  readonly what: 'log' | 'surface';
  readonly model?: string;
  readonly maxResult?: number;
  readonly reasoning: boolean;
  readonly tools: boolean;
}

/** Writes a session in another form to a new file or to standard output. */
export async function exportSession(path: string, options: ExportOptions): Promise<number> {
  const { as, output, session: id, at, model, what, maxResult, reasoning, tools } = options;
  notItself(path, output);
  const { session } = await openInput(path, id);
  const how: TranscriptOptions = { at, what, maxResult, reasoning, tools };
  if (as === 'jsonl') {
    await writeNew(output, logOf(session));
  } else if (as === 'markdown' || as === 'html') {
    await writeNew(output, as === 'html' ? htmlParts(session, how) : markdownParts(session, how));
  } else {
    const { body, report } = toMessages(session, { as: as === 'messages' ? 'neutral' : as, at, model });
    if (report.length > 0) tell(path, `${count(report.length, 'thing')} could not be said as the log does: ${[...new Set(report.map(({ code }) => code))].join(', ')}`);
    await writeNew(output, [`${jsonText(body)}\n`]);
  }
  return Exit.ok;
}
