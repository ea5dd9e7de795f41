// The adapters to frameworks, with the real packages.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { suite, test } from 'node:test';
import { Context, Service } from '@deepseek-ai/cordis';
import { emptyCheckpoint } from '@langchain/langgraph-checkpoint';
import { Agent, type AgentInputItem, type AgentOutputItem, MemorySession, type Model, type ModelResponse, Runner, Usage, setTracingDisabled, tool } from '@openai/agents-core';
import { FlushError, type Session, SessionForkError, SessionStore } from 'palimpsest';
import { Sessions } from 'palimpsest/cordis';
import { checkLog } from 'palimpsest/invariants';
import type { PersistenceAdapter } from 'palimpsest/persistence';
import { attach, jsonl } from 'palimpsest/jsonl';
import { PalimpsestSaver } from 'palimpsest/langgraph';
import { AgentsSession } from 'palimpsest/openai-agents';
import { Dice } from '../support/random.js';
import { runTurn, say } from '../support/sessions.js';

suite('langgraph', () => {
  test('passes the suite of @langchain/langgraph-checkpoint-validation', async (context) => {
    const folder = await mkdtemp(join(tmpdir(), 'palimpsest-'));
    const report = join(folder, 'report.json');
    const output = await new Promise<string>((resolve) => {
      const args = ['node_modules/vitest/vitest.mjs', 'run', 'target/tests/support/langgraph.spec.js', '--globals', '--reporter=json', `--outputFile=${report}`, '--reporter=default'];
      execFile(process.execPath, args, { env: { ...process.env, NO_COLOR: '1' } }, (_, stdout, stderr) => resolve(stdout + stderr));
    });
    const { numPassedTests, numFailedTests, numPendingTests } = JSON.parse(await readFile(report, 'utf8').catch(() => '{}')) as Record<string, number>;
    await rm(folder, { recursive: true });
    context.diagnostic(`${numPassedTests} passed, ${numFailedTests} failed, ${numPendingTests} skipped`);
    assert.ok(numPassedTests! > 200 && numFailedTests === 0, output.slice(-4000));
  });

  test('finds its threads again in storage, and forks them', async () => {
    const root = await mkdtemp(join(tmpdir(), 'palimpsest-'));
    const config = { configurable: { thread_id: 't' } };
    const open = (): { store: SessionStore; saver: PalimpsestSaver; adapter: PersistenceAdapter } => {
      const store = new SessionStore();
      const adapter = attach(store, jsonl(root));
      return { store, adapter, saver: new PalimpsestSaver(store, { load: (id) => adapter.load(id) }) };
    };
    const { saver: first, adapter: before } = open();
    const checkpoint = { ...emptyCheckpoint(), id: '1', channel_versions: { bytes: 1, text: 1 }, channel_values: { bytes: new Uint8Array([0, 255]), text: 'half \ud83d' } };
    const at = await first.put(config, checkpoint, { source: 'input', step: -1, parents: {} }, { bytes: 1, text: 1 });
    await first.putWrites(at, [['channel', { n: 1 }]], 'task');
    await before.close();
    const { store, saver, adapter } = open();
    const tuple = await saver.getTuple(config);
    assert.deepEqual([tuple?.checkpoint.channel_values.bytes, tuple?.pendingWrites], [new Uint8Array([0, 255]), [['task', 'channel', { n: 1 }]]]);
    const session = store.get('langgraph-t')!;
    assert.deepEqual(checkLog(session), []);
    store.fork(session, undefined, 'langgraph-fork');
    assert.equal((await saver.getTuple({ configurable: { thread_id: 'fork' } }))?.checkpoint.id, '1');
    await saver.deleteThread('t');
    await adapter.close();
    const last = open();
    assert.equal(await last.saver.getTuple(config), undefined);
    await last.adapter.close();
    await rm(root, { recursive: true });
  });
});

suite('openai-agents', () => {
  const items: AgentInputItem[] = [
    { type: 'message', role: 'user', content: 'hello' },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'look' }, { type: 'input_image', image: 'data:image/png;base64,AA' }] },
    { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'hm' }] },
    { type: 'message', role: 'system', content: 'be kind' },
    { type: 'reasoning', id: 'rs', content: [{ type: 'input_text', text: 'thought' }] },
    { type: 'function_call', callId: 'c1', name: 'add', arguments: '{"a":1}', status: 'completed' },
    { type: 'function_call_result', callId: 'c1', name: 'add', status: 'completed', output: { type: 'text', text: '2' } },
    { type: 'unknown', providerData: { x: 1 } },
  ];

  test('does as the framework’s own session over 300 random calls', async () => {
    const dice = new Dice(1);
    const store = new SessionStore();
    const ours = new AgentsSession(store.create('a'), store);
    const theirs = new MemorySession({ sessionId: 'a' });
    assert.equal(await ours.getSessionId(), await theirs.getSessionId());
    for (let n = 0; n < 300; n++) {
      const verb = dice.below(10);
      if (verb < 5) {
        const added = Array.from({ length: dice.below(4) }, () => dice.pick(items));
        await Promise.all([ours.addItems(added), theirs.addItems(added)]);
      } else if (verb < 9) {
        assert.deepEqual(await ours.popItem(), await theirs.popItem());
      } else if (dice.chance(0.3)) {
        await Promise.all([ours.clearSession(), theirs.clearSession()]);
      }
      assert.deepEqual(await ours.getItems(), await theirs.getItems());
      const limit = dice.below(4);
      assert.deepEqual(await ours.getItems(limit), await theirs.getItems(limit));
    }
  });

  test('runs an agent with a tool, and its log is one of ours', async () => {
    setTracingDisabled(true);
    const answers: AgentOutputItem[][] = [
      [{ type: 'function_call', callId: 'c1', name: 'add', arguments: '{"a":1,"b":2}', status: 'completed' }],
      [{ type: 'message', id: 'm1', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'It is 3.' }] }],
      [{ type: 'message', id: 'm2', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'As I said.' }] }],
    ];
    const seen: number[] = [];
    const model: Model = {
      getResponse: ({ input }): Promise<ModelResponse> => {
        seen.push(input.length);
        return Promise.resolve({ usage: new Usage(), output: answers.shift()! });
      },
      getStreamedResponse: () => assert.fail('not streamed'),
    };
    const add = tool({ name: 'add', description: 'adds', strict: false, parameters: { type: 'object', properties: {}, required: [], additionalProperties: true }, execute: () => '3' });
    const agent = new Agent({ name: 'a', model, tools: [add] });
    const store = new SessionStore();
    const session = store.create();
    const runner = new Runner({ modelProvider: { getModel: () => model } });
    assert.equal((await runner.run(agent, '1 + 2?', { session: new AgentsSession(session, store) })).finalOutput, 'It is 3.');
    assert.equal((await runner.run(agent, 'Sure?', { session: new AgentsSession(session, store) })).finalOutput, 'As I said.');
    assert.deepEqual(seen, [1, 3, 5]);
    assert.deepEqual(session.deriveMessages().map(({ role, content }) => `${role} ${content.map(({ type }) => type).join()}`), ['user text', 'assistant tool-call', 'user tool-result', 'assistant text', 'user text', 'assistant text']);
    assert.deepEqual(checkLog(session).filter(({ severity }) => severity === 'error'), []);
  });
});

suite('cordis', () => {
  async function setting(): Promise<Context> {
    const root = new Context();
    await root.plugin(Sessions);
    return root;
  }

  test('tells the feed as events, to everybody', async () => {
    const root = await setting();
    const told: string[] = [];
    root.on('session/created', ({ id }) => void told.push(`created ${id}`));
    root.on('session/event', () => {
      throw new Error('contained');
    });
    root.on('session/event', (session, { type }) => void told.push(`${type} ${session.id}`));
    root.on('session/disposed', ({ id }) => void told.push(`disposed ${id}`));
    root.on('session/flush', async () => {
      await Promise.resolve();
      told.push('flush');
    });
    const session = root.sessions.create('a');
    say(session, 'hi');
    await root.sessions.flush(session);
    const detach = root.sessions.enter(root.sessions.prepare('b'));
    detach();
    assert.deepEqual(told, ['created a', 'user/message a', 'flush']);
    assert.deepEqual([root.sessions.get('a')?.id, root.sessions.list().length], ['a', 1]);
  });

  test('a session belongs to the fiber that created it, and leaves with it', async () => {
    const root = await setting();
    let mine: Session | undefined;
    const told: string[] = [];
    root.on('session/disposed', ({ id }) => void told.push(id));
    const fiber = await root.plugin({
      name: 'owner',
      inject: ['sessions'],
      apply: (ctx: Context) => {
        mine = ctx.sessions.create('mine');
        runTurn(mine);
        ctx.sessions.fork(mine, undefined, 'child');
      },
    });
    root.sessions.create('of the root');
    assert.deepEqual(root.sessions.list().map(({ id }) => id), ['mine', 'child', 'of the root']);
    await fiber.dispose();
    assert.deepEqual(root.sessions.list().map(({ id }) => id), ['of the root']);
    assert.deepEqual(told.sort(), ['child', 'mine']);
    assert.equal(mine?.deriveMessages().length, 2);
    await assert.rejects(root.sessions.flush(mine), /not the live session/);
  });

  test('a created listener that throws rolls create and fork back', async () => {
    const root = await setting();
    const session = root.sessions.create('a');
    runTurn(session);
    const stop = root.on('session/created', () => {
      throw new Error('no');
    });
    assert.throws(() => root.sessions.create('b'), /no/);
    assert.throws(() => root.sessions.fork(session, undefined, 'c'), /no/);
    assert.deepEqual(root.sessions.list().map(({ id }) => id), ['a']);
    stop();
    assert.equal(root.sessions.create('b').id, 'b');
    assert.throws(() => root.sessions.fork('nobody'), SessionForkError);
  });

  test('hears failures of the flush, and only in the scope of the session', async () => {
    const root = await setting();
    const isolated = root.isolate('sessions');
    await isolated.plugin(Sessions);
    const told: string[] = [];
    isolated.on('session/created', ({ id }) => void told.push(id));
    root.on('session/flush', () => Promise.reject(new Error('disk full')));
    const session = root.sessions.create('outside');
    isolated.sessions.create('inside');
    assert.deepEqual(told, ['inside']);
    await assert.rejects(root.sessions.flush(session), FlushError);
    assert.ok(root.sessions instanceof Service);
  });
});
