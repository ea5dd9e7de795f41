/** The verb. */

import { isObject, need, needAmount, needObject } from '../arguments.js';
import { PalimpsestError } from '../errors.js';
import { SessionReader } from '../reader.js';
import { importClaude } from './claude-code/index.js';
import { importCodex } from './codex/index.js';
import { Context } from './context.js';
import { detect } from './detect.js';
import { importDsh } from './dsh/index.js';
import { inflate, isZstd } from './dsh/zstd.js';
import { importOwn } from './own.js';
import { importPi } from './pi/index.js';
import { blobSource } from './source.js';
import type { Detected, ImportedSession, ImportOptions, ImportResult, ImportSource } from './types.js';

/** First bytes that are looked at. */
const HEAD = 1 << 16;

/**
 * Imports a log of another agent, or one of ours.
 * @returns the sessions and the report of what was made of the file
 * @throws (rejects) PalimpsestError `UNKNOWN_FORMAT` where no format is given and none is found; `CORRUPT_LOG` for a line
 *   that is too long; what a format's reader refuses (a version that is not known well enough); the signal's reason when
 *   it aborts; what the sink throws. Files are only read
 */
export async function importLog(source: ImportSource, options: ImportOptions = {}): Promise<ImportResult> {
  need(isObject(source) && typeof source.read === 'function' && typeof source.name === 'string', 'source', source, 'a source: bytesSource(), blobSource() or fileSource()');
  needAmount('source.size', source.size);
  needObject('options', options);
  options.signal?.throwIfAborted();
  const head = await source.read(0, Math.min(HEAD, source.size));
  const found = options.format === undefined ? detect(head, source.name) : { format: options.format, detail: options.format };
  if (found === undefined) {
    throw new PalimpsestError('UNKNOWN_FORMAT', `${source.name}: this is no log of Claude Code, Codex, pi, DeepSeek Harness or palimpsest; give the format where it is known`, { path: source.name });
  }
  const context = new Context(options, source.size * (found.format === 'dsh' || found.format === 'palimpsest' ? 1 : 2));
  const sessions = await read(source, found, head, context, options);
  context.finished();
  return { ...found, sessions, report: context.report.finish() };
}

async function read(source: ImportSource, found: Detected, head: Uint8Array, context: Context, options: ImportOptions): Promise<ImportedSession[]> {
  context.report.bytes(source.size);
  const compressed = isZstd(head);
  if (found.format === 'dsh') {
    return importDsh(source, context, compressed ? inflate(source, context.report, (bytes) => context.progress(bytes)) : undefined);
  }
  const plain = compressed ? await inflated(source, context) : source;
  switch (found.format) {
    case 'palimpsest':
      return importOwn(plain, context, () => new SessionReader(source.name));
    case 'codex':
      return importCodex(plain, context);
    case 'pi':
      return importPi(plain, context);
    case 'claude-code': {
      const sessions = await importClaude(plain, context);
      const main = sessions[0]?.header;
      for await (const beside of options.related?.() ?? []) {
        context.more(beside.size * 2);
        context.report.bytes(beside.size);
        context.report.source = beside.name;
        sessions.push(...(await importClaude(beside, context, main)));
      }
      context.report.source = undefined;
      return sessions;
    }
  }
}

/** A compressed file that is read twice, decoded into memory that the platform may keep elsewhere. */
async function inflated(source: ImportSource, context: Context): Promise<ImportSource> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const part of inflate(source, context.report, () => {})) parts.push(part as Uint8Array<ArrayBuffer>);
  return blobSource(new Blob(parts), source.name);
}
