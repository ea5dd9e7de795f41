/** `palimpsest show`: what a session says, at its end or at any point of it. */

import type { Message } from '../events.js';
import { piecesOf } from '../pieces.js';
import type { Session } from '../session.js';
import { openInput } from './input.js';
import { eventLine, field, list, messageText, text } from './describe.js';
import { CliError, columns, Exit, oneLine, paint, print, printable, printJson, write } from './host.js';

/** Ways to look at a session. */
export const VIEWS = ['messages', 'request', 'surface', 'events'] as const;

/** Options of the command. */
export interface ShowOptions {
  readonly at?: number;
  readonly as: (typeof VIEWS)[number];
  readonly session?: string;
  readonly json?: true;
}

/** Shows a session. */
export async function show(path: string, { at, as, session: id, json }: ShowOptions): Promise<number> {
  const { session } = await openInput(path, id);
  const seq = at ?? session.seq - 1;
  if (seq >= session.seq) throw new CliError(`seq ${seq} is behind the end of the log, which holds ${session.seq} events`, { hint: `give a seq from 0 to ${session.seq - 1}`, exit: Exit.usage });
  if (as === 'events') await showEvents(session, seq, json);
  else if (as === 'surface') await showSurface(session, seq, json);
  else if (as === 'request') await showRequest(session, seq, json);
  else if (json) await printJson(session.at(seq).messages());
  else await showMessages(session.at(seq).messages());
  session.free();
  return Exit.ok;
}

async function showMessages(messages: readonly Message[]): Promise<void> {
  if (messages.length === 0) await print(paint('dim', 'The model sees no message at this point.'));
  for (const message of messages) await print(messageText(message));
}

async function showRequest(session: Session, seq: number, json: true | undefined): Promise<void> {
  const request = session.at(seq).request();
  if (json) {
    await printJson(request);
    return;
  }
  const { config, system, tools, messages } = request;
  await print(`${paint('bold', 'config')}  ${printable(JSON.stringify(config ?? {}))}`);
  if (system !== undefined) await print(`\n${paint('bold', 'system')}\n${printable(text(system))}`);
  if (list(tools).length > 0) await print(`\n${paint('bold', 'tools')}`);
  for (const tool of list(tools)) {
    const name = text(field(tool, 'name'));
    await print(`${printable(name)}  ${paint('dim', oneLine(text(field(tool, 'description')), Math.max(20, columns() - name.length - 2)))}`);
  }
  await print(`\n${paint('bold', 'messages')}\n`);
  await showMessages(messages);
}

async function showSurface(session: Session, seq: number, json: true | undefined): Promise<void> {
  const { nodes, replaceGeneration } = session.at(seq).surface;
  if (json) {
    await printJson({ nodes, replaceGeneration });
    return;
  }
  await print(paint('dim', `${nodes.length} nodes, replace generation ${replaceGeneration}`));
  for (const { seq: node } of nodes) await print(eventLine(session.events[node]!, columns()));
}

async function showEvents(session: Session, seq: number, json: true | undefined): Promise<void> {
  // As stored: what is nested too deep to be written anew, and numbers beyond 2^53, come out as they are.
  if (json) for (const { bytes } of piecesOf(session, 0, seq + 1)) await write(bytes);
  else for (let at = 0; at <= seq; at++) await print(eventLine(session.events[at]!, columns()));
}

