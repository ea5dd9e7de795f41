/**
 * An event's line as the columns of a row, and back to the same bytes.
 *
 * A line of the usual form is its columns, put together again. Any other one (further members, another order, numbers or
 * escapes written otherwise, a torn record) is kept whole beside them, in `line`, and that is what is read.
 */

/** A row of `events` without the session. `data`, `source_event_seqs` and `surface_op` are JSON text. */
export interface EventRow {
  readonly seq: number;
  readonly type: string;
  readonly time: number;
  readonly data: string;
  readonly source_event_seqs: string | null;
  readonly surface_op: string | null;
  readonly line: string | null;
}

// A type without escapes is the same as text and as value.
const HEAD = /^\{"type":"([^"\\]+)","seq":(\d+),"time":(\d+),"data":/;
const SOURCES = /^,"sourceEventSeqs":(\[[\d,]*\])$/;
const OPERATION = /^,"surfaceOp":("append"|\{"op":"replace","start":\d+,"end":\d+\})$/;

/** The row of the event `seq` from its line. */
export function rowOf(line: string, seq: number): EventRow {
  const row = usualRow(line, seq);
  return row && lineOf(row) === line && isJson(row.data) ? row : oddRow(line, seq);
}

/** The line of a row. */
export function lineOf({ seq, type, time, data, source_event_seqs, surface_op, line }: EventRow): string {
  if (line !== null) return line;
  const sources = source_event_seqs === null ? '' : `,"sourceEventSeqs":${source_event_seqs}`;
  const operation = surface_op === null ? '' : `,"surfaceOp":${surface_op}`;
  return `{"type":"${type}","seq":${seq},"time":${time},"data":${data}${sources}${operation}}`;
}

/** Taken apart from both ends: what is between is the payload, however long it is. */
function usualRow(line: string, seq: number): EventRow | undefined {
  const head = HEAD.exec(line);
  if (!head || !line.endsWith('}')) return undefined;
  let end = line.length - 1;
  const member = (name: string, pattern: RegExp): string | null => {
    const start = line.lastIndexOf(`,"${name}":`, end);
    const found = start < head[0].length ? null : pattern.exec(line.slice(start, end));
    if (!found) return null;
    end = start;
    return found[1] ?? null;
  };
  const surfaceOp = line[end - 1] === '"' || line[end - 1] === '}' ? member('surfaceOp', OPERATION) : null;
  const sources = line[end - 1] === ']' ? member('sourceEventSeqs', SOURCES) : null;
  const [, type = '', , time = ''] = head;
  return { seq, type, time: Number(time), data: line.slice(head[0].length, end), source_event_seqs: sources, surface_op: surfaceOp, line: null };
}

/** The columns are for those who query the table; they say as much as can be made out. */
function oddRow(line: string, seq: number): EventRow {
  let event: Record<string, unknown> = {};
  try {
    event = Object(JSON.parse(line)) as Record<string, unknown>;
  } catch {
    // Not JSON: kept all the same.
  }
  const json = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));
  return {
    seq,
    type: typeof event.type === 'string' ? event.type : '',
    time: typeof event.time === 'number' ? event.time : 0,
    data: json(event.data) ?? 'null',
    source_event_seqs: json(event.sourceEventSeqs),
    surface_op: json(event.surfaceOp),
    line,
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
