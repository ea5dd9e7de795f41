/** Turns planned paths into sessions: reads each path's records in order and gives them to a format's mapper. */

import { isTooDeep, LogBuilder, type Snapshot } from './build.js';
import type { Context } from './context.js';
import { timeOf } from './json.js';
import { NONE, type RecordTable, type SourceRecord } from './records.js';
import type { Path } from './paths.js';
import type { ImportedSession } from './types.js';
import { SESSION_FORMAT_VERSION, type SessionHeader } from '../events.js';
import { LineWriter } from './writer.js';

/** A format's way to map the records of one path. */
export interface Mapper {
  /** Maps a record that is no broken line; says whether it gave an event. */
  record(record: SourceRecord): boolean;
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
  /** What the first session's header says. The others have its time and its directory, and ids made from its. */
  readonly first: { readonly id: string; readonly createdAt: number | undefined; readonly cwd: string | undefined; readonly parentSession: string | undefined };
  mapper(builder: LogBuilder, path: Path): Mapper;
  /** When a record was written. */
  time?(record: SourceRecord): number | undefined;
}

function headerOf({ first: { id, createdAt = 0, cwd, parentSession } }: Run, { origin }: Path, number: number, context: Context): SessionHeader {
  return {
    version: SESSION_FORMAT_VERSION,
    id: context.freshId(number === 0 ? id : `${id}.${origin ?? number}`),
    createdAt,
    ...(cwd !== undefined && { cwd }),
    ...(number === 0 && parentSession !== undefined && { parentSession }),
  };
}

/** Makes the sessions. Records that are on no path are kept in the first one, where they stand in the file. */
export async function runPaths(run: Run, context: Context): Promise<ImportedSession[]> {
  const { table, paths } = run;
  const elsewhere = new Uint8Array(table.length).fill(1);
  for (const { list } of paths) for (const index of list) elsewhere[index] = 0;
  const snapshots = new Map<Path, Snapshot>();
  const made: ImportedSession[] = [];
  const read = table.reader();
  const wantedOf = byParent(paths);
  for (const [number, path] of paths.entries()) {
    const from = snapshots.get(path);
    snapshots.delete(path);
    const parent = path.parent === NONE ? undefined : made[path.parent];
    const seed = parent !== undefined && from !== undefined && from.seq > 0 ? { session: parent.id, length: from.seq } : undefined;
    const header: SessionHeader = { ...headerOf(run, path, number, context), ...(parent !== undefined && { parentSession: parent.id }), ...(seed !== undefined && { seedLength: seed.length }) };
    const writer = new LineWriter(header, await context.sink.begin(header, { role: path.role, ...(seed !== undefined && { seed }) }));
    try {
      const one = new PathRun(run, path, context, writer, read, from);
      await one.run(number === 0 ? elsewhere : undefined, (position, snapshot) => {
        for (const fork of wantedOf.get(number)?.get(position) ?? []) snapshots.set(fork, snapshot());
      });
      const session = await writer.finish();
      made.push({ id: header.id, role: path.role, header, events: one.events, ...(path.origin !== undefined && { origin: path.origin }), ...(session !== undefined && { session }) });
    } catch (error) {
      await writer.abort();
      throw error;
    }
  }
  return made;
}

/** Makes one session. */
class PathRun {
  readonly #run: Run;
  readonly #path: Path;
  readonly #context: Context;
  readonly #writer: LineWriter;
  readonly #read: (index: number) => Promise<SourceRecord>;
  readonly #builder: LogBuilder;
  readonly #mapper: Mapper;

  constructor(run: Run, path: Path, context: Context, writer: LineWriter, read: (index: number) => Promise<SourceRecord>, from: Snapshot | undefined) {
    const { header } = writer;
    this.#run = run;
    this.#path = path;
    this.#context = context;
    this.#writer = writer;
    this.#read = read;
    const anomaly = (code: string, message: string, id: string | undefined, line: number): void =>
      context.report.anomaly(code, message, { ...(line > 0 && { line }), ...(id !== undefined && { id }), session: header.id });
    this.#builder = new LogBuilder(writer, { anomaly }, from);
    if (from === undefined) this.#builder.time = header.createdAt;
    this.#mapper = run.mapper(this.#builder, path);
  }

  get events(): number {
    return this.#builder.seq;
  }

  /**
   * Reads the path.
   * @param elsewhere 1 for each record that is kept here although it is on no path
   * @param reached told each position, with a way to end the turn there and see where the log stands
   */
  async run(elsewhere: Uint8Array | undefined, reached: (position: number, snapshot: () => Snapshot) => void): Promise<void> {
    const snapshot = (): Snapshot => {
      this.#mapper.flush();
      return this.#builder.snapshot();
    };
    let next = 0;
    const keepUntil = async (end: number): Promise<void> => {
      for (; elsewhere !== undefined && next < end; next++) if (elsewhere[next] === 1) await this.#record(next, false);
    };
    for (const [position, index] of this.#path.list.entries()) {
      reached(position, snapshot);
      await keepUntil(index);
      await this.#record(index, true);
    }
    this.#mapper.flush();
    reached(this.#path.list.length, snapshot);
    await keepUntil(this.#run.table.length);
    this.#builder.finish();
  }

  async #record(index: number, map: boolean): Promise<void> {
    const run = this.#run;
    const builder = this.#builder;
    const record = await this.#read(index);
    builder.line = record.line;
    const time = run.time === undefined ? timeOf(record.value.timestamp) : run.time(record);
    if (time !== undefined) builder.time = time;
    let mapped = false;
    if (!map || record.broken) {
      this.#keep(record);
    } else {
      try {
        mapped = this.#mapper.record(record);
      } catch (error) {
        if (!isTooDeep(error)) throw error;
        this.#keep(record);
      }
    }
    run.table.account(index, mapped);
    this.#context.progress(record.size + 1);
    if (this.#writer.full) await this.#writer.flush();
    await this.#context.tick();
  }

  #keep({ kind, line, raw, size }: SourceRecord): void {
    const { format, file } = this.#run;
    this.#builder.keep({ format, line, ...(file !== undefined && { file }) }, kind, raw, size);
  }
}

/** By path: where snapshots are to be taken, and for whom. */
function byParent(paths: readonly Path[]): Map<number, Map<number, Path[]>> {
  const all = new Map<number, Map<number, Path[]>>();
  for (const path of paths) {
    if (path.parent === NONE || !path.seeded) continue;
    let wanted = all.get(path.parent);
    if (wanted === undefined) all.set(path.parent, (wanted = new Map<number, Path[]>()));
    const list = wanted.get(path.at);
    if (list === undefined) wanted.set(path.at, [path]);
    else list.push(path);
  }
  return all;
}
