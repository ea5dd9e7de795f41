/**
 * pi, three generations: a tree of entries by `id` and `parentId`; in the first, a list. What is known of the format is
 * in `IMPORT.md`.
 *
 * The map: `scan.ts` the first pass, `map.ts` entries become events.
 */

import { type Context, nameOf } from '../context.js';
import { timeOf } from '../json.js';
import { Planner } from '../paths.js';
import { NONE } from '../records.js';
import { runPaths } from '../session-run.js';
import type { ImportedSession, ImportSource } from '../types.js';
import { PiMapper } from './map.js';
import { PiScan } from './scan.js';

/** Imports one file. */
export async function importPi(source: ImportSource, context: Context): Promise<ImportedSession[]> {
  const { report } = context;
  const scan = new PiScan(source, report);
  await scan.run(context);
  const planner = new Planner(scan);
  const { main, others } = scan.leaves();
  if (main !== NONE) planner.add(main, 'main', undefined);
  else planner.paths.push({ role: 'main', parent: NONE, at: 0, list: [], origin: undefined, seeded: false });
  for (const leaf of others) if (!planner.owned(leaf) && context.anotherFork()) planner.add(leaf, 'fork', await scan.name(leaf));
  const sessions = await runPaths(
    {
      table: scan.table,
      paths: planner.paths,
      format: 'pi',
      file: report.source,
      first: { id: scan.id ?? nameOf(source), createdAt: scan.createdAt, cwd: scan.cwd, parentSession: scan.parentSession },
      mapper: (builder) => new PiMapper(builder, scan, report),
      time: (record) => timeOf(record.value.timestamp),
    },
    context,
  );
  scan.table.report(report);
  return sessions;
}
