/** Who wrote a file, by its first bytes. */

import { needBytes } from '../arguments.js';
import { isZstd } from './dsh/zstd.js';
import { idOf, isObject, parse, type Raw, stringOf } from './json.js';
import type { Detected } from './types.js';

const CLAUDE_TYPES = new Set(['user', 'assistant', 'system', 'summary', 'progress', 'attachment', 'file-history-snapshot', 'queue-operation', 'last-prompt', 'permission-mode', 'custom-title', 'ai-title', 'pr-link', 'saved_hook_context']);
const CODEX_TYPES = new Set(['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted', 'world_state', 'inter_agent_communication', 'inter_agent_communication_metadata']);
const CODEX_ITEMS = new Set(['message', 'reasoning', 'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output', 'local_shell_call']);
const PI_TYPES = new Set(['message', 'model_change', 'thinking_level_change', 'compaction', 'branch_summary', 'custom', 'custom_message', 'label', 'session_info']);

const decoder = new TextDecoder();

/**
 * Says who wrote a file.
 * @param head its first bytes; 64 KB are enough
 * @param name its name or path, which tells compressed logs apart
 * @returns `undefined` for what is no log that can be imported: other JSON, other files
 */
export function detect(head: Uint8Array, name = ''): Detected | undefined {
  needBytes('head', head);
  if (isZstd(head)) {
    return /rollout-[^/\\]*$/.test(name) ? { format: 'codex', detail: 'Codex, compressed with zstd' } : { format: 'dsh', detail: 'DeepSeek Harness, compressed with zstd' };
  }
  const text = decoder.decode(head).replace(/^\ufeff/, '');
  const lines = text.split('\n');
  const cut = lines.pop() ?? '';
  const records = [...lines, cut].flatMap((line) => {
    const value = line.trim() === '' ? undefined : parse(line);
    return isObject(value) ? [value] : [];
  });
  const first = records[0];
  if (first?.type === 'session') return sessionHeader(first, records);
  for (const record of records) {
    const found = codex(record) ?? claude(record);
    if (found !== undefined) return found;
  }
  return bareCodex(records) ?? (records.length === 0 ? longLine(cut) : undefined);
}

/** Three formats begin with a line of the type `session`. */
function sessionHeader(header: Raw, records: readonly Raw[]): Detected | undefined {
  if (idOf(header.id) === undefined) return undefined;
  if (typeof header.timestamp === 'string' && header.createdAt === undefined) {
    const generation = typeof header.version === 'number' ? header.version : 1;
    return records.length === 1 || records.slice(1).some(({ type }) => PI_TYPES.has(stringOf(type) ?? '')) ? { format: 'pi', detail: `pi, generation ${generation}` } : undefined;
  }
  if (typeof header.createdAt !== 'number' || typeof header.version !== 'number') return undefined;
  if (isHarness(header, records)) return { format: 'dsh', detail: `DeepSeek Harness, version ${header.version}` };
  return { format: 'palimpsest', detail: header.version === 0 ? 'palimpsest' : `palimpsest, version ${header.version}` };
}

/**
 * The harness says how deep it delegates, packs its chunks and wraps its messages; before that, it wrote logs as ours. A
 * log that was imported from it is ours, whatever its events are called.
 */
function isHarness(header: Raw, records: readonly Raw[]): boolean {
  if (records.some(({ type }) => type === 'import/record')) return false;
  if ('delegationDepth' in header || 'agentPreset' in header || 'origin' in header || 'isSeeded' in header) return true;
  return records.some(({ type, data }) => {
    if (/-chunks$|^(agent|compaction|session|subagent)\//.test(stringOf(type) ?? '')) return true;
    return isObject(data) && (type === 'assistant/message' || type === 'tool/result') && isObject(data.message);
  });
}

function codex(record: Raw): Detected | undefined {
  return CODEX_TYPES.has(stringOf(record.type) ?? '') && isObject(record.payload) ? { format: 'codex', detail: 'Codex rollout' } : undefined;
}

function claude(record: Raw): Detected | undefined {
  const type = stringOf(record.type) ?? '';
  if (!CLAUDE_TYPES.has(type)) return undefined;
  const tree = 'parentUuid' in record && idOf(record.uuid) !== undefined && (idOf(record.sessionId) !== undefined || isObject(record.message));
  const listed = (type === 'summary' && typeof record.summary === 'string' && idOf(record.leafUuid) !== undefined) || (type === 'file-history-snapshot' && isObject(record.snapshot)) || (idOf(record.sessionId) !== undefined && !['user', 'assistant', 'system'].includes(type));
  if (!tree && !listed) return undefined;
  const version = stringOf(record.version);
  return { format: 'claude-code', detail: version === undefined ? 'Claude Code' : `Claude Code ${version}` };
}

/** The oldest rollouts have no envelope: a line with id and time, then bare items. */
function bareCodex(records: readonly Raw[]): Detected | undefined {
  const [first] = records;
  const header = first !== undefined && first.type === undefined && idOf(first.id) !== undefined && typeof first.timestamp === 'string';
  const items = records.filter((record) => CODEX_ITEMS.has(stringOf(record.type) ?? '') && isItem(record)).length;
  const states = records.some((record) => record.record_type === 'state');
  return (header && (items > 0 || states || 'instructions' in first)) || (items > 0 && states) ? { format: 'codex', detail: 'Codex rollout of the oldest form, without envelopes' } : undefined;
}

function isItem(record: Raw): boolean {
  return record.type === 'message' ? typeof record.role === 'string' && Array.isArray(record.content) : typeof record.call_id === 'string' || Array.isArray(record.summary);
}

/** A first line that is longer than what there is to see. */
function longLine(text: string): Detected | undefined {
  if (/^\s*\{"timestamp":"[^"]*",("ordinal":\d+,)?"type":"(session_meta|response_item|event_msg|turn_context|compacted)","payload":\{/.test(text)) return { format: 'codex', detail: 'Codex rollout' };
  if (/^\s*\{/.test(text) && /"(parentUuid|leafUuid)":("|null)/.test(text.slice(0, 4096)) && /"(sessionId|uuid)":"/.test(text.slice(0, 4096))) return { format: 'claude-code', detail: 'Claude Code' };
  return undefined;
}
