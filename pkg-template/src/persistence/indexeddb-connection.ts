/**
 * One connection to a database: opened when it is needed, and opened again when it is lost.
 *
 * It never stands in the way of another tab that wants to upgrade or delete the database, and never waits without end for
 * one that stands in its own.
 */

import { openDB } from 'idb';
import { PalimpsestError } from '../errors.js';
import { messageOf } from '../wording.js';
import { type Database, LAYOUT, type Layout, type Reading, STORES, type Writing, checkStores, makeStores } from './indexeddb-layout.js';
import type { Timers } from './timers.js';

export interface ConnectionOptions {
  readonly name: string;
  readonly openTimeout: number;
  readonly timers: Timers;
}

export class Connection {
  readonly #options: ConnectionOptions;
  #opening: Promise<Database> | undefined;
  #database: Database | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Runs `task` in a transaction that only reads. What fails is tried once more: some browsers abort reads at random. */
  async read<T>(task: (transaction: Reading) => Promise<T>): Promise<T> {
    const run = async (): Promise<T> => {
      const transaction = await this.#begin((database) => database.transaction(STORES));
      return this.#finish(transaction, task);
    };
    try {
      return await run();
    } catch (error) {
      if (error instanceof PalimpsestError) throw error;
      return run();
    }
  }

  /** Runs `task` in a transaction that is durable once this resolves. What `task` throws undoes everything. */
  async write<T>(task: (transaction: Writing) => Promise<T>): Promise<T> {
    const transaction = await this.#begin((database) => database.transaction(STORES, 'readwrite', { durability: 'strict' }));
    return this.#finish(transaction, task);
  }

  /** Transactions under way still end. */
  close(): void {
    this.#giveUp(this.#opening);
  }

  /** A connection that cannot begin a transaction is dead: a fresh one is tried, once. */
  async #begin<T>(begin: (database: Database) => T): Promise<T> {
    const database = await this.#ready();
    try {
      return begin(database);
    } catch {
      this.#lose(database);
      return begin(await this.#ready());
    }
  }

  async #finish<Transaction extends Reading | Writing, T>(transaction: Transaction, task: (transaction: Transaction) => Promise<T>): Promise<T> {
    try {
      const [result] = await Promise.all([task(transaction), transaction.done]);
      return result;
    } catch (error) {
      abort(transaction);
      await transaction.done.catch(() => undefined);
      if (error instanceof PalimpsestError) throw error;
      // A request only says that it was aborted; the transaction says why.
      const cause = transaction.error ?? error;
      if (isLost(cause)) this.#lose(transaction.db);
      throw cause;
    }
  }

  async #ready(): Promise<Database> {
    return this.#database ?? this.#bounded(this.#opening ?? this.#open());
  }

  /** The request stays: a connection that comes too late for one caller serves the next. */
  async #bounded(opening: Promise<Database>): Promise<Database> {
    const { name, openTimeout, timers } = this.#options;
    let timer: unknown;
    const late = new Promise<never>((_resolve, reject) => {
      timer = timers.setTimeout(() => {
        const why = 'another tab keeps it at another version, or is about to change it';
        reject(new PalimpsestError('STORAGE_FAILED', `The database "${name}" did not open within ${openTimeout} ms, ${why}: close other tabs of this site and try again`, { path: name }));
      }, openTimeout);
    });
    try {
      return await Promise.race([opening, late]);
    } finally {
      timers.clearTimeout(timer);
    }
  }

  #open(): Promise<Database> {
    const opening: Promise<Database> = this.#request(() => {
      this.#giveUp(opening);
    });
    this.#opening = opening;
    opening.then(
      (database) => {
        if (this.#opening === opening) this.#database = database;
        else database.close();
      },
      () => {
        if (this.#opening === opening) this.#opening = undefined;
      },
    );
    return opening;
  }

  async #request(gone: () => void): Promise<Database> {
    const { name } = this.#options;
    try {
      const database = await openDB<Layout>(name, LAYOUT, {
        upgrade: makeStores,
        // Another tab wants to change the database, and has to wait for as long as this connection is open.
        blocking: gone,
        terminated: gone,
      });
      checkStores(database);
      return database;
    } catch (error) {
      throw refusalOf(error, name);
    }
  }

  #lose(database: Database): void {
    if (this.#database === database) this.close();
  }

  #giveUp(opening: Promise<Database> | undefined): void {
    if (!opening || this.#opening !== opening) return;
    this.#database?.close();
    this.#opening = this.#database = undefined;
  }
}

function abort(transaction: Reading | Writing): void {
  try {
    transaction.abort();
  } catch {
    // It has ended already.
  }
}

/** True when the connection, or the process behind it, is gone. */
function isLost(error: unknown): boolean {
  return error instanceof DOMException && (error.name === 'InvalidStateError' || error.name === 'UnknownError');
}

function refusalOf(error: unknown, name: string): PalimpsestError {
  if (error instanceof PalimpsestError) return error;
  if (error instanceof DOMException && error.name === 'VersionError') {
    const message = `The database "${name}" was changed by a newer version of this page and cannot be read by this one: reload the page`;
    return new PalimpsestError('UNSUPPORTED_VERSION', message, { path: name, cause: error });
  }
  const message = `This page cannot store anything (database "${name}": ${messageOf(error)}), as in some private windows: try again, or use memory() of palimpsest/memory and say that nothing is saved`;
  return new PalimpsestError('STORAGE_FAILED', message, { path: name, cause: error });
}
