/** The sink that builds sessions in memory. A fork shares the storage of the session that it starts from. */

import { PalimpsestError } from '../errors.js';
import type { SessionEvent, SessionHeader, SessionId } from '../events.js';
import { headerToRecord } from '../header.js';
import { SessionReader } from '../reader.js';
import { appendEvents, forkSession, type Session } from '../session.js';
import type { ImportSeed, ImportSink } from './types.js';

/** A sink that builds {@link Session}s. */
export function memorySink(): ImportSink {
  const sessions = new Map<SessionId, Session>();
  return {
    begin(header, { seed }) {
      const appender = seed === undefined || seed.length === 0 ? fresh(header) : forked(header, seed, sessions);
      return {
        append: (lines, count) => appender.append(lines, count),
        finish: () => {
          const session = appender.finish();
          sessions.set(header.id, session);
          return session;
        },
      };
    },
  };
}

interface Building {
  append(lines: Uint8Array, count: number): void;
  finish(): Session;
}

function fresh(header: SessionHeader): Building {
  const reader = new SessionReader(`the import of ${JSON.stringify(header.id)}`);
  reader.push(new TextEncoder().encode(`${headerToRecord(header.id, header)}\n`));
  return { append: (lines) => reader.push(lines), finish: () => reader.finish().session };
}

function forked(header: SessionHeader, seed: ImportSeed, sessions: ReadonlyMap<SessionId, Session>): Building {
  const source = sessions.get(seed.session);
  if (source === undefined) throw new PalimpsestError('SESSION_NOT_FOUND', `session ${JSON.stringify(header.id)} starts from ${JSON.stringify(seed.session)}, which this sink has not received`, { session: header.id });
  const session = forkSession(source, seed.length - 1, header);
  const decoder = new TextDecoder();
  return {
    append: (lines) => {
      const text = decoder.decode(lines);
      appendEvents(session, text.split('\n').slice(0, -1).map((line) => JSON.parse(line) as SessionEvent));
    },
    finish: () => session,
  };
}
