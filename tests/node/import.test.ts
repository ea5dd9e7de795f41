// Imports of small logs that were written by hand, format by format: what becomes of each record.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { type Message, PalimpsestError, SessionReader, type Session } from 'palimpsest';
import { blobSource, bytesSource, detect, importLog, type ImportOptions, type ImportResult, type ImportSource } from 'palimpsest/import';
import { fileSink, fileSource } from 'palimpsest/import/node';
import { checkLog } from 'palimpsest/invariants';
import { frames } from '../support/zstd-frames.js';

const bytesOf = async (name: string): Promise<Uint8Array> => new Uint8Array(await readFile(join('tests/fixtures/foreign', name)));

async function imported(name: string, options?: ImportOptions): Promise<ImportResult> {
  return importLog(bytesSource(await bytesOf(name), name), options);
}

const encode = (records: readonly unknown[]): Uint8Array => new TextEncoder().encode(records.map((record) => `${typeof record === 'string' ? record : JSON.stringify(record)}\n`).join(''));

/** A history in short: who says what. */
function told(messages: readonly Message[]): string[] {
  return messages.map(({ role, content }) => {
    const parts = content.map((block) => {
      if (block.type === 'text') return block.text;
      if (block.type === 'tool-call') return `${block.id}:${block.name}(${block.arguments})`;
      if (block.type === 'tool-result') return `${block.toolCallId}=${block.content.map((inner) => (inner.type === 'text' ? inner.text : inner.type)).join()}${block.isError === true ? '!' : ''}`;
      return block.type === 'reasoning' ? `(${block.text})` : `<${(block as { type: string }).type}>`;
    });
    return `${role}: ${parts.join(' | ')}`;
  });
}

const session = (result: ImportResult, at = 0): Session => result.sessions[at]!.session!;
const types = (of: Session): string[] => of.events.filter(({ type }) => type !== 'import/record').map(({ type }) => type);
const errors = (of: Session): string[] => checkLog(of).filter(({ severity }) => severity === 'error').map(({ code }) => code);

suite('Claude Code', () => {
  test('messages are joined, parallel results found, reminders told apart, usage counted once', async () => {
    const result = await imported('claude-code.jsonl');
    assert.deepEqual(result.sessions.map(({ role, id, origin }) => [role, id, origin]), [
      ['main', 'session-c', undefined],
      ['fork', 'session-c.a5', 'a5'],
      ['child', 'session-c.s2', 's2'],
    ]);
    const main = session(result);
    const before = main.events.find(({ type }) => type === 'compact/start')!.seq;
    assert.deepEqual(told(main.at(before).messages()), [
      'user: Fix the test.',
      'assistant: (Two files.) | t1:Read({"path":"a.ts"}) | t2:Read({"path":"b.ts"})',
      'user: t1=one',
      'user: t2=two!',
      'assistant: Both read.',
      'user: <context source="injected"> | <system-reminder>The file changed.</system-reminder> | </context>',
      'user: A better idea.',
      'assistant: That works.',
    ]);
    const usage = main.events.flatMap((event) => (event.type === 'assistant/message' ? [event.data.usage!.outputTokens] : []));
    assert.deepEqual(usage, [9, 7, 1, 2]);
    const result1 = main.events.find(({ type }) => type === 'tool/result')!;
    assert.deepEqual((result1.data as { meta?: unknown }).meta, { file: 'a.ts' });
    assert.deepEqual(main.requestHeader(), { config: { model: 'claude-opus-4-6' } });
  });

  test('a compaction is one replace over the whole surface, and a call without a result stays open', async () => {
    const result = await imported('claude-code.jsonl');
    const main = session(result);
    assert.deepEqual(told(main.deriveMessages()), ['user: This session is being continued from a previous conversation: two ideas.', 'user: Go on.', 'assistant: t3:Bash({"command":"ls"})']);
    const replace = main.events.filter(({ surfaceOp }) => typeof surfaceOp === 'object');
    const summary = main.events.find((event) => event.type === 'compact/summary')!;
    assert.equal(replace.length, 1);
    assert.deepEqual(replace[0]!.sourceEventSeqs, [...summary.data.shadowedSeqs, summary.seq]);
    assert.equal(summary.data.shadowedTokenCount, 77);
    assert.deepEqual(types(main).slice(-5), ['turn/start', 'user/message', 'step/start', 'assistant/message', 'tool/call']);
    assert.deepEqual(result.report.anomalies.map(({ code, line, id }) => [code, line, id]), [
      ['not-json', 20, undefined],
      ['unanswered-call', 19, 't3'],
    ]);
    assert.deepEqual(errors(main), []);
  });

  test('another leaf is a fork from the end of the turn in which it leaves; a side chain is a child', async () => {
    const result = await imported('claude-code.jsonl');
    const [main, fork, child] = result.sessions;
    assert.equal(fork!.header.parentSession, main!.id);
    assert.equal(fork!.session!.events[fork!.header.seedLength! - 1]!.type, 'turn/end');
    assert.deepEqual(told(fork!.session!.deriveMessages()).slice(-3), ['assistant: Both read.', 'user: An old idea.', 'assistant: It did not work.']);
    assert.deepEqual([child!.header.parentSession, child!.header.seedLength], [main!.id, undefined]);
    assert.deepEqual(told(child!.session!.deriveMessages()), ['user: Look around.', 'assistant: Nothing here.']);
    const without = await imported('claude-code.jsonl', { forks: false });
    assert.deepEqual(without.sessions.map(({ role }) => role), ['main', 'child']);
    assert.deepEqual([without.report.mapped + without.report.kept, without.report.records], [19, 19]);
    assert.ok(without.report.kept > result.report.kept);
  });

  test('a sub-agent in a file of its own is a child of the session', async () => {
    const agent = await bytesOf('claude-code-agent.jsonl');
    const result = await imported('claude-code.jsonl', { related: () => [bytesSource(agent, 'subagents/agent-ag1.jsonl')] });
    const child = result.sessions.at(-1)!;
    assert.deepEqual([child.role, child.id, child.header.parentSession, child.origin], ['child', 'session-c.agent-ag1', 'session-c', 'ag1']);
    const prompt = child.session!.events.find((event) => event.type === 'user/message')!;
    assert.deepEqual(prompt.data.source, { kind: 'task' });
    const kept = child.session!.events.find((event) => event.type === 'import/record')!;
    assert.deepEqual(kept.data.source, { format: 'claude-code', line: 1, file: 'subagents/agent-ag1.jsonl' });
    const alone = await importLog(bytesSource(agent));
    assert.deepEqual([alone.sessions[0]!.role, alone.sessions[0]!.id, alone.sessions[0]!.header.parentSession], ['main', 'session-c.agent-ag1', 'session-c']);
  });

  test('every record is found again by its line', async () => {
    const result = await imported('claude-code.jsonl');
    const lines = new Set(result.sessions.flatMap(({ session: each }) => each!.events.flatMap((event) => (event.type === 'import/record' ? [event.data.source.line] : []))));
    assert.deepEqual([...lines].sort((a, b) => a - b), Array.from({ length: 20 }, (_, i) => i + 1));
    const torn = session(result).events.find((event) => event.type === 'import/record' && event.data.kind === 'not-json')!;
    assert.equal((torn.data as { raw: unknown }).raw, 'torn {"type":"user"');
  });
});

suite('Codex', () => {
  test('turns that are rolled back go to a fork, and what they cost stays there', async () => {
    const result = await imported('codex-rollback.jsonl');
    const [main, fork] = result.sessions;
    assert.deepEqual(told(main!.session!.deriveMessages()), [
      'user: <context source="injected"> | <environment_context>linux</environment_context> | </context>',
      'user: First.',
      'assistant: c1:exec({"cmd":"ls"})',
      'user: c1=a b',
      'assistant: Done.',
      'user: Second, once more.',
      'assistant: Better.',
    ]);
    assert.deepEqual([fork!.role, fork!.header.parentSession, fork!.session!.events[fork!.header.seedLength! - 1]!.type], ['fork', 'thread-1', 'turn/end']);
    assert.deepEqual(told(fork!.session!.deriveMessages()).slice(-2), ['user: Second, a mistake.', 'assistant: As you say.']);
    const usage = (of: Session, from = 0): unknown => of.events.slice(from).flatMap((event) => (event.type === 'assistant/message' ? [event.data.usage] : []));
    assert.deepEqual(usage(main!.session!), [
      { inputTokens: 40, outputTokens: 6, cacheReadTokens: 60, reasoningTokens: 4 },
      { inputTokens: 20, outputTokens: 5, cacheReadTokens: 30 },
      { inputTokens: 30, outputTokens: 10, cacheReadTokens: 30 },
    ]);
    assert.deepEqual(usage(fork!.session!, fork!.header.seedLength), [{ inputTokens: 20, outputTokens: 5, cacheReadTokens: 30 }]);
    assert.deepEqual(main!.session!.requestHeader(), { config: { model: 'gpt-5.3-codex', effort: 'high' }, system: 'You are a coding agent.' });
    assert.deepEqual([errors(main!.session!), errors(fork!.session!)], [[], []]);
  });

  test('a rollback that takes back what another one left is a fork that others start from', async () => {
    const say = (role: string, text: string): object => ({ timestamp: '2026-03-01T10:00:00.000Z', type: 'response_item', payload: { type: 'message', role, content: [{ type: 'input_text', text }] } });
    const back = (turns: number): object => ({ timestamp: '2026-03-01T10:00:00.000Z', type: 'event_msg', payload: { type: 'thread_rolled_back', num_turns: turns } });
    const turn = (name: string): object[] => [say('user', name), say('assistant', `to ${name}`)];
    const result = await importLog(bytesSource(encode([...turn('one'), ...turn('two'), back(1), ...turn('three'), back(2), ...turn('four'), back(9), ...turn('five')])));
    assert.deepEqual(result.sessions.map(({ role, origin, header, session: made }) => [role, origin, header.parentSession, made!.deriveMessages().flatMap(({ role: by, content: [block] }) => (by === 'user' ? [(block as { text: string }).text] : []))]), [
      ['main', undefined, undefined, ['five']],
      ['fork', 'rollback-8', 'bytes', ['one', 'three']],
      ['fork', 'rollback-5', 'bytes.rollback-8', ['one', 'two']],
      ['fork', 'rollback-11', 'bytes', ['four']],
    ]);
    assert.deepEqual(result.sessions.map(({ session: made }) => errors(made!)), [[], [], [], []]);
  });

  test('a forked file is named by its own header, and its parent by that', async () => {
    const result = await imported('codex-fork.jsonl');
    const [main] = result.sessions;
    assert.deepEqual([main!.id, main!.header.parentSession, main!.header.seedLength], ['thread-2', 'thread-1', undefined]);
    assert.deepEqual(told(main!.session!.deriveMessages()), ['user: First.', 'assistant: Done.', 'user: Another way.', 'assistant: All right.']);
  });

  test('what a compaction repeats is left standing', async () => {
    const result = await imported('codex-compacted.jsonl');
    const main = session(result);
    const big = 'A long text that a compaction repeats. '.repeat(20);
    assert.deepEqual(told(main.deriveMessages()), [`user: ${big}`, 'user: Summary one.', 'user: Next.', 'user: <compaction>', 'user: Last.', 'assistant: Goodbye.']);
    assert.equal(new TextDecoder().decode(main.jsonl()).split(big).length - 1, 1);
    assert.equal(main.events.filter(({ surfaceOp }) => typeof surfaceOp === 'object').length, 2);
    assert.deepEqual(errors(main), []);
  });

  test('the oldest files have bare items', async () => {
    const bytes = await bytesOf('codex-bare.jsonl');
    assert.equal(detect(bytes)?.format, 'codex');
    const result = await importLog(bytesSource(bytes));
    assert.equal(result.sessions[0]!.id, 'thread-0');
    assert.deepEqual(told(session(result).deriveMessages()), [
      'user: <context source="injected"> | <environment_context>x</environment_context> | </context>',
      'user: Hello.',
      'assistant: (A greeting.) | c1:local_shell({"type":"exec","command":["ls"]})',
      'user: c1={"output":"a\\n","metadata":{"exit_code":0}}',
      'assistant: Hello to you.',
    ]);
    assert.deepEqual(errors(session(result)), []);
  });
});

suite('pi', () => {
  test('the newest leaf is the main path; a compaction keeps from the entry on that it names', async () => {
    const result = await imported('pi.jsonl');
    const main = session(result);
    assert.deepEqual(result.sessions.map(({ role, origin }) => [role, origin]), [['main', undefined], ['fork', '06']]);
    assert.equal(result.sessions[0]!.header.parentSession, 'pi-0');
    assert.deepEqual(told(main.deriveMessages()), ['user: Alpha was read.', 'user: The right way.', 'user: <context source="injected"> | Mind the list. | </context>', 'user: Go on.']);
    assert.deepEqual(told(session(result, 1).deriveMessages()), ['user: Read it.', 'assistant: call_1|fc_1:read({"path":"a"})', 'user: call_1|fc_1=alpha', 'assistant: It says alpha.', 'user: The wrong way.']);
    assert.deepEqual(main.events.flatMap((event) => (event.type === 'turn/end' ? [event.data.reason] : [])), [{ kind: 'completed' }, { kind: 'aborted', reason: 'Stopped.' }, { kind: 'completed' }]);
    assert.deepEqual([errors(main), errors(session(result, 1))], [[], []]);
  });
});

suite('DeepSeek Harness', () => {
  test('header deltas of July fold to the header in force', async () => {
    const result = await imported('dsh-deltas.jsonl');
    const main = session(result);
    const tool = (name: string, description: string): object => ({ name, description, parameters: { type: 'object' } });
    assert.deepEqual(main.requestHeader(), { config: { model: 'deepseek-v5' }, system: 'one\nzwei\nthree', tools: [tool('bash', 'B'), tool('edit', 'e')] });
    assert.deepEqual(told(main.deriveMessages()), ['user: Hello.', 'assistant: k1:bash({})', 'user: k1=ok', 'user: <context source="plugin"> | A note. | </context>', 'user: Again.']);
    assert.deepEqual(errors(main), []);
    // The title stands between two turns there, and in the second one here.
    const title = main.events.find((event) => event.type === 'import/record' && event.data.kind === 'session/title')!;
    assert.equal(main.events[title.seq - 1]!.type, 'turn/start');
    assert.deepEqual(result.report.anomalies, []);
  });

  for (const [what, version] of [['a later version', '3'], ['a version that two readers read differently', '3.0000000000000001'], ['a version of its own spelling', '0.0'], ['a version that is written twice', '0,"version":0']] as const) {
    test(`${what} is refused with its reason`, async () => {
      const head = `{"type":"session","version":${version},"id":"d","createdAt":1,"delegationDepth":0}`;
      await assert.rejects(importLog(bytesSource(encode([head]), 'session.v3.jsonl'), { format: 'dsh' }), (error) => error instanceof PalimpsestError && error.code === 'UNSUPPORTED_VERSION' && error.path === 'session.v3.jsonl');
    });
  }

  test('zstd frames are read one by one; a damaged one is left out, of a cut one what is whole is kept', async () => {
    const lines = new TextDecoder().decode(await bytesOf('dsh-deltas.jsonl')).trimEnd().split('\n').map((line) => encode([line]));
    const whole = await frames(lines);
    assert.equal(detect(whole)?.format, 'dsh');
    const plain = await imported('dsh-deltas.jsonl');
    const packed = await importLog(bytesSource(whole));
    assert.deepEqual(session(packed).jsonl(), session(plain).jsonl());
    const damagedAt = (await frames(lines.slice(0, 11))).length - 6;
    const damaged = whole.slice();
    damaged[damagedAt]! ^= 1;
    const result = await importLog(bytesSource(damaged));
    assert.deepEqual(result.report.anomalies.map(({ code }) => code), ['damaged-frame', 'seq-gap']);
    assert.equal(result.report.records, lines.length - 1);
    const cut = await importLog(bytesSource(whole.subarray(0, whole.length - 3)));
    assert.deepEqual(cut.report.anomalies.map(({ code }) => code), ['cut-frame']);
    assert.equal(cut.report.records, lines.length);
  });
});

suite('importLog', () => {
  test('of a log of ours: the records that are counted are its header and its events, however it ends', async () => {
    const header = '{"type":"session","version":0,"id":"own","createdAt":1}';
    const event = '{"type":"turn/start","seq":0,"time":1,"data":{"turn":1,"trigger":{"kind":"message","source":{"kind":"user"}}}}';
    for (const [text, records, broken] of [
      [`${header}\n`, 1, 0],
      [`${header}\n${event}\n`, 2, 0],
      [`\ufeff${header}\r\n${event}\r\n`, 2, 0],
      [`${header}\n\n${event}\n  `, 2, 0],
      [`${header}\n${event}`, 1, 1],
      [`${header}\n${event.slice(0, -9)}`, 1, 1],
    ] as const) {
      const { report, sessions: [made] } = await importLog(bytesSource(new TextEncoder().encode(text)));
      assert.deepEqual([report.records, report.mapped, report.broken, made!.events], [records, records, broken, records - 1], JSON.stringify(text));
      assert.equal(report.anomalyCounts['torn-tail'] ?? 0, broken);
      made!.session!.free();
    }
  });

  test('other files are detected as none, and refused', async () => {
    const others = ['{"name":"x","version":"1.0.0"}', '[1,2]', 'a,b\n1,2\n', '{"type":"message","role":"user"}\n', '{"type":"session","id":"x"}\n', '{"messages":[{"role":"user","content":"x"}]}', '{"type":"user","text":"hi"}\n', '\u0089PNG\r\n', ''];
    for (const text of others) {
      const bytes = new TextEncoder().encode(text);
      assert.equal(detect(bytes), undefined, text);
      await assert.rejects(importLog(bytesSource(bytes, 'other')), { code: 'UNKNOWN_FORMAT' });
    }
  });

  test('a first line that is longer than the head is enough', () => {
    const filler = 'x'.repeat(70_000);
    const head = (value: unknown): Uint8Array => encode([value]).subarray(0, 65_536);
    assert.equal(detect(head({ timestamp: '2026-01-01T00:00:00.000Z', type: 'session_meta', payload: { id: 'x', base_instructions: { text: filler } } }))?.format, 'codex');
    assert.equal(detect(head({ parentUuid: null, sessionId: 's', type: 'user', message: { role: 'user', content: filler }, uuid: 'u' }))?.format, 'claude-code');
  });

  test('files and blobs give the same as bytes, and a sink of files the same as one in memory', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'palimpsest-import-'));
    try {
      const bytes = await bytesOf('claude-code.jsonl');
      const path = join(folder, 'log.jsonl');
      await writeFile(path, bytes);
      const inMemory = await importLog(blobSource(new Blob([bytes as Uint8Array<ArrayBuffer>]), 'log'));
      await using file = await fileSource(path);
      const sink = fileSink(folder);
      const written = await importLog(file, { sink });
      assert.deepEqual(written.sessions.map(({ session: none }) => none), [undefined, undefined, undefined]);
      for (const { id, session: made } of inMemory.sessions) {
        const reader = new SessionReader();
        reader.push(new Uint8Array(await readFile(sink.files.get(id)!)));
        const loaded = reader.finish().session;
        assert.deepEqual(loaded.jsonl(), made!.jsonl());
        assert.deepEqual(loaded.header, made!.header);
      }
      await assert.rejects(importLog(file, { sink: fileSink(folder) }), { code: 'EEXIST' });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test('an abort ends it, before it begins and while it reads', async () => {
    const bytes = await bytesOf('pi.jsonl');
    await assert.rejects(importLog(bytesSource(bytes), { signal: AbortSignal.abort(new Error('enough')) }), { message: 'enough' });
    const controller = new AbortController();
    const source: ImportSource = { name: 'pi', size: bytes.length, read: async (offset, length) => {
      controller.abort(new Error('enough'));
      return bytes.subarray(offset, offset + length);
    } };
    await assert.rejects(importLog(source, { signal: controller.signal }), { message: 'enough' });
  });

  test('progress ends at the whole', async () => {
    const told: [number, number][] = [];
    const bytes = await bytesOf('pi.jsonl');
    await importLog(bytesSource(bytes), { onProgress: (done, total) => told.push([done, total]) });
    assert.deepEqual(told.at(-1), [bytes.length * 2, bytes.length * 2]);
  });

  test('a line that is too long is refused with its place', async () => {
    const blank = new Uint8Array(1 << 20).fill(0x20);
    const first = encode([{ type: 'session', id: 'p', timestamp: '2026-01-01T00:00:00Z' }]);
    const source: ImportSource = { name: 'long.jsonl', size: 300 << 20, read: async (offset, length) => (offset === 0 ? first : blank.subarray(0, Math.min(length, blank.length))) };
    await assert.rejects(importLog(source, { format: 'pi' }), (error) => error instanceof PalimpsestError && error.code === 'CORRUPT_LOG' && error.line === 2 && error.byte === first.length);
  });

  test('records keep keys of every kind, halves of pairs, and any depth', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const result = await importLog(
      bytesSource(encode([
        '{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"half \\ud83d"},"__proto__":{"polluted":true},"constructor":1}',
        `{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":${deep}}]}}`,
        `{"type":"progress","uuid":"p1","parentUuid":"a1","sessionId":"s","data":${deep}}`,
      ])),
    );
    const main = session(result);
    const [first, ...rest] = main.events.flatMap((event) => (event.type === 'import/record' ? [event.data.raw] : []));
    assert.ok(Object.hasOwn(first as object, '__proto__'));
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
    assert.deepEqual(told(main.deriveMessages()).slice(0, 1), ['user: half \ud83d']);
    assert.deepEqual(rest.map((raw) => typeof raw === 'string' && raw.includes(deep)), [true, true]);
    assert.equal(result.report.anomalyCounts['too-deep'], 2);
    const harness = await importLog(bytesSource(encode([
      { type: 'session', version: 0, id: 'd', createdAt: 1, delegationDepth: 0 },
      `{"type":"agent/inbox/spliced","seq":0,"time":1,"data":{"a":${deep}}}`,
      `{"type":"user/message","seq":1,"time":1,"data":{"content":[{"type":"x","a":${deep}}],"source":{"kind":"user"}},"surfaceOp":"append"}`,
      { type: 'turn/start', seq: 2, time: 1, data: { turn: 1 } },
      { type: 'user/message', seq: 3, time: 1, data: { content: [{ type: 'text', text: 'Hello.' }], source: { kind: 'user' } }, surfaceOp: 'append' },
    ])));
    assert.deepEqual(told(session(harness).deriveMessages()), ['user: Hello.']);
    assert.deepEqual(session(harness).events.map((event) => (event.type === 'import/record' ? typeof event.data.raw : event.type)), ['turn/start', 'string', 'string', 'user/message']);
    const rollout = await importLog(bytesSource(encode([
      { type: 'session_meta', payload: { id: 'c' } },
      `{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"x","a":${deep}}]}}`,
      { type: 'response_item', payload: { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello.' }] } },
    ])));
    assert.deepEqual(told(session(rollout).deriveMessages()), ['assistant: Hello.']);
    assert.equal(rollout.report.mapped + rollout.report.kept, 3);
  });
});
