/** Streams of bytes whose chunks need not match. */

/** Bytes in chunks of any size. */
export type Chunks = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** True when the bytes of `whole` begin with all bytes of `prefix`. */
export async function beginsWith(whole: Iterable<Uint8Array>, prefix: Chunks): Promise<boolean> {
  const chunks = whole[Symbol.iterator]();
  let rest: Uint8Array = new Uint8Array(0);
  for await (let wanted of prefix) {
    while (wanted.length > 0) {
      if (rest.length === 0) {
        const next = chunks.next();
        if (next.done) return false;
        rest = next.value;
      }
      const length = Math.min(wanted.length, rest.length);
      for (let i = 0; i < length; i++) if (wanted[i] !== rest[i]) return false;
      wanted = wanted.subarray(length);
      rest = rest.subarray(length);
    }
  }
  return true;
}

/** Watches a stream go by, to know where its lines end. */
export class LineMeter {
  /** How many lines have ended. */
  lines = 0;
  /** Length of these lines. */
  bytes = 0;
  /** Length of what follows them. */
  rest = 0;

  async *over(chunks: Chunks): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      let end = 0;
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, end)) {
        end = at + 1;
        this.lines++;
      }
      if (end > 0) {
        this.bytes += this.rest + end;
        this.rest = 0;
      }
      this.rest += chunk.length - end;
      yield chunk;
    }
  }
}

export const NEWLINE = 10;

// A byte order mark is a character like any other here.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Stored text. Throws where it is no UTF-8. */
export function decode(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** The lines of chunks that each hold whole ones, without their ends. */
export function* linesOf(chunks: Iterable<Uint8Array>): Generator<string, undefined> {
  for (const chunk of chunks) {
    if (chunk.length === 0) continue;
    yield* decode(chunk.at(-1) === NEWLINE ? chunk.subarray(0, -1) : chunk).split('\n');
  }
}
