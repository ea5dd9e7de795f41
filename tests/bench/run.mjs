// npm run bench: palimpsest beside its peers. See README.md for what each row measures.
//
//   node tests/bench/run.mjs [--short] [--rows NAME[,NAME]] [--only ours,peer,seed,pi] [--json FILE]
//                            [--clock cpu] [--cpu-prof DIRECTORY] [--browser] [--list]
import { fork } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Failure, newerNode, npm, root, runMain, sqliteAddon } from '../../pkg-template/scripts/tools.mjs';
import { table } from './table.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));

const OPTIONS = {
  short: { type: 'boolean', default: false },
  rows: { type: 'string' },
  only: { type: 'string' },
  json: { type: 'string' },
  clock: { type: 'string', default: 'wall' },
  'cpu-prof': { type: 'string' },
  browser: { type: 'boolean' },
  list: { type: 'boolean' },
};
const CONTESTANTS = ['ours', 'peer', 'seed', 'pi'];
const HELP = { hint: 'See: tests/bench/README.md', code: 2 };

/** What the command line asks for; a word that means nothing would measure something else in silence. */
function given() {
  let values;
  try {
    ({ values } = parseArgs({ options: OPTIONS }));
  } catch (error) {
    throw new Failure(error.message, HELP);
  }
  const stranger = values.only?.split(',').find((name) => !CONTESTANTS.includes(name));
  if (stranger !== undefined) throw new Failure(`No contestant ${stranger}: there are ${CONTESTANTS.join(', ')}`, HELP);
  if (values.json !== undefined && !existsSync(dirname(resolve(values.json)))) throw new Failure(`There is no directory for ${values.json}`, HELP);
  if (!['wall', 'cpu'].includes(values.clock)) throw new Failure(`No clock ${values.clock}: there are wall and cpu`, HELP);
  return values;
}

async function main() {
  const values = given();
  if (values.clock === 'cpu') process.env.BENCH_CLOCK = 'cpu';
  await install();
  const { default: all } = await import('./rows/index.mjs');
  if (values.list) {
    for (const { name, work, full } of all) console.log(`${name.padEnd(20)} ${work}${full ? ' (not in --short)' : ''}`);
    return;
  }
  const options = { short: values.short, only: values.only?.split(',') };
  if (values.browser) {
    // Only then is it needed that the root's own packages are installed.
    const { runInBrowser } = await import('./browser/run.mjs');
    report(await runInBrowser(values.rows?.split(','), options), 'headless Chromium, wall time', values.json);
    return;
  }
  const rows = [];
  for (const row of choose(all, values.rows, options.short)) {
    process.stderr.write(`${row.name} … `);
    const start = performance.now();
    const found = await inChild(row, options, values['cpu-prof']);
    if (found === undefined) process.exitCode = 1;
    else rows.push(...found);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    process.stderr.write(`${seconds} s${found === undefined ? ', failed' : found.length === 0 ? ', not in this build' : ''}\n`);
  }
  report(rows, `Node ${process.versions.node}, ${values.clock} time`, values.json);
}

function report(rows, where, file) {
  console.log(`\n${table(rows)}\n\n${where}, ${cpus().length} processors; medians, and ratios of medians with the quartiles of the rounds;`);
  console.log('growth is the time at this size / the time at a tenth of it.');
  if (file === undefined) return;
  const every = rows.map(({ work, ours = null, peer = null, ratio = null, goal, unit, ...rest }) => ({ work, ours, peer, ratio, goal, unit, ...rest }));
  writeFileSync(file, `${JSON.stringify({ rows: every }, null, 2)}\n`);
}

function choose(all, names, short) {
  if (names === undefined) return all.filter(({ full }) => !(short && full));
  return names.split(',').map((name) => {
    const row = all.find((candidate) => candidate.name === name);
    if (row === undefined) throw new Failure(`No row ${name}`, { hint: 'See: node tests/bench/run.mjs --list', code: 2 });
    return row;
  });
}

/** What a row found; its errors are on stderr. */
async function inChild({ name, newer }, options, profile) {
  // Where npm has no newer Node, the row runs without the peer that needs one.
  const execPath = (newer && (await newerNode())) || process.execPath;
  if (newer) await sqliteAddon(execPath);
  const flags = ['--expose-gc', '--max-old-space-size=12288'];
  if (profile) flags.push('--cpu-prof', '--cpu-prof-interval=200', `--cpu-prof-dir=${resolve(profile)}`, `--cpu-prof-name=${name}.cpuprofile`);
  return new Promise((done) => {
    let results;
    const child = fork(fileURLToPath(new URL('row.mjs', import.meta.url)), [JSON.stringify({ name, ...options })], { execArgv: flags, execPath });
    child.on('message', (message) => ({ results } = message));
    // Undefined where the row failed; the others go on.
    child.on('exit', () => done(results));
  });
}

/** The package must have been built; the peers are installed when they are missing or another version. */
async function install() {
  if (!existsSync(resolve(root, 'pkg/dist'))) throw new Failure('The package is not built', { hint: 'Run: npm run build' });
  const wanted = JSON.parse(readFileSync(resolve(here, 'package.json'), 'utf8')).dependencies;
  const missing = Object.entries(wanted).some(([name, version]) => {
    const file = resolve(here, 'node_modules', name, 'package.json');
    return !existsSync(file) || JSON.parse(readFileSync(file, 'utf8')).version !== version;
  });
  if (!missing) return;
  console.error('npm ci: the peers are not installed in tests/bench');
  await npm(['ci'], { cwd: here, hint: 'The npm registry must be reachable once.' });
}

runMain(main);
