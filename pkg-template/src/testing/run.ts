/** The cases of one storage, and how a test runner gets them. */

import { CASES } from './cases.js';
import type { ConformanceCase, StorageEntry, StorageUnderTest } from './entry.js';

/** A case for one storage. */
export interface CaseToRun {
  /** Names the storage and the case; of one that is skipped, also why. */
  readonly title: string;
  /** Set when the storage lacks what the case needs. */
  readonly skip?: string;
  readonly run: () => Promise<void>;
}

/** As `test` of node:test. */
export type TestFunction = (title: string, options: { readonly skip?: string | undefined }, run: () => Promise<void>) => unknown;

/** All cases, each with a storage of its own that is taken away afterwards. */
export function casesFor(entry: StorageEntry): CaseToRun[] {
  return CASES.map((each) => {
    const title = `${entry.name}: ${each.name}`;
    const run = (): Promise<void> => runCase(entry, each);
    const why = each.needs?.map((need) => entry.lacks?.[need]).find((reason) => reason !== undefined);
    return why === undefined ? { title, run } : { title: `${title} (skipped: ${why})`, skip: why, run };
  });
}

/** Registers all cases of a storage with a test runner. */
export function conformance(test: TestFunction, entry: StorageEntry): void {
  for (const { title, skip, run } of casesFor(entry)) void test(title, { skip }, run);
}

async function runCase(entry: StorageEntry, { run }: ConformanceCase): Promise<void> {
  const made: StorageUnderTest[] = [];
  try {
    await run(async () => {
      const storage = await entry.setup();
      made.push(storage);
      return storage;
    });
  } finally {
    for (const storage of made) await storage.dispose?.();
  }
}
