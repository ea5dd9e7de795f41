/** `palimpsest ls`: the sessions below a directory, or in a database, by their headers alone. */

import { readdir, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { readHeaderLine } from '../reader.js';
import { messageOf } from '../wording.js';
import { head, isSqlite, STANDARD } from './bytes.js';
import { headOf } from '../salvage/record.js';
import { CliError, columns, count, Exit, oneLine, paint, print, printable, printJson, size, table, time, warn } from './host.js';
import { logsBelow } from './heads.js';
import { AGENTS, type Agent, foreignHead, newestGenerations, placesOf } from './agents.js';
import { Progress } from './progress.js';

/** A session that was found. */
export interface Listed {
  readonly file: string;
  /** `palimpsest`, or the foreign format. */
  readonly format: string;
  readonly id: string;
  readonly createdAt?: number;
  readonly cwd?: string;
  readonly parentSession?: string;
  readonly seedLength?: number;
  /** Bytes of the file; absent in a database. */
  readonly size?: number;
  /** What is wrong in the bytes that were read of a log of ours. Without it the rest may still be damaged. */
  readonly damage?: string;
}

/** A file that is no session, or none that can be read. */
export interface Broken {
  readonly file: string;
  readonly error: string;
}

/** Options of the command. */
export interface LsOptions {
  readonly agent?: Agent;
  readonly last?: number;
  readonly json?: true;
  readonly verbose?: true;
}

interface Listing {
  readonly sessions: Listed[];
  readonly broken: Broken[];
  files: number;
  bytesRead: number;
}

/** Lists sessions, oldest first. */
export async function ls(root: string | undefined, { agent, last, json, verbose }: LsOptions): Promise<number> {
  if (root === STANDARD) throw new CliError('a directory or a database can be listed', { hint: '`palimpsest stats -` says what is in one log', exit: Exit.usage });
  const roots = root !== undefined ? [root] : agent === undefined ? ['.'] : await placesOf(agent);
  const listing: Listing = { sessions: [], broken: [], files: 0, bytesRead: 0 };
  for (const place of roots) await list(place, agent, listing);
  // Never by the time of the file, which copies and updates change.
  listing.sessions.sort((a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0) || (a.id < b.id ? -1 : 1));
  const shown = last === undefined ? listing.sessions : listing.sessions.slice(-last);
  if (json) await printJson({ roots, sessions: shown, broken: listing.broken, files: listing.files, bytesRead: listing.bytesRead });
  else await show(shown, listing, verbose === true);
  return Exit.ok;
}

async function list(root: string, agent: Agent | undefined, listing: Listing): Promise<void> {
  const found = await stat(root);
  if (found.isFile()) {
    await listDatabase(root, listing);
    return;
  }
  const progress = new Progress('listing');
  const waiting: string[] = [];
  const flush = async (): Promise<void> => {
    for (const entry of await Promise.all(waiting.splice(0).map((path) => look(path, agent, listing)))) {
      if (entry === undefined) continue;
      if ('error' in entry) listing.broken.push(entry);
      else listing.sessions.push(entry);
    }
    progress.at(listing.bytesRead);
  };
  const newest = new Map<string, (name: string) => boolean>();
  for await (const path of logsBelow(root, (file, error) => listing.broken.push({ file, error: messageOf(error) }))) {
    const folder = dirname(path);
    if (/^session.*\.jsonl/.test(basename(path))) {
      const isNewest = newest.get(folder) ?? newestGenerations(await readdir(folder));
      newest.set(folder, isNewest);
      if (!isNewest(basename(path))) continue;
    }
    waiting.push(path);
    if (waiting.length === AT_ONCE) await flush();
  }
  await flush();
  progress.end();
}

/** Files that are open at the same time. */
const AT_ONCE = 32;

/** What is read of a file at first, and at most: enough for a header with a long working directory; and at its end. */
const FIRST = 1792;
const LAST = 256;
const LONGEST = 64 * 1024;

async function look(file: string, agent: Agent | undefined, listing: Listing): Promise<Listed | Broken | undefined> {
  listing.files++;
  try {
    let first = await head(file, FIRST);
    listing.bytesRead += first.length;
    const whole = first.length < FIRST;
    if (!whole && !first.includes(0x0a)) {
      first = await head(file, LONGEST);
      listing.bytesRead += first.length;
    }
    let foreign = isOwn(first) ? undefined : foreignHead(file, first);
    if (foreign === undefined && !whole && first.length < LONGEST && !isOwn(first)) {
      // Some agents begin with lines that say nothing, or with one that is long.
      first = await head(file, LONGEST);
      listing.bytesRead += first.length;
      foreign = foreignHead(file, first);
    }
    if (foreign !== undefined) return agent === undefined || foreign.format === AGENTS[agent] ? { ...foreign, size: (await stat(file)).size } : undefined;
    // Anything may be called .json.
    if (!/\.jsonl(?:\.zstd?)?$/.test(file) && !isOwn(first)) return undefined;
    if (agent !== undefined) return isOwn(first) ? undefined : { file, error: `it is no log of ${agent}` };
    const header = readHeaderLine(startOf(first), file);
    if (header === undefined) throw new Error(first.length === 0 ? 'the file is empty' : first.every((byte) => byte === 0) ? 'the file holds nothing but zero bytes' : 'it does not begin with a session header');
    const { id, createdAt, cwd, parentSession, seedLength } = header;
    const { size: bytes } = await stat(file);
    const end = bytes > first.length ? await head(file, LAST, Math.max(first.length, bytes - LAST)) : first;
    if (end !== first) listing.bytesRead += end.length;
    const damage = damageIn(first, end);
    return { file, format: 'palimpsest', id, createdAt, ...(cwd !== undefined && { cwd }), ...(parentSession !== undefined && { parentSession }), ...(seedLength !== undefined && { seedLength }), size: bytes, ...(damage !== undefined && { damage }) };
  } catch (error) {
    return { file, error: messageOf(error).replace(`${file}, `, '').replace(`${file}: `, '') };
  }
}

/** What is wrong at the beginning and the end of a log of ours, as far as it can be told from there. */
function damageIn(first: Uint8Array, end: Uint8Array): string | undefined {
  if (first.includes(0) || end.includes(0)) return 'zero bytes';
  const lines = new TextDecoder().decode(first).split('\n').slice(1, -1).filter((line) => line.trim() !== '');
  if (lines.some((line) => !/^\s*\{.*\}\s*$/s.test(line))) return 'bad line';
  if (lines.some((line, seq) => (headOf(line)?.seq ?? seq) !== seq)) return 'out of sequence';
  return end.length > 0 && end[end.length - 1] !== 0x0a ? 'torn tail' : undefined;
}

function startOf(first: Uint8Array): Uint8Array {
  return first[0] === 0xef && first[1] === 0xbb && first[2] === 0xbf ? first.subarray(3) : first;
}

/**
 * Whether a file begins like a log of ours, sound or not. So does one of the harness, whose first line says how deep it
 * delegates; what was imported from there says that it was.
 */
function isOwn(first: Uint8Array): boolean {
  const text = new TextDecoder().decode(startOf(first));
  if (!/^\s*\{\s*"type"\s*:\s*"session"\s*,\s*"version"\s*:\s*\d+\s*,\s*"id"\s*:[^{]*"createdAt"/.test(text)) return false;
  return text.includes('{"type":"import/record",') || !/^[^\n]*"(?:delegationDepth|agentPreset|origin)"/.test(text);
}

async function listDatabase(file: string, listing: Listing): Promise<void> {
  if (!isSqlite(await head(file, 16))) throw new CliError(`${file} is neither a directory nor a database`, { hint: '`palimpsest stats FILE` and `palimpsest show FILE` say what is in one log', exit: Exit.usage });
  const { sqlite } = await import('../persistence/sqlite.js');
  const backend = sqlite(file);
  try {
    for await (const stored of backend.list()) {
      listing.files++;
      if ('error' in stored) {
        listing.broken.push({ file: `${file}: ${stored.location}`, error: messageOf(stored.error) });
        continue;
      }
      listing.bytesRead += stored.head.length;
      try {
        const header = readHeaderLine(stored.head, stored.location);
        if (header !== undefined) listing.sessions.push({ file, format: 'palimpsest', ...header });
        else listing.broken.push({ file: `${file}: ${stored.location}`, error: 'it does not begin with a session header' });
      } catch (error) {
        listing.broken.push({ file: `${file}: ${stored.location}`, error: messageOf(error) });
      }
    }
  } finally {
    await backend.close?.();
  }
}

async function show(sessions: readonly Listed[], { broken, files, bytesRead, sessions: all }: Listing, verbose: boolean): Promise<void> {
  const several = sessions.some(({ format }) => format !== sessions[0]?.format);
  const damaged = sessions.some(({ damage }) => damage !== undefined);
  const rows = sessions.map(({ file, format, id, createdAt, cwd, parentSession, size: bytes, damage }) => [
    paint('dim', createdAt === undefined ? '' : time(createdAt)),
    bytes === undefined ? '' : size(bytes),
    ...(damaged ? [paint('red', damage ?? '')] : []),
    ...(several ? [paint('magenta', format)] : []),
    paint('bold', oneLine(id, 60)),
    [oneLine(cwd ?? '', 40), parentSession === undefined ? '' : paint('cyan', `fork of ${oneLine(parentSession, 40)}`), paint('dim', printable(file))].filter((part) => part !== '').join('  '),
  ]);
  for (const line of table(rows, [1])) await print(line.trimEnd());
  for (const { file, error } of broken) warn(`${paint('red', 'broken')} ${printable(file)}: ${oneLine(error, columns())}`);
  const left = all.length - sessions.length;
  const marked = all.filter(({ damage }) => damage !== undefined).length;
  await print(`${all.length === 0 ? 'no sessions' : count(sessions.length, 'session')}${left > 0 ? ` (${count(left, 'older one')} not shown)` : ''}${marked > 0 ? `, ${marked} damaged` : ''}${broken.length > 0 ? `, ${broken.length} broken` : ''}${verbose ? `; ${count(files, 'file')}, ${count(bytesRead, 'byte')} read` : ''}`);
}
