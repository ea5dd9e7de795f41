/** Sessions kept in memory: the reference for what a backend does, for tests, and for hosts without storage. */
 

import type { SessionId } from '../events.js';
import type { EventBatch, StorageBackend, StoredHeader, StoredLog, StoredPosition, StoredQuery } from './backend.js';
import { ambiguous, collision, conflict } from './faults.js';

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

  async loadStored({ id, cwd }: StoredQuery): Promise<StoredLog | undefined> {
    const found = [...this.#logs.values()].filter((log) => log.id === id && (cwd === undefined || log.cwd === (cwd ?? undefined)));
    if (found.length > 1) throw ambiguous(id, found.map(locationOf));
    return found[0] && { location: locationOf(found[0]), chunks: [found[0].header, ...found[0].chunks] };
  }

  async appendBatch({ id, cwd, position, header, count, lines }: EventBatch): Promise<StoredPosition> {
    const key = JSON.stringify([cwd ?? null, id]);
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
    return { seq: log.seq, bytes: log.bytes, torn: 0 };
  }

  commitRepair(batch: EventBatch): Promise<StoredPosition> {
    return this.appendBatch(batch);
  }

  async *list(): AsyncGenerator<StoredHeader> {
    for (const log of this.#logs.values()) yield { location: locationOf(log), head: log.header };
  }
}

function locationOf({ id, cwd }: Stored): string {
  return cwd === undefined ? `memory:${id}` : `memory:${cwd}:${id}`;
}
