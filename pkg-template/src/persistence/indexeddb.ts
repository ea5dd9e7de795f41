/**
 * Sessions in IndexedDB, for browsers.
 *
 * A batch is one transaction, which finds the log where its writer left it or changes nothing, and which the disk has when
 * it completes. One tab at a time writes to a session; the others can read and follow it.
 *
 * A tab that ends in mid-transaction may leave what it had asked for until then: its callbacks no longer run, and a browser
 * may take the silence for the end. So the session's record, which says how many events there are, is written last, events
 * beyond it are nobody's, and what is deleted is named in one go.
 */

import { PalimpsestError } from '../errors.js';
import type { SessionId } from '../events.js';
import { named } from '../wording.js';
import type {
  EventBatch,
  LogName,
  SessionLock,
  StorageBackend,
  StoredFork,
  StoredHeader,
  StoredLog,
  StoredPosition,
  StoredQuery,
} from './backend.js';
import { linesOf } from './bytes.js';
import { ambiguous, collision, conflict, refuseBoundary, refuseOpenTurn, storageError } from './faults.js';
import { Connection } from './indexeddb-connection.js';
import { type Reading, type SessionRecord, type Writing, bytesOf, eventKeys, keyOf, keysOf, partsOf } from './indexeddb-layout.js';
import { type Timers, hostTimers } from './timers.js';
import { takeWebLock } from './web-locks.js';

export { attach } from './coordinator.js';

/** Which database, and how to open it. */
export interface IndexedDbOptions {
  /** Name of the database; `palimpsest` when absent. */
  readonly name?: string | undefined;
  /** Milliseconds to wait for a database that another tab keeps from opening; 5000 when absent. */
  readonly openTimeout?: number | undefined;
  /** Timers to use in place of the host's. */
  readonly timers?: Timers | undefined;
}

/** Space of the whole site, in bytes, as far as the browser tells. */
export interface StorageSpace {
  readonly usage?: number | undefined;
  readonly quota?: number | undefined;
}

/** Storage in IndexedDB. */
export interface IndexedDbBackend extends StorageBackend {
  /**
   * Asks the browser to keep the site's data when space runs short; it may ask the user.
   * @returns whether it will
   */
  persist(): Promise<boolean>;
  /** How much space the site uses and may use. */
  estimate(): Promise<StorageSpace>;
}

/** Storage in a database of the browser; nothing is opened before it is needed. */
export function indexeddb(options: IndexedDbOptions | string = {}): IndexedDbBackend {
  return new Backend(typeof options === 'string' ? { name: options } : options);
}

const PAGE = 128;
const LIST_PAGE = 500;

class Backend implements IndexedDbBackend {
  readonly #name: string;
  readonly #connection: Connection;
  #channel: BroadcastChannel | undefined;

  constructor({ name = 'palimpsest', openTimeout = 5000, timers = hostTimers }: IndexedDbOptions) {
    this.#name = `indexeddb:${name}`;
    this.#connection = new Connection({ name, openTimeout, timers });
  }

  // -------------------------------------------------------------------------------------------------------- reading

  async loadStored({ id, cwd }: StoredQuery): Promise<StoredLog | undefined> {
    const keys = cwd === undefined ? keysOf(id) : keyOf(id, cwd);
    const [found, record] = await this.#reading(id, async (transaction) => {
      const sessions = transaction.objectStore('sessions');
      return [await sessions.getAllKeys(keys, 10), await sessions.get(keys)] as const;
    });
    if (found.length > 1) throw ambiguous(id, found.map((key) => this.#locationOf(key)));
    const [key] = found;
    return key !== undefined && record ? { location: this.#locationOf(key), chunks: this.#chunks(id, key, record) } : undefined;
  }

  async *#chunks(id: SessionId, key: string, record: SessionRecord): AsyncGenerator<Uint8Array> {
    yield bytesOf([record.header]);
    yield* this.#events(id, key, record, 0);
  }

  async *loadTail(location: string, { seq }: StoredPosition): AsyncGenerator<Uint8Array> {
    const key = this.#keyIn(location);
    const [id] = JSON.parse(key) as [SessionId];
    const record = await this.#reading(id, (transaction) => transaction.objectStore('sessions').get(key));
    if (!record) throw this.#gone(id, key);
    yield* this.#events(id, key, record, seq);
  }

  async *#events(id: SessionId, key: string, record: SessionRecord, start: number): AsyncGenerator<Uint8Array> {
    for (const { log, from, to } of partsOf(record)) {
      for (let at = Math.max(from, start); at < to; ) {
        // A transaction a page: whoever takes the events may be slow, and it ends when nothing is asked of it.
        const lines = await this.#reading(id, (transaction) => transaction.objectStore('events').getAll(eventKeys(log, at, to), PAGE));
        if (lines.length === 0) throw await this.#missing(id, key, at);
        yield bytesOf(lines);
        at += lines.length;
      }
    }
  }

  async #missing(id: SessionId, key: string, seq: number): Promise<PalimpsestError> {
    if (!(await this.#reading(id, (transaction) => transaction.objectStore('sessions').getKey(key)))) return this.#gone(id, key);
    const path = this.#locationOf(key);
    return new PalimpsestError('CORRUPT_LOG', `${named(id)}: event ${seq} is missing in ${path}`, { session: id, path, seq });
  }

  async *list(): AsyncGenerator<StoredHeader> {
    for (let range: IDBKeyRange | undefined; ; ) {
      const [keys, records] = await this.#connection.read((transaction) => {
        const sessions = transaction.objectStore('sessions');
        return Promise.all([sessions.getAllKeys(range, LIST_PAGE), sessions.getAll(range, LIST_PAGE)]);
      });
      for (const [at, key] of keys.entries()) yield { location: this.#locationOf(key), head: bytesOf([records[at]?.header ?? '']) };
      const last = keys.at(-1);
      if (last === undefined || keys.length < LIST_PAGE) return;
      range = IDBKeyRange.lowerBound(last, true);
    }
  }

  watch(location: string, changed: () => void): () => void {
    const channel = this.#newChannel();
    if (!channel) return () => undefined;
    channel.onmessage = ({ data }) => {
      if (data === location) changed();
    };
    return () => {
      channel.close();
    };
  }

  // -------------------------------------------------------------------------------------------------------- writing

  lock({ id, cwd, location = this.#locationOf(keyOf(id, cwd)) }: LogName): Promise<SessionLock> {
    return takeWebLock(id, location);
  }

  async appendBatch(batch: EventBatch): Promise<StoredPosition> {
    const { id, cwd, location = this.#locationOf(keyOf(id, cwd)) } = batch;
    const seq = await this.#writing(id, location, (transaction) => append(transaction, this.#keyIn(location), location, batch));
    return { seq, bytes: 0, torn: 0 };
  }

  commitRepair(batch: EventBatch): Promise<StoredPosition> {
    return this.appendBatch(batch);
  }

  async fork({ source, sourceId, boundary, id, cwd, header }: StoredFork): Promise<void> {
    const key = keyOf(id, cwd);
    const location = this.#locationOf(key);
    await this.#writing(id, location, async (transaction) => {
      const sessions = transaction.objectStore('sessions');
      const parent = await sessions.get(this.#keyIn(source));
      if (!parent) throw this.#gone(sourceId, this.#keyIn(source));
      refuseBoundary(sourceId, boundary, parent.next);
      const last = boundary ?? parent.next - 1;
      const parts = partsOf(parent);
      const at = parts.findIndex(({ from, to }) => from <= last && last < to);
      const line = parts[at] && (await transaction.objectStore('events').get([parts[at].log, last]));
      refuseOpenTurn(sourceId, last, line !== undefined && isTurnEnd(line));
      if (await sessions.getKey(key)) throw collision(id, location);
      const own = await freeLog(transaction, key);
      const logs = [...parent.logs.slice(0, at + 1), own];
      const ends = at < 0 ? [] : [...parent.ends.slice(0, at), last + 1];
      const [line1 = ''] = linesOf([header(last + 1)]);
      await sessions.add({ header: line1, next: last + 1, logs, ends }, key);
    });
  }

  async delete({ id, location }: LogName & { readonly location: string }): Promise<void> {
    await this.#writing(id, location, async (transaction) => {
      const sessions = transaction.objectStore('sessions');
      const events = transaction.objectStore('events');
      const key = this.#keyIn(location);
      const { logs = [] } = (await sessions.get(key)) ?? {};
      const users = await Promise.all(logs.map((log) => usersOf(transaction, log)));
      const deletions = [sessions.delete(key)];
      for (const [at, log] of logs.entries()) {
        // What others have inherited stays; the last of them takes it along.
        let kept = 0;
        for (const [other, user] of users[at] ?? []) {
          if (other !== key) kept = Math.max(kept, user.ends[user.logs.indexOf(log)] ?? Infinity);
        }
        if (kept < Infinity) deletions.push(events.delete(eventKeys(log, kept)));
      }
      await Promise.all(deletions);
    });
  }

  async persist(): Promise<boolean> {
    return (await storageManager()?.persist?.()) ?? false;
  }

  async estimate(): Promise<StorageSpace> {
    return (await storageManager()?.estimate?.()) ?? {};
  }

  async close(): Promise<void> {
    this.#connection.close();
    this.#channel?.close();
    this.#channel = undefined;
  }

  // ---------------------------------------------------------------------------------------------------------- parts

  async #reading<T>(id: SessionId, task: (transaction: Reading) => Promise<T>): Promise<T> {
    try {
      return await this.#connection.read(task);
    } catch (error) {
      throw storageError(error, id, this.#name);
    }
  }

  async #writing<T>(id: SessionId, location: string, task: (transaction: Writing) => Promise<T>): Promise<T> {
    try {
      const result = await this.#connection.write(task);
      this.#channel ??= this.#newChannel();
      this.#channel?.postMessage(location);
      return result;
    } catch (error) {
      throw isFull(error) ? full(error, id, location) : storageError(error, id, location);
    }
  }

  #newChannel(): BroadcastChannel | undefined {
    return typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel(`palimpsest:${this.#name}`);
  }

  #gone(id: SessionId, key: string): PalimpsestError {
    const path = this.#locationOf(key);
    return new PalimpsestError('SESSION_NOT_FOUND', `${named(id)} is stored no more (${path})`, { session: id, path });
  }

  #locationOf(key: string): string {
    return `${this.#name}#${key}`;
  }

  #keyIn(location: string): string {
    return location.slice(this.#name.length + 1);
  }
}

/** Appends to the log where its writer left it. @returns seq of the next event */
async function append(transaction: Writing, key: string, location: string, batch: EventBatch): Promise<number> {
  const { id, position, header, count, retry } = batch;
  const [headerLine = ''] = linesOf([header]);
  const sessions = transaction.objectStore('sessions');
  const events = transaction.objectStore('events');
  const known = await sessions.get(key);
  if (position && !known) throw conflict(id, location, 'the session is there no more');
  // What a failed attempt has left after all is this very session.
  if (!position && known && !(retry && known.header === headerLine)) throw collision(id, location);
  const record = known ?? { header: headerLine, next: 0, logs: [await freeLog(transaction, key)], ends: [] };
  const start = position?.seq ?? 0;
  const lines = linesOf(batch.lines);
  let seq = start;
  if (record.next !== start) seq = await settle(transaction, record, lines, batch, location);
  const log = record.logs.at(-1) ?? key;
  // Left by a tab that ended before its record was written: never acknowledged, and no part of the session.
  await events.delete(eventKeys(log, seq));
  for (let adds: Promise<unknown>[] = []; ; adds = []) {
    for (let line = lines.next(); !line.done; line = lines.next()) {
      // Never `put`: an event that is there is never replaced.
      adds.push(events.add(line.value, [log, seq++]));
      if (adds.length === PAGE) break;
    }
    await Promise.all(adds);
    if (adds.length < PAGE) break;
  }
  if (seq !== start + count) throw new Error(`${seq - start} lines came for ${count} events`);
  await sessions.put({ ...record, next: seq }, key);
  return seq;
}

/**
 * Deals with what stands after the position: the torn record that the reader saw goes; what a failed attempt of this very
 * batch has left is taken as it is. @returns seq of the next event to add
 */
async function settle(transaction: Writing, record: SessionRecord, lines: Iterator<string>, { id, position, retry }: EventBatch, location: string): Promise<number> {
  const start = position?.seq ?? 0;
  const { log, from } = partsOf(record).at(-1) ?? { log: '', from: 0 };
  const events = transaction.objectStore('events');
  if (start >= from && record.next > start) {
    const found = await events.getAll(eventKeys(log, start, record.next));
    if (found.length === 1 && position && position.torn > 0 && bytesOf(found).length === position.torn) {
      await events.delete([log, start]);
      return start;
    }
    if (retry && found.length === record.next - start && found.every((line) => lines.next().value === line)) return record.next;
  }
  throw position ? conflict(id, location, `it holds ${record.next} events, not ${start}`) : collision(id, location);
}

/** The sessions that have events in a log, by their keys. */
async function usersOf(transaction: Writing, log: string): Promise<(readonly [key: string, record: SessionRecord])[]> {
  const index = transaction.objectStore('sessions').index('by-log');
  const [keys, records] = await Promise.all([index.getAllKeys(log), index.getAll(log)]);
  return keys.flatMap((key, at) => (records[at] ? [[key, records[at]] as const] : []));
}

/** A name for a new log: the session's, unless a deleted session of that name has left events to its forks. */
async function freeLog(transaction: Writing, key: string): Promise<string> {
  const logs = transaction.objectStore('sessions').index('by-log');
  let name = key;
  for (let n = 2; (await logs.getKey(name)) !== undefined; n++) name = `${key}#${n}`;
  return name;
}

function isTurnEnd(line: string): boolean {
  return (JSON.parse(line) as { type?: unknown }).type === 'turn/end';
}

function isFull(error: unknown): boolean {
  return (error as { name?: unknown }).name === 'QuotaExceededError';
}

function full(error: unknown, id: SessionId, location: string): PalimpsestError {
  const message = `${named(id)} could not be stored (${location}), the browser gives this site no more space: delete some of its data, then flush again`;
  return new PalimpsestError('STORAGE_FAILED', message, { session: id, path: location, cause: error });
}

/** Missing in old browsers, and on pages that are not served securely. */
function storageManager(): { persist?: () => Promise<boolean>; estimate?: () => Promise<StorageSpace> } | undefined {
  const { navigator } = globalThis as { navigator?: { readonly storage?: { persist?: () => Promise<boolean>; estimate?: () => Promise<StorageSpace> } } };
  return navigator?.storage;
}
