/** Where other agents keep their logs, and what the first bytes of these say. */

import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { detect } from '../import/index.js';
import { CliError, Exit } from './host.js';
import type { Listed } from './ls.js';

/** Names of agents on the command line, with the formats of `palimpsest/import`. */
export const AGENTS = { claude: 'claude-code', codex: 'codex', pi: 'pi', dsh: 'dsh' } as const;

/** Name of an agent on the command line. */
export type Agent = keyof typeof AGENTS;

/** The directories in which an agent keeps its logs on this machine. */
export async function placesOf(agent: Agent): Promise<string[]> {
  const { CLAUDE_CONFIG_DIR, CODEX_HOME, PI_CODING_AGENT_DIR, DSH_HOME } = process.env;
  const home = homedir();
  const codex = CODEX_HOME ?? join(home, '.codex');
  const places = {
    claude: [join(CLAUDE_CONFIG_DIR ?? join(home, '.claude'), 'projects')],
    codex: [join(codex, 'sessions'), join(codex, 'archived_sessions')],
    pi: [join(PI_CODING_AGENT_DIR ?? join(home, '.pi/agent'), 'sessions')],
    dsh: [join(DSH_HOME ?? join(home, '.dsh'), 'sessions')],
  }[agent];
  const found: string[] = [];
  for (const place of places) if ((await stat(place).catch(() => undefined))?.isDirectory() === true) found.push(place);
  if (found.length === 0) throw new CliError(`there are no logs of ${agent} in ${places.join(' or ')}`, { hint: 'name their directory: `palimpsest ls ROOT --agent NAME`', exit: Exit.failed });
  return found;
}

const decoder = new TextDecoder();

/** What the first bytes of a foreign log say; undefined where it is none that is known. */
export function foreignHead(file: string, first: Uint8Array): Omit<Listed, 'size'> | undefined {
  const found = detect(first, file);
  if (found === undefined || found.format === 'palimpsest') return undefined;
  const text = decoder.decode(first);
  const name = basename(file).replace(/\.jsonl(?:\.zstd?)?$/, '');
  const cwd = member(text, 'cwd');
  const at = { file, format: found.format, ...(cwd !== undefined && { cwd }) };
  const timestamp = Date.parse(member(text, 'timestamp') ?? '');
  const createdAt = Number.isNaN(timestamp) ? undefined : timestamp;
  switch (found.format) {
    case 'claude-code':
      return { ...at, id: name.startsWith('agent-') ? name : (member(text, 'sessionId') ?? name), ...(createdAt !== undefined && { createdAt }) };
    case 'codex': {
      const parent = member(text, 'forked_from_id');
      return { ...at, id: member(text, 'id') ?? name, ...(createdAt !== undefined && { createdAt }), ...(parent !== undefined && { parentSession: parent }) };
    }
    case 'pi':
      return { ...at, id: member(text, 'id') ?? name, ...(createdAt !== undefined && { createdAt }) };
    case 'dsh': {
      const parent = member(text, 'parentSession');
      const created = /"createdAt"\s*:\s*(\d{1,16})/.exec(text)?.[1];
      // A compressed log's id is the name of its directory.
      return { ...at, id: member(text, 'id') ?? unescaped(basename(dirname(file))), ...(created !== undefined && { createdAt: Number(created) }), ...(parent !== undefined && { parentSession: parent }) };
    }
  }
}

/** The first text member of a name; the record that it is in may be cut off behind it. */
function member(text: string, name: string): string | undefined {
  const raw = new RegExp(`"${name}"\\s*:\\s*("(?:[^"\\\\]|\\\\.){0,4000}")`).exec(text)?.[1];
  if (raw === undefined) return undefined;
  try {
    return JSON.parse(raw) as string;
  } catch {
    return undefined;
  }
}

function unescaped(segment: string): string {
  return segment.replace(/~([0-9A-F]{4})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}

/**
 * Which of a directory's files hold its session: of the generations that the harness leaves beside each other, the highest.
 * @param names names of the files in one directory
 */
export function newestGenerations(names: readonly string[]): (name: string) => boolean {
  const generation = (name: string): number => {
    const match = /^session(?:\.v(\d+))?\.jsonl(?:\.zstd)?$/.exec(name);
    return match === null ? -1 : Number(match[1] ?? 0);
  };
  const highest = Math.max(-1, ...names.map(generation));
  return (name) => generation(name) < 0 || generation(name) === highest;
}
