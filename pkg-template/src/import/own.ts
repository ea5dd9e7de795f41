/** Logs of ours: nothing is to be mapped, every line is taken as it is. */

import type { SessionReader } from '../reader.js';
import { readHeaderLine } from '../reader.js';
import { PalimpsestError } from '../errors.js';
import { piecesOf } from '../pieces.js';
import type { Context } from './context.js';
import { decode, isObject, parse, stringOf } from './json.js';
import { chunksOf, LineSplitter } from './lines.js';
import type { ImportedSession, ImportSource } from './types.js';

/**
 * Imports a log of ours: exactly its bytes, up to a torn last record.
 * @param reader holds the log to our rules before anything reaches the sink
 * @throws PalimpsestError as {@link SessionReader}
 */
export async function importOwn(source: ImportSource, context: Context, reader: () => SessionReader): Promise<ImportedSession[]> {
  const { report } = context;
  const check = reader();
  let header: ReturnType<typeof readHeaderLine>;
  const splitter = new LineSplitter(source.name, (bytes, line, byte, ended) => {
    const text = decode(bytes).text.slice(byte === 0 && hasMark(bytes) ? 1 : 0);
    if (text.trim() === '') {
      report.blankLine();
      return;
    }
    header ??= readHeaderLine(new Uint8Array([...bytes, 0x0a]), source.name);
    const value = parse(text);
    if (isObject(value) && ended) {
      if (typeof value.time === 'number') report.time(value.time, line);
      report.record(stringOf(value.type) ?? 'None', true);
    } else {
      report.broken();
      report.anomaly('torn-tail', `line ${line} was cut off`, { line, byte });
    }
  });
  // As for a load: the last line counts when its line end is there.
  for await (const chunk of chunksOf(source)) {
    check.push(chunk);
    splitter.push(chunk);
    context.progress(chunk.length);
    await context.tick();
  }
  splitter.finish();
  const { session } = check.finish();
  if (header === undefined) throw new PalimpsestError('INVALID_HEADER', `${source.name}: the log has no header`, { path: source.name });
  if (context.inMemory) return [{ id: session.id, role: 'main', header: session.header, events: session.seq, session }];
  const appender = await context.sink.begin(session.header, { role: 'main' });
  for (const { bytes, count } of piecesOf(session)) await appender.append(bytes, count);
  const made = await appender.finish();
  const events = session.seq;
  session.free();
  return [{ id: session.id, role: 'main', header: session.header, events, ...(made !== undefined && { session: made }) }];
}

/** Whether bytes begin with a byte-order mark. */
function hasMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}
