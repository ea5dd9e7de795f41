// A store with a storage attached.
import { type Session, type SessionId, SessionStore } from 'palimpsest';
import { memory } from 'palimpsest/memory';
import { type AttachOptions, type PersistenceAdapter, attach } from 'palimpsest/persistence';
import { concat, decode } from './sessions.js';
import { ManualTimers, WatchedBackend } from './storage.js';

export interface Setting {
  readonly store: SessionStore;
  readonly backend: WatchedBackend;
  readonly timers: ManualTimers;
  readonly adapter: PersistenceAdapter;
  /** Failures that reached nobody else. */
  readonly reported: unknown[];
}

/** A store with a watched storage, which other settings may share. */
export function setting({ backend = new WatchedBackend(memory()), ...options }: AttachOptions & { backend?: WatchedBackend } = {}): Setting {
  const reported: unknown[] = [];
  const store = new SessionStore({ onError: (error) => reported.push(error) });
  const timers = new ManualTimers();
  return { store, backend, timers, reported, adapter: attach(store, backend, { timers, ...options }) };
}

/** Another process on the same storage. */
export function elsewhere({ backend }: Setting): Setting {
  return setting({ backend: new WatchedBackend(backend.inner) });
}

/** The bytes that the storage holds. */
export async function stored({ backend }: Setting, id: SessionId, cwd?: string | null): Promise<string | undefined> {
  const log = await backend.inner.loadStored({ id, cwd });
  if (!log) return undefined;
  const chunks: Uint8Array[] = [];
  for await (const chunk of log.chunks) chunks.push(chunk.slice());
  return concat(chunks);
}

/** The bytes that a session's log should have in storage. */
export const whole = (session: Session): string => decode(session.headerLine()) + decode(session.jsonl());

/** Promises that this step has settled have been heard of. */
export const settled = (): Promise<void> => new Promise(setImmediate);
