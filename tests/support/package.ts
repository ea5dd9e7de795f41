// The packed package, installed as a user would have it.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const execute = promisify(execFile);
export const PKG = join(process.cwd(), 'pkg');

export interface Packed {
  readonly tarball: string;
  readonly files: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
}

/** `npm pack` of pkg/, into a folder of its own so that concurrent test files do not share a tarball. */
export async function pack(destination: string): Promise<Packed> {
  const { dependencies = {} } = JSON.parse(await readFile(join(PKG, 'package.json'), 'utf8')) as { dependencies?: Record<string, string> };
  return { ...(await packTarball(PKG, destination)), dependencies };
}

async function packTarball(folder: string, destination: string): Promise<Pick<Packed, 'tarball' | 'files'>> {
  const output = await npm(['pack', '--json', '--ignore-scripts', '--pack-destination', destination], folder);
  const [{ filename, files }] = JSON.parse(output) as [{ filename: string; files: { path: string }[] }];
  return { tarball: join(destination, filename), files: files.map(({ path }) => path).sort() };
}

export interface Project extends AsyncDisposable {
  readonly root: string;
  readonly packed: Packed;
  write(files: Readonly<Record<string, string>>): Promise<void>;
  /** Runs Node on a file of the project and returns what it printed. */
  node(...args: string[]): Promise<string>;
}

/** A project outside of this repository, with nothing installed but the tarball and what it depends on. */
export async function createProject(): Promise<Project> {
  const root = await mkdtemp(join(tmpdir(), 'palimpsest-'));
  const write = async (files: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, name)), { recursive: true });
      await writeFile(join(root, name), text);
    }
  };
  await write({ 'package.json': JSON.stringify({ name: 'app', private: true, type: 'module' }) });
  const packed = await pack(root);
  // Packed from where it is installed, since npm's cache may not have it.
  const dependencies = Object.keys(packed.dependencies).map((name) => packTarball(join(process.cwd(), 'node_modules', name), root));
  await npm(['install', '--offline', '--no-audit', '--no-fund', packed.tarball, ...(await Promise.all(dependencies)).map(({ tarball }) => tarball)], root);
  return {
    root,
    packed,
    write,
    node: async (...args) => (await execute(process.execPath, args, { cwd: root })).stdout,
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

// The shell is for Windows, where npm is a .cmd file; no argument here needs quoting.
async function npm(args: string[], cwd: string): Promise<string> {
  return (await execute('npm', args, { cwd, shell: process.platform === 'win32' })).stdout;
}
