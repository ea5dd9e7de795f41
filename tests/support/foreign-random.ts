// Random logs in other agents' formats: well-formed ones, and ones that hold anything.
import type { Dice } from './random.js';

type Json = Record<string, unknown>;

const iso = (step: number): string => new Date(Date.UTC(2026, 1, 3, 9) + step * 1000).toISOString();

/** Random text that is not blank. */
const said = (dice: Dice): string => `x${dice.text(12)}`;

/** A well-formed Claude Code session: split messages, parallel calls, rewinds, side chains, compactions, records of all kinds. */
export function claudeLog(dice: Dice): Json[] {
  const records: Json[] = [];
  const add = (type: string, parent: string | null, more: Json): string => {
    const uuid = `u${records.length}`;
    records.push({ parentUuid: parent, isSidechain: false, cwd: '/w', sessionId: 's-1', version: '2.1.0', type, ...more, uuid, timestamp: iso(records.length) });
    return uuid;
  };
  const user = (parent: string | null, content: unknown, more: Json = {}): string => add('user', parent, { message: { role: 'user', content }, ...more });
  const turn = (from: string | null, side: Json = {}): string => {
    let at = user(from, dice.chance(0.5) ? said(dice) : [{ type: 'text', text: said(dice) }], side);
    for (let n = dice.below(4); n > 0; n--) {
      if (dice.chance(0.2)) at = add('progress', at, { data: { type: 'hook_progress' }, ...side });
      const id = `m${records.length}`;
      const part = (block: Json): string => add('assistant', at, { message: { id, role: 'assistant', model: 'claude-x', content: [block], usage: { input_tokens: 1, output_tokens: records.length } }, ...side });
      if (dice.chance(0.3)) at = part({ type: 'thinking', thinking: said(dice), signature: 'c2ln' });
      const calls = Array.from({ length: dice.below(3) }, (_, i) => `t${records.length}_${i}`);
      at = part({ type: 'text', text: said(dice) });
      const holders = calls.map((call) => [call, (at = part({ type: 'tool_use', id: call, name: 'Bash', input: { a: said(dice) } }))] as const);
      // As Claude Code does: a result hangs on the record of its call, so all but one are off the parent path.
      for (const [call, holder] of holders) if (dice.chance(0.9)) at = user(holder, [{ type: 'tool_result', tool_use_id: call, content: said(dice) }], { toolUseResult: { stdout: said(dice) }, ...side });
    }
    return at;
  };
  let at: string | null = null;
  for (let n = dice.below(8); n >= 0; n--) {
    if (dice.chance(0.2)) records.push({ type: 'file-history-snapshot', snapshot: {} });
    const before: string | null = at;
    at = turn(at);
    if (dice.chance(0.2)) turn(null, { isSidechain: true });
    if (dice.chance(0.15)) {
      at = add('system', null, { subtype: 'compact_boundary', logicalParentUuid: at, compactMetadata: { preTokens: 9 } });
      if (dice.chance(0.9)) at = user(at, said(dice), { isCompactSummary: true });
    }
    if (dice.chance(0.2)) at = user(at, '<command-name>/x</command-name>');
    if (dice.chance(0.2)) at = before;
  }
  return records;
}

/** A well-formed rollout: turns, counts, rollbacks, compactions, a fork's second header. */
export function codexLog(dice: Dice): Json[] {
  const records: Json[] = [];
  const history: Json[] = [];
  const line = (type: string, payload: Json): void => void records.push({ timestamp: iso(records.length), type, payload });
  const item = (payload: Json): void => {
    history.push(payload);
    line('response_item', payload);
  };
  line('session_meta', { id: 'c-1', timestamp: iso(0), cwd: '/w', source: 'cli', ...(dice.chance(0.3) && { forked_from_id: 'c-0' }), ...(dice.chance(0.5) && { base_instructions: { text: said(dice) } }) });
  if (dice.chance(0.2)) line('session_meta', { id: 'c-0', timestamp: iso(0), cwd: '/w' });
  let total = 0;
  let started = 0;
  for (let n = dice.below(8); n >= 0; n--) {
    started++;
    if (dice.chance(0.7)) line('event_msg', { type: 'task_started' });
    if (dice.chance(0.5)) line('turn_context', { cwd: '/w', model: dice.pick(['gpt-a', 'gpt-b']), approval_policy: 'never' });
    if (dice.chance(0.3)) item({ type: 'message', role: 'developer', content: [{ type: 'input_text', text: said(dice) }] });
    const prompt = said(dice);
    const event = (): void => line('event_msg', { type: 'user_message', message: prompt });
    if (dice.chance(0.2)) event();
    else if (dice.chance(0.9)) {
      item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: prompt }] });
      event();
    }
    for (let m = dice.below(3); m > 0; m--) {
      if (dice.chance(0.5)) item({ type: 'reasoning', summary: [{ type: 'summary_text', text: said(dice) }], encrypted_content: 'AAAA' });
      const calls = Array.from({ length: dice.below(3) }, (_, i) => `c${records.length}_${i}`);
      for (const call_id of calls) item(dice.chance(0.8) ? { type: 'function_call', name: 'exec', arguments: '{}', call_id } : { type: 'custom_tool_call', name: 'patch', input: said(dice), call_id });
      total += dice.below(3);
      for (let k = dice.below(3); k > 0; k--) line('event_msg', { type: 'token_count', info: { total_token_usage: { input_tokens: total, cached_input_tokens: 0, output_tokens: total, reasoning_output_tokens: 0 } } });
      for (const call_id of calls) if (dice.chance(0.9)) item({ type: 'function_call_output', call_id, output: dice.chance(0.8) ? said(dice) : { content: said(dice), success: false } });
    }
    if (dice.chance(0.8)) item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: said(dice) }] });
    if (dice.chance(0.7)) line('event_msg', { type: dice.pick(['task_complete', 'turn_aborted']) });
    if (dice.chance(0.2)) line('compacted', { message: said(dice), ...(dice.chance(0.8) && { replacement_history: [...history.slice(dice.below(history.length + 1)), { type: 'compaction', encrypted_content: 'AAAA' }] }) });
    if (dice.chance(0.15)) line('event_msg', { type: 'thread_rolled_back', num_turns: dice.below(started + 2) });
  }
  return records;
}

/** A well-formed pi session of any generation. */
export function piLog(dice: Dice): Json[] {
  const generation = 1 + dice.below(3);
  const records: Json[] = [{ type: 'session', ...(generation > 1 && { version: generation }), id: 'p-1', timestamp: iso(0), cwd: '/w' }];
  let leaf: string | null = null;
  const known: (string | null)[] = [null];
  const add = (type: string, more: Json): string => {
    const id = `e${records.length}`;
    records.push({ type, ...(generation > 1 && { id, parentId: leaf }), timestamp: iso(records.length), ...more });
    known.push((leaf = id));
    return id;
  };
  const message = (more: Json): string => add('message', { message: more });
  for (let n = dice.below(8); n >= 0; n--) {
    if (generation > 1 && dice.chance(0.2)) {
      leaf = dice.pick(known);
      if (dice.chance(0.5)) add('branch_summary', { fromId: 'e1', summary: said(dice) });
    }
    if (dice.chance(0.2)) add('model_change', { provider: 'anthropic', modelId: dice.pick(['a', 'b']) });
    if (dice.chance(0.2)) add('thinking_level_change', { thinkingLevel: 'high' });
    message({ role: 'user', content: dice.chance(0.5) ? said(dice) : [{ type: 'text', text: said(dice) }] });
    for (let m = dice.below(3); m > 0; m--) {
      const calls = Array.from({ length: dice.below(3) }, (_, i) => `call_${records.length}_${i}|fc_${i}`);
      message({ role: 'assistant', content: [...(dice.chance(0.8) ? [{ type: 'text', text: said(dice) }] : []), ...calls.map((id) => ({ type: 'toolCall', id, name: 'bash', arguments: { a: said(dice) } }))], provider: 'anthropic', model: 'a', usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 }, stopReason: dice.pick(['stop', 'toolUse', 'aborted', 'error', 'length']) });
      for (const toolCallId of calls) if (dice.chance(0.9)) message({ role: 'toolResult', toolCallId, toolName: 'bash', content: [{ type: 'text', text: said(dice) }], isError: false });
    }
    if (dice.chance(0.2)) message({ role: 'bashExecution', command: 'ls', output: said(dice), exitCode: 0 });
    if (dice.chance(0.2)) add('custom_message', { customType: 'todo', content: said(dice) });
    if (dice.chance(0.2)) add('compaction', { summary: said(dice), tokensBefore: 5, ...(generation > 1 ? { firstKeptEntryId: dice.pick(known) ?? 'e1' } : { firstKeptEntryIndex: dice.below(records.length) }) });
    if (dice.chance(0.2)) add('label', { targetId: 'e1', label: 'x' });
  }
  return records;
}

/** A well-formed log of the harness, in any of its four dialects. */
export function dshLog(dice: Dice): Json[] {
  const dialect = dice.below(4);
  const records: Json[] = [{ type: 'session', version: 0, id: 'd-1', createdAt: 1_786_000_000_000, cwd: '/w', delegationDepth: 0 }];
  const surface: number[] = [];
  let seq = 0;
  const add = (type: string, data: Json, more: Json = {}): number => {
    records.push({ type, seq, time: 1_786_000_000_000 + seq, data, ...more });
    if (more.surfaceOp === 'append') surface.push(seq);
    return seq++;
  };
  const append = { surfaceOp: 'append' };
  const wrapped = (content: unknown, source: Json): Json => (dialect < 2 ? { content, source } : { id: `i${seq}`, role: 'user', content, source });
  let header = false;
  for (let turn = 1, turns = dice.below(6) + 1; turn <= turns; turn++) {
    if (dice.chance(0.3)) add('agent/inbox/spliced', { target: 'next-turn', inserted: [] });
    add('turn/start', { turn, ...(dialect < 3 && { trigger: { kind: 'message', source: { kind: 'user' } } }) });
    add('user/message', wrapped([{ type: 'text', text: said(dice) }], { kind: 'user' }), append);
    if (dice.chance(0.3)) add(dialect < 3 ? 'context/message' : 'user/message', wrapped([{ type: 'text', text: said(dice) }], { kind: 'plugin', plugin: 'p' }), append);
    for (let step = 1, steps = dice.below(3) + 1; step <= steps; step++) {
      add('step/start', { turn, step });
      if (!header || dice.chance(0.2)) add('request/header', { header: { config: { model: `m${dice.below(3)}` }, system: 'one\ntwo' }, reason: header ? 'resume' : 'initial' });
      else if (dialect === 0 && dice.chance(0.5)) add('request/header-delta', { system: { keepStart: 1, keepEnd: 0, insert: [said(dice)] }, config: { model: 'm9' } });
      header = true;
      if (dice.chance(0.5)) {
        const texts = Array.from({ length: 3 + dice.below(3) }, () => dice.text(3));
        records.push({ type: 'text-chunks', seq0: seq, time0: 1_786_000_000_000, data: { turn, step, index: 0, dt: texts.slice(1).map(() => dice.below(9) - 4), texts } });
        seq += texts.length;
      }
      const calls = Array.from({ length: dice.below(3) }, (_, i) => `k${seq}_${i}`);
      const content = [{ type: 'text', text: said(dice) }, ...calls.map((id) => ({ type: 'tool-call', id, name: 'bash', arguments: '{}' }))];
      const usage = { inputTokens: 1, outputTokens: 2 };
      add('assistant/message', { turn, step, ...(dialect < 2 ? { content } : { message: { id: `a${seq}`, role: 'assistant', content, source: { kind: 'model' } } }), usage }, append);
      for (const callId of calls) {
        const call = add('tool/call', { turn, step, callId, name: 'bash', arguments: '{}' });
        const inner = [{ type: 'text', text: said(dice) }];
        add('tool/result', { turn, step, ...(dialect < 2 ? { callId, content: inner, isError: false } : { message: { id: `r${seq}`, role: 'user', source: { kind: 'tool', callId }, content: [{ type: 'tool-result', toolCallId: callId, content: inner }] } }) }, { ...append, sourceEventSeqs: [call] });
      }
      add('step/end', { turn, step });
    }
    if (dice.chance(0.2)) {
      const start = add('compaction/start', { compactionId: 'x', turn });
      const [first, last] = [surface[0]!, surface.at(-1)!];
      const summary = add('compaction/summary', { compactionId: 'x', summary: [{ type: 'text', text: 's' }], shadowedRange: { start: first, end: last }, shadowedSeqs: [...surface], shadowedTokenCount: 9, model: 'm' });
      const sources = [summary, ...surface, start];
      const laid = add('user/message', wrapped([{ type: 'text', text: said(dice) }], { kind: 'plugin', plugin: 'compact' }), { sourceEventSeqs: sources, surfaceOp: { op: 'replace', start: first, end: last } });
      surface.splice(0, surface.length, laid);
      add('compaction/end', { compactionId: 'x', turn });
    }
    add('turn/end', { turn, reason: dice.pick([{ kind: 'completed' }, { kind: 'aborted', reason: { kind: 'legacy' } }, { kind: 'error', error: { message: 'm', code: 'c' } }, { kind: 'blocked' }]) });
  }
  return records;
}

/** Bytes of a log. */
export function bytesOf(records: readonly unknown[]): Uint8Array {
  return new TextEncoder().encode(records.map((record) => `${JSON.stringify(record)}\n`).join(''));
}

/** Puts anything anywhere: in values, in keys, between lines, over bytes. */
export function damaged(records: readonly Json[], dice: Dice): Uint8Array {
  const lines: string[] = [];
  const copies = records.map((record) => (dice.chance(0.3) ? (anywhere(record, dice) as Json) : record));
  for (const record of copies) {
    const line = JSON.stringify(record);
    if (dice.chance(0.03)) continue;
    lines.push(dice.chance(0.03) ? line.slice(0, dice.below(line.length)) : line);
    if (dice.chance(0.03)) lines.push(line);
    if (dice.chance(0.03)) lines.push(dice.pick(['', 'prose', '[1]', '42', 'null', '"x"', '{}', '{"type":5}', '{"__proto__":{"type":"user"}}', '\u0000']));
  }
  if (dice.chance(0.1) && lines.length > 2) lines.splice(dice.below(lines.length), 0, lines.splice(dice.below(lines.length), 1)[0]!);
  const bytes = new TextEncoder().encode(lines.map((line) => `${line}\n`).join(''));
  for (let n = dice.chance(0.3) ? dice.below(4) : 0; n > 0 && bytes.length > 0; n--) bytes[dice.below(bytes.length)] = dice.below(256);
  return dice.chance(0.2) ? bytes.subarray(0, dice.below(bytes.length + 1)) : bytes;
}

/** A copy of a value with something else in one place of it. */
function anywhere(value: unknown, dice: Dice): unknown {
  if (typeof value !== 'object' || value === null || dice.chance(0.15)) return dice.chance(0.5) ? dice.json(2) : dice.pick<unknown>([null, 0, -1, '', [], {}, 'u1', 'e1', 1e300, { kind: 5 }, [null], [[]], true]);
  const entries: [string, unknown][] = Object.entries(value);
  if (entries.length === 0) return dice.json(1);
  const at = dice.below(entries.length);
  const [key, inner] = entries[at]!;
  const changed: [string, unknown][] = dice.chance(0.15) ? [] : [[dice.chance(0.1) ? dice.key() : key, anywhere(inner, dice)]];
  if (Array.isArray(value)) return entries.flatMap(([, each], index) => (index === at ? changed.map(([, other]) => other) : [each]));
  return Object.fromEntries(entries.flatMap((entry, index) => (index === at ? changed : [entry])));
}
