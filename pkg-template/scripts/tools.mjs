// Finds the tools that the build and the tests call, and installs the ones that are missing.
//
// Nothing here changes process.env: each function returns the environment to give to the commands
// that need it, so that the settings of a tool's own build never reach the project's build.
// Only node: builtins may be imported: these scripts run before node_modules exists.
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

const WINDOWS = process.platform === 'win32';
const WASM_TARGET = 'wasm32-unknown-unknown';
// The CLI must have the version of the `wasm-bindgen` crate in Cargo.toml: their formats are not stable.
const WASM_BINDGEN = {
  name: 'wasm-bindgen', version: '0.2.129', crate: 'wasm-bindgen-cli',
  bins: ['wasm-bindgen', 'wasm-bindgen-test-runner'],
  flags: ['--no-default-features', '--bin', 'wasm-bindgen', '--bin', 'wasm-bindgen-test-runner'],
};
const WASM_PACK = { name: 'wasm-pack', version: '0.15.1', crate: 'wasm-pack', bins: ['wasm-pack'], flags: [] };
const GECKODRIVER = { name: 'geckodriver', version: '0.37.1', crate: 'geckodriver', bins: ['geckodriver'], flags: [] };
// The next LTS line, with an SQLite of its own.
const NEWER_NODE = '24.22.3';
// Older releases (such as Debian's 108) exit 0 and write a module that breaks when it starts.
const WASM_OPT_VERSION = '132';

const BROWSERS = [
  { variable: 'PALIMPSEST_CHROMIUM', names: ['chromium', 'google-chrome', 'chromium-browser'], apt: 'chromium' },
  { variable: 'CHROMEDRIVER', names: ['chromedriver'], apt: 'chromium-driver' },
  { variable: 'PALIMPSEST_FIREFOX', names: ['firefox', 'firefox-esr'], apt: 'firefox-esr' },
];

/** An error that the caller prints without a stack: what failed, the exit code, what to do about it. */
export class Failure extends Error {
  constructor(message, { hint, code = 1, output = '' } = {}) {
    super(hint ? `${message}\n  ${hint}` : message);
    this.code = code;
    this.output = output;
  }
}

/** Ends the process after `main`, with the exit code of what failed. */
export function runMain(main) {
  main().catch((error) => {
    console.error(error instanceof Failure ? `\nerror: ${error.message}` : error);
    process.exitCode = error instanceof Failure ? error.code || 1 : 1;
  });
}

/**
 * Runs a command without a shell and shows its output, which is also the promise's value.
 * `quiet` keeps the output back until the command fails; `timeout` (ms) counts as a failure.
 */
export function run(command, args, { cwd = root, env = process.env, hint, quiet = false, timeout } = {}) {
  return new Promise((resolve, reject) => {
    const shown = [basename(command), ...args].join(' ');
    const child = spawn(command, args, { cwd, env, timeout, stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks = [];
    for (const [from, to] of [[child.stdout, process.stdout], [child.stderr, process.stderr]]) {
      from.on('data', (chunk) => {
        chunks.push(chunk);
        if (!quiet) to.write(chunk);
      });
    }
    child.on('error', (error) => reject(new Failure(`${shown}: ${error.message}`, { hint })));
    child.on('close', (code, signal) => {
      const output = Buffer.concat(chunks).toString();
      if (code === 0) return resolve(output);
      if (quiet) process.stderr.write(output);
      reject(new Failure(`${shown} failed (${signal ?? `exit ${code}`})`, { hint, code: code ?? 1, output }));
    });
  });
}

/** Runs the entry file of a JavaScript tool under this Node: Windows cannot spawn the shims in .bin. */
export function runNode(script, args, options) {
  return run(process.execPath, [script, ...args], options);
}

/** Runs npm, under this Node where its entry file can be found. */
export function npm(args, options) {
  const cli = npmCli();
  return cli ? run(process.execPath, [cli, ...args], options) : run('npm', args, options);
}

function npmCli() {
  const bin = dirname(process.execPath);
  const bundled = [process.env.npm_execpath, join(bin, 'node_modules/npm/bin/npm-cli.js'), join(bin, '../lib/node_modules/npm/bin/npm-cli.js')];
  return bundled.find((file) => file?.endsWith('npm-cli.js') && existsSync(file));
}

/** What the commands of the build need on their PATH, installed where missing. */
export async function buildTools() {
  await wasmTarget();
  const dirs = await cargoTools([WASM_BINDGEN, WASM_PACK]);
  const env = withPath(process.env, [...dirs, join(root, 'node_modules/.bin')]);
  checkWasmOpt(env);
  return env;
}

/** What the tests need besides: both browsers and their drivers, also named by their variables. */
export async function testTools() {
  await components();
  const build = await buildTools();
  const [geckodriver] = process.env.GECKODRIVER ? [] : await cargoTools([GECKODRIVER]);
  const env = withPath(build, geckodriver ? [geckodriver] : []);
  env.GECKODRIVER ??= which('geckodriver', env);
  mustBeProgram('GECKODRIVER', env.GECKODRIVER);
  return { ...env, ...(await browsers()) };
}

/**
 * Builds the native part of better-sqlite3 for a Node, since no package may run an install script here. It is kept
 * beside the other tools, and lies where its loader looks for the part of each Node by itself.
 */
export async function sqliteAddon(node = process.execPath) {
  const home = join(root, 'node_modules/better-sqlite3');
  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  const name = `node-v${capture(node, ['-p', 'process.versions.modules'])}-${process.platform}-${process.arch}`;
  const built = join(toolsCache(), `better-sqlite3-${version}`, name, 'better_sqlite3.node');
  if (!existsSync(built)) await buildSqlite(node, home, built);
  const place = join(home, 'lib/binding', name);
  mkdirSync(place, { recursive: true });
  copyFileSync(built, join(place, 'better_sqlite3.node'));
}

async function buildSqlite(node, source, built) {
  console.log(`Building better-sqlite3 for Node ${capture(node, ['--version'])} (once, about half a minute)`);
  const gyp = join(dirname(npmCli() ?? ''), '../node_modules/node-gyp/bin/node-gyp.js');
  const hint = 'It needs the node-gyp of npm, Python 3, make and a C++ compiler.';
  if (!existsSync(gyp)) throw new Failure('The npm of this Node was not found', { hint });
  const work = join(toolsCache(), `build-sqlite-${process.pid}`);
  try {
    cpSync(source, work, { recursive: true, dereference: true });
    // Headers beside the program need no download.
    const headers = join(dirname(node), '..');
    const flags = existsSync(join(headers, 'include/node/node.h')) ? [`--nodedir=${headers}`] : [];
    // For tests alone: little optimisation takes a tenth of the time.
    const env = { ...process.env, CFLAGS: '-O1', CXXFLAGS: '-O1' };
    await run(node, [gyp, 'rebuild', '--release', ...flags], { cwd: work, env, quiet: true, hint });
    mkdirSync(dirname(built), { recursive: true });
    // Moved in whole, for others who run at the same time.
    renameSync(join(work, 'build/Release/better_sqlite3.node'), built);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The program of a newer Node, installed where missing; undefined where npm has none for this system. */
export async function newerNode() {
  const name = `node-${{ win32: 'win' }[process.platform] ?? process.platform}-${process.arch}`;
  const home = join(toolsCache(), `node-${NEWER_NODE}`);
  const program = join(home, 'node_modules', name, 'bin', WINDOWS ? 'node.exe' : 'node');
  if (!isProgram(program)) {
    if (!['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win-x64'].includes(name.slice(5))) return undefined;
    console.log(`Installing Node ${NEWER_NODE} into ${home} (once)`);
    mkdirSync(home, { recursive: true });
    // Apart from the project: its bin directory would put this Node before the others.
    await npm(['install', '--prefix', home, '--no-save', '--no-audit', '--no-fund', `${name}@${NEWER_NODE}`], { cwd: home, quiet: true });
  }
  mustBeProgram(`Node ${NEWER_NODE}`, program);
  return program;
}

export function which(name, env = process.env) {
  const suffixes = WINDOWS ? ['.exe', '.cmd', '.bat'] : [''];
  for (const dir of env[pathKey(env)]?.split(delimiter) ?? []) {
    for (const suffix of suffixes) {
      const file = join(dir, name + suffix);
      if (dir && isProgram(file)) return file;
    }
  }
  return undefined;
}

async function wasmTarget() {
  const libdir = capture('rustc', ['--print', 'target-libdir', '--target', WASM_TARGET]);
  if (libdir === undefined) {
    throw new Failure('rustc was not found', { hint: 'Install a current Rust with rustup: https://rustup.rs' });
  }
  if (existsSync(libdir)) return;
  await rustup(['target', 'add', WASM_TARGET]);
}

async function components() {
  for (const [name, command] of [['rustfmt', 'cargo-fmt'], ['clippy', 'cargo-clippy']]) {
    if (capture(command, ['--version']) === undefined) await rustup(['component', 'add', name]);
  }
}

async function rustup(args) {
  if (!which('rustup')) {
    throw new Failure(`The Rust installation lacks ${args.at(-1)}`, { hint: 'Add it with your package manager, or use rustup: https://rustup.rs' });
  }
  console.log(`rustup ${args.join(' ')}`);
  // A download sometimes hangs without an error, and a second try goes through.
  const attempt = () => run('rustup', args, { timeout: 180_000 });
  await attempt().catch(attempt);
}

/** Where tools are kept from one run to the next. */
function toolsCache() {
  return join(process.env.CARGO_HOME ?? join(homedir(), '.cargo'), 'palimpsest-tools');
}

/** The directories that hold `tools` in exactly their versions, for those that PATH does not have. */
async function cargoTools(tools) {
  const cache = toolsCache();
  const build = join(cache, 'build');
  const dirs = [];
  for (const tool of tools) {
    const onPath = tool.bins.map((bin) => which(bin));
    if (onPath.every((file) => isVersion(file, tool.version))) continue;
    const home = join(cache, `${tool.name}-${tool.version}`);
    dirs.push(join(home, 'bin'));
    if (tool.bins.every((bin) => isVersion(join(home, 'bin', WINDOWS ? `${bin}.exe` : bin), tool.version))) continue;
    await cargoInstall(tool, home, build);
  }
  // Kept until here so that an interrupted installation resumes.
  rmSync(build, { recursive: true, force: true });
  return dirs;
}

async function cargoInstall(tool, home, build) {
  console.log(`Installing ${tool.name} ${tool.version} into ${home} (once, one to three minutes)`);
  mkdirSync(home, { recursive: true });
  const args = ['install', '--locked', '--force', '--root', home, tool.crate, '--version', tool.version, ...tool.flags];
  await run('cargo', args, {
    cwd: home,
    quiet: true,
    // Unoptimised tools build in a third of the time and write the same bytes.
    env: { ...process.env, CARGO_PROFILE_RELEASE_OPT_LEVEL: '0', CARGO_TARGET_DIR: build },
    hint: `Or put ${tool.bins.join(' and ')} ${tool.version} on PATH yourself.`,
  });
}

// wasm-pack skips optimisation without an error when wasm-opt is missing.
function checkWasmOpt(env) {
  const bin = join(root, 'node_modules/.bin');
  const manifest = join(root, 'node_modules/binaryen/package.json');
  const version = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')).version : 'none';
  if (dirname(which('wasm-opt', env) ?? '') !== bin || !version.startsWith(`${WASM_OPT_VERSION}.`)) {
    throw new Failure(`wasm-opt ${WASM_OPT_VERSION} is not in node_modules/.bin (found binaryen ${version})`, { hint: 'Run: npm ci' });
  }
}

async function browsers() {
  const find = () => BROWSERS.map(({ variable, names }) => process.env[variable] ?? names.map((name) => which(name)).find(Boolean));
  let files = find();
  const missing = BROWSERS.filter((_, index) => !files[index]);
  if (missing.length > 0) {
    await aptInstall(missing);
    files = find();
  }
  BROWSERS.forEach(({ variable }, index) => mustBeProgram(variable, files[index]));
  return Object.fromEntries(BROWSERS.map(({ variable }, index) => [variable, files[index]]));
}

async function aptInstall(missing) {
  const packages = missing.map(({ apt }) => apt);
  if (!which('apt-get') || process.getuid?.() !== 0) {
    const wanted = missing.map(({ names, variable }) => `${names.join(' or ')} (or set ${variable} to its path)`);
    const debian = which('apt-get') ? `\n  On this system: sudo apt-get install ${packages.join(' ')}` : '';
    throw new Failure(`The browser tests need, on PATH: ${wanted.join('; ')}`, { hint: `Install them, then run again.${debian}` });
  }
  console.log(`apt-get install ${packages.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['update'], { env, quiet: true });
  await run('apt-get', ['install', '-y', '--no-install-recommends', ...packages], { env, quiet: true });
}

function mustBeProgram(variable, file) {
  if (!file || !isProgram(file)) {
    throw new Failure(`${variable} is not a program: ${file ?? 'nothing found on PATH'}`, { hint: `Set ${variable} to the path of its executable.` });
  }
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function isVersion(file, version) {
  return file !== undefined && isProgram(file) && (capture(file, ['--version'])?.split(/\s+/).includes(version) ?? false);
}

function capture(command, args) {
  const { status, stdout } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

function withPath(env, dirs) {
  const key = pathKey(env);
  return { ...env, [key]: [...dirs, env[key]].filter(Boolean).join(delimiter) };
}

// Windows spells it Path, and two spellings in one environment would hide each other.
function pathKey(env) {
  return WINDOWS ? (Object.keys(env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH') : 'PATH';
}

/** `node pkg-template/scripts/tools.mjs` installs everything that the build and the tests need. */
if (process.argv[1] === fileURLToPath(import.meta.url)) runMain(() => testTools());
