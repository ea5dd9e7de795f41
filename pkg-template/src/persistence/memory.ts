/** Sessions kept in memory: the reference for what a backend does, for tests, and for hosts without storage. */

import type { SessionId } from '../events.js';
import type { EventBatch, LogName, SessionLock, StorageBackend, StoredHeader, StoredLog, StoredPosition, StoredQuery } from './backend.js';
import { beginsWith } from './bytes.js';
import { ambiguous, collision, conflict, locked } from './faults.js';

interface Stored {
  readonly id: SessionId;
  readonly cwd: string | undefined;
  /** The header line, then those of the events. */
  chunks: Uint8Array[];
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
    return found[0] && { location: locationOf(found[0]), chunks: found[0].chunks.slice() };
  }

  async appendBatch(batch: EventBatch): Promise<StoredPosition> {
    const { id, cwd, position, header, count, lines } = batch;
    const location = locationOf(batch);
    // Made on the way, and they may fail: all of them before anything is changed.
    const chunks = Array.from(lines, (chunk) => chunk.slice());
    const log = this.#logs.get(location);
    const known = log && (await endOf(log, batch, chunks));
    if (!position && log && known === undefined) throw collision(id, location);
    if (position && known === undefined) throw conflict(id, location, `it does not end after ${position.seq} events`);
    const all = [...(known ?? [header.slice()]), ...chunks];
    this.#logs.set(location, { id, cwd, chunks: all });
    for (const changed of this.#watchers) changed();
    return { seq: (position?.seq ?? 0) + count, bytes: lengthOf(all), torn: 0 };
  }

  commitRepair(batch: EventBatch): Promise<StoredPosition> {
    return this.appendBatch(batch);
  }

  async *list(): AsyncGenerator<StoredHeader> {
    for (const log of this.#logs.values()) yield { location: locationOf(log), head: log.chunks[0] ?? new Uint8Array(0) };
  }

  async lock(log: LogName): Promise<SessionLock> {
    const location = log.location ?? locationOf(log);
    const since = this.#locks.get(location);
    if (since !== undefined) throw locked(log.id, { since }, location);
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

  async delete({ location }: LogName & { readonly location: string }): Promise<void> {
    this.#logs.delete(location);
    for (const changed of this.#watchers) changed();
  }
}

/** The log up to where a batch goes on; undefined when it holds what is not the batch's. */
async function endOf({ chunks }: Stored, { position, header, retry }: EventBatch, lines: readonly Uint8Array[]): Promise<Uint8Array[] | undefined> {
  const { bytes, torn } = position ?? { bytes: 0, torn: 0 };
  const rest = lengthOf(chunks) - bytes;
  if (position && rest === 0) return chunks;
  if (rest < 0) return undefined;
  const [kept, behind] = split(chunks, bytes);
  // A torn record that the reader saw, or what an attempt has left that was said to have failed.
  const isTorn = position !== undefined && rest === torn;
  const isOwn = isTorn || (retry && (await beginsWith(position ? lines : [header, ...lines], behind)));
  if (!isOwn) return undefined;
  return position ? kept : [header.slice()];
}

function split(chunks: readonly Uint8Array[], at: number): [Uint8Array[], Uint8Array[]] {
  const parts: [Uint8Array[], Uint8Array[]] = [[], []];
  let start = 0;
  for (const chunk of chunks) {
    const cut = Math.min(Math.max(at - start, 0), chunk.length);
    if (cut > 0) parts[0].push(chunk.subarray(0, cut));
    if (cut < chunk.length) parts[1].push(chunk.subarray(cut));
    start += chunk.length;
  }
  return parts;
}

function lengthOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}

function locationOf({ id, cwd }: Pick<Stored, 'id' | 'cwd'> | LogName): string {
  return cwd === undefined ? `memory:${JSON.stringify(id)}` : `memory:${JSON.stringify(cwd)}:${JSON.stringify(id)}`;
}
