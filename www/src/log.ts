/** An opened log: the session that the package made of its bytes, and an index of its events. */

import { isSurfaceEligibleType, SessionReader } from 'palimpsest';
import type { LoadedSession, Session, SessionEvent } from 'palimpsest';
import type { Source } from './source.js';

export interface OpenedLog extends LoadedSession {
  readonly name: string;
  readonly bytes: number;
  readonly index: LogIndex;
}

export interface LogIndex {
  /** Number of events by type, most frequent first. */
  readonly types: readonly (readonly [type: string, count: number])[];
  readonly turns: number;
  /** Earliest and latest time; absent without events. */
  readonly times?: readonly [number, number];
  /** Seqs of everything but stream chunks. */
  readonly folded: Uint32Array;
  /** Surface events that yield no message: answers with empty content. */
  readonly silent: ReadonlySet<number>;
}

export type Progress = (stage: 'read' | 'index', done: number, total: number | undefined) => void;

const BATCH = 1_000;

/** Reads a log to its end. @throws PalimpsestError for a damaged one; an AbortError once `signal` aborts */
export async function openLog(source: Source, signal: AbortSignal, progress: Progress): Promise<OpenedLog> {
  const { stream, size } = await source.open(signal);
  const reader = new SessionReader(source.name, size);
  let loaded: LoadedSession | undefined;
  try {
    const bytes = await read(stream, reader, signal, (done) => { progress('read', done, size); });
    loaded = reader.finish();
    const { session } = loaded;
    const index = await indexOf(session, signal, (done) => { progress('index', done, session.seq); });
    return { ...loaded, name: source.name, bytes, index };
  } catch (error) {
    reader.free();
    loaded?.session.free();
    throw error;
  }
}

async function read(stream: ReadableStream<Uint8Array>, into: SessionReader, signal: AbortSignal, progress: (done: number) => void): Promise<number> {
  const chunks = stream.getReader();
  let done = 0;
  try {
    for (let next = await chunks.read(); !next.done; next = await chunks.read()) {
      signal.throwIfAborted();
      into.push(next.value);
      done += next.value.length;
      progress(done);
    }
  } catch (error) {
    void chunks.cancel().catch(() => undefined);
    throw error;
  }
  return done;
}

async function indexOf(session: Session, signal: AbortSignal, progress: (done: number) => void): Promise<LogIndex> {
  const types = new Map<string, number>();
  const folded: number[] = [];
  const silent = new Set<number>();
  let [first, last] = [Infinity, -Infinity];
  let rested = performance.now();
  for (let from = 0; from < session.seq; from += BATCH) {
    for (const event of session.events.slice(from, from + BATCH)) {
      types.set(event.type, (types.get(event.type) ?? 0) + 1);
      if (event.type !== 'assistant/chunk') folded.push(event.seq);
      if (isSilent(session, event)) silent.add(event.seq);
      first = Math.min(first, event.time);
      last = Math.max(last, event.time);
    }
    if (performance.now() - rested > 30) {
      progress(from);
      await new Promise((resolve) => setTimeout(resolve));
      signal.throwIfAborted();
      rested = performance.now();
    }
  }
  return {
    types: [...types].sort((a, b) => b[1] - a[1]),
    turns: types.get('turn/start') ?? 0,
    ...(session.seq > 0 && { times: [first, last] as const }),
    folded: Uint32Array.from(folded),
    silent,
  };
}

function isSilent(session: Session, event: SessionEvent): boolean {
  return isSurfaceEligibleType(event.type) && session.deriveEventMessage(event) === null;
}
