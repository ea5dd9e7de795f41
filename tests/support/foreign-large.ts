// Writes logs of any size in the shape of other agents' logs, to see what importing them takes.
import { open } from 'node:fs/promises';
import type { Dice } from './random.js';

const WORDS = 'the build fails when a test reads from the socket before its server has bound a port so look at how the runner waits for it'.split(' ');

/** Text of about `length` characters; no two are alike. */
function text(dice: Dice, length: number): string {
  const words: string[] = [];
  for (let size = 0; size < length; size += words.at(-1)!.length + 1) words.push(dice.chance(0.1) ? dice.below(1e9).toString(36) : dice.pick(WORDS));
  return words.join(' ');
}

const BASE = Date.UTC(2026, 1, 3, 9);
const iso = (step: number): string => new Date(BASE + step * 1000).toISOString();

/** Records in Claude Code's shape, without end: prompts, split messages, results that repeat their output, progress, rewinds, compactions. */
export function* claudeRecords(dice: Dice): Generator<object> {
  let step = 0;
  let parent = null as string | null;
  let sinceCompaction = 0;
  const session = '7d0c2a34-1f5e-4b6a-9c11-000000000001';
  const record = (type: string, more: object, hang = true): object => {
    const uuid = `00000000-0000-4000-8000-${(++step).toString(16).padStart(12, '0')}`;
    const made = { parentUuid: parent, isSidechain: false, userType: 'external', cwd: '/home/someone/project', sessionId: session, version: '2.1.38', gitBranch: 'main', type, ...more, uuid, timestamp: iso(step) };
    if (hang) parent = uuid;
    return made;
  };
  for (let turn = 1; ; turn++) {
    const before: string | null = parent;
    yield record('user', { message: { role: 'user', content: text(dice, 400) } });
    for (let call = 0, calls = dice.below(12) + 1; call < calls; call++) {
      const id = `msg_${step}`;
      const usage = { input_tokens: 3, cache_creation_input_tokens: dice.below(2000), cache_read_input_tokens: dice.below(100_000), output_tokens: dice.below(800) };
      const part = (block: object): object => record('assistant', { message: { id, type: 'message', role: 'assistant', model: 'claude-opus-4-6', content: [block], stop_reason: null, usage }, requestId: `req_${id}` });
      yield part({ type: 'thinking', thinking: text(dice, 300), signature: 'c2ln' });
      yield part({ type: 'text', text: text(dice, 200) });
      yield part({ type: 'tool_use', id: `toolu_${step}`, name: 'Bash', input: { command: text(dice, 100) } });
      const callId = `toolu_${step - 1}`;
      for (let i = dice.below(3); i > 0; i--) yield record('progress', { data: { type: 'bash_progress', output: text(dice, 500) }, parentToolUseID: callId });
      const image = dice.chance(0.001);
      const output = image ? 'A'.repeat(3 << 20) : text(dice, dice.below(9000));
      const content = image ? [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: output } }] : output;
      yield record('user', { message: { role: 'user', content: [{ tool_use_id: callId, type: 'tool_result', content, is_error: false }] }, toolUseResult: { stdout: output, stderr: '', interrupted: false } });
    }
    if (dice.chance(0.0003)) parent = before;
    if (++sinceCompaction > 80) {
      sinceCompaction = 0;
      const last = parent;
      parent = null;
      yield record('system', { subtype: 'compact_boundary', content: 'Conversation compacted', logicalParentUuid: last, compactMetadata: { trigger: 'auto', preTokens: 155_000 } });
      yield record('user', { isCompactSummary: true, message: { role: 'user', content: `This session is being continued from a previous conversation. ${text(dice, 6000)}` } });
    }
  }
}

/** Lines in Codex's shape, without end: turns, counts that are sent twice, and the whole history again at each compaction. */
export function* codexRecords(dice: Dice): Generator<object> {
  let step = 0;
  const line = (type: string, payload: object): object => ({ timestamp: iso(++step), type, payload });
  const history: object[] = [];
  const item = (payload: object): object => {
    history.push(payload);
    return line('response_item', payload);
  };
  const total = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, reasoning_output_tokens: 0, total_tokens: 0 };
  yield line('session_meta', { id: '019ca000-0000-7000-8000-000000000001', timestamp: iso(0), cwd: '/home/someone/project', originator: 'codex_cli_rs', cli_version: '0.104.0', source: 'cli', base_instructions: { text: text(dice, 9000) } });
  for (let turn = 1; ; turn++) {
    yield line('event_msg', { type: 'task_started', turn_id: `turn-${turn}` });
    yield line('turn_context', { turn_id: `turn-${turn}`, cwd: '/home/someone/project', model: 'gpt-5.3-codex', approval_policy: 'on-request', sandbox_policy: { type: 'workspace-write' } });
    const prompt = text(dice, 400);
    yield item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: prompt }] });
    yield line('event_msg', { type: 'user_message', message: prompt });
    for (let call = 0, calls = dice.below(10) + 1; call < calls; call++) {
      const callId = `call_${step}`;
      yield item({ type: 'function_call', name: 'exec_command', arguments: JSON.stringify({ cmd: text(dice, 80) }), call_id: callId });
      total.input_tokens += 1000;
      total.output_tokens += 50;
      for (let i = 0; i < 2; i++) yield line('event_msg', { type: 'token_count', info: { total_token_usage: { ...total }, last_token_usage: {} } });
      yield item({ type: 'function_call_output', call_id: callId, output: text(dice, dice.below(9000)) });
    }
    const answer = text(dice, 600);
    yield line('event_msg', { type: 'agent_message', message: answer });
    yield item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: answer }] });
    yield line('event_msg', { type: 'task_complete', turn_id: `turn-${turn}` });
    if (turn % 8 === 0) {
      // The oldest part goes once the history is long, so that it stands further down than before.
      while (JSON.stringify(history[0]).length * history.length > 9 << 20) history.splice(0, 50);
      history.push({ type: 'message', role: 'user', content: [{ type: 'input_text', text: `Summary ${turn}: ${text(dice, 2000)}` }] });
      yield line('compacted', { message: '', replacement_history: [...history] });
    }
  }
}

/** Writes records until the file is as long as wanted. */
export async function writeLarge(path: string, records: Iterable<object>, bytes: number): Promise<void> {
  const file = await open(path, 'w');
  let waiting: string[] = [];
  let size = 0;
  let written = 0;
  for (const record of records) {
    const line = `${JSON.stringify(record)}\n`;
    waiting.push(line);
    size += line.length;
    if (size < 1 << 22) continue;
    await file.writeFile(waiting.join(''));
    written += size;
    waiting = [];
    size = 0;
    if (written >= bytes) break;
  }
  await file.close();
}
