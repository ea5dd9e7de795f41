// Where the shared samples of other agents' logs lie, and their imports.
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';

const SHARED = process.env.PALIMPSEST_SHARED ?? join(process.cwd(), '../shared');

/** The folder of samples; `undefined` where there is none. */
export const SAMPLES = existsSync(join(SHARED, 'foreign')) ? join(SHARED, 'foreign') : undefined;

/** A sample and what it must show. */
export interface Sample {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly expected: Record<string, unknown>;
}

/** All samples. */
export async function samples(): Promise<Sample[]> {
  if (SAMPLES === undefined) return [];
  const names = (await readdir(SAMPLES, { recursive: true })).filter((name) => /\.jsonl(\.zstd)?$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const facts = name.endsWith('.zstd') ? `${name}.expected.json` : name.replace(/\.jsonl$/, '.expected.json');
      const [bytes, text] = await Promise.all([readFile(join(SAMPLES, name)), readFile(join(SAMPLES, facts), 'utf8')]);
      return { name, bytes: new Uint8Array(bytes), expected: JSON.parse(text) as Record<string, unknown> };
    }),
  );
}
