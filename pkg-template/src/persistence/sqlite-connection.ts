/** One connection to a database file: opened when it is needed, given up when it cannot be trusted, opened again. */

import { type BigIntStats, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { PalimpsestError } from '../errors.js';
import type { SqlDatabase, SqlDriver, SqlStatement, SqlValue } from './sqlite-driver.js';
import { checkDatabase, checkFile, checkOpen, makeTables } from './sqlite-layout.js';

/** How SQLite keeps its journal. */
export type JournalMode = 'wal' | 'delete' | 'truncate' | 'persist';

export interface ConnectionOptions {
  readonly file: string;
  readonly driver: SqlDriver;
  readonly journalMode: JournalMode;
  readonly busyTimeout: number;
}

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #isFile: boolean;
  #database: SqlDatabase | undefined;
  /** The file that is open. */
  #opened: BigIntStats | undefined;
  #hasTables = false;
  #closed = false;
  readonly #statements = new Map<string, SqlStatement>();

  constructor(options: ConnectionOptions) {
    // Before anything else that may have to wait for another process.
    const driver: SqlDriver = (file, access) => {
      const database = options.driver(file, access);
      database.exec(`PRAGMA busy_timeout = ${options.busyTimeout}`);
      return database;
    };
    this.#options = { ...options, driver };
    this.#isFile = options.file !== ':memory:';
    if (this.#isFile) checkFile(options.file);
  }

  /** Runs `task` unless nothing is stored yet. */
  read<T>(task: () => T): T | undefined {
    this.#letGoOfMoved();
    if (!this.#database && (!this.#isFile || !checkFile(this.#options.file))) return undefined;
    return this.#trying(() => {
      const database = this.#open();
      this.#hasTables ||= checkOpen(database, this.#options.file);
      return this.#hasTables ? task() : undefined;
    });
  }

  /**
   * Runs `task` in a transaction that is durable when it returns. What it throws undoes everything. While another process
   * writes, this one does other things, and comes back at random: SQLite's own waiting would stop the whole program, and
   * lets those who have come last go first.
   */
  async write<T>(task: () => T): Promise<T> {
    for (const end = Date.now() + this.#options.busyTimeout; ; ) {
      try {
        return this.#transaction(task);
      } catch (error) {
        if (!isBusy(error) || Date.now() >= end) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 15));
    }
  }

  #transaction<T>(task: () => T): T {
    this.#letGoOfMoved();
    return this.#trying(() => {
      const database = this.#open();
      this.get('PRAGMA busy_timeout = 5');
      try {
        if (!this.#hasTables) makeTables(database, this.#options.file);
        this.#hasTables = true;
        this.prepared('BEGIN IMMEDIATE').run();
      } finally {
        this.get(`PRAGMA busy_timeout = ${this.#options.busyTimeout}`);
      }
      try {
        const result = task();
        this.prepared('COMMIT').run();
        return result;
      } catch (error) {
        this.#rollBack();
        throw error;
      }
    });
  }

  get(sql: string, ...values: SqlValue[]): unknown {
    return this.prepared(sql).get(...values) ?? undefined;
  }

  all(sql: string, ...values: SqlValue[]): unknown[] {
    return this.prepared(sql).all(...values);
  }

  run(sql: string, ...values: SqlValue[]): void {
    this.prepared(sql).run(...values);
  }

  prepared(sql: string): SqlStatement {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#open().prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  close(): void {
    this.#closed = true;
    this.#drop();
  }

  #open(): SqlDatabase {
    if (this.#database) return this.#database;
    if (this.#closed) throw new PalimpsestError('CLOSED', `${this.#options.file} was closed: make a new backend`);
    const { file, driver } = this.#options;
    if (this.#isFile) {
      mkdirSync(dirname(file), { recursive: true });
      checkDatabase(driver, file);
    }
    const database = driver(file, { readonly: false });
    try {
      this.#hasTables = checkOpen(database, file);
      database.exec('PRAGMA foreign_keys = ON');
      // A commit returns when the disk has it; on a Mac only so.
      database.exec('PRAGMA synchronous = FULL');
      database.exec('PRAGMA fullfsync = ON');
      this.#chooseJournal(database);
    } catch (error) {
      database.close();
      throw error;
    }
    this.#database = database;
    this.#opened = this.#stat();
    return database;
  }

  /** What is written to a file that was deleted or replaced goes with this process: the one of that name counts. */
  #letGoOfMoved(): void {
    if (!this.#database || !this.#isFile) return;
    const now = this.#stat();
    if (now?.ino !== this.#opened?.ino || now?.dev !== this.#opened?.dev) this.#giveUp();
  }

  #stat(): BigIntStats | undefined {
    return this.#isFile ? statSync(this.#options.file, { bigint: true, throwIfNoEntry: false }) : undefined;
  }

  /** Every mode is as durable as the others: where another process keeps the file busy, the one it has will do. */
  #chooseJournal(database: SqlDatabase): void {
    const { journalMode } = this.#options;
    const current = database.prepare('PRAGMA journal_mode').get() as { journal_mode: string };
    if (current.journal_mode === journalMode || !this.#isFile) return;
    try {
      database.exec(`PRAGMA journal_mode = ${journalMode}`);
    } catch (error) {
      if (!isBusy(error) && !/readonly/i.test(String(error))) throw error;
    }
  }

  /** A connection that cannot even undo is given up; the next call opens another. */
  #rollBack(): void {
    try {
      this.prepared('ROLLBACK').run();
    } catch {
      this.#giveUp();
    }
  }

  #trying<T>(task: () => T): T {
    try {
      return task();
    } catch (error) {
      // After an error of the disk nothing that the connection remembers can be trusted.
      if (/IOERR|CORRUPT|NOTADB|disk I\/O|not open/i.test(`${String((error as { code?: unknown }).code)} ${String(error)}`)) this.#giveUp();
      throw error;
    }
  }

  #giveUp(): void {
    // A database in memory has nothing to come back to.
    if (!this.#isFile) return;
    try {
      this.#drop();
    } catch {
      // Gone as it is.
    }
  }

  #drop(): void {
    const database = this.#database;
    this.#statements.clear();
    this.#database = undefined;
    this.#hasTables = false;
    database?.close();
  }
}

/** True when another connection has what is wanted. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && /database (table )?is locked|SQLITE_BUSY/.test(`${String((error as { code?: unknown }).code)} ${error.message}`);
}
