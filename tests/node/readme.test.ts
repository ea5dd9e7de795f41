/** The README's examples run, and print what their comments say. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { promisify } from 'node:util';
import ts from 'typescript';

const run = promisify(execFile);
const blocks = [...readFileSync('README.md', 'utf8').matchAll(/^```ts run\n([^]*?)^```$/gm)].map(([, code]) => code!);

describe('README', () => {
  // Beside the other compiled tests, so that `palimpsest` is found as they find it.
  const directory = mkdtempSync(join('target', 'readme-'));
  const logs = mkdtempSync(join(tmpdir(), 'palimpsest-readme-'));
  after(() => {
    for (const path of [directory, logs]) rmSync(path, { recursive: true });
  });

  assert.ok(blocks.length >= 4);
  blocks.forEach((code, index) => {
    it(`example ${index + 1} type-checks, runs and prints what it says`, async () => {
      const source = join(directory, `example${index}.ts`);
      writeFileSync(source, code);
      const options: ts.CompilerOptions = {
        strict: true,
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.NodeNext,
        moduleResolution: ts.ModuleResolutionKind.NodeNext,
        types: ['node'],
        skipLibCheck: true,
        outDir: directory,
      };
      const program = ts.createProgram([source], options);
      const problems = ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
      assert.deepEqual(problems, []);
      const compiled = ts.transpileModule(code, { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022 } });
      const script = join(directory, `example${index}.mjs`);
      writeFileSync(script, compiled.outputText);
      const expected = [...code.matchAll(/^console\.log\(.*\); \/\/ (.*)$/gm)].map(([, line]) => line);
      assert.ok(expected.length > 0, 'the example says what it prints');
      const { stdout } = await run(process.execPath, [script], { env: { ...process.env, LOGS: logs, NO_COLOR: '1' } });
      assert.deepEqual(stdout.trimEnd().split('\n'), expected);
    });
  });
});
