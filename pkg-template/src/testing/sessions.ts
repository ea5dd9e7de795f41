/** Small sessions, and stores with a storage attached. */

import type { SessionEvent } from '../events.js';
import type { PersistenceAdapter } from '../persistence/adapter.js';
import type { StorageBackend } from '../persistence/backend.js';
import { attach } from '../persistence/coordinator.js';
import type { Timers } from '../persistence/timers.js';
import type { Session } from '../session.js';
import { SessionStore } from '../store.js';
import type { StorageUnderTest } from './entry.js';

/** One process or tab. */
export interface Place {
  readonly store: SessionStore;
  readonly adapter: PersistenceAdapter;
  readonly backend: StorageBackend;
  /** What was reported to nobody else. */
  readonly reported: unknown[];
}

const NEVER: Timers = { setTimeout: () => undefined, clearTimeout: () => undefined };

interface PlaceOptions {
  /** Writes, and looks for news, after a while; else only when somebody flushes. */
  readonly timed?: boolean;
  /** The backend to use in place of a new one. */
  readonly backend?: StorageBackend;
}

/** A store on a storage. */
export async function place(storage: StorageUnderTest, { timed = false, backend }: PlaceOptions = {}): Promise<Place> {
  const reported: unknown[] = [];
  const store = new SessionStore({ onError: (error) => reported.push(error) });
  const opened = backend ?? (await storage.open());
  return { store, backend: opened, reported, adapter: attach(store, opened, timed ? {} : { timers: NEVER }) };
}

/** Runs something in a place of its own, which is closed afterwards. */
export async function within<T>(storage: StorageUnderTest, run: (at: Place) => T | Promise<T>): Promise<T> {
  const at = await place(storage);
  const result = await run(at);
  await at.adapter.close();
  return result;
}

export function say(session: Session, text: string): SessionEvent<'user/message'> {
  return session.append('user/message', { content: [{ type: 'text', text }], source: { kind: 'user' } }, { surfaceOp: 'append' });
}

/** Begins a turn and leaves it open. Three events. */
export function openTurn(session: Session, turn: number): void {
  session.append('turn/start', { turn, trigger: { kind: 'message', source: { kind: 'user' } } });
  say(session, `question ${turn}`);
  session.append('step/start', { turn, step: 1 });
}

/** A whole turn of six events. */
export function runTurn(session: Session, turn = 1): void {
  openTurn(session, turn);
  session.append('assistant/message', { turn, step: 1, content: [{ type: 'text', text: `answer ${turn}` }] }, { surfaceOp: 'append', sourceEventSeqs: [] });
  session.append('step/end', { turn, step: 1 });
  session.append('turn/end', { turn, reason: { kind: 'completed' } });
}

/** The bytes that a session's log must have. */
export function whole(session: Session): string {
  return decode(session.headerLine()) + decode(session.jsonl());
}

/** The bytes that are stored, as a reader with a backend of its own finds them. */
export async function stored(storage: StorageUnderTest, id: string, cwd?: string | null): Promise<string | undefined> {
  const backend = await storage.open();
  try {
    const log = await backend.loadStored({ id, cwd });
    if (!log) return undefined;
    let text = '';
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    for await (const chunk of log.chunks) text += decoder.decode(chunk, { stream: true });
    return text + decoder.decode();
  } finally {
    await backend.close?.();
  }
}

/** Puts a log into the storage as it is; see {@link StorageUnderTest.plant}. */
export async function plant(storage: StorageUnderTest, id: string, log: string): Promise<void> {
  const bytes = new TextEncoder().encode(log);
  if (storage.plant) return storage.plant(id, bytes);
  const header = bytes.indexOf(0x0a) + 1;
  const lines = bytes.subarray(header);
  let count = lines.filter((byte) => byte === 0x0a).length;
  if (lines.length > 0 && lines.at(-1) !== 0x0a) count++;
  const backend = await storage.open();
  await backend.appendBatch({ id, header: bytes.subarray(0, header), count, lines: lines.length > 0 ? [lines] : [], retry: false });
  await backend.close?.();
}

export function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** Lines of a log by hand. */
export const lines = (...texts: string[]): string => texts.map((text) => `${text}\n`).join('');
export const header = (id: string, more = ''): string => `{"type":"session","version":0,"id":${JSON.stringify(id)},"createdAt":1${more}}`;
export const user = (seq: number, text = `u${seq}`): string =>
  `{"type":"user/message","seq":${seq},"time":1,"data":{"content":[{"type":"text","text":${JSON.stringify(text)}}],"source":{"kind":"user"}},"surfaceOp":"append"}`;
export const turnEnd = (seq: number): string => `{"type":"turn/end","seq":${seq},"time":1,"data":{"turn":1,"reason":{"kind":"completed"}}}`;
