/** Files and standard input as streams, with progress. */

import { createReadStream, type ReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import process from 'node:process';
import { CliError, Exit } from './host.js';
import { Progress } from './progress.js';

/** The name that stands for standard input and standard output. */
export const STANDARD = '-';

/** A file to be read from its beginning. */
export interface ByteSource {
  /** As the person called it. */
  readonly path: string;
  /** Its path, where it is a file that can be read again. */
  readonly file?: string;
  /** Bytes of it, where they are known before it is read. */
  readonly size: number | undefined;
  /** Its bytes. Each chunk may be overwritten by the next. */
  chunks(): AsyncIterable<Uint8Array>;
}

/** A file, or standard input for `-`. @throws what the system says, or a CliError for what is no file */
export async function source(path: string): Promise<ByteSource> {
  if (path === STANDARD) {
    if (process.stdin.isTTY) throw new CliError('standard input is a terminal', { hint: 'pipe a log into it, or name a file', exit: Exit.usage });
    return { path: 'standard input', size: undefined, chunks: () => process.stdin as AsyncIterable<Uint8Array> };
  }
  const found = await stat(path);
  if (found.isDirectory()) throw Object.assign(new Error(`${path} is a directory`), { code: 'EISDIR' });
  // What is no file, such as a named pipe, is read once and from its beginning, as standard input is.
  const isFile = found.isFile();
  return { path, ...(isFile && { file: path }), size: isFile ? found.size : undefined, chunks: () => createReadStream(path, { highWaterMark: 1 << 18 }) as ReadStream & AsyncIterable<Uint8Array> };
}

/** A log to be read as bytes. @throws CliError for a database, whose sessions are not its bytes */
export async function logSource(path: string): Promise<ByteSource> {
  const from = await source(path);
  if (from.file !== undefined && isSqlite(await head(from.file, 16))) throw new CliError(`${path} is a database`, { hint: '`palimpsest export FILE --session ID --as jsonl -o NEW` gives one of its sessions as a log; `palimpsest ls FILE` lists them', exit: Exit.usage });
  return from;
}

/** Whether these are the first bytes of a database. */
export function isSqlite(first: Uint8Array): boolean {
  return new TextDecoder('latin1').decode(first.subarray(0, 16)) === 'SQLite format 3\0';
}

/** The first bytes of a source, at most `length`, and the source with all of its bytes: what can be read once only is not read twice. */
export async function peeked(from: ByteSource, length: number): Promise<{ readonly first: Uint8Array; readonly from: ByteSource }> {
  if (from.file !== undefined) return { first: await head(from.file, length), from };
  const rest = from.chunks()[Symbol.asyncIterator]();
  const begun: Uint8Array[] = [];
  let filled = 0;
  while (filled < length) {
    const next = (await rest.next()) as IteratorResult<Uint8Array, undefined>;
    if (next.done === true) break;
    begun.push(next.value.slice());
    filled += next.value.length;
  }
  return {
    first: Buffer.concat(begun).subarray(0, length),
    from: {
      ...from,
      async *chunks() {
        yield* begun.splice(0);
        yield* { [Symbol.asyncIterator]: () => rest };
      },
    },
  };
}

/** The source's bytes, with a progress line while they are read. */
export async function* reading(from: ByteSource, what = 'reading'): AsyncGenerator<Uint8Array> {
  const progress = new Progress(what, from.size);
  let done = 0;
  try {
    for await (const chunk of from.chunks()) {
      done += chunk.length;
      progress.at(done);
      yield chunk;
    }
  } finally {
    progress.end();
  }
}

/** The first bytes of a file, at most `length`; or those from offset `from` on. */
export async function head(path: string, length: number, from = 0): Promise<Uint8Array> {
  const file = await open(path, 'r');
  try {
    const buffer = new Uint8Array(length);
    let filled = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, filled, length - filled, from + filled);
      filled += bytesRead;
      if (bytesRead === 0 || filled === length) return buffer.subarray(0, filled);
    }
  } finally {
    await file.close();
  }
}
