/**
 * `palimpsest/import`: sessions of other agents become sessions of ours.
 *
 * ```ts
 * const { sessions, report } = await importLog(blobSource(file));
 * for (const { role, session } of sessions) console.log(role, session!.deriveMessages().length);
 * ```
 *
 * {@link detect} says from a file's first bytes which agent wrote it. {@link importLog} reads it, in two passes where the
 * format is a tree: the first keeps ids, parents and offsets, the second reads the records of each path in order. No pass
 * holds the file. What it makes goes to an {@link ImportSink} as it is made: the one that is used when none is given
 * builds {@link Session}s in memory, `palimpsest/import/node` has one that writes files.
 *
 * What comes out: `sessions[0]` is the main conversation, then its forks (other leaves, turns that were rolled back) and
 * its sub-agents. Every record of the file is either *mapped* (it gave at least one event of the vocabulary) or *kept*
 * (its content stands in a log-only `import/record`); of a mapped record, what has no home in an event is kept beside it.
 * What is odd in the file is listed as an anomaly with its line, and imported as far as it can be read.
 *
 * The map: `types.ts` what goes in and comes out. `vocabulary.ts` the event and sources that imports add. `source.ts`
 * bytes that can be read twice, `lines.ts` their lines, `records.ts` the table of records. `detect.ts` who wrote it.
 * `paths.ts` which records make which session. `build.ts` turns, steps and messages of one session, `writer.ts` its
 * lines. `report.ts` counts and anomalies. `import-log.ts` the verb. One folder for each format.
 * How each format is mapped is told in the package's `IMPORT.md`.
 */

import './vocabulary.js';

export { detect } from './detect.js';
export { importLog } from './import-log.js';
export { memorySink } from './memory-sink.js';
export { blobSource, bytesSource } from './source.js';
export type {
  Detected,
  ForeignFormat,
  ImportAnomaly,
  ImportAppender,
  ImportedSession,
  ImportOptions,
  ImportReport,
  ImportResult,
  ImportSeed,
  ImportSink,
  ImportSource,
  ImportTimes,
  SessionRole,
} from './types.js';
export type { ImportRecordSource } from './vocabulary.js';
