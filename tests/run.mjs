// npm test: every check of the project, stage by stage, ending at the first failure.
//
//   node tests/run.mjs [--list] [--only NAME[,NAME]] [-- ARGUMENTS OF cargo test]
//
// Only node: builtins and the build scripts may be imported: it is the build that brings node_modules.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { stripVTControlCharacters } from 'node:util';
import { build } from '../pkg-template/scripts/build.mjs';
import { Failure, newerNode, root, run, runMain, runNode, sqliteAddon, testTools } from '../pkg-template/scripts/tools.mjs';

const STAGES = {
  build: () => built(),
  fmt: () => run('cargo', ['fmt', '--check'], { hint: 'Run: cargo fmt' }),
  tree: nativeTree,
  clippy: () => clippy('--all-targets'),
  'clippy-wasm': () => clippy('--target', 'wasm32-unknown-unknown', '--lib', ...hostFiles('node'), ...hostFiles('browser')),
  types: () => compiled(),
  lint,
  native: (cargoArguments) => tests(run('cargo', ['test', ...cargoArguments])),
  'wasm-node': () => wasmPack('node', '--node'),
  'wasm-chrome': () => wasmPack('browser', '--headless', '--chrome'),
  'wasm-firefox': () => wasmPack('browser', '--headless', '--firefox'),
  node: () => nodeTests('node', process.env, '--test-concurrency=2'),
  'node-newer': storageTestsOnNewerNode,
  browser: async () => nodeTests('browser', await tools(), '--test-concurrency=1'),
};

const TEST_FLAGS = ['--expose-gc', '--enable-source-maps', '--test', '--test-reporter=spec', '--test-timeout=600000'];

// Each stage asks for what it needs, so that it can also run alone.
const built = once(build);
const tools = once(() => built().then(testTools));
const compiled = once(async () => {
  await built();
  // Emits too: the tests of the later stages run from target/tests.
  await runNode('node_modules/typescript/bin/tsc', ['-p', 'tests/tsconfig.json']);
  // The page's modules and its components; the compiler alone knows nothing of the latter.
  await runNode('node_modules/svelte-check/bin/svelte-check', ['--workspace', 'www', '--tsconfig', './tsconfig.json', '--fail-on-warnings', '--output', 'human']);
});

async function main() {
  const { names, cargoArguments } = parse(process.argv.slice(2));
  const all = [];
  const lines = [];
  let failure;
  for (const name of names) {
    console.log(`\n=== ${name}`);
    const start = performance.now();
    const outcome = await attempt(STAGES[name], cargoArguments);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    all.push(...outcome.results);
    failure = outcome.failure;
    lines.push(`${failure ? 'FAIL' : 'ok  '} ${name.padEnd(13)}${seconds.padStart(7)} s   ${outcome.results.length > 0 ? describe(sum(outcome.results)) : ''}`.trimEnd());
    console.log(failure ? `${lines.at(-1)}\n${failure.message}` : lines.at(-1));
    if (failure) break;
  }
  console.log(`\n=== summary\n${lines.join('\n')}`);
  if (failure) console.log(`Again from there: node tests/run.mjs --only ${names.slice(lines.length - 1).join(',')}`);
  console.log(`\n${describe(sum(all))}`);
  process.exitCode = failure ? failure.code || 1 : 0;
}

function parse(argv) {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const [options, cargoArguments] = [argv.slice(0, end), argv.slice(end + 1)];
  const all = Object.keys(STAGES);
  if (options[0] === '--list') {
    console.log(all.join('\n'));
    process.exit(0);
  }
  const names = options[0] === '--only' ? (options[1] ?? '').split(',') : all;
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length > 0 || options.length > (options[0] === '--only' ? 2 : 0)) {
    throw new Failure(`Cannot understand: ${options.join(' ')}`, { hint: 'node tests/run.mjs [--list] [--only NAME[,NAME]] [-- ARGUMENTS OF cargo test]', code: 2 });
  }
  return { names, cargoArguments };
}

/** Runs a stage; a failed one counts at least one failure, whatever its runner could still report. */
async function attempt(stage, cargoArguments) {
  try {
    const found = await stage(cargoArguments);
    return { results: Array.isArray(found) ? found : [] };
  } catch (failure) {
    if (!(failure instanceof Failure)) console.error(failure);
    const found = results(failure.output ?? '');
    if (sum(found).failed === 0) found.push({ passed: 0, failed: 1, skipped: 0 });
    return { results: found, failure };
  }
}

async function nativeTree() {
  const host = /^host: (.+)$/m.exec(await run('rustc', ['-vV'], { quiet: true }))[1];
  const tree = await run('cargo', ['tree', '--edges', 'normal', '--prefix', 'none', '--target', host], { quiet: true });
  const found = tree.match(/^(wasm-bindgen|js-sys|web-sys|serde-wasm-bindgen)\b.*/gm) ?? [];
  for (const file of readdirSync(join(root, 'src'), { recursive: true })) {
    if (!file.endsWith('.rs') || /^wasm[/\\]/.test(file)) continue;
    if (/\b(wasm_bindgen|js_sys|web_sys)\b/.test(readFileSync(join(root, 'src', file), 'utf8'))) found.push(`src/${file}`);
  }
  if (found.length > 0) {
    throw new Failure(`The native core names a wasm crate: ${found.join(', ')}`, { hint: 'Only src/wasm may, under a target-specific dependency.' });
  }
  console.log(`${new Set(tree.trim().split('\n')).size} crates for ${host}, none of them for wasm`);
}

function clippy(...targets) {
  return run('cargo', ['clippy', ...targets, '--', '-D', 'warnings']);
}

async function lint() {
  await built();
  await runNode('node_modules/eslint/bin/eslint.js', ['--max-warnings=0', '--no-error-on-unmatched-pattern', 'pkg-template', 'tests', 'www']);
}

/** `--test=NAME` for each tests/*_HOST.rs, the files that run the common cases on one kind of host. */
function hostFiles(host) {
  const files = readdirSync(join(root, 'tests')).filter((file) => file.endsWith(`_${host}.rs`));
  return files.map((file) => `--test=${file.slice(0, -'.rs'.length)}`);
}

async function wasmPack(host, ...flags) {
  const { CHROMEDRIVER, GECKODRIVER, ...env } = await tools();
  // The test runner takes the first driver that its environment names, so only one may be there.
  if (flags.includes('--chrome')) flags.push('--chromedriver', CHROMEDRIVER);
  if (flags.includes('--firefox')) flags.push('--geckodriver', GECKODRIVER);
  env.WASM_BINDGEN_TEST_WEBDRIVER_JSON = webdriverJson(env);
  env.WASM_BINDGEN_TEST_TIMEOUT = '600';
  env.WASM_BINDGEN_TEST_DRIVER_TIMEOUT = '60';
  const files = hostFiles(host);
  const found = await tests(run('wasm-pack', ['test', ...flags, '--mode', 'no-install', ...files], { env }));
  // A file meant for another kind of host is skipped with exit 0.
  const ran = found.filter(({ passed }) => passed > 0).length;
  if (ran === 0 || ran < files.length) throw new Failure(`Only ${ran} of ${files.length} files tests/*_${host}.rs ran a test`);
  return found;
}

/** webdriver.json with the browsers that were found, since the drivers look for them on their own. */
function webdriverJson({ PALIMPSEST_CHROMIUM, PALIMPSEST_FIREFOX }) {
  const capabilities = JSON.parse(readFileSync(join(root, 'webdriver.json'), 'utf8'));
  (capabilities['goog:chromeOptions'] ??= {}).binary = PALIMPSEST_CHROMIUM;
  (capabilities['moz:firefoxOptions'] ??= {}).binary = PALIMPSEST_FIREFOX;
  const file = join(root, 'target/webdriver.json');
  mkdirSync(join(root, 'target'), { recursive: true });
  writeFileSync(file, JSON.stringify(capabilities));
  return file;
}

/** What depends on the version of Node: storage, and the SQLite that only newer ones have. */
async function storageTestsOnNewerNode() {
  const program = await newerNode();
  if (!program) {
    console.log('Skipped: npm has no newer Node for this system. Install one, and run: node tests/run.mjs --only node');
    return [];
  }
  await compiled();
  await sqliteAddon(program);
  const files = ['conformance', 'sqlite', 'two-writers', 'kills'].map((name) => join('target/tests/node', `${name}.test.js`));
  return tests(run(program, [...TEST_FLAGS, ...files], { env: { ...process.env, PALIMPSEST_STORAGE: 'node:sqlite' } }));
}

/** Runs tests/DIRECTORY/**: TypeScript from where `compiled` wrote it, plain modules where they stand. */
async function nodeTests(directory, env, ...flags) {
  await compiled();
  await sqliteAddon();
  const sources = existsSync(join(root, 'tests', directory)) ? readdirSync(join(root, 'tests', directory), { recursive: true }) : [];
  const files = sources.filter((file) => /\.test\.(ts|mjs|js)$/.test(file)).sort();
  if (files.length === 0) throw new Failure(`tests/${directory} has no test file`);
  const paths = files.map((file) => (file.endsWith('.ts') ? join('target/tests', directory, file.replace(/ts$/, 'js')) : join('tests', directory, file)));
  return tests(run(process.execPath, [...TEST_FLAGS, ...flags, ...paths], { env }));
}

/** The results of a test run, which must have run something. */
async function tests(running) {
  const found = results(await running);
  if (sum(found).passed === 0) throw new Failure('No test was run');
  return found;
}

/** One result for each `test result:` line of Rust's harnesses and each summary of node:test. */
function results(output) {
  const text = stripVTControlCharacters(output);
  const rust = [...text.matchAll(/^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored/gm)];
  const node = [...text.matchAll(/^ℹ pass (\d+)\nℹ fail (\d+)\nℹ cancelled (\d+)\nℹ skipped (\d+)\nℹ todo (\d+)/gm)];
  return [
    ...rust.map(([, passed, failed, skipped]) => ({ passed: +passed, failed: +failed, skipped: +skipped })),
    ...node.map(([, passed, failed, cancelled, skipped, todo]) => ({ passed: +passed, failed: +failed + +cancelled, skipped: +skipped + +todo })),
  ];
}

function sum(found) {
  const add = (key) => found.reduce((total, result) => total + result[key], 0);
  return { passed: add('passed'), failed: add('failed'), skipped: add('skipped') };
}

function describe({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

function once(task) {
  let running;
  return () => (running ??= task());
}

runMain(main);
