// The catalog of events is what the declarations say.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { suite, test } from 'node:test';
import { isSurfaceEligibleType } from 'palimpsest';

interface Ended {
  readonly code: number;
  readonly output: string;
}

function catalog(...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['pkg-template/scripts/catalog.mjs', ...args], (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr }));
  });
}

const OWN = ['--project', 'pkg-template/tsconfig.json'];

suite('the catalog', () => {
  test('in the package is fresh', async () => {
    assert.deepEqual(await catalog(...OWN, '--out', 'pkg-template/CATALOG.md', '--check'), { code: 0, output: '' }, `Run: node pkg-template/scripts/catalog.mjs ${OWN.join(' ')} --out pkg-template/CATALOG.md`);
  });

  test('names every event with the right badge, and every signal', async () => {
    const text = await readFile('pkg-template/CATALOG.md', 'utf8');
    const events = [...text.matchAll(/^\| \[`(.+?)`\].*? \| (surface|log-only) \| (?:format 0|–) \| .+ \|$/gm)];
    assert.ok(events.length >= 20);
    for (const [, type = '', badge] of events) assert.equal(badge, isSurfaceEligibleType(type) ? 'surface' : 'log-only', type);
    assert.match(text, /### session\/flush\n\n\*\*awaited/);
    assert.match(text, /### session\/event\n\n\*\*synchronous\*\*/);
  });

  test('that is stale fails the check, and is written anew', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'palimpsest-'));
    const file = join(folder, 'CATALOG.md');
    await writeFile(file, '# old\n');
    assert.equal((await catalog(...OWN, '--out', file, '--check')).code, 1);
    assert.equal((await catalog(...OWN, '--out', file)).code, 0);
    assert.equal(await readFile(file, 'utf8'), await readFile('pkg-template/CATALOG.md', 'utf8'));
    await rm(folder, { recursive: true });
  });

  test('of a program holds the events that it has merged', async () => {
    const { output } = await catalog('--project', 'tests/tsconfig.json');
    assert.match(output, /### approval\/asked\n\n\*\*log-only\*\* · since – · declared in `types\/merging\.ts`\n\nSomebody must allow the call\.\n\n```ts\n\{ callId: CallId; why\?: string \}/);
    assert.match(output, /\| `webhook` \| `\{ url: string \}` \| {2}\(declared in `types\/merging\.ts`\) \|/);
    assert.match(output, /### turn\/start/);
  });
});
