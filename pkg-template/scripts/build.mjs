// Builds pkg/, the npm package: wasm-pack for the core, tsc for the façade, then the files around them.
// Every step that changed nothing since its last success is skipped.
// Only node: builtins and tools.mjs may be imported: node_modules may not exist yet.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { Failure, buildTools, npm, root, run, runMain, runNode } from './tools.mjs';

const at = (...parts) => join(root, ...parts);
const GLUE = at('target/wasm-pack');
const GLUE_FILES = ['palimpsest.js', 'palimpsest.d.ts', 'palimpsest_bg.wasm', 'palimpsest_bg.wasm.d.ts'];
const PKG = at('pkg');
const INLINE_TYPES = 'export declare const wasmBase64: string;\n';
// In Workers an import of a .wasm file is the compiled module.
const WASM_IMPORT_TYPES = 'declare const module: WebAssembly.Module;\nexport default module;\n';

/** Brings node_modules, the tools and pkg/ up to date. */
export async function build() {
  await installPackages();
  const env = await buildTools();
  await buildWasm(env);
  await buildTypeScript();
  assemble();
}

async function installPackages() {
  const lock = hashFiles(['package.json', 'package-lock.json', 'www/package.json']);
  const stamp = at('node_modules/.palimpsest-lock');
  if (readStamp(stamp) === lock) return;
  console.log('npm ci: node_modules is missing or older than package-lock.json');
  await npm(['ci', '--include=dev', '--no-audit', '--no-fund'], { hint: 'The npm registry must be reachable once.' });
  writeFileSync(stamp, lock);
}

async function buildWasm(env) {
  const inputs = ['Cargo.toml', 'Cargo.lock', 'build.rs', '.cargo/config.toml', 'src', 'pkg-template/scripts'];
  const rustc = execFileSync('rustc', ['--version'], { cwd: root, encoding: 'utf8' });
  await unlessDone('wasm', hashFiles(inputs, rustc), GLUE_FILES.map((file) => join(GLUE, file)), async () => {
    const args = ['build', '--mode', 'no-install', '--target', 'web', '--release', '--no-pack',
      '--out-dir', relative(root, GLUE), '--out-name', 'palimpsest'];
    const output = await run('wasm-pack', args, { env: withStablePaths(env), hint: 'The compiler says why above.' });
    // wasm-pack skips this step without an error when it finds no wasm-opt, or when Cargo.toml turns it off.
    if (!output.includes('Optimizing wasm binaries')) {
      throw new Failure('wasm-pack did not optimise the module', { hint: 'See [package.metadata.wasm-pack.profile.release] in Cargo.toml.' });
    }
    const wasm = readFileSync(join(GLUE, 'palimpsest_bg.wasm'));
    console.log(`palimpsest_bg.wasm: ${kilobytes(wasm.length)}, ${kilobytes(gzipSync(wasm, { level: 9 }).length)} gzip`);
  });
}

// Panic messages carry the paths of dependencies: without this the bytes depend on where they were built.
function withStablePaths(env) {
  const cargoHome = env.CARGO_HOME ?? join(homedir(), '.cargo');
  const variable = 'CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS';
  // The variable separates flags by spaces and has no escape for them.
  if (cargoHome.includes(' ')) return env;
  return { ...env, [variable]: `${env[variable] ?? ''} --remap-path-prefix=${cargoHome}=/cargo`.trim() };
}

async function buildTypeScript() {
  // The sources import ./wasm/palimpsest.js, inline.js and palimpsest_bg.wasm: tsc needs their declarations there.
  const types = at('pkg-template/src/wasm');
  mkdirSync(types, { recursive: true });
  update(join(types, 'palimpsest.d.ts'), readFileSync(join(GLUE, 'palimpsest.d.ts')));
  update(join(types, 'inline.d.ts'), INLINE_TYPES);
  update(join(types, 'palimpsest_bg.d.wasm.ts'), WASM_IMPORT_TYPES);

  const inputs = hashFiles(['pkg-template/tsconfig.json', 'pkg-template/src', 'package-lock.json']);
  await unlessDone('typescript', inputs, [join(PKG, 'dist/index.js')], async () => {
    console.log('tsc -p pkg-template/tsconfig.json');
    // Emitted beside and moved in: a failed build leaves the last good package where it is.
    const staging = at(`target/dist-${process.pid}`);
    try {
      await runNode('node_modules/typescript/bin/tsc', ['-p', 'pkg-template/tsconfig.json', '--outDir', staging]);
      rmSync(join(PKG, 'dist'), { recursive: true, force: true });
      mkdirSync(PKG, { recursive: true });
      renameSync(staging, join(PKG, 'dist'));
    } finally {
      rmSync(staging, { recursive: true, force: true });
    }
  });
}

function assemble() {
  const wasmDir = join(PKG, 'dist/wasm');
  mkdirSync(wasmDir, { recursive: true });
  for (const file of GLUE_FILES) update(join(wasmDir, file), readFileSync(join(GLUE, file)));
  const base64 = readFileSync(join(GLUE, 'palimpsest_bg.wasm')).toString('base64');
  update(join(wasmDir, 'inline.js'), `export const wasmBase64 = '${base64}';\n`);
  update(join(wasmDir, 'inline.d.ts'), INLINE_TYPES);

  for (const file of ['package.json', 'CATALOG.md', 'IMPORT.md', 'STORAGE.md', 'scripts/catalog.mjs']) update(join(PKG, basename(file)), readFileSync(at('pkg-template', file)));
  for (const file of ['README.md', 'LICENSE-MIT', 'LICENSE-APACHE']) {
    if (existsSync(at(file))) update(join(PKG, file), readFileSync(at(file)));
  }
  console.log('pkg/ is up to date');
}

// An unchanged file keeps its time: servers that watch pkg/ must not reload after every no-op build.
function update(file, bytes) {
  const wanted = Buffer.from(bytes);
  if (!existsSync(file) || !readFileSync(file).equals(wanted)) writeFileSync(file, wanted);
}

/** Runs `step` unless it succeeded before on the same inputs and its outputs are still there. */
async function unlessDone(name, inputs, outputs, step) {
  const stamp = at('target/stamps', name);
  if (readStamp(stamp) === inputs && outputs.every((file) => existsSync(file))) return;
  rmSync(stamp, { force: true });
  await step();
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, inputs);
}

function readStamp(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

function hashFiles(paths, ...also) {
  const hash = createHash('sha256');
  for (const file of paths.flatMap((path) => listFiles(path))) hash.update(`${file}\0`).update(readFileSync(at(file))).update('\0');
  return also.reduce((sum, text) => sum.update(text), hash).digest('hex');
}

function listFiles(path) {
  if (!existsSync(at(path))) return [];
  if (!statSync(at(path)).isDirectory()) return [path];
  return readdirSync(at(path)).sort().flatMap((name) => listFiles(`${path}/${name}`));
}

const kilobytes = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;

if (process.argv[1] === fileURLToPath(import.meta.url)) runMain(build);
