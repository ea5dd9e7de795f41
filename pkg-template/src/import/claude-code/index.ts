/**
 * Claude Code: one JSONL file a session, a tree of records by `uuid` and `parentUuid`. No published schema; what is known
 * is in `IMPORT.md`.
 *
 * The map: `scan.ts` the first pass, `prompts.ts` who a user record comes from, `map.ts` records become events.
 */

import type { SessionHeader } from '../../events.js';
import { type Context, nameOf } from '../context.js';
import { Planner } from '../paths.js';
import { NONE } from '../records.js';
import { runPaths } from '../session-run.js';
import type { ImportedSession, ImportSource } from '../types.js';
import { ClaudeMapper } from './map.js';
import { ClaudeScan } from './scan.js';

/**
 * Imports one file.
 * @param parent the session that the file's sub-agent worked for; absent for a file that is imported by itself
 */
export async function importClaude(source: ImportSource, context: Context, parent?: SessionHeader): Promise<ImportedSession[]> {
  const { report } = context;
  const scan = new ClaudeScan(source, report);
  await scan.run(context);
  const { table } = scan;
  const planner = new Planner(scan);
  const leaves = scan.leaves();
  const main = leaves.main;
  if (main !== NONE) planner.add(main, parent === undefined ? 'main' : 'child', parent === undefined ? undefined : scan.agentId);
  else planner.paths.push({ role: parent === undefined ? 'main' : 'child', parent: NONE, at: 0, list: [], origin: undefined, seeded: false });
  for (const leaf of leaves.others) {
    if (!planner.owned(leaf) && (scan.isSide(leaf) || context.anotherFork())) planner.add(leaf, scan.isSide(leaf) ? 'child' : 'fork', await scan.uuid(leaf));
  }
  const id = scan.subagent ? `${scan.sessionId ?? nameOf(source)}.agent-${scan.agentId ?? nameOf(source)}` : (scan.sessionId ?? nameOf(source));
  const sessions = await runPaths(
    {
      table,
      paths: planner.paths,
      format: 'claude-code',
      file: report.source,
      first: { id, createdAt: scan.firstTime, cwd: scan.cwd, parentSession: parent?.id ?? (scan.subagent ? scan.sessionId : undefined) },
      mapper: (builder, path) => new ClaudeMapper(builder, scan, path, report),
    },
    context,
  );
  table.report(report);
  return sessions;
}
