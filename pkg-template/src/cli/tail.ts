/** `palimpsest tail`: the last events of a log, and each new one as it is written. */

import { watch } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import process from 'node:process';
import type { SessionEvent } from '../events.js';
import { LineCutter, trimmed } from '../salvage/lines.js';
import { parseRecord } from '../salvage/record.js';
import { eventLine } from './describe.js';
import { logSource, STANDARD } from './bytes.js';
import { CliError, columns, Exit, oneLine, paint, print, warn } from './host.js';

/** Options of the command. */
export interface TailOptions {
  readonly follow?: true;
  readonly lines: number;
  readonly json?: true;
}

/** Bytes that are read backwards at once. */
const BLOCK = 64 * 1024;

/** How often a followed file is looked at, in case its system does not tell of changes. */
const LOOK_MS = 1000;

/** Shows the last events of a log. Only a signal ends what follows it, so that is its normal end. Nothing is written, and no lock is asked for. */
export async function tail(path: string, { follow, lines, json }: TailOptions): Promise<number> {
  const found = path === STANDARD ? undefined : await stat(path);
  if (found?.isDirectory() === true) throw new CliError(`${path} is a directory`, { hint: 'name a file in it; `palimpsest ls DIR` lists them', exit: Exit.usage });
  const from = await logSource(path);
  // A pipe has no end to begin at, and ends by itself.
  if (from.size === undefined) return tailOfStream(from.chunks(), follow === true ? Infinity : lines, json);
  const { size } = from;
  let at = await startOfLast(path, size, lines);
  let cutter = new LineCutter();
  const read = async (to: number): Promise<void> => {
    for await (const chunk of piece(path, at, to)) {
      at += chunk.length;
      for (const line of cutter.push(chunk)) await show(line.bytes, json);
    }
  };
  await read(size);
  if (follow !== true) {
    tellOfRest(cutter);
    return Exit.ok;
  }
  for await (const now of sizes(path)) {
    if (now < at) {
      warn(paint('yellow', 'the file has become shorter: it is shown from its beginning'));
      at = 0;
      cutter = new LineCutter();
    }
    if (now > at) await read(now);
  }
  return Exit.ok;
}

/** The last events of what can be read once only; as many as it has, each as it comes, where `lines` has no bound. */
async function tailOfStream(chunks: AsyncIterable<Uint8Array>, lines: number, json: true | undefined): Promise<number> {
  const cutter = new LineCutter();
  const last: Uint8Array[] = [];
  for await (const chunk of chunks) {
    for (const { bytes } of cutter.push(chunk)) {
      if (lines === Infinity) await show(bytes, json);
      else if (last.push(bytes.slice()) > lines) last.shift();
    }
  }
  for (const bytes of last) await show(bytes, json);
  tellOfRest(cutter);
  return Exit.ok;
}

function tellOfRest(cutter: LineCutter): void {
  const rest = cutter.finish();
  if (rest !== undefined) warn(paint('dim', `${rest.bytes.length} bytes follow without a line end: a record that is being written, or was cut off`));
}

/** The file's size, each time that it may have changed. Ends when the process is told to end. */
async function* sizes(path: string): AsyncGenerator<number> {
  let wake = (): void => undefined;
  let ended = false;
  const watcher = watch(path, () => wake()).on('error', () => undefined);
  const timer = setInterval(() => wake(), LOOK_MS);
  const end = (): void => {
    ended = true;
    wake();
  };
  process.once('SIGINT', end).once('SIGTERM', end);
  try {
    // `ended` is set by a signal, while this waits.
    for (;;) {
      yield (await stat(path)).size;
      if (ended as boolean) return;
      await new Promise<void>((resolve) => (wake = resolve));
      if (ended as boolean) return;
    }
  } finally {
    clearInterval(timer);
    watcher.close();
    process.off('SIGINT', end).off('SIGTERM', end);
  }
}

async function* piece(path: string, from: number, to: number): AsyncGenerator<Uint8Array> {
  const file = await open(path, 'r');
  try {
    for (let at = from; at < to; ) {
      const buffer = new Uint8Array(Math.min(BLOCK, to - at));
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/** Where the last `lines` lines begin. */
async function startOfLast(path: string, size: number, lines: number): Promise<number> {
  const file = await open(path, 'r');
  try {
    let wanted = lines + 1;
    for (let end = size; end > 0; ) {
      const start = Math.max(0, end - BLOCK);
      const buffer = new Uint8Array(end - start);
      const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
      for (let at = bytesRead - 1; at >= 0; at--) {
        if (buffer[at] === 0x0a && --wanted === 0) return start + at + 1;
      }
      end = start;
    }
    return 0;
  } finally {
    await file.close();
  }
}

async function show(bytes: Uint8Array, json: true | undefined): Promise<void> {
  const [start, end] = trimmed(bytes);
  if (start === end) return;
  const text = new TextDecoder().decode(bytes.subarray(start, end));
  const parsed = parseRecord(text);
  if (json) {
    // What is not JSON would break whoever reads this.
    if (parsed === undefined) warn(paint('red', 'a line is not JSON'));
    else await print(text);
  } else if (parsed?.kind === 'event') await print(eventLine(JSON.parse(text) as SessionEvent, columns()));
  else if (parsed?.kind !== 'header') await print(`${parsed === undefined ? paint('red', 'not JSON') : paint('dim', 'record')}  ${oneLine(text, columns() - 10)}`);
}
