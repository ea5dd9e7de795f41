// What a large log takes. PALIMPSEST_LARGE gives its size in bytes (1e9 for the real thing); without it, a small one is used.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { claudeRecords, codexRecords, writeLarge } from '../support/foreign-large.js';
import { Dice } from '../support/random.js';

const SIZE = Number(process.env.PALIMPSEST_LARGE ?? 24e6);
const PEAK = 400 * 1024 * 1024;

interface Outcome {
  readonly seconds: number;
  readonly told: number;
  readonly peak: number;
  readonly records: number;
  readonly mapped: number;
  readonly kept: number;
  readonly broken: number;
  readonly anomalyCounts: Record<string, number>;
  readonly events: readonly [string, number][];
}

suite(`a log of ${(SIZE / 1e6).toFixed(0)} MB`, () => {
  for (const [name, records] of [['claude-code', claudeRecords], ['codex', codexRecords]] as const) {
    test(`in the shape of ${name} is imported within ${PEAK / 1048576} MiB`, { timeout: 3_600_000 }, async (context) => {
      const folder = await mkdtemp(join(tmpdir(), 'palimpsest-large-'));
      try {
        const path = join(folder, 'log.jsonl');
        await writeLarge(path, records(new Dice(7)), SIZE);
        const { size } = await stat(path);
        const out = join(folder, 'out');
        await mkdir(out);
        const { stdout } = await promisify(execFile)(process.execPath, ['target/tests/processes/importer.js', path, out], { maxBuffer: 1 << 26 });
        const outcome = JSON.parse(stdout) as Outcome;
        let written = 0;
        for (const file of await readdir(out)) written += (await stat(join(out, file))).size;
        context.diagnostic(`${(size / 1e6).toFixed(0)} MB, ${outcome.records} records, ${outcome.events.length} sessions: ${((outcome.seconds / size) * 1e9).toFixed(1)} s per GB, peak ${(outcome.peak / 1048576).toFixed(0)} MiB, ${(written / 1e6).toFixed(0)} MB written`);
        context.diagnostic(JSON.stringify(outcome.anomalyCounts));
        assert.equal(outcome.mapped + outcome.kept, outcome.records);
        assert.equal(outcome.broken, 0);
        assert.ok(outcome.told >= (2 * size) / (2 << 20), 'progress is told');
        assert.ok(outcome.peak < PEAK, `${outcome.peak} bytes`);
        // What a compaction repeats is not written again.
        assert.ok(written < (name === 'codex' ? 0.7 : 1.4) * size, `${written} bytes written`);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
  }
});
