/** Sessions kept in memory: the reference for what a backend does, for tests, and for hosts without storage. */

import type { SessionId } from '../events.js';
import type { EventBatch, LogName, SessionLock, StorageBackend, StoredHeader, StoredLog, StoredPosition, StoredQuery } from './backend.js';
import { ambiguous, collision, conflict, locked } from './faults.js';

interface Stored {
  readonly id: SessionId;
  readonly cwd: string | undefined;
  readonly header: Uint8Array;
  readonly chunks: Uint8Array[];
  seq: number;
  bytes: number;
}

/** Storage that lives as long as the object. Stores that are given the same object see the same sessions. */
export function memory(): StorageBackend {
  return new MemoryBackend();
}

class MemoryBackend implements StorageBackend {
  readonly #logs = new Map<string, Stored>();
  /** Locations that somebody writes to, and since when. */
  readonly #locks = new Map<string, number>();
  readonly #watchers = new Set<() => void>();

  async loadStored({ id, cwd }: StoredQuery): Promise<StoredLog | undefined> {
    const found = [...this.#logs.values()].filter((log) => log.id === id && (cwd === undefined || log.cwd === (cwd ?? undefined)));
    if (found.length > 1) throw ambiguous(id, found.map(locationOf));
    return found[0] && { location: locationOf(found[0]), chunks: [found[0].header, ...found[0].chunks] };
  }

  async appendBatch({ id, cwd, position, header, count, lines }: EventBatch): Promise<StoredPosition> {
    const key = keyOf(id, cwd);
    // Made on the way, and they may fail: all of them before anything is changed.
    const chunks = Array.from(lines, (chunk) => chunk.slice());
    let log = this.#logs.get(key);
    if (!position) {
      if (log) throw collision(id, locationOf(log));
      log = { id, cwd, header: header.slice(), chunks: [], seq: 0, bytes: header.length };
      this.#logs.set(key, log);
    } else if (log?.seq !== position.seq) {
      throw conflict(id, `memory:${id}`, `it holds ${log?.seq ?? 0} events, not ${position.seq}`);
    }
    for (const chunk of chunks) {
      log.chunks.push(chunk);
      log.bytes += chunk.length;
    }
    log.seq += count;
    for (const changed of this.#watchers) changed();
    return { seq: log.seq, bytes: log.bytes, torn: 0 };
  }

  commitRepair(batch: EventBatch): Promise<StoredPosition> {
    return this.appendBatch(batch);
  }

  async lock({ id, cwd, location = locationOf({ id, cwd }) }: LogName): Promise<SessionLock> {
    const since = this.#locks.get(location);
    if (since !== undefined) throw locked(id, { since }, location);
    this.#locks.set(location, Date.now());
    return {
      release: async () => {
        this.#locks.delete(location);
      },
    };
  }

  watch(_location: string, changed: () => void): () => void {
    const own = (): void => {
      changed();
    };
    this.#watchers.add(own);
    return () => void this.#watchers.delete(own);
  }

  async delete({ id, cwd }: LogName): Promise<void> {
    this.#logs.delete(keyOf(id, cwd));
    for (const changed of this.#watchers) changed();
  }

  async *list(): AsyncGenerator<StoredHeader> {
    for (const log of this.#logs.values()) yield { location: locationOf(log), head: log.header };
  }
}

function keyOf(id: SessionId, cwd: string | undefined): string {
  return JSON.stringify([cwd ?? null, id]);
}

function locationOf({ id, cwd }: Pick<Stored, 'id' | 'cwd'> | LogName): string {
  return cwd === undefined ? `memory:${id}` : `memory:${cwd}:${id}`;
}
