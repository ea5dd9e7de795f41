// In the page: what the tests call by name.
import { init } from 'palimpsest/inline';
import { indexeddb } from 'palimpsest/indexeddb';
import { type StorageEntry, type StorageUnderTest, casesFor } from 'palimpsest/testing';
import { cases } from './cases.js';
import { alias, install } from './faulty.js';
import { tabs } from './tabs.js';

let made = 0;

function setup(): StorageUnderTest {
  const name = `conformance-${made++}`;
  return {
    open: () => indexeddb(name),
    openFaulty: (decide) => indexeddb(alias(name, decide)),
    dispose: () => {
      indexedDB.deleteDatabase(name);
    },
  };
}

const entry: StorageEntry = { name: 'indexeddb', setup };

const functions: Readonly<Record<string, (argument: never) => unknown>> = {
  conformance: async (index: number) => casesFor(entry)[index]?.run(),
  one: async (name: string) => cases[name]?.(),
  ...tabs,
};

const ready = init().then(install);

/** Runs a function; errors come back as text, which says more than what drivers make of them. */
async function call({ name, argument }: { name: string; argument: unknown }): Promise<{ value?: unknown; error?: string }> {
  try {
    await ready;
    const run = functions[name] as ((argument: unknown) => unknown) | undefined;
    if (!run) return { error: `no function ${name}` };
    return { value: await run(argument) };
  } catch (error) {
    return { error: error instanceof Error ? `${error.message}\n${error.stack ?? ''}` : String(error) };
  }
}

Object.assign(globalThis, { call });
