/** Logs of other agents, by the importer: loaded only where a file is one. */

import type { ByteSource } from './bytes.js';
import type { CheckedFile } from './check.js';
import { CliError, Exit } from './host.js';
import type { Opened } from './input.js';
import type { Listed } from './ls.js';

/** What the importer says about a foreign log; undefined where the file is none that is known. */
export async function foreignFindings(_from: ByteSource, _first: Uint8Array): Promise<Omit<CheckedFile, 'file'> | undefined> {
  return undefined;
}

/** The sessions of a foreign log; undefined where the file is none that is known. */
export async function openForeign(_from: ByteSource, _first: Uint8Array): Promise<Opened | undefined> {
  return undefined;
}

/** What the first bytes of a foreign log say; undefined where it is none that is known. */
export async function foreignHead(_file: string, _first: Uint8Array, _read: (bytes: number) => void): Promise<Listed | undefined> {
  return undefined;
}

/** Where an agent keeps its logs. */
export async function placesOf(agent: string): Promise<string[]> {
  throw new CliError(`the logs of ${agent} cannot be listed`, { hint: 'name their directory', exit: Exit.usage });
}
