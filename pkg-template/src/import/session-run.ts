/** Turns planned paths into sessions: reads each path's records in order and gives them to a format's mapper. */

import { LogBuilder, type Snapshot, TooDeep } from './build.js';
import type { Context } from './context.js';
import { timeOf } from './json.js';
import { NONE, type RecordTable, type SourceRecord } from './records.js';
import type { Path } from './paths.js';
import type { ImportedSession } from './types.js';
import type { SessionHeader } from '../events.js';
import { LineWriter } from './writer.js';

/** A format's way to map the records of one path. */
export interface Mapper {
  /** Maps a record that is no broken line; says whether it gave an event. */
  record(record: SourceRecord): boolean | Promise<boolean>;
  /** No record follows before the turn ends or the log does; what is gathered must be written. */
  flush(): void;
}

/** How the sessions of one source are made. */
export interface Run {
  readonly table: RecordTable;
  readonly paths: readonly Path[];
  readonly format: string;
  /** Name of the source where it is not the import's own. */
  readonly file: string | undefined;
  /** Header of each path's session; its seed is filled in. */
  header(path: Path, index: number): SessionHeader;
  mapper(builder: LogBuilder, path: Path, read: (index: number) => Promise<SourceRecord>): Mapper;
  /** When a record was written. */
  time?(record: SourceRecord): number | undefined;
}

/** Makes the sessions. Records that are on no path are kept in the first one, where they stand in the file. */
export async function runPaths(run: Run, context: Context): Promise<ImportedSession[]> {
  const { table, paths } = run;
  const onPath = new Uint8Array(table.length);
  for (const { list } of paths) for (const index of list) onPath[index] = 1;
  const snapshots = new Map<Path, Snapshot>();
  const made: ImportedSession[] = [];
  const seedOf: { session: string; length: number }[] = [];
  const read = table.reader();
  for (const [number, path] of paths.entries()) {
    const wanted = wantedBy(paths, number);
    const from = snapshots.get(path);
    snapshots.delete(path);
    const parent = path.parent === NONE ? undefined : made[path.parent];
    const seed = parent !== undefined && from !== undefined && from.seq > 0 ? { session: parent.id, length: from.seq } : undefined;
    if (seed !== undefined) seedOf[number] = seed;
    const header: SessionHeader = { ...run.header(path, number), ...(parent !== undefined && { parentSession: parent.id }), ...(seed !== undefined && { seedLength: seed.length }) };
    const appender = await context.sink.begin(header, { role: path.role, ...(seed !== undefined && { seed }) });
    const writer = new LineWriter(header, appender);
    let line = 0;
    const builder = new LogBuilder(writer, { anomaly: (code, message, id) => context.report.anomaly(code, message, { ...(line > 0 && { line }), ...(id !== undefined && { id }), session: header.id }) }, from);
    if (from === undefined) builder.time = header.createdAt;
    const mapper = run.mapper(builder, path, read);
    const source = (at: number): { format: string; line: number; file?: string } => ({ format: run.format, line: at, ...(run.file !== undefined && { file: run.file }) });
    const one = async (index: number, map: boolean): Promise<void> => {
      const record = await read(index);
      line = record.line;
      context.progress(table.size(index) + 1);
      const time = run.time === undefined ? timeOf(record.value.timestamp) : run.time(record);
      if (time !== undefined) builder.time = time;
      let mapped = false;
      if (map && !record.broken) {
        try {
          mapped = await mapper.record(record);
        } catch (error) {
          if (!(error instanceof TooDeep) && !(error instanceof RangeError)) throw error;
          builder.keep(source(line), record.kind, record.text, record.text.length);
          context.report.anomaly('too-deep', `line ${line} is nested too deeply; it is kept as text`, { line, session: header.id });
        }
      } else {
        builder.keep(source(line), record.kind, record.raw, record.text.length);
      }
      table.account(index, mapped);
      if (writer.full) await writer.flush();
      await context.tick();
    };
    // What is on no path is kept where it stands, between the records of the main one.
    let other = 0;
    const others = async (before: number): Promise<void> => {
      for (; number === 0 && other < before; other++) if (onPath[other] === 0) await one(other, false);
    };
    for (const [position, index] of path.list.entries()) {
      const forks = wanted.get(position);
      if (forks !== undefined) {
        mapper.flush();
        const snapshot = builder.snapshot();
        for (const fork of forks) snapshots.set(fork, snapshot);
      }
      await others(index);
      await one(index, true);
    }
    mapper.flush();
    const last = wanted.get(path.list.length);
    if (last !== undefined) {
      const snapshot = builder.snapshot();
      for (const fork of last) snapshots.set(fork, snapshot);
    }
    await others(table.length);
    line = 0;
    builder.finish();
    const session = await writer.finish();
    made.push({ id: header.id, role: path.role, header, events: builder.seq, ...(path.origin !== undefined && { origin: path.origin }), ...(session !== undefined && { session }) });
  }
  return made;
}

/** Where snapshots are to be taken, and for whom. */
function wantedBy(paths: readonly Path[], number: number): Map<number, Path[]> {
  const wanted = new Map<number, Path[]>();
  for (const path of paths) {
    if (path.parent !== number || !path.seeded) continue;
    const list = wanted.get(path.at);
    if (list === undefined) wanted.set(path.at, [path]);
    else list.push(path);
  }
  return wanted;
}
