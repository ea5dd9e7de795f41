// npm start: builds what is missing, runs the main job in this terminal, then serves the page.
// Only node: builtins and the build scripts may be imported: it is the build that brings everything else.
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from '../pkg-template/scripts/build.mjs';
import { Failure, runMain } from '../pkg-template/scripts/tools.mjs';
import { serve } from './server.mjs';

const USAGE = `Usage: npm start -- [--once] [--log FILE | --dir DIR] [--port PORT]
  --once       end after the job and a check of the served page
  --log FILE   report on a stored log, and open it in the page; the file is only read
  --dir DIR    keep the demo's sessions here instead of in a temporary directory
  --port PORT  where to serve the page; 4173 or the next free one when absent`;

const SITE = fileURLToPath(new URL('dist', import.meta.url));

async function main() {
  const options = parse(process.argv.slice(2));
  const log = options.log && (await existing(options.log));
  await build();
  const job = log ? await report(log) : await demo(options.dir);
  try {
    if (job.ok) await show(job.log, options);
    else process.exitCode = 1;
  } finally {
    await job.cleanUp?.();
  }
}

function parse(args) {
  let options;
  try {
    options = parseArgs({
      args,
      options: { once: { type: 'boolean' }, log: { type: 'string' }, dir: { type: 'string' }, port: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
    }).values;
  } catch (error) {
    throw new Failure(`${error.message}\n\n${USAGE}`, { code: 2 });
  }
  if (options.help) {
    console.log(USAGE);
    process.exit(0);
  }
  const { once = false, log, dir, port = '4173' } = options;
  if (log !== undefined && dir !== undefined) throw new Failure(`--log and --dir exclude each other\n\n${USAGE}`, { code: 2 });
  for (const [flag, value] of [['--log', log], ['--dir', dir]]) {
    if (value === '') throw new Failure(`${flag} needs a path\n\n${USAGE}`, { code: 2 });
  }
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65535) throw new Failure(`--port must be a number from 0 to 65535, not ${port}\n\n${USAGE}`, { code: 2 });
  return { once, log, dir, port: Number(port) };
}

async function existing(log) {
  const file = fromCaller(log);
  const found = await stat(file).catch((error) => {
    throw new Failure(`${log} cannot be read: ${error.message}`);
  });
  if (!found.isFile()) throw new Failure(`${log} is not a file`);
  return file;
}

async function report(log) {
  const { reportLog } = await import('./demo/report.mjs');
  return { ok: await reportLog(log), log };
}

async function demo(dir) {
  const { runDemo } = await import('./demo/run.mjs');
  if (dir) {
    const directory = fromCaller(dir);
    await mkdir(directory, { recursive: true });
    return { ok: true, log: await runDemo(directory) };
  }
  const directory = await mkdtemp(join(tmpdir(), 'palimpsest-'));
  console.log(`The sessions of this run are in ${directory}, which is removed when it ends; --dir DIR keeps them.`);
  const cleanUp = () => rm(directory, { recursive: true, force: true });
  try {
    return { ok: true, log: await runDemo(directory), cleanUp };
  } catch (error) {
    await cleanUp();
    throw error;
  }
}

/** npm runs scripts in the root, whatever folder it was called from. */
function fromCaller(path) {
  const { npm_lifecycle_event: script, INIT_CWD: caller } = process.env;
  return resolve(script === 'start' && caller ? caller : '.', path);
}

/** Serves the page with `log` loaded: once for a look at it, or until a signal comes. */
async function show(log, { once, port }) {
  const server = await serve({ folder: SITE, files: { '/log.jsonl': log }, port });
  try {
    console.log(`\nThe page, with this log:  ${server.url}/#log=log.jsonl`);
    if (once) return await check(server.url, log);
    console.log('Ctrl-C ends it.');
    await signal();
    console.log();
  } finally {
    await server.close();
  }
}

/** Asks for what a browser would ask for first. */
async function check(url, log) {
  const get = async (path) => {
    const response = await fetch(new URL(path, `${url}/`));
    if (!response.ok) throw new Failure(`GET ${path} answered ${response.status}`);
    return response.arrayBuffer();
  };
  const page = Buffer.from(await get('')).toString();
  const script = /<script[^>]+src="([^"]+)"/.exec(page)?.[1];
  if (!script) throw new Failure('The served page loads no script');
  await get(script);
  const { byteLength } = await get('log.jsonl');
  if (byteLength !== (await stat(log)).size) throw new Failure(`The served log has ${byteLength} bytes`);
  console.log('Checked: the page, its script and the log are served.');
}

function signal() {
  return new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(name, resolve);
  });
}

runMain(main);
