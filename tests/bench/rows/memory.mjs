// Opening a file in a process of its own: its peak memory, and its time with everything cold.
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { log } from '../inputs.mjs';
import { jsonl } from '../lines.mjs';
import { figures } from '../measure.mjs';
import { chosen, contestants } from './compare.mjs';

const CHILD = fileURLToPath(new URL('../open-once.mjs', import.meta.url));

function write(directory, adapter, events) {
  const path = join(directory, `${adapter.name}.jsonl`);
  const file = openSync(path, 'w');
  for (const chunk of jsonl(adapter, log(events, { compacted: true }))) writeSync(file, chunk);
  closeSync(file);
  return path;
}

function openOnce(name, path) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--max-old-space-size=8192', CHILD, name, path], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`opening as ${name} failed: ${stderr}`);
  return JSON.parse(stdout);
}

/** @param goals of the peak memory, with the bytes kept and with them left in the file */
const row = (name, events, label, [kept, filed], full) => ({
  name, full,
  work: `open ${label} compacted events in a new process: time, peak memory`,
  run(options) {
    const { ours, peer, seed } = contestants;
    const adapters = chosen(full ? { ours, peer } : { ours, peer, seed }, options);
    const directory = mkdtempSync(join(tmpdir(), 'palimpsest-bench-'));
    try {
      const paths = Object.fromEntries(Object.entries(adapters).map(([who, adapter]) => [who, write(directory, adapter, events)]));
      if (paths.ours !== undefined) paths.filed = paths.ours;
      const samples = { elapsed: {}, peak: {} };
      for (let round = 0; round < (options.short ? 3 : 9); round++) {
        for (const [who, path] of Object.entries(paths)) {
          const found = openOnce(who, path);
          for (const [key, lists] of Object.entries(samples)) (lists[who] ??= []).push(found[key]);
        }
      }
      const withFiled = ({ ours: _, filed: found, ...others }) => ({ ...(found && { ours: found }), ...others });
      const withKept = ({ filed: _, ...others }) => others;
      return [
        { name: `${name}-cold`, work: `the same of ${label}, compacted, in a new process`, unit: 'ms', goal: null, ...figures(withKept(samples.elapsed)) },
        { name: `${name}-memory`, work: 'peak memory of that process', unit: 'MB', goal: kept, ...figures(withKept(samples.peak), 1e-6) },
        { name: `${name}-filed-cold`, work: 'the same with openFile', unit: 'ms', goal: null, ...figures(withFiled(samples.elapsed)) },
        { name: `${name}-filed-memory`, work: 'peak memory of that process', unit: 'MB', goal: filed, ...figures(withFiled(samples.peak), 1e-6) },
      ];
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
});

export default [
  row('once-100k', 100_000, '100,000', [null, null], false),
  row('once-1m', 1_000_000, '1,000,000', [1.4, 5], true),
];
