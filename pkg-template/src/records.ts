/**
 * Batches of event records on their way to the core.
 *
 * One crossing into wasm costs as much as writing a small event, so log-only events wait in the scratch area and cross
 * together. The area holds one session's records at a time; another session's append sends them off first.
 * The form of a record is described in `src/record.rs`.
 *
 * Invariants:
 * - Before `pending` stand whole records of the owner, accepted and waiting; what a refused event has left behind it is
 *   written over by the next.
 * - A record that waits is log-only, so that no rule can refuse it, and the core has said that there is memory for it.
 * - Walking a value, and a getter in it, may move the area: `words` is read anew after it.
 */

import { encode, walking } from './encode.js';
import { core } from './core.js';
import { outOfMemory, PalimpsestError } from './errors.js';
import type { SurfaceOp } from './events.js';
import { KindNumber } from './kinds.js';
import { pending, release, reserve, setPending, words } from './scratch.js';

const HEAD = 40;
const NO_SOURCES = 0xffffffff;

/** Pending bytes at which a batch crosses. */
const FULL = 1 << 16;

/** Where a batch goes. */
export interface Batch {
  /** Appends the records in the first `used` bytes of the scratch area; whether the core has memory for more. */
  commit(used: number): boolean;
}

let owner: Batch | undefined;

/** Set while the core has no memory for more: what waits must find room when it crosses. */
let full = false;

/** Frozen surface fields, read once from what the caller gave. */
export interface FrozenIntent {
  readonly surfaceOp: SurfaceOp | undefined;
  readonly sourceEventSeqs: readonly number[] | undefined;
}

/** Whose event it is, for errors. */
interface Named {
  readonly id: string;
}

/**
 * Writes an event behind the pending ones.
 * @param type the type's name when `kind` is 0, else unused
 * @returns the frozen snapshot of `data`; after a throw the batch is as it was
 * @throws PalimpsestError `INVALID_JSON_VALUE`, `OUT_OF_MEMORY`
 */
export function addRecord(batch: Batch, kind: number, type: string, time: number, data: unknown, intent: FrozenIntent | undefined): unknown {
  if (owner !== batch) {
    sendRecords();
    owner = batch;
  }
  if (full) {
    full = !core().scratch_has_room();
    if (full) throw outOfMemory();
  }
  const start = pending;
  const sources = intent?.sourceEventSeqs;
  const op = intent?.surfaceOp;
  let at = start + HEAD;
  reserve(at + (sources?.length ?? 0) * 4 + 8);
  if (sources !== undefined) {
    for (const source of sources) {
      words.setUint32(at, source, true);
      at += 4;
    }
  }
  let typeLength = 0;
  if (kind === 0) {
    const end = encode(type, at, 'type').end;
    typeLength = end - at;
    at = end;
  }
  const { value, end } = encode(data, at, 'data', kind === KindNumber.chunk);
  const size = (end - start + 7) & ~7;
  reserve(start + size);
  words.setUint32(start, size, true);
  words.setUint32(start + 4, kind, true);
  words.setFloat64(start + 8, time, true);
  words.setUint32(start + 16, op === undefined ? 0 : op === 'append' ? 1 : 2, true);
  if (op !== undefined && op !== 'append') {
    words.setUint32(start + 20, op.start, true);
    words.setUint32(start + 24, op.end, true);
  }
  words.setUint32(start + 28, sources === undefined ? NO_SOURCES : sources.length, true);
  words.setUint32(start + 32, typeLength, true);
  words.setUint32(start + 36, end - at, true);
  setPending(start + size);
  return value;
}

/** Sends the pending records to the core: those of `batch`, or whosever they are. */
export function sendRecords(batch: Batch | undefined = owner): void {
  if (pending === 0 || batch === undefined || batch !== owner) return;
  refuseWithin();
  const length = pending;
  setPending(0);
  try {
    full = !batch.commit(length);
  } finally {
    release();
  }
}

/** Sends the pending records once they are many; whether it did. */
export function sendIfFull(): boolean {
  if (pending < FULL) return false;
  sendRecords();
  return true;
}

/** Nothing pending moves while a walk writes behind it. */
function refuseWithin(): void {
  if (walking) throw new PalimpsestError('REENTRANT_APPEND', 'a getter uses a session while the object that it belongs to is being logged; log plain data');
}

/** Forgets pending records of a session that is going away. */
export function dropRecords(batch: Batch): void {
  if (owner !== batch) return;
  refuseWithin();
  owner = undefined;
  setPending(0);
}

const isSeq = (value: unknown): value is number => typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < NO_SOURCES;

/**
 * Reads an intent once and freezes it.
 * @param intent what the caller gave; types do not bind everyone
 * @throws PalimpsestError `INVALID_SURFACE_OP` or `INVALID_SOURCES` where it has not even the right shape
 */
export function freezeIntent(intent: unknown, session: Named, seq: number): FrozenIntent | undefined {
  if (intent === undefined || intent === null) return undefined;
  const { surfaceOp, sourceEventSeqs } = intent as { surfaceOp?: unknown; sourceEventSeqs?: unknown };
  return {
    sourceEventSeqs: sourceEventSeqs === undefined ? undefined : freezeSources(sourceEventSeqs, session, seq),
    surfaceOp: surfaceOp === undefined || surfaceOp === 'append' ? surfaceOp : freezeReplace(surfaceOp, session, seq),
  };
}

function freezeSources(given: unknown, session: Named, seq: number): readonly number[] {
  if (!Array.isArray(given)) throw refusal('INVALID_SOURCES', 'sourceEventSeqs', SOURCES, session, seq);
  const sources: number[] = [];
  for (const source of given as unknown[]) {
    if (!isSeq(source)) throw refusal('INVALID_SOURCES', 'sourceEventSeqs', SOURCES, session, seq);
    sources.push(source);
  }
  return Object.freeze(sources);
}

const SOURCES = 'it must be an array of seqs of earlier events';

function freezeReplace(given: unknown, session: Named, seq: number): SurfaceOp {
  const { op, start, end } = Object(given) as { op?: unknown; start?: unknown; end?: unknown };
  if (op !== 'replace' || !isSeq(start) || !isSeq(end)) {
    throw refusal('INVALID_SURFACE_OP', 'surfaceOp', "it must be 'append' or { op: 'replace', start, end } with two seqs", session, seq);
  }
  return Object.freeze({ op, start, end });
}

function refusal(code: 'INVALID_SOURCES' | 'INVALID_SURFACE_OP', path: string, what: string, { id }: Named, seq: number): PalimpsestError {
  return new PalimpsestError(code, `session ${JSON.stringify(id)}, seq ${seq}, ${path}: ${what}`, { session: id, seq, path });
}
