// The tarball that npm would publish, checked as a whole and used as a stranger would use it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { PKG, createProject } from '../support/package.js';
import type { Project } from '../support/package.js';

const execute = promisify(execFile);
// With room for what the page is to show of imports.
const VIEWER_BUDGET_GZIP = 400_000;
const WASM_BUDGET_GZIP = 64_000;
const tool = (path: string): string => join(process.cwd(), 'node_modules', path);

/** Runs a tool, which exits with 0 when it is content and says on its standard output when not. */
async function check(...args: string[]): Promise<void> {
  await execute(process.execPath, args).catch((error: unknown) => assert.fail((error as { stdout: string }).stdout));
}

/** Subpaths whose declarations need no other package, not even that of Node's types. */
const WITHOUT_PEERS = ['inline', 'persistence', 'memory', 'jsonl', 'sqlite', 'indexeddb', 'testing', 'invariants', 'compaction'];

const USE = `
  const session = new SessionStore().create('x');
  session.append('user/message', { content: [{ type: 'text', text: 'hi' }], source: { kind: 'user' } }, { surfaceOp: 'append' });
  console.log(session.deriveMessages().length);
`;

suite('the packed tarball', () => {
  let project: Project;
  before(async () => {
    project = await createProject();
  });
  after(() => project[Symbol.asyncDispose]());

  test('holds what a user needs and nothing else', () => {
    const { files } = project.packed;
    assert.deepEqual(files.filter((file) => file.endsWith('.wasm')), ['dist/wasm/palimpsest_bg.wasm']);
    assert.deepEqual(files.filter((file) => !file.startsWith('dist/') && !file.startsWith('viewer/')), ['CATALOG.md', 'CLI.md', 'IMPORT.md', 'LICENSE-APACHE', 'LICENSE-MIT', 'README.md', 'STORAGE.md', 'catalog.mjs', 'package.json']);
    assert.deepEqual(files.filter((file) => file.startsWith('dist/') && !/\.(js|d\.ts|wasm)$/.test(file)), []);
  });

  test(`holds the viewer, without a core of its own, in at most ${VIEWER_BUDGET_GZIP / 1000} kB gzip`, async (context) => {
    const files = project.packed.files.filter((file) => file.startsWith('viewer/'));
    for (const file of ['viewer/index.html', 'viewer/server.mjs', 'viewer/viewer.json']) assert.ok(files.includes(file), file);
    assert.deepEqual(files.filter((file) => !/\.(?:css|html|js|json|jsonl|mjs|svg)$/.test(file)), []);
    const sizes = await Promise.all(files.map(async (file) => gzipSync(await readFile(join(PKG, file)), { level: 9 }).length));
    const size = sizes.reduce((sum, one) => sum + one, 0);
    context.diagnostic(`${size} bytes gzip`);
    assert.ok(size <= VIEWER_BUDGET_GZIP, `${size} bytes`);
  });

  test('has a command line that works where it is installed, on Windows by its shim', async () => {
    const shim = join(project.root, 'node_modules/.bin', process.platform === 'win32' ? 'palimpsest.cmd' : 'palimpsest');
    const { stdout } = await execute(shim, ['check', '--json', join(PKG, 'viewer/example.jsonl')], { shell: process.platform === 'win32' });
    assert.deepEqual((JSON.parse(stdout) as { files: { findings: unknown[] }[] }).files.map(({ findings }) => findings), [[]]);
  });

  test(`has a module of at most ${WASM_BUDGET_GZIP / 1000} kB gzip`, async (context) => {
    const wasm = await readFile(join(PKG, 'dist/wasm/palimpsest_bg.wasm'));
    const size = gzipSync(wasm, { level: 9 }).length;
    context.diagnostic(`${wasm.length} bytes, ${size} gzip`);
    assert.ok(size <= WASM_BUDGET_GZIP, `${size} bytes`);
  });

  test('has every file that its exports name', async () => {
    const { exports } = JSON.parse(await readFile(join(PKG, 'package.json'), 'utf8')) as { exports: Record<string, string | Record<string, string>> };
    const targets = Object.values(exports).flatMap((target) => (typeof target === 'string' ? target : Object.values(target)));
    const missing = targets.filter((target) => !project.packed.files.includes(target.replace('./', '')));
    assert.deepEqual(missing, []);
  });

  test('satisfies publint', async () => {
    const { buffer } = await readFile(project.packed.tarball);
    const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true });
    assert.deepEqual(messages.map((message) => formatMessage(message, pkg)), []);
  });

  test('satisfies @arethetypeswrong/cli', async () => {
    const attw = tool('@arethetypeswrong/cli/dist/index.js');
    await check(attw, project.packed.tarball, '--profile', 'esm-only', '--no-color', '--no-emoji', '--format', 'ascii');
  });

  test('can be imported in Node without init', async () => {
    await project.write({ 'use.mjs': `import { SessionStore } from 'palimpsest';${USE}` });
    assert.equal(await project.node('use.mjs'), '1\n');
  });

  const requires = Boolean((process.features as { require_module?: boolean }).require_module);
  test(`can be required in Node${requires ? '' : ` (skipped: Node ${process.version} cannot require a module)`}`, { skip: !requires }, async () => {
    await project.write({ 'use.cjs': `const { SessionStore } = require('palimpsest');${USE}` });
    assert.equal(await project.node('--no-warnings', 'use.cjs'), '1\n');
  });

  test('has each of its subpaths in Node', async () => {
    await project.write({
      'subpaths.mjs': `
        for (const path of ['openai', 'anthropic', 'ai-sdk', 'openai-agents', 'import', 'import/node', 'salvage', 'export', 'redact', 'inline', 'persistence', 'memory', 'jsonl', 'sqlite', 'indexeddb', 'testing']) {
          if (Object.keys(await import('palimpsest/' + path)).length === 0) console.log(path + ' exports nothing');
        }
        const bytes = await import('node:fs/promises').then((fs) => fs.readFile(new URL(import.meta.resolve('palimpsest/palimpsest.wasm'))));
        console.log(WebAssembly.validate(bytes));`,
    });
    assert.equal(await project.node('subpaths.mjs'), 'true\n');
  });

  for (const [module, moduleResolution] of [['NodeNext', 'NodeNext'], ['ESNext', 'Bundler']] as const) {
    test(`type-checks for a user with moduleResolution ${moduleResolution}, strictly and with its declarations checked`, async () => {
      const compilerOptions = { module, moduleResolution, target: 'ES2022', lib: ['ES2022', 'DOM'], types: [], strict: true, skipLibCheck: false, noEmit: true };
      await project.write({
        'tsconfig.json': JSON.stringify({ compilerOptions, files: ['use.ts'] }),
        'use.ts': `import { init, SessionStore } from 'palimpsest';\n${WITHOUT_PEERS.map((path) => `import 'palimpsest/${path}';`).join('\n')}\nawait init();${USE}export {};`,
      });
      await check(tool('typescript/bin/tsc'), '-p', project.root);
    });
  }
});
