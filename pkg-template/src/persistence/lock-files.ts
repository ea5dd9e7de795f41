/**
 * One writer for each session, by files in a directory of their own.
 *
 * A writer makes a file about itself, and a lock is a hard link to it under the session's name: made whole, and by one
 * only. It counts as long as its maker is there (see presence.ts), so that one which is left behind blocks nobody. What a
 * dead writer has left is replaced under a second lock, the claim, so that of many who find it one gets it.
 */

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { clearInterval, setInterval } from 'node:timers';
import type { SessionId } from '../events.js';
import type { SessionLock } from './backend.js';
import { locked } from './faults.js';
import { type JsonlFs, NO_LINKS, close, hasCode } from './jsonl-files.js';
import { type Presence, isThere, present } from './presence.js';

/** How often a writer that holds locks gives a sign of life, for those who cannot see its socket. */
const HEARTBEAT = 20_000;
/** A writer that has given no sign of life for this long is gone. */
const LEASE = 90_000;
/** A lock that says nothing after this long, which is for where there are no hard links, was left half made. */
const MAKING = 300;
const LONGEST = 4096;

// Where nothing can be written, for whatever reason.
const UNWRITABLE = ['EROFS', 'EACCES', 'EPERM', 'ENOSPC', 'EDQUOT'];

interface Found {
  /** Undefined for a file that says nothing (yet). */
  readonly presence: Presence | undefined;
  readonly mtime: number;
}

export class LockFiles {
  readonly #fs: JsonlFs;
  readonly #directory: string;
  /** Locks that are held or being taken. */
  readonly #held = new Set<string>();
  /** Locks that were given back and could not be removed. */
  readonly #left = new Set<string>();
  /** Writers that this one was before: their locks do not count, even if their file could not be removed. */
  readonly #former = new Set<string>();
  #presence: Promise<Presence> | undefined;
  #heartbeat: ReturnType<typeof setInterval> | undefined;
  #lastSign = 0;

  constructor(fs: JsonlFs, directory: string) {
    this.#fs = fs;
    this.#directory = directory;
  }

  /**
   * @param name of the session in this storage
   * @returns undefined where nothing can be written
   * @throws (rejects) PalimpsestError `SESSION_LOCKED`
   */
  async take(id: SessionId, name: string, location: string): Promise<SessionLock | undefined> {
    const path = join(this.#directory, `${createHash('sha256').update(name).digest('hex').slice(0, 32)}.lock`);
    if (this.#held.has(path)) throw locked(id, await this.#enter(), location);
    // From here on the file about this writer stays.
    this.#held.add(path);
    let own: Presence | undefined;
    try {
      own = await this.#enter();
      await this.#take(own, path, id, location);
      return { release: () => this.#release(path) };
    } catch (error) {
      this.#held.delete(path);
      await this.#leave().catch(() => undefined);
      if (own === undefined && hasCode(error, ...UNWRITABLE)) return undefined;
      throw error;
    }
  }

  /** Removes what could not be removed before. */
  async close(): Promise<void> {
    for (const path of this.#left) {
      await this.#remove(path);
      this.#left.delete(path);
    }
    await this.#leave();
  }

  async #take(own: Presence, path: string, id: SessionId, location: string): Promise<void> {
    for (;;) {
      if (await this.#place(own, path)) return;
      const found = await this.#look(path);
      if (!found) continue;
      // The lock of an attempt that failed after it had been made, or of one that could not be removed.
      if (found.presence?.writer === own.writer) return void this.#left.delete(path);
      if (await this.#counts(own, path, found)) throw locked(id, found.presence ?? {}, location);
      if (await this.#replace(own, path, found, id, location)) return;
    }
  }

  /** Puts our lock in the place of a dead one. False when somebody else was faster. */
  async #replace(own: Presence, path: string, dead: Found, id: SessionId, location: string): Promise<boolean> {
    const nameOf = (found: Found | undefined): string | undefined => found && (found.presence?.writer ?? `made-${found.mtime}`);
    const claim = `${path}.${nameOf(dead)}`;
    await this.#take(own, claim, id, location);
    try {
      if (nameOf(await this.#look(path)) !== nameOf(dead)) return false;
      const mine = `${path}.${own.writer}`;
      await this.#place(own, mine);
      await this.#fs.rename(mine, path);
      if (dead.presence) await this.#remove(this.#fileOf(dead.presence)).catch(() => undefined);
      return true;
    } finally {
      await this.#remove(claim).catch(() => undefined);
    }
  }

  async #release(path: string): Promise<void> {
    if (!this.#held.delete(path)) return;
    this.#left.add(path);
    // Who has slept for too long may have lost it.
    const own = await this.#presence;
    if (Date.now() - this.#lastSign < LEASE || (await this.#look(path))?.presence?.writer === own?.writer) await this.#remove(path);
    this.#left.delete(path);
    await this.#leave();
  }

  // -------------------------------------------------------------------------------------------------------- writers

  /** Makes the file about this writer, unless it is there. */
  #enter(): Promise<Presence> {
    this.#presence ??= this.#makePresence().catch((error: unknown) => {
      this.#presence = undefined;
      throw error;
    });
    return this.#presence;
  }

  async #makePresence(): Promise<Presence> {
    const presence = await present();
    await this.#fs.mkdir(this.#directory, { recursive: true });
    try {
      await this.#write(this.#fileOf(presence), 'wx', presence);
    } catch (error) {
      await this.#remove(this.#fileOf(presence)).catch(() => undefined);
      throw error;
    }
    this.#lastSign = Date.now();
    this.#heartbeat = setInterval(() => {
      this.#signal(presence).catch(() => undefined);
    }, HEARTBEAT);
    this.#heartbeat.unref();
    return presence;
  }

  /** Removes the file about this writer when it holds nothing. */
  async #leave(): Promise<void> {
    if (this.#held.size > 0 || !this.#presence) return;
    const leaving = this.#presence;
    const presence = await leaving;
    if (this.#held.size > 0 || this.#presence !== leaving) return;
    // A lock that could not be removed counts no more without it. The next one gets a file of another name.
    this.#presence = undefined;
    this.#former.add(presence.writer);
    clearInterval(this.#heartbeat);
    try {
      await this.#remove(this.#fileOf(presence));
    } catch (error) {
      this.#left.add(this.#fileOf(presence));
      throw error;
    }
    this.#former.delete(presence.writer);
    this.#left.clear();
  }

  async #signal(presence: Presence): Promise<void> {
    await this.#write(this.#fileOf(presence), 'r+', presence);
    this.#lastSign = Date.now();
  }

  /** True while the maker of a lock is there. */
  async #counts(own: Presence, path: string, { presence }: Found): Promise<boolean> {
    if (!presence) {
      await new Promise((resolve) => setTimeout(resolve, MAKING));
      const later = await this.#look(path);
      if (!later?.presence) return false;
      return this.#counts(own, path, later);
    }
    if (this.#former.has(presence.writer)) return false;
    const file = await this.#look(this.#fileOf(presence));
    if (!file) return false;
    return (await isThere(presence)) ?? (await this.#now(own)) - file.mtime < LEASE;
  }

  /** The time by the clock that stamps the files. */
  async #now(own: Presence): Promise<number> {
    await this.#signal(own);
    return (await this.#look(this.#fileOf(own)))?.mtime ?? Date.now();
  }

  #fileOf({ writer }: Presence): string {
    return join(this.#directory, `${writer}.writer`);
  }

  // ---------------------------------------------------------------------------------------------------------- files

  /** Makes a lock. False when there is one. */
  async #place(own: Presence, path: string): Promise<boolean> {
    try {
      try {
        await this.#fs.link(this.#fileOf(own), path);
      } catch (error) {
        if (!hasCode(error, ...NO_LINKS)) throw error;
        await this.#write(path, 'wx', own);
        // Not made at once: somebody who took it for half made may have replaced it.
        return (await this.#look(path))?.presence?.writer === own.writer;
      }
      return true;
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false;
      throw error;
    }
  }

  async #look(path: string): Promise<Found | undefined> {
    let file;
    try {
      file = await this.#fs.open(path, 'r');
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw error;
    }
    try {
      const { mtimeMs = 0 } = await file.stat();
      const buffer = new Uint8Array(LONGEST);
      const { bytesRead } = await file.read(buffer, 0, LONGEST, 0);
      return { presence: parse(buffer.subarray(0, bytesRead)), mtime: mtimeMs };
    } finally {
      await close(file);
    }
  }

  async #write(path: string, flags: 'wx' | 'r+', presence: Presence): Promise<void> {
    const file = await this.#fs.open(path, flags);
    try {
      const bytes = new TextEncoder().encode(`${JSON.stringify(presence)}\n`);
      await file.write(bytes, 0, bytes.length, 0);
    } finally {
      await close(file);
    }
  }

  async #remove(path: string): Promise<void> {
    try {
      await this.#fs.unlink(path);
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
    }
  }
}

function parse(bytes: Uint8Array): Presence | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null && 'writer' in value ? (value as Presence) : undefined;
  } catch {
    return undefined;
  }
}
