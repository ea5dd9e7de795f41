/**
 * DeepSeek Harness, version 0 in its four dialects: the log that ours is modelled on, so an event becomes an event. What
 * is known of the format is in `IMPORT.md`.
 *
 * The map: `zstd.ts` compressed logs, `rows.ts` packed rows, `events.ts` each event's payload as ours, `log.ts` where
 * events stand, `seqs.ts` their seqs, `header.ts` the first line.
 */

import { PalimpsestError } from '../../errors.js';
import type { Context } from '../context.js';
import { isTooDeep } from '../build.js';
import { decode, isObject, parse } from '../json.js';
import { chunksOf, LineSplitter } from '../lines.js';
import type { ImportedSession, ImportSource } from '../types.js';
import { headerOf } from './header.js';
import { DshLog } from './log.js';
import { membersOf } from './rows.js';

/**
 * Imports one log.
 * @param decoded the log's bytes where it is compressed
 * @throws PalimpsestError `UNSUPPORTED_VERSION`, `INVALID_HEADER`
 */
export async function importDsh(source: ImportSource, context: Context, decoded?: AsyncIterable<Uint8Array>): Promise<ImportedSession[]> {
  const { report } = context;
  // Who decodes a log tells how far it is in the bytes that lie there.
  const progress = decoded === undefined;
  const chunks = decoded ?? chunksOf(source);
  const at: { log?: DshLog } = {};
  const splitter = new LineSplitter(source.name, (bytes, line, byte) => {
    const { text, valid } = decode(bytes);
    if (text.trim() === '') {
      report.blankLine();
      return;
    }
    if (!valid) report.anomaly('not-utf-8', `line ${line} holds bytes that are not UTF-8; they became U+FFFD`, { line, byte });
    const { log } = at;
    if (log === undefined) {
      at.log = new DshLog(headerOf(text, source.name), context);
      report.record('session', true);
      return;
    }
    const value = parse(text);
    if (!isObject(value)) {
      const code = value === undefined ? 'not-json' : 'not-an-object';
      report.anomaly(code, `line ${line} is ${value === undefined ? 'not JSON' : 'JSON, but no object'}`, { line, byte });
      report.broken();
      log.keep(line, code, value ?? text, undefined);
      return;
    }
    const type = typeof value.type === 'string' ? value.type : 'None';
    const members = membersOf(value);
    if (members === 'malformed') {
      report.anomaly('malformed-row', `line ${line} is a packed row with other parts than it should have; it is kept as it is`, { line, byte });
      log.keep(line, type, value, undefined);
      report.record(type, false);
      return;
    }
    let mapped = false;
    try {
      for (const event of members) mapped = log.event(event, line) || mapped;
    } catch (error) {
      if (!isTooDeep(error)) throw error;
      log.keep(line, type, value, undefined);
    }
    report.record(type, mapped);
  });
  try {
    for await (const chunk of chunks) {
      // In pieces, so that what has been made can leave before more comes.
      for (let from = 0; from < chunk.length; from += 1 << 18) {
        splitter.push(chunk.subarray(from, from + (1 << 18)));
        await at.log?.flush();
        await context.tick();
      }
      if (progress) context.progress(chunk.length);
    }
    splitter.finish();
    if (at.log === undefined) throw new PalimpsestError('INVALID_HEADER', `${source.name}: the log is empty`, { path: source.name });
    return [await at.log.finish()];
  } catch (error) {
    await at.log?.abort();
    throw error;
  }
}
