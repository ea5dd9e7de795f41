/** `palimpsest fork`: a new session that begins with the events of another. */

import { forkSession, type Session } from '../session.js';
import { SESSION_FORMAT_VERSION, type SessionHeader } from '../events.js';
import { CliError, count, Exit, paint, print, printable, printJson } from './host.js';
import { STANDARD } from './bytes.js';
import { openInput } from './input.js';
import { notItself, writeSession } from './output.js';

/** Options of the command. */
export interface ForkOptions {
  readonly output: string;
  readonly at?: number;
  readonly id?: string;
  readonly session?: string;
  readonly json?: true;
}

/** Writes a fork of a session to a new file or into a store. */
export async function fork(path: string, { output, at, id: childId, session: id, json }: ForkOptions): Promise<number> {
  notItself(path, output);
  const { session } = await openInput(path, id);
  const boundary = at ?? lastTurnEnd(session);
  if (boundary < 0) throw new CliError(`session ${JSON.stringify(session.id)} has no closed turn to fork at`, { hint: '`palimpsest repair` closes an open turn in a copy' });
  const { cwd } = session.header;
  const header: SessionHeader = { version: SESSION_FORMAT_VERSION, id: childId ?? `${session.id}-fork`, createdAt: Date.now(), ...(cwd !== undefined && { cwd }), parentSession: session.id, seedLength: boundary + 1 };
  const child = forkSession(session, boundary, header);
  const written = await writeSession(child, output);
  if (json) await printJson({ file: written, ...child.header });
  else if (output !== STANDARD) await print(`${paint('green', 'wrote')} ${paint('bold', printable(written))}  session ${JSON.stringify(child.id)}, a fork of ${JSON.stringify(session.id)} after its first ${count(boundary + 1, 'event')}`);
  return Exit.ok;
}

function lastTurnEnd(session: Session): number {
  for (let seq = session.seq - 1; seq >= 0; seq--) if (session.events[seq]?.type === 'turn/end') return seq;
  return -1;
}
