/** `palimpsest view`: the viewer, served to this machine alone, with a log in it. */

import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { STANDARD } from './bytes.js';
import { CliError, Exit, paint, print } from './host.js';

/** Options of the command. */
export interface ViewOptions {
  readonly port: number;
  readonly json?: true;
}

/** What the package holds of the page; see `buildViewer` in the build. */
const VIEWER = fileURLToPath(new URL('../../viewer/', import.meta.url));
const WASM = fileURLToPath(new URL('../wasm/palimpsest_bg.wasm', import.meta.url));

interface Server {
  readonly url: string;
  close(): Promise<void>;
}
type Serve = (options: { folder: string; files: Record<string, string>; port: number }) => Promise<Server>;

/** Serves the viewer until a signal comes, which is its normal end. */
export async function view(path: string | undefined, { port, json }: ViewOptions): Promise<number> {
  if (!existsSync(join(VIEWER, 'index.html'))) throw new CliError('this package was built without its viewer', { hint: 'in a checkout, run `npm run build` once; an installed package has it' });
  if (path === STANDARD) throw new CliError('the page reads a file, more than once', { hint: 'name one; `palimpsest export - --as html` makes a page of standard input', exit: Exit.usage });
  if (path !== undefined && !(await stat(path)).isFile()) throw new CliError(`${path} is not a file`, { hint: 'name a log; a folder can be dropped on the page', exit: Exit.usage });
  const { serve } = (await import(pathToFileURL(join(VIEWER, 'server.mjs')).href)) as { serve: Serve };
  // The page brings no core of its own: it is the package's.
  const { core } = JSON.parse(await readFile(join(VIEWER, 'viewer.json'), 'utf8')) as { core: readonly string[] };
  const name = path === undefined ? undefined : basename(path);
  const files = { ...Object.fromEntries(core.map((file) => [`/${file}`, WASM])), ...(name !== undefined && path !== undefined && { [`/log/${name}`]: resolve(path) }) };
  const server = await serve({ folder: VIEWER, files, port });
  const url = `${server.url}/${name === undefined ? '' : `#log=${encodeURIComponent(`log/${encodeURIComponent(name)}`)}`}`;
  await print(json ? JSON.stringify({ url }) : `${paint('bold', url)}\n${paint('dim', 'Ctrl-C ends it.')}`);
  await new Promise<void>((end) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => end());
  });
  await server.close();
  return Exit.ok;
}
