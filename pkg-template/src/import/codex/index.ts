/**
 * Codex: one rollout file a thread, a line an item. The history is what the `response_item`s say; turns that were rolled
 * back go to forks. What is known of the format is in `IMPORT.md`.
 *
 * The map: `item.ts` one line in any generation, `scan.ts` the first pass, `map.ts` items become events, `blocks.ts`
 * content, `history.ts` what a compaction leaves.
 */

import { type Context, nameOf } from '../context.js';
import { runPaths } from '../session-run.js';
import { timeOf } from '../json.js';
import type { ImportedSession, ImportSource } from '../types.js';
import { itemOf } from './item.js';
import { CodexMapper } from './map.js';
import { CodexScan } from './scan.js';

/** Imports one file. */
export async function importCodex(source: ImportSource, context: Context): Promise<ImportedSession[]> {
  const { report } = context;
  const scan = new CodexScan(source, report);
  await scan.run(context);
  const sessions = await runPaths(
    {
      table: scan.table,
      paths: scan.paths(() => context.anotherFork()),
      format: 'codex',
      file: report.source,
      first: { id: scan.id ?? nameOf(source), createdAt: scan.createdAt, cwd: scan.cwd, parentSession: scan.parent },
      mapper: (builder) => new CodexMapper(builder, scan, report),
      time: (record) => timeOf(record.value.timestamp) ?? timeOf(itemOf(record.value).payload.timestamp),
    },
    context,
  );
  scan.table.report(report);
  return sessions;
}
