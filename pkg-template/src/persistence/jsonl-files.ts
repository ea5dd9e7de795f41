/**
 * One session's file: made whole, appended to, read.
 *
 * Invariants: a name in its place always holds a whole first batch (on file systems with hard links); bytes before a
 * position that was handed out are durable and never touched again; bytes after it are removed only when they are the
 * torn record that the reader saw, or what a failed attempt of this same writer left.
 */

import { randomUUID } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { PalimpsestError } from '../errors.js';
import type { SessionId } from '../events.js';
import type { EventBatch, StoredPosition } from './backend.js';
import { NEWLINE, beginsWith } from './bytes.js';
import { collision, conflict } from './faults.js';
import type { Timers } from './timers.js';

/** The file operations that are used, as `node:fs/promises` has them. */
export interface JsonlFs {
  open(path: string, flags: 'r' | 'r+' | 'wx'): Promise<JsonlFile>;
  mkdir(path: string, options: { recursive: true }): Promise<unknown>;
  readdir(path: string): Promise<string[]>;
  link(from: string, to: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  /** Tells a file from what only has a file's name, and might never answer. Without it that is not looked at. */
  stat?(path: string): Promise<{ isFile(): boolean }>;
}

/** An open file or directory. */
export interface JsonlFile {
  stat(): Promise<{ readonly size: number; readonly mtimeMs?: number }>;
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
  write(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesWritten: number }>;
  truncate(length: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

const READ_SIZE = 256 * 1024;
const WRITE_SIZE = 1024 * 1024;
const FIRST_HEAD = 4 * 1024;
const LONGEST_HEAD = 64 * 1024;

// What `link` answers where there are no hard links: EPERM and EACCES on FAT, exFAT and Android, the others on network
// and user-space file systems.
export const NO_LINKS = ['EPERM', 'EACCES', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK'];

// What a directory answers to fsync where it cannot be synced; its entries are then as durable as the system makes them.
const NO_DIRECTORY_SYNC = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'EISDIR', 'EPERM', 'EACCES', 'EBADF'];

// What a rename answers on Windows while a virus scanner or an indexer has the file open.
const BUSY = ['EPERM', 'EACCES', 'EBUSY'];
/** Milliseconds to wait before each further try of what was refused for a moment: about a second in all. */
const RETRIES = [10, 20, 40, 80, 160, 320, 400];

/** True when the error is one of the system with such a code. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && codes.includes((error as NodeJS.ErrnoException).code ?? '');
}

export class LogFiles {
  readonly #fs: JsonlFs;
  readonly #root: string;
  readonly #timers: Timers;
  /** Directories whose own entry is known to be durable. */
  readonly #knownDirectories = new Set<string>();

  constructor(fs: JsonlFs, root: string, timers: Timers) {
    this.#fs = fs;
    this.#root = root;
    this.#timers = timers;
  }

  // ------------------------------------------------------------------------------------------------------- reading

  async exists(path: string): Promise<boolean> {
    try {
      await close(await this.#openToRead(path));
      return true;
    } catch (error) {
      // What has the name of a directory of logs, and is none, has no logs.
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) return false;
      throw error;
    }
  }

  /** Removes the file. Done when the directory knows. */
  async delete(path: string): Promise<void> {
    await this.#fs.unlink(path);
    await this.#syncDirectory(dirname(path));
  }

  /** The file's bytes from `from`; each chunk is overwritten by the next. */
  async *read(path: string, from = 0): AsyncGenerator<Uint8Array> {
    const file = await this.#openToRead(path);
    try {
      yield* contents(file, from);
    } finally {
      await close(file);
    }
  }

  /** The first bytes of the file, up to a whole line that is not blank if one comes soon enough. */
  async head(path: string): Promise<Uint8Array> {
    const file = await this.#openToRead(path);
    try {
      let head = new Uint8Array(FIRST_HEAD);
      for (let length = 0; ; ) {
        const { bytesRead } = await file.read(head, length, head.length - length, length);
        length += bytesRead;
        if (bytesRead === 0 || length === LONGEST_HEAD || hasLine(head.subarray(0, length))) return head.subarray(0, length);
        if (length < head.length) continue;
        const longer = new Uint8Array(Math.min(head.length * 2, LONGEST_HEAD));
        longer.set(head);
        head = longer;
      }
    } finally {
      await close(file);
    }
  }

  /** Opening a named pipe waits for a writer, who may never come; a device may give bytes without end. */
  async #openToRead(path: string): Promise<JsonlFile> {
    if ((await this.#fs.stat?.(path))?.isFile() === false) throw noFile(path);
    return this.#fs.open(path, 'r');
  }

  // ------------------------------------------------------------------------------------------------------- writing

  /** Makes the file, which must not exist: a whole temporary file first, which then gets the name. */
  async create(path: string, batch: EventBatch): Promise<StoredPosition> {
    const directory = dirname(path);
    await this.#makeDirectory(directory);
    const temporary = join(directory, `.${randomUUID()}.tmp`);
    let bytes;
    try {
      const file = await this.#fs.open(temporary, 'wx');
      try {
        bytes = await write(file, 0, wholeLog(batch));
        await file.sync();
      } finally {
        await close(file);
      }
      await this.#place(temporary, path, batch);
    } catch (error) {
      await this.#fs.unlink(temporary).catch(() => undefined);
      throw error;
    }
    await this.#syncDirectory(directory);
    return { seq: batch.count, bytes, torn: 0 };
  }

  /** Gives the name to the temporary file without ever replacing a file of somebody else. */
  async #place(temporary: string, path: string, batch: EventBatch): Promise<void> {
    try {
      await this.#fs.link(temporary, path);
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return this.#replaceOwn(temporary, path, batch);
      if (!hasCode(error, ...NO_LINKS)) throw error;
      return this.#placeWithoutLinks(temporary, path, batch);
    }
    // The second name is no longer needed, and does no harm if it stays.
    await this.#fs.unlink(temporary).catch(() => undefined);
  }

  /**
   * Reserves the name by an empty file, which is then replaced. Nothing else is both atomic and exclusive without links;
   * a crash in between leaves the empty file, which is listed as broken and stands in the way until somebody removes it.
   */
  async #placeWithoutLinks(temporary: string, path: string, batch: EventBatch): Promise<void> {
    try {
      await close(await this.#fs.open(path, 'wx'));
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return this.#replaceOwn(temporary, path, batch);
      throw error;
    }
    try {
      await this.#rename(temporary, path);
    } catch (error) {
      // Only the reservation: a rename that took place before it failed has put the log there.
      if (await this.#isEmpty(path)) await this.#fs.unlink(path).catch(() => undefined);
      throw error;
    }
  }

  /** The name is taken: by what a failed attempt of this writer left, which is replaced, or by somebody else. */
  async #replaceOwn(temporary: string, path: string, batch: EventBatch): Promise<void> {
    if (!batch.retry || !(await beginsWith(wholeLog(batch), this.read(path)))) throw collision(batch.id, path, await this.#nameInPlaceOf(path));
    await this.#rename(temporary, path);
  }

  async #rename(from: string, to: string): Promise<void> {
    for (const wait of RETRIES) {
      try {
        await this.#fs.rename(from, to);
        return;
      } catch (error) {
        if (!hasCode(error, ...BUSY)) throw error;
      }
      await new Promise<void>((resolve) => void this.#timers.setTimeout(resolve, wait));
    }
    await this.#fs.rename(from, to);
  }

  /** The name of the file that is there, where the file system takes another one for this path. */
  async #nameInPlaceOf(path: string): Promise<string | undefined> {
    const wanted = basename(path);
    const names = await this.#fs.readdir(dirname(path)).catch((): string[] => []);
    return names.includes(wanted) ? undefined : names.find((name) => name.toLowerCase() === wanted.toLowerCase());
  }

  /** Appends where the position says; resolves once the bytes are durable. */
  async append(path: string, batch: EventBatch, { seq, bytes, torn }: StoredPosition): Promise<StoredPosition> {
    const file = await this.#openLog(path, batch.id);
    let begun = false;
    try {
      const { size } = await file.stat();
      if (size !== bytes) {
        const known = size === bytes + torn || (size > bytes && batch.retry && (await beginsWith(batch.lines, contents(file, bytes))));
        if (!known) throw conflict(batch.id, path, `it is ${size} bytes long, not ${bytes}`);
        await file.truncate(bytes);
      }
      begun = true;
      const written = await write(file, bytes, batch.lines);
      await file.sync();
      begun = false;
      return { seq: seq + batch.count, bytes: bytes + written, torn: 0 };
    } finally {
      await close(file);
      if (begun) await this.#cutBack(path, bytes);
    }
  }

  async #openLog(path: string, id: SessionId): Promise<JsonlFile> {
    try {
      return await this.#fs.open(path, 'r+');
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
      throw conflict(id, path, 'which is there no more');
    }
  }

  /**
   * Removes what a failed append may have left. Through a handle of its own: after a failed sync the old one may call
   * durable what it has thrown away. When this fails too, the next attempt finds the rest.
   */
  async #cutBack(path: string, bytes: number): Promise<void> {
    try {
      const file = await this.#fs.open(path, 'r+');
      await file.truncate(bytes).finally(() => close(file));
    } catch {
      // The next attempt will see.
    }
  }

  async #isEmpty(path: string): Promise<boolean> {
    try {
      const file = await this.#fs.open(path, 'r');
      const { size } = await file.stat().finally(() => close(file));
      return size === 0;
    } catch {
      return false;
    }
  }

  async #makeDirectory(directory: string): Promise<void> {
    const made = await this.#fs.mkdir(directory, { recursive: true });
    if (made === undefined && this.#knownDirectories.has(directory)) return;
    // Each new directory is an entry of its parent; the root's own parent may belong to somebody else.
    await this.#syncDirectory(this.#root);
    await this.#syncDirectory(dirname(this.#root));
    this.#knownDirectories.add(directory);
  }

  async #syncDirectory(path: string): Promise<void> {
    // Windows does not open directories, and makes entries durable by itself.
    if (process.platform === 'win32') return;
    let directory: JsonlFile | undefined;
    try {
      directory = await this.#fs.open(path, 'r');
      await directory.sync();
    } catch (error) {
      if (!hasCode(error, ...NO_DIRECTORY_SYNC)) throw error;
    } finally {
      if (directory) await close(directory);
    }
  }
}

/** The error for what has the name of a log, and is none: a directory, a named pipe, a socket, a device. */
export function noFile(path: string): PalimpsestError {
  return new PalimpsestError('STORAGE_FAILED', `${path} is no file (a directory, a named pipe, a socket or a device), and is not read: move it away`, { path });
}

/** Writes chunks at `position`, small ones together in one write; gives their length. */
async function write(file: JsonlFile, position: number, chunks: Iterable<Uint8Array>): Promise<number> {
  let at = position;
  let held: Uint8Array[] = [];
  let length = 0;
  const release = async () => {
    const bytes = Buffer.concat(held, length);
    await writeAll(file, bytes, at);
    at += length;
    held = [];
    length = 0;
  };
  for (const chunk of chunks) {
    held.push(chunk);
    length += chunk.length;
    if (length >= WRITE_SIZE) await release();
  }
  if (length > 0) await release();
  return at - position;
}

async function writeAll(file: JsonlFile, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done);
    if (bytesWritten <= 0) throw new Error('the file system wrote nothing and gave no reason');
    done += bytesWritten;
  }
}

async function* contents(file: JsonlFile, from: number): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(READ_SIZE);
  for (let at = from; ; ) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

function* wholeLog({ header, lines }: EventBatch): Generator<Uint8Array> {
  yield header;
  yield* lines;
}

function hasLine(bytes: Uint8Array): boolean {
  let blank = true;
  for (const byte of bytes) {
    if (byte === NEWLINE && !blank) return true;
    if (byte > 0x20) blank = false;
  }
  return false;
}

/** Closing comes after everything that matters: its failure changes nothing. */
export async function close(file: JsonlFile): Promise<void> {
  await file.close().catch(() => undefined);
}
