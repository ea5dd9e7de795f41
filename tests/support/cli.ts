/** The command line as a user calls it, with its output in pipes. */

import { spawn } from 'node:child_process';
import { watch } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { Session } from 'palimpsest';

/** The program. */
export const BIN = join(process.cwd(), 'pkg/dist/cli/bin.js');

/** What a command printed, and how it ended. */
export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** How to run it. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: Uint8Array | string;
}

/** Variables that the tests' own surroundings may have set. */
const CLEAN = { NO_COLOR: '', FORCE_COLOR: '', TERM: 'xterm-256color' };

/** Runs a command to its end. */
export async function cli(args: readonly string[], { cwd, env = {}, input }: RunOptions = {}): Promise<Ran> {
  const child = spawn(process.execPath, [BIN, ...args], { cwd, env: { ...process.env, ...CLEAN, ...env } });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  child.stdin.on('error', () => undefined).end(input ?? '');
  const code = await new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
  return { code, out, err };
}

/** Imports a file into a directory, and interrupts it as soon as something is written there; its exit code. */
export async function interruptedImport(file: string, store: string, signal: NodeJS.Signals): Promise<number | null> {
  const child = spawn(process.execPath, [BIN, 'import', file, '-o', `${store}/`], { stdio: 'ignore' });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const begun = watch(store);
  begun.once('change', () => child.kill(signal));
  const code = await ended;
  begun.close();
  return code;
}

/** What a command prints as JSON. */
export async function cliJson<T>(args: readonly string[], options?: RunOptions): Promise<T & { readonly exit: number | null }> {
  const { code, out, err } = await cli([...args, '--json'], options);
  if (out === '') throw new Error(err);
  return { ...(JSON.parse(out) as T), exit: code };
}

/** A directory of its own for a test. */
export interface Folder extends AsyncDisposable {
  readonly path: string;
  /** Writes a file; its path. */
  write(name: string, bytes: Uint8Array | string): Promise<string>;
  /** Writes a session's log; its path. */
  save(name: string, session: Session): Promise<string>;
}

/** Makes one. */
export async function folder(): Promise<Folder> {
  const path = await mkdtemp(join(tmpdir(), 'palimpsest-cli-'));
  const write = async (name: string, bytes: Uint8Array | string): Promise<string> => {
    await writeFile(join(path, name), bytes);
    return join(path, name);
  };
  return {
    path,
    write,
    save: (name, session) => write(name, Buffer.concat([session.headerLine(), session.jsonl()])),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
