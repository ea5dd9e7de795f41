/**
 * Sessions as JSONL files, for Node and whatever else has `node:fs`.
 *
 * `<root>/cwd-<first 12 hex digits of sha256(cwd)>/<id>.jsonl`, or `<root>/_no-cwd/<id>.jsonl`, ids as `encodeSegment`
 * writes them. A directory that can only be read can be listed and read; nothing is written before there is something
 * to append or to repair.
 */

import { createHash } from 'node:crypto';
import { watch } from 'node:fs';
import * as nodeFs from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { need, needObject } from '../arguments.js';
import { PalimpsestError } from '../errors.js';
import type { SessionId } from '../events.js';
import type {
  EventBatch,
  LogName,
  SessionLock,
  StorageBackend,
  StoredHeader,
  StoredLog,
  StoredPosition,
  StoredQuery,
} from './backend.js';
import { ambiguous, storageError } from './faults.js';
import { type JsonlFs, LogFiles, hasCode } from './jsonl-files.js';
import { LockFiles } from './lock-files.js';
import { Gate, KeyedQueue } from './queues.js';
import { encodeSegment } from './segments.js';
import { type Timers, hostTimers } from './timers.js';

export { attach } from './coordinator.js';
export { openFile } from './open-file.js';
export type { JsonlFile, JsonlFs } from './jsonl-files.js';

/** Where to keep the files. */
export interface JsonlOptions {
  /** Directory that holds them all; made with the first write. */
  readonly root: string;
  /** File operations to use in place of `node:fs/promises`. */
  readonly fs?: JsonlFs | undefined;
  /** Timers to use in place of the host's, for what the file system refuses for a moment. */
  readonly timers?: Timers | undefined;
}

/** Storage in JSONL files under a directory. @throws PalimpsestError `INVALID_ARGUMENT` */
export function jsonl(options: JsonlOptions | string): StorageBackend {
  const given = typeof options === 'string' ? { root: options } : options;
  needObject('options', given, 'a directory, or an object with one as root');
  need(typeof given.root === 'string' && given.root !== '', 'root', given.root, 'a directory');
  return new JsonlBackend(given);
}

const NO_CWD = '_no-cwd';
const SUFFIX = '.jsonl';
const WRITERS = '.writers';

// Two backends of one process may look at one file: their operations on it take turns, whoever made them.
const turns = new KeyedQueue();

// A store can have more sessions than a process may open files.
const OPEN_FILES = 64;

class JsonlBackend implements StorageBackend {
  readonly #root: string;
  readonly #fs: JsonlFs;
  readonly #files: LogFiles;
  readonly #locks: LockFiles;
  readonly #gate = new Gate(OPEN_FILES);

  constructor({ root, fs = nodeFs, timers = hostTimers }: JsonlOptions) {
    // Fixed now: the process may change its directory later.
    this.#root = resolve(root);
    this.#fs = fs;
    this.#files = new LogFiles(fs, this.#root, timers);
    this.#locks = new LockFiles(fs, join(this.#root, WRITERS));
  }

  async loadStored({ id, cwd }: StoredQuery): Promise<StoredLog | undefined> {
    const name = encodeSegment(id) + SUFFIX;
    const directories = cwd === undefined ? await this.#directories() : [directoryOf(cwd)];
    const paths = directories.map((directory) => join(this.#root, directory, name));
    const found = [];
    for (const path of paths) if (await this.#gate.run(() => this.#files.exists(path))) found.push(path);
    if (found.length > 1) throw ambiguous(id, found);
    return found[0] === undefined ? undefined : { location: found[0], chunks: this.#chunks(id, found[0]) };
  }

  async *#chunks(id: SessionId, path: string): AsyncGenerator<Uint8Array> {
    const leave = await this.#gate.enter();
    try {
      yield* this.#files.read(path);
    } catch (error) {
      throw storageError(error, id, path);
    } finally {
      leave();
    }
  }

  async *loadTail(location: string, { bytes }: StoredPosition): AsyncGenerator<Uint8Array> {
    const leave = await this.#gate.enter();
    try {
      yield* this.#files.read(location, bytes);
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
      throw new PalimpsestError('SESSION_NOT_FOUND', `${location} is no more`, { path: location });
    } finally {
      leave();
    }
  }

  watch(location: string, changed: () => void): () => void {
    try {
      // A file that cannot be watched is looked at from time to time.
      const watcher = watch(location, { persistent: false }, changed).on('error', () => {
        watcher.close();
      });
      return () => {
        watcher.close();
      };
    } catch {
      return () => undefined;
    }
  }

  async lock(log: LogName): Promise<SessionLock | undefined> {
    const path = this.#pathOf(log);
    try {
      return await this.#gate.run(() => this.#locks.take(log.id, relative(this.#root, path), path));
    } catch (error) {
      throw storageError(error, log.id, path);
    }
  }

  async delete({ id, location }: LogName & { readonly location: string }): Promise<void> {
    try {
      await turns.run(location, () => this.#files.delete(location));
    } catch (error) {
      throw storageError(error, id, location);
    }
  }

  async close(): Promise<void> {
    await this.#locks.close();
  }

  #pathOf({ id, cwd, location }: LogName): string {
    return location ?? join(this.#root, directoryOf(cwd), encodeSegment(id) + SUFFIX);
  }

  async appendBatch(batch: EventBatch): Promise<StoredPosition> {
    const { id, position } = batch;
    const path = this.#pathOf(batch);
    try {
      return await turns.run(path, () => this.#gate.run(() => (position ? this.#files.append(path, batch, position) : this.#files.create(path, batch))));
    } catch (error) {
      throw storageError(error, id, path);
    }
  }

  commitRepair(batch: EventBatch): Promise<StoredPosition> {
    return this.appendBatch(batch);
  }

  async *list(): AsyncGenerator<StoredHeader> {
    for (const directory of await this.#directories()) {
      const path = join(this.#root, directory);
      let names: readonly string[];
      try {
        names = await this.#fs.readdir(path);
      } catch (error) {
        yield { location: path, error };
        continue;
      }
      // Files that are being made, and locks, have other endings.
      const logs = names.filter((name) => name.endsWith(SUFFIX)).sort();
      for (let at = 0; at < logs.length; at += OPEN_FILES) {
        yield* await Promise.all(logs.slice(at, at + OPEN_FILES).map((name) => this.#head(join(path, name))));
      }
    }
  }

  async #head(path: string): Promise<StoredHeader> {
    try {
      return { location: path, head: await this.#gate.run(() => this.#files.head(path)) };
    } catch (error) {
      return { location: path, error };
    }
  }

  async #directories(): Promise<string[]> {
    try {
      return (await this.#fs.readdir(this.#root)).filter((name) => name === NO_CWD || /^cwd-[0-9a-f]{12}$/.test(name)).sort();
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    }
  }
}

/** The directory of the sessions of a working directory, below the root. */
export function directoryOf(cwd: string | null | undefined): string {
  return cwd == null ? NO_CWD : `cwd-${createHash('sha256').update(cwd).digest('hex').slice(0, 12)}`;
}
