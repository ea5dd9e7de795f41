// The bench in headless Chromium: the rows are bundled, and each runs in a page of a browser of its own.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { Failure, testTools } from '../../../pkg-template/scripts/tools.mjs';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

/** What the original asks of Node: whether a working directory is absolute, and its own version. */
const STUBS = {
  'node:process': 'export default { env: {} };',
  'node:path': "export const isAbsolute = (path) => path.startsWith('/'); export const posix = { isAbsolute }; export const win32 = posix; export default { isAbsolute, posix, win32 };",
  'node:module': 'export const createRequire = () => () => ({ version: undefined });',
  '../thread-clock.mjs': 'export const threadClock = undefined;',
  './thread-clock.mjs': 'export const threadClock = undefined;',
};

/** What a page has in place of Node's modules. */
const pageModules = {
  name: 'page-modules',
  setup(builder) {
    builder.onResolve({ filter: /\/lines\.mjs$/ }, () => ({ path: here('lines.mjs') }));
    // pi's session manager is made of files, and left out.
    builder.onResolve({ filter: /^node:(process|path|module)$|\/(thread-clock|pi)\.mjs$/ }, ({ path }) => ({ path, namespace: 'page' }));
    builder.onLoad({ filter: /.*/, namespace: 'page' }, ({ path }) => ({ contents: STUBS[path] ?? 'export {};' }));
  },
};

/** Rows in Chromium, as `run.mjs` prints them. */
export async function runInBrowser(names, options) {
  const { PALIMPSEST_CHROMIUM } = await testTools();
  if (!PALIMPSEST_CHROMIUM) throw new Failure('Chromium was not found', { hint: 'Install it, or name it in PALIMPSEST_CHROMIUM.' });
  const { outputFiles } = await build({
    entryPoints: [here('page.mjs')], bundle: true, format: 'esm', platform: 'browser', write: false, plugins: [pageModules], logLevel: 'error',
  });
  const files = {
    '/': ['text/html', '<!doctype html><script type="module" src="bench.js"></script>'],
    '/bench.js': ['text/javascript', outputFiles[0].contents],
    '/palimpsest.wasm': ['application/wasm', await readFile(fileURLToPath(import.meta.resolve('palimpsest/palimpsest.wasm')))],
  };
  // Isolated from other origins, a page has a clock of 5 µs in place of 100.
  const isolated = { 'cross-origin-opener-policy': 'same-origin', 'cross-origin-embedder-policy': 'require-corp' };
  const server = createServer(({ url }, response) => {
    const [type, body] = files[url] ?? [];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': type ?? 'text/plain', ...isolated }).end(body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const rows = [];
  try {
    const inPage = async (use) => {
      const browser = await chromium.launch({ executablePath: PALIMPSEST_CHROMIUM, args: ['--headless', '--no-sandbox', '--disable-gpu', '--js-flags=--expose-gc'] });
      try {
        const page = await browser.newPage();
        page.setDefaultTimeout(0);
        const broken = new Promise((_, reject) => {
          page.on('pageerror', reject);
        });
        await page.goto(`http://127.0.0.1:${server.address().port}/`);
        return await Promise.race([page.waitForFunction('globalThis.bench !== undefined').then(() => use(page)), broken]);
      } finally {
        await browser.close();
      }
    };
    const known = await inPage((page) => page.evaluate('bench.names()'));
    for (const name of names ?? known) {
      if (!known.includes(name)) throw new Failure(`The row ${name} does not run in a browser`, { hint: `These do: ${known.join(', ')}`, code: 2 });
      process.stderr.write(`${name} … `);
      rows.push(...(await inPage((page) => page.evaluate(([row, given]) => globalThis.bench.run(row, given), [name, options]))));
      process.stderr.write('done\n');
    }
  } finally {
    server.close();
  }
  return rows;
}
