// Imports in a page: the same sessions as in Node, and the decoder of compressed logs only once one is met.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import * as esbuild from 'esbuild';
import { bytesSource, importLog } from 'palimpsest/import';
import { launchChromium, launchFirefox, serve, type StaticServer } from '../support/browser.js';
import { frames } from '../support/zstd-frames.js';

const FIXTURES = 'tests/fixtures/foreign';

interface Visited {
  readonly format: string;
  readonly logs: string[];
  readonly report: unknown;
}

interface Tab {
  goto(url: string): Promise<unknown>;
  evaluate(script: string): Promise<unknown>;
}

suite('imports in real browsers', () => {
  let folder: string;
  let server: StaticServer;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'palimpsest-import-page-'));
    await esbuild.build({ entryPoints: { page: 'target/tests/support/foreign-page.js' }, outdir: folder, bundle: true, format: 'esm', splitting: true, logLevel: 'error', conditions: ['browser'] });
    await writeFile(join(folder, 'index.html'), '<!doctype html><meta charset="utf-8"><title>imports</title><link rel="icon" href="data:,"><script type="module" src="page.js"></script>');
    const lines = (await readFile(join(FIXTURES, 'dsh-deltas.jsonl'), 'utf8')).trimEnd().split('\n');
    await writeFile(join(folder, 'packed.jsonl.zstd'), await frames(lines.map((line) => new TextEncoder().encode(`${line}\n`))));
    server = await serve({ '/': folder, '/fixtures/': FIXTURES });
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  async function visit(tab: Tab, path: string): Promise<Visited> {
    const script = `new Promise((resolve) => { const wait = () => (globalThis.importOf ? resolve(importOf(${JSON.stringify(path)})) : setTimeout(wait, 5)); wait(); })`;
    return (await tab.evaluate(script)) as Visited;
  }

  async function same(tab: Tab): Promise<void> {
    for (const name of await readdir(FIXTURES)) {
      const bytes = new Uint8Array(await readFile(join(FIXTURES, name)));
      const { format, sessions, report } = await importLog(bytesSource(bytes, `/fixtures/${name}`));
      const made = await visit(tab, `/fixtures/${name}`);
      const decoder = new TextDecoder();
      assert.equal(made.format, format);
      assert.deepEqual(made.logs, sessions.map(({ session }) => decoder.decode(session!.headerLine()) + decoder.decode(session!.jsonl())), name);
      assert.deepEqual(made.report, JSON.parse(JSON.stringify(report)));
    }
  }

  test('Chromium makes the same sessions as Node, and loads the decoder when it meets a compressed log', async () => {
    const browser = await launchChromium();
    try {
      const tab = await browser.newPage();
      const asked: string[] = [];
      tab.on('request', (request) => asked.push(new URL(request.url()).pathname));
      await tab.goto(server.url);
      await same(tab);
      const before = asked.filter((path) => path.endsWith('.js')).length;
      const packed = await visit(tab, '/packed.jsonl.zstd');
      const plain = await visit(tab, '/fixtures/dsh-deltas.jsonl');
      assert.deepEqual(packed.logs, plain.logs);
      assert.ok(asked.filter((path) => path.endsWith('.js')).length > before, asked.join());
    } finally {
      await browser.close();
    }
  });

  test('Firefox makes the same sessions as Node', async () => {
    const browser = await launchFirefox();
    try {
      const tab = await browser.newPage();
      await tab.goto(server.url);
      await same(tab);
      assert.deepEqual((await visit(tab, '/packed.jsonl.zstd')).logs, (await visit(tab, '/fixtures/dsh-deltas.jsonl')).logs);
    } finally {
      await browser.close();
    }
  });
});
