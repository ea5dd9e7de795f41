/** `palimpsest import`: another agent's logs as sessions. */

import { CliError } from './host.js';

/** Options of the command. */
export interface ImportOptions {
  readonly output: string;
  readonly json?: true;
}

/** Imports logs. */
export async function importLogs(_paths: readonly string[], _options: ImportOptions): Promise<number> {
  throw new CliError('not yet');
}
