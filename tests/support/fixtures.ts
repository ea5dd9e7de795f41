/** Where the test data is, and the cases that it holds. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { EpochHeader, HeaderDelta, Message, SessionEvent } from 'palimpsest';

/** Tests run from target/tests/<directory>/. */
const root = new URL('../../../', import.meta.url);

/** The vectors, copied. */
export const VECTORS = new URL('tests/fixtures/vectors/', root);

/** Recorded sessions of a real agent, where they lie beside the checkout. */
export const REAL = new URL('../shared/real/', root);

/** What a correct implementation computes from a log's first `n` events. */
export interface Prefix {
  n: number;
  nodes: [number, number | null, number | null][];
  messages: Message[];
  replaceGeneration: number;
  header: EpochHeader | null;
  balanced: Record<string, boolean | 'corrupt'>;
  closers: SessionEvent[];
}

/** What a load of a cut or damaged file keeps. */
export interface Damage {
  error?: true;
  events?: number;
  committedBytes?: number;
  closers?: SessionEvent[];
}

/** What is expected of one log. */
export interface Expected {
  prefixes: Prefix[];
  torn?: (Damage & { cut: number })[];
  corrupt?: Damage & { line: number };
}

/** One pair of headers. */
export interface HeaderCase {
  prev: EpochHeader;
  next: EpochHeader;
  delta: HeaderDelta | null;
  applied: EpochHeader | null;
  roundTrips: boolean;
}

/** One log with what is expected of it. */
export interface Case {
  name: string;
  bytes: Uint8Array;
  expected: Expected;
}

/** The cases of a folder; none where there is no such folder. */
export function casesIn(folder: URL): Case[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.jsonl'))
    .map((file) => {
      const name = file.slice(0, -'.jsonl'.length);
      const expected = readJson<Expected>(new URL(`${name}.expected.json`, folder));
      return { name, bytes: new Uint8Array(readFileSync(new URL(file, folder))), expected };
    });
}

/** A JSON file. */
export function readJson<T>(file: URL): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T;
}
