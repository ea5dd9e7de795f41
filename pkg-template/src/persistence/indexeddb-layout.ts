/**
 * What is in the database: one record a session, one string an event.
 *
 * Events are keyed `[log, seq]`. A session's log is named as the session is; a fork refers to the logs of its ancestors
 * for what it has inherited, and those events stay when an ancestor is deleted.
 */

import type { DBSchema, IDBPDatabase, IDBPTransaction } from 'idb';
import { PalimpsestError } from '../errors.js';
import type { SessionId } from '../events.js';

/** Version of the database. A newer one is refused, and never changed. */
export const LAYOUT = 1;

/** A stored session, under its key (see `keyOf`). */
export interface SessionRecord {
  /** The header line, without its end. */
  readonly header: string;
  /** Seq of the next event. */
  readonly next: number;
  /** The logs that hold its events, in order; the last one is its own. */
  readonly logs: readonly string[];
  /** Where what it has from each log ends, as the seq after it; its own log has no end. */
  readonly ends: readonly number[];
}

export interface Layout extends DBSchema {
  sessions: { key: string; value: SessionRecord; indexes: { 'by-log': string } };
  /** The event's line, without its end. */
  events: { key: [log: string, seq: number]; value: string };
}

export const STORES = ['sessions', 'events'] as const;
export type Database = IDBPDatabase<Layout>;
export type Reading = IDBPTransaction<Layout, typeof STORES>;
export type Writing = IDBPTransaction<Layout, typeof STORES, 'readwrite'>;

export function makeStores(database: Database): void {
  database.createObjectStore('sessions').createIndex('by-log', 'logs', { multiEntry: true });
  database.createObjectStore('events');
}

/** @throws PalimpsestError `UNSUPPORTED_VERSION` for a database that something else has made */
export function checkStores(database: Database): void {
  if (STORES.every((name) => database.objectStoreNames.contains(name))) return;
  database.close();
  throw new PalimpsestError('UNSUPPORTED_VERSION', `The database "${database.name}" was made by something else and was not changed: choose another name`, {
    path: database.name,
  });
}

/** The key of a session. JSON, since a key must keep strings apart that UTF-8 cannot. */
export function keyOf(id: SessionId, cwd: string | null | undefined): string {
  return JSON.stringify([id, cwd ?? null]);
}

/** The keys that sessions of this id have, whatever their working directory. */
export function keysOf(id: SessionId): IDBKeyRange {
  const start = `[${JSON.stringify(id)},`;
  return IDBKeyRange.bound(start, `${start}\uffff`);
}

/** The keys of a log's events from `from` to before `to`. */
export function eventKeys(log: string, from: number, to = Infinity): IDBKeyRange {
  return IDBKeyRange.bound([log, from], [log, to], false, true);
}

/** Events that a session has from one log. */
export interface Part {
  readonly log: string;
  readonly from: number;
  readonly to: number;
}

export function partsOf({ logs, ends, next }: SessionRecord): Part[] {
  return logs.map((log, at) => ({ log, from: ends[at - 1] ?? 0, to: ends[at] ?? next }));
}

// A byte order mark is a character like any other here.
const encoder = new TextEncoder();

export function bytesOf(lines: readonly string[]): Uint8Array {
  return encoder.encode(lines.map((line) => `${line}\n`).join(''));
}
