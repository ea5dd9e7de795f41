/**
 * The worker that runs regular expressions of people, and nothing else: one that does not end holds up nobody, and is ended
 * with the worker.
 */

import { countIn, piecesIn } from './matcher.js';

/** What it is asked: to count the matches in each of some lines, or for the first matches in one. */
export interface PatternTask {
  readonly task: number;
  readonly source: string;
  readonly flags: string;
  readonly pieces: boolean;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Where the lines begin and end in `bytes`: two numbers for each. */
  readonly ranges: Uint32Array<ArrayBuffer>;
  /** Tells of each line before it is looked at. */
  readonly careful: boolean;
}

/** What it says: which line is next, or all there is to say of them. */
export type PatternAnswer =
  | { readonly task: number; readonly at: number }
  | { readonly task: number; readonly found: readonly unknown[] };

const decoder = new TextDecoder();
/** Milliseconds between two signs of life. */
const SIGN = 100;

addEventListener('message', ({ data }: MessageEvent<PatternTask>) => {
  const { task, source, flags, pieces, bytes, ranges, careful } = data;
  const matcher = new RegExp(source, flags);
  const found: unknown[] = [];
  // The first sign starts the clock: until then the worker itself was being started.
  let told = -Infinity;
  for (let at = 0; at < ranges.length / 2; at++) {
    if (careful || performance.now() - told > SIGN) {
      told = performance.now();
      postMessage({ task, at } satisfies PatternAnswer);
    }
    const line = decoder.decode(bytes.subarray(ranges[at * 2], ranges[at * 2 + 1]));
    found.push(pieces ? piecesIn(line, matcher) : countIn(line, matcher));
  }
  postMessage({ task, found } satisfies PatternAnswer);
});
