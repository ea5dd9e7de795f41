/**
 * Opening a log: one pass over its bytes feeds the index and the package's reader. The index takes anything; the reader
 * refuses a log that is damaged, and the pass goes on without it. A large log is opened by the package in a pass of its own,
 * so that its bytes stay in the file. A log of another agent is converted first.
 */

import { init, openBlob, SessionReader, SessionStore } from 'palimpsest';
import { attach, indexeddb } from 'palimpsest/indexeddb';
import type { Source } from '../lib/protocol.js';
import { ByteStore } from './byte-store.js';
import { convert, foreignFormat } from './foreign.js';
import { LineSplitter } from './lines.js';
import type { Log } from './log.js';

/** Small at first, so that the first rows are there at once. */
const FIRST = 1 << 18;
const CHUNK = 1 << 22;
/** A log of at most so many bytes is kept by the page, where it is read faster. */
const SMALL = 1 << 26;

let adapter: ReturnType<typeof attach> | undefined;

/** The browser's own storage. */
export function storage(): ReturnType<typeof attach> {
  return (adapter ??= attach(new SessionStore(), indexeddb()));
}

export interface Reading {
  readonly signal: AbortSignal;
  progress(stage: 'read' | 'convert' | 'open', done: number, total: number | undefined): void;
}

/** Reads a source into `log`. @throws (rejects) where it cannot be read at all, with what to do */
export async function readInto(log: Log, source: Source, reading: Reading): Promise<void> {
  await init();
  const { chunks, total } = await bytesOf(log, source, reading);
  let reader = (total ?? 0) > SMALL ? undefined : new SessionReader(log.name, total ?? 0);
  const inMemory = reader !== undefined;
  let headed = false;
  const splitter = new LineSplitter((line, offset) => {
    if (headed) log.outline.add(line, offset);
    else log.takeHeader(line, offset + line.length + 1);
    headed = true;
  });
  let read = 0;
  try {
    for await (const chunk of chunks) {
      if (reading.signal.aborted) break;
      splitter.push(chunk);
      try {
        reader?.push(chunk);
      } catch (error) {
        log.fail(error);
        reader?.free();
        reader = undefined;
      }
      read += chunk.length;
      log.visible.extend();
      reading.progress('read', read, total);
    }
    if (reading.signal.aborted) {
      log.stopped = true;
    } else if (reader) {
      try {
        ({ session: log.session, tornBytes: log.tornBytes, closers: log.closers } = reader.finish());
        reader = undefined;
      } catch (error) {
        log.fail(error);
      }
    }
  } finally {
    reader?.free();
  }
  if (!inMemory && !log.stopped) await openInPlace(log, reading);
  // What a crash cut has its place as well.
  if (!log.stopped && splitter.rest.length > 0) log.outline.add(splitter.rest, read - splitter.rest.length);
  log.visible.refresh();
}

/** Opens a log whose bytes stay where they are. */
async function openInPlace(log: Log, reading: Reading): Promise<void> {
  const { signal } = reading;
  try {
    const onProgress = (done: number, size: number): void => { reading.progress('open', done, size); };
    ({ session: log.session, tornBytes: log.tornBytes, closers: log.closers } = await openBlob(log.store.blob(), { name: log.name, signal, onProgress }));
  } catch (error) {
    if (signal.aborted) log.stopped = true;
    else log.fail(error);
  }
}

async function bytesOf(log: Log, source: Source, reading: Reading): Promise<{ chunks: AsyncIterable<Uint8Array>; total?: number }> {
  const { signal } = reading;
  if (source.kind === 'file') return fromFile(log, source.file, reading, source.related);
  if (source.kind === 'stored') {
    log.store.append(new Blob([await storage().export(source.id) as Uint8Array<ArrayBuffer>]));
    return { chunks: slices(log), total: log.store.size };
  }
  const response = await fetch(source.url, { signal }).catch((cause: unknown) => {
    throw new Error(`${source.url} cannot be fetched. Check the address, or download the file and drop it here.`, { cause });
  });
  if (!response.ok || response.body === null) throw new Error(`${source.url} cannot be fetched: ${response.status} ${response.statusText}. Check the address, or download the file and drop it here.`);
  const length = Number(response.headers.get('content-length') ?? NaN);
  // Only one's own logs can be shown while they come in.
  const [ours, other] = response.body.tee();
  const peek = other.getReader();
  const first = await peek.read();
  void peek.cancel();
  if (first.value && await foreignFormat(new Blob([first.value]), source.name)) return fromFile(log, await new Response(ours).blob(), reading);
  // The length of a compressed body is not that of the log.
  const known = Number.isFinite(length) && !response.headers.has('content-encoding');
  return { chunks: kept(log, ours), ...(known && { total: length }) };
}

async function fromFile(log: Log, file: Blob, reading: Reading, related: readonly { name: string; file: Blob }[] = []): Promise<{ chunks: AsyncIterable<Uint8Array>; total: number }> {
  const foreign = await foreignFormat(file, log.name);
  // The log of an agent at work changes on the disk, and can be read no more then: what is small is kept as it was.
  if (!foreign && file.size <= SMALL) return { chunks: copied(log, file), total: file.size };
  log.store.append(foreign ? await convert(log, file, related, foreign, reading.signal, (done, all) => { reading.progress('convert', done, all); }) : file);
  return { chunks: slices(log), total: log.store.size };
}

async function* slices({ store }: Log): AsyncGenerator<Uint8Array> {
  for (const [from, to] of cuts(store.size)) yield await store.read(from, to);
}

async function* copied({ store }: Log, file: Blob): AsyncGenerator<Uint8Array> {
  const source = new ByteStore();
  source.append(file);
  for (const [from, to] of cuts(file.size)) {
    const bytes = await source.read(from, to);
    store.append(bytes);
    yield bytes;
  }
}

function* cuts(size: number): Generator<[from: number, to: number]> {
  for (let at = 0; at < size; ) {
    const end = Math.min(size, at + (at === 0 ? FIRST : CHUNK));
    yield [at, end];
    at = end;
  }
}

/** Keeps what a stream brings, in few blobs. */
async function* kept(log: Log, stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      log.store.append(next.value);
      yield next.value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
