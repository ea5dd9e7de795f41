/**
 * Sessions in an SQLite database, for Node: by `better-sqlite3`, or by `node:sqlite` where Node has it.
 *
 * Tables and columns are in sqlite-layout.ts. A batch is one transaction, which finds the log where its writer left it or
 * changes nothing. A fork refers to its parent's rows; when the parent is deleted, they go to a child.
 */

import { type FSWatcher, watch } from 'node:fs';
import * as nodeFs from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { PalimpsestError } from '../errors.js';
import type { SessionHeader, SessionId } from '../events.js';
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
import { decode, linesOf } from './bytes.js';
import { ambiguous, collision, conflict, refuseBoundary, refuseOpenTurn, storageError } from './faults.js';
import { LockFiles } from './lock-files.js';
import { Connection, type JournalMode } from './sqlite-connection.js';
import { type SqlDriver, type SqlDriverName, sqlDriver } from './sqlite-driver.js';
import { placeOf } from './sqlite-layout.js';
import { type EventRow, lineOf, rowOf } from './sqlite-lines.js';

export { attach } from './coordinator.js';
export type { JournalMode } from './sqlite-connection.js';
export type { SqlDatabase, SqlDriver, SqlDriverName, SqlStatement, SqlValue } from './sqlite-driver.js';

/** Where to keep the sessions, and how. */
export interface SqliteOptions {
  /** The database file, made with the first write; `:memory:` for none. */
  readonly file: string;
  /** The library; `better-sqlite3` where it is installed, else `node:sqlite`, when absent. */
  readonly driver?: SqlDriverName | SqlDriver | undefined;
  /** `wal` when absent. Choose `delete` for a file system that cannot share memory between processes. */
  readonly journalMode?: JournalMode | undefined;
  /** Milliseconds to wait while other processes write; 10,000 when absent. The program goes on meanwhile. */
  readonly busyTimeout?: number | undefined;
}

/**
 * Storage in one SQLite database.
 * @throws PalimpsestError `UNSUPPORTED_VERSION` for a file of any other layout, which is left as it was;
 *   `STORAGE_FAILED` when no SQLite library can be loaded
 */
export function sqlite(options: SqliteOptions | string): StorageBackend {
  return new SqliteBackend(typeof options === 'string' ? { file: options } : options);
}

interface SessionRow {
  readonly session_id: string;
  readonly header: string;
  readonly prefix_id: string | null;
  readonly prefix_length: number;
}

/** Events that a session has from one place. */
interface Segment {
  readonly key: string;
  readonly from: number;
  readonly to: number;
}

// Where the last segment ends: it has all that comes.
const END = Number.MAX_SAFE_INTEGER;
const PAGE = 128;
const LIST_PAGE = 500;
const SESSION = 'session_id, header, prefix_id, prefix_length';
// `time` may be beyond what a number of JavaScript holds; it is in the line then.
const EVENT = 'seq, type, CASE WHEN line IS NULL THEN time END AS time, data, source_event_seqs, surface_op, line';
const encoder = new TextEncoder();

class SqliteBackend implements StorageBackend {
  readonly #file: string;
  readonly #sql: Connection;
  readonly #locks: LockFiles | undefined;
  readonly #watchers = new Set<() => void>();

  constructor({ file, driver, journalMode = 'wal', busyTimeout = 10_000 }: SqliteOptions) {
    const isFile = file !== ':memory:';
    // Fixed now: the process may change its directory later.
    this.#file = isFile ? placeOf(resolve(file)) : file;
    this.#sql = new Connection({
      file: this.#file,
      driver: typeof driver === 'function' ? driver : sqlDriver(driver),
      journalMode,
      busyTimeout,
    });
    this.#locks = isFile ? new LockFiles(nodeFs, `${this.#file}.writers`) : undefined;
  }

  // -------------------------------------------------------------------------------------------------------- reading

  async loadStored({ id, cwd }: StoredQuery): Promise<StoredLog | undefined> {
    const found = this.#sql.read(() => this.#find(id, cwd)) ?? [];
    const [row] = found;
    if (found.length > 1) throw ambiguous(id, found.map((each) => this.#locationOf(each.session_id)));
    return row && { location: this.#locationOf(row.session_id), chunks: this.#chunks(row) };
  }

  *#chunks(row: SessionRow): Generator<Uint8Array> {
    yield encoder.encode(row.header);
    yield* this.#events(row.session_id, 0);
  }

  *loadTail(location: string, { seq }: StoredPosition): Generator<Uint8Array> {
    yield* this.#events(this.#keyIn(location), seq);
  }

  *#events(key: string, from: number): Generator<Uint8Array> {
    let segment: Segment | undefined;
    for (let at = from; ; ) {
      const known = segment !== undefined && at < segment.to ? segment : undefined;
      const { key: holder, to } = (segment = known ?? this.#segmentAt(key, at));
      // Pages, not a cursor: between two of them others use the connection.
      const rows = this.#sql.read(() => this.#rows(holder, at, to, PAGE)) ?? [];
      const last = rows.at(-1);
      if (last) {
        yield encoder.encode(rows.map((row) => `${lineOf(row)}\n`).join(''));
        at = last.seq + 1;
      } else if (known) {
        // Whoever had the rows may have been deleted meanwhile, and left them to another.
        segment = undefined;
      } else if (to === END) {
        return;
      } else {
        throw this.#incomplete(key, at);
      }
    }
  }

  #segmentAt(key: string, seq: number): Segment {
    const segment = this.#sql.read(() => this.#segments(key))?.find(({ to }) => seq < to);
    if (!segment) throw new PalimpsestError('SESSION_NOT_FOUND', `${this.#locationOf(key)} is no more`, { path: this.#file });
    return segment;
  }

  #incomplete(key: string, seq: number): PalimpsestError {
    const path = this.#locationOf(key);
    return new PalimpsestError('CORRUPT_LOG', `${path}, seq ${seq}: the rows that it shares with its parent are not there; nothing was changed, recover them from a copy`, { path, seq });
  }

  async *list(): AsyncGenerator<StoredHeader> {
    for (let after = ''; ; ) {
      const rows = (this.#sql.read(() => this.#sql.all(`SELECT ${SESSION} FROM sessions WHERE session_id > ? ORDER BY session_id LIMIT ${LIST_PAGE}`, after)) ?? []) as SessionRow[];
      for (const row of rows) yield { location: this.#locationOf(row.session_id), head: encoder.encode(row.header) };
      if (rows.length < LIST_PAGE) return;
      after = rows.at(-1)?.session_id ?? after;
    }
  }

  watch(_location: string, changed: () => void): () => void {
    const own = (): void => {
      changed();
    };
    this.#watchers.add(own);
    const name = basename(this.#file);
    let watcher: FSWatcher | undefined;
    try {
      // What others write is seen by the files that SQLite writes to.
      if (this.#locks) {
        watcher = watch(dirname(this.#file), { persistent: false }, (_event, file) => {
          if (file?.startsWith(name) !== false) changed();
        });
      }
      watcher?.on('error', () => watcher?.close());
    } catch {
      // What cannot be watched is looked at from time to time.
    }
    return () => {
      this.#watchers.delete(own);
      watcher?.close();
    };
  }

  // -------------------------------------------------------------------------------------------------------- writing

  async lock({ id, cwd, location }: LogName): Promise<SessionLock | undefined> {
    const key = location === undefined ? JSON.stringify([id, cwd ?? null]) : this.#nameOf(this.#keyIn(location));
    try {
      return await this.#locks?.take(id, key, this.#file);
    } catch (error) {
      throw storageError(error, id, this.#file);
    }
  }

  async appendBatch(batch: EventBatch): Promise<StoredPosition> {
    const seq = await this.#write(batch.id, () => this.#append(batch));
    return { seq, bytes: 0, torn: 0 };
  }

  commitRepair(batch: EventBatch): Promise<StoredPosition> {
    return this.appendBatch(batch);
  }

  async fork({ source, sourceId, boundary, id, cwd, header }: StoredFork): Promise<void> {
    await this.#write(id, () => {
      const parent = this.#session(this.#keyIn(source));
      if (!parent) throw new PalimpsestError('SESSION_NOT_FOUND', `${source} is no more`, { session: sourceId, path: source });
      const next = this.#next(parent);
      refuseBoundary(sourceId, boundary, next);
      const last = boundary ?? next - 1;
      const segment = this.#segments(parent.session_id).find(({ from, to }) => from <= last && last < to);
      const row = segment && (this.#sql.get('SELECT type FROM events WHERE session_id = ? AND seq = ?', segment.key, last) as { type: string } | undefined);
      refuseOpenTurn(sourceId, last, row?.type === 'turn/end');
      const [known] = this.#find(id, cwd ?? null);
      if (known) throw collision(id, this.#locationOf(known.session_id));
      // The rows may be those of the parent's own parent.
      const from = last < parent.prefix_length ? parent.prefix_id : parent.session_id;
      this.#insertSession(id, cwd, header(last + 1), last < 0 ? null : from, last + 1);
    });
  }

  async delete({ id, location }: LogName & { readonly location: string }): Promise<void> {
    await this.#write(id, () => {
      const row = this.#session(this.#keyIn(location));
      if (!row) return;
      this.#bequeath(row);
      this.#sql.run('DELETE FROM events WHERE session_id = ?', row.session_id);
      this.#sql.run('DELETE FROM sessions WHERE session_id = ?', row.session_id);
    });
  }

  async close(): Promise<void> {
    try {
      this.#sql.close();
    } finally {
      await this.#locks?.close();
    }
  }

  async #write<T>(id: SessionId, task: () => T): Promise<T> {
    let result;
    try {
      result = await this.#sql.write(task);
    } catch (error) {
      throw storageError(error, id, this.#file);
    }
    for (const changed of this.#watchers) changed();
    return result;
  }

  #append({ id, cwd, location, position, header, count, lines, retry }: EventBatch): number {
    const row = location === undefined ? this.#find(id, cwd ?? null)[0] : this.#session(this.#keyIn(location));
    const start = position?.seq ?? 0;
    const where = row ? this.#locationOf(row.session_id) : this.#file;
    if (position && !row) throw conflict(id, where, 'the session is there no more');
    // What a failed attempt has left after all is this very session.
    if (!position && row && !(retry && row.header === decode(header))) throw collision(id, where);
    const key = row?.session_id ?? this.#insertSession(id, cwd, header, null, 0);
    if (row && this.#next(row) !== start) this.#clear(row, start, position, { lines, retry, id, where });
    let seq = start;
    for (const line of linesOf(lines)) {
      const { type, time, data, source_event_seqs, surface_op, line: odd } = rowOf(line, seq);
      this.#sql.run('INSERT INTO events (session_id, seq, type, time, data, source_event_seqs, surface_op, line) VALUES (?, ?, ?, ?, ?, ?, ?, ?)', key, seq, type, time, data, source_event_seqs, surface_op, odd);
      seq++;
    }
    if (seq !== start + count) throw new Error(`${seq - start} lines came for ${count} events`);
    return seq;
  }

  /** Removes what stands after `start`: the torn record that the reader saw, or what a failed attempt of ours left. */
  #clear(row: SessionRow, start: number, position: StoredPosition | undefined, { lines, retry, id, where }: Pick<EventBatch, 'lines' | 'retry' | 'id'> & { where: string }): void {
    const next = this.#next(row);
    const found = this.#rows(row.session_id, start, next, -1);
    const first = found[0] && lineOf(found[0]);
    const isTorn = found.length === 1 && position !== undefined && position.torn > 0 && encoder.encode(`${first}\n`).length === position.torn;
    if (!isTorn && !(retry && start >= row.prefix_length && found.length === next - start && isBeginning(found, linesOf(lines)))) {
      throw position ? conflict(id, where, `it holds ${next} events, not ${start}`) : collision(id, where);
    }
    this.#sql.run('DELETE FROM events WHERE session_id = ? AND seq >= ?', row.session_id, start);
  }

  /** Before a session goes: what others have inherited from it goes to the one that needs most of it. */
  #bequeath({ session_id: key, prefix_id, prefix_length }: SessionRow): void {
    const children = this.#sql.all(`SELECT ${SESSION} FROM sessions WHERE prefix_id = ? ORDER BY prefix_length DESC`, key) as SessionRow[];
    const heir = children.find((child) => child.prefix_length > prefix_length);
    for (const child of children) {
      const isOlder = child.prefix_length <= prefix_length;
      if (child === heir || !heir || isOlder) continue;
      this.#sql.run('UPDATE sessions SET prefix_id = ? WHERE session_id = ?', heir.session_id, child.session_id);
    }
    for (const child of children.filter((each) => each.prefix_length <= prefix_length)) {
      this.#sql.run('UPDATE sessions SET prefix_id = ? WHERE session_id = ?', prefix_id, child.session_id);
    }
    if (!heir) return;
    this.#sql.run('UPDATE events SET session_id = ? WHERE session_id = ? AND seq < ?', heir.session_id, key, heir.prefix_length);
    this.#sql.run('UPDATE sessions SET prefix_id = ?, prefix_length = ? WHERE session_id = ?', prefix_id, prefix_length, heir.session_id);
  }

  // --------------------------------------------------------------------------------------------------------- tables

  #find(id: SessionId, cwd: string | null | undefined): SessionRow[] {
    const where = cwd === undefined ? '' : ' AND cwd IS ?';
    return this.#sql.all(`SELECT ${SESSION} FROM sessions WHERE id = ?${where}`, keyOf(id), ...(cwd === undefined ? [] : [cwd === null ? null : keyOf(cwd)])) as SessionRow[];
  }

  #session(key: string): SessionRow | undefined {
    return this.#sql.get(`SELECT ${SESSION} FROM sessions WHERE session_id = ?`, key) as SessionRow | undefined;
  }

  /** Seq of the next event. */
  #next({ session_id, prefix_length }: SessionRow): number {
    const { last } = this.#sql.get('SELECT max(seq) AS last FROM events WHERE session_id = ?', session_id) as { last: number | null };
    return last === null ? prefix_length : last + 1;
  }

  #rows(key: string, from: number, to: number, limit: number): EventRow[] {
    return this.#sql.all(`SELECT ${EVENT} FROM events WHERE session_id = ? AND seq >= ? AND seq < ? ORDER BY seq LIMIT ?`, key, from, to, limit) as EventRow[];
  }

  /**
   * Where a session's events are, in order; none when there is no such session.
   * @throws PalimpsestError `CORRUPT_LOG` when what it has inherited is nowhere
   */
  #segments(key: string): Segment[] {
    const segments: Segment[] = [];
    const seen = new Set<string>();
    for (let row = this.#session(key), to = END; row; ) {
      if (row.prefix_length < to) segments.unshift({ key: row.session_id, from: row.prefix_length, to });
      to = Math.min(to, row.prefix_length);
      if (to <= 0) break;
      seen.add(row.session_id);
      row = row.prefix_id === null || seen.has(row.prefix_id) ? undefined : this.#session(row.prefix_id);
      // Other programs do not keep the foreign keys.
      if (!row) throw this.#incomplete(key, 0);
    }
    return segments;
  }

  #insertSession(id: SessionId, cwd: string | undefined, header: Uint8Array, prefix: string | null, prefixLength: number): string {
    const text = decode(header);
    const { version, createdAt, parentSession, seedLength } = JSON.parse(text) as SessionHeader;
    const plain = keyOf(id);
    // Of sessions of one id in several working directories, the first has the id as its key.
    const key = this.#session(plain) ? JSON.stringify([id, cwd ?? null]) : plain;
    this.#sql.run(
      'INSERT INTO sessions (session_id, id, cwd, version, created_at, parent_session, seed_length, header, prefix_id, prefix_length) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      key,
      plain,
      cwd === undefined ? null : keyOf(cwd),
      version,
      createdAt,
      parentSession === undefined ? null : keyOf(parentSession),
      seedLength ?? null,
      text,
      prefix,
      prefixLength,
    );
    return key;
  }

  /** The session's name for locks: the same before it is stored and after. */
  #nameOf(key: string): string {
    const row = this.#sql.read(() => this.#session(key));
    const { id, cwd } = JSON.parse(row?.header ?? '{}') as Partial<SessionHeader>;
    return JSON.stringify([id, cwd ?? null]);
  }

  #locationOf(key: string): string {
    return `${this.#file}#${key}`;
  }

  #keyIn(location: string): string {
    return location.slice(this.#file.length + 1);
  }
}

/**
 * A string as it can be kept in a column: as it is, or as JSON where UTF-8 or a C string would lose some of it. What looks
 * like JSON is JSON, so that no two strings share a key.
 */
function keyOf(text: string): string {
  // eslint-disable-next-line no-control-regex
  return /^["[]|\u0000|\p{Surrogate}/u.test(text) || text === '' ? JSON.stringify(text) : text;
}

function isBeginning(rows: readonly EventRow[], lines: Iterator<string>): boolean {
  return rows.every((row) => lines.next().value === lineOf(row));
}
