/** Bytes from wherever they come. */

import { need, needObject } from '../arguments.js';

/** Where bytes come from. */
export type SalvageSource = Uint8Array | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** A source's bytes, in pieces after each of which other work may run. */
export async function* chunksOf(source: SalvageSource): AsyncGenerator<Uint8Array> {
  needObject('source', source, 'bytes, or a source of them');
  if (source instanceof Uint8Array) {
    // In pieces, so that progress is told and an abort heard.
    for (let from = 0; from < source.length; from += 1 << 20) {
      yield source.subarray(from, from + (1 << 20));
      if (from > 0) await new Promise<void>((resolve) => void setTimeout(resolve));
    }
  } else if ('getReader' in source) {
    // Not every browser can iterate over a stream.
    const reader = source.getReader();
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  } else {
    need(Symbol.asyncIterator in source || Symbol.iterator in source, 'source', source, 'bytes, or a source of them');
    yield* source;
  }
}

const encoder = new TextEncoder();

/** Bytes with a text between. */
export function concat(head: Uint8Array, between: string, tail: Uint8Array): Uint8Array {
  const middle = encoder.encode(between);
  const whole = new Uint8Array(head.length + middle.length + tail.length);
  whole.set(head);
  whole.set(middle, head.length);
  whole.set(tail, head.length + middle.length);
  return whole;
}
