// One small app, delivered in every way that a browser gets a package, opened in a real one.
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import * as esbuild from 'esbuild';
import type { Browser } from 'playwright-core';
import * as vite from 'vite';
import webpack from 'webpack';
import { launchChromium, serve } from '../support/browser.js';
import { PKG, createProject } from '../support/package.js';
import type { Project } from '../support/package.js';

const app = (specifier: string): string => `
  import { init, SessionStore } from '${specifier}';
  async function main() {
    await init();
    const session = new SessionStore().create('x');
    session.append('user/message', { content: [{ type: 'text', text: 'hi' }], source: { kind: 'user' } }, { surfaceOp: 'append' });
    return session.deriveMessages().length + ' message';
  }
  main().then((title) => { document.title = title; }, (error) => { document.title = String(error); });
`;
const page = (script: string): string => `<!doctype html><link rel="icon" href="data:,"><script type="module" src="${script}"></script>`;

suite('an app in Chromium', () => {
  let project: Project;
  let browser: Browser;
  before(async () => {
    [project, browser] = await Promise.all([createProject(), launchChromium()]);
    await project.write({ 'main.js': app('palimpsest'), 'inline.js': app('palimpsest/inline'), 'index.html': page('/main.js') });
  });
  after(() => Promise.all([browser.close(), project[Symbol.asyncDispose]()]));

  async function assertWorks(url: string): Promise<void> {
    const tab = await browser.newPage();
    const problems: string[] = [];
    tab.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
    });
    tab.on('pageerror', (error) => problems.push(error.message));
    await tab.goto(url);
    await tab.waitForFunction(() => document.title !== '', undefined, { timeout: 30_000 }).catch(() => problems.push('no title was set'));
    const title = await tab.title();
    await tab.close();
    assert.deepEqual({ title, problems }, { title: '1 message', problems: [] });
  }

  async function assertBuilt(out: string, modules: number): Promise<void> {
    const files = await readdir(join(project.root, out), { recursive: true });
    assert.equal(files.filter((file) => file.endsWith('.wasm')).length, modules, files.join(' '));
    await using server = await serve({ '/': join(project.root, out) });
    await assertWorks(server.url);
  }

  test('built by Vite', async () => {
    await vite.build({ root: project.root, configFile: false, logLevel: 'error', build: { outDir: 'vite' } });
    await assertBuilt('vite', 1);
  });

  test('served by the development server of Vite', async () => {
    const server = await vite.createServer({ root: project.root, configFile: false, logLevel: 'error', server: { host: '127.0.0.1', port: 0, hmr: false } });
    await server.listen();
    try {
      await assertWorks(server.resolvedUrls?.local[0] ?? '');
    } finally {
      await server.close();
    }
  });

  test('built by webpack', async () => {
    const compiler = webpack({ mode: 'production', context: project.root, entry: './main.js', output: { path: join(project.root, 'webpack'), clean: true } });
    const stats = await new Promise<webpack.Stats | undefined>((resolve, reject) => {
      compiler.run((error, result) => {
        if (error) reject(error);
        else resolve(result);
      });
    });
    assert.equal(stats?.toString({ all: false, errors: true, warnings: true }), '');
    await project.write({ 'webpack/index.html': page('/main.js') });
    await assertBuilt('webpack', 1);
  });

  test('built by esbuild, with the inlined module', async () => {
    const outfile = join(project.root, 'esbuild/main.js');
    await esbuild.build({ absWorkingDir: project.root, entryPoints: ['inline.js'], outfile, bundle: true, format: 'esm', platform: 'browser', logLevel: 'silent' });
    await project.write({ 'esbuild/index.html': page('/main.js') });
    await assertBuilt('esbuild', 0);
  });

  test('as a plain <script type="module">, with no bundler', async () => {
    await project.write({ 'plain/main.js': app('/palimpsest/dist/entry/browser.js'), 'plain/index.html': page('/main.js') });
    await using server = await serve({ '/': join(project.root, 'plain'), '/palimpsest/': PKG });
    await assertWorks(server.url);
  });
});
