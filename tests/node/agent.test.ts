// The example agent: a whole session of it, and twenty deaths.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import { type Session, SessionStore } from 'palimpsest';
import { modelMessages } from 'palimpsest/ai-sdk';
import { messagesRequest } from 'palimpsest/anthropic';
import { checkLog } from 'palimpsest/invariants';
import { attach, jsonl } from 'palimpsest/jsonl';
import { memory } from 'palimpsest/memory';
import { chatRequest, responsesRequest } from 'palimpsest/openai';
import { Agent } from '../examples/agent/agent.js';
import { type ScriptedServer, serve } from '../examples/agent/server.js';
import { calculate } from '../examples/agent/tools.js';
import { Dice } from '../support/random.js';
import { anthropicFaults, chatFaults, modelMessageFaults, responsesFaults } from '../support/validators.js';

const MAIN = fileURLToPath(new URL('../examples/agent/main.js', import.meta.url));
const CHILD = fileURLToPath(new URL('../support/agent-child.js', import.meta.url));

/** Every provider would take what comes next, and the log breaks no rule. */
function accept(session: Session): void {
  const request = session.at(session.seq - 1).request();
  assert.deepEqual(chatFaults(chatRequest(request).body), []);
  assert.deepEqual(responsesFaults(responsesRequest(request).body), []);
  assert.deepEqual(anthropicFaults(messagesRequest(request).body), []);
  assert.deepEqual(modelMessageFaults(modelMessages(request).body.messages), []);
  assert.deepEqual(checkLog(session), []);
}

suite('the example agent', () => {
  let server: ScriptedServer;
  let root: string;
  before(async () => {
    server = await serve();
    root = await mkdtemp(join(tmpdir(), 'palimpsest-'));
  });
  after(async () => {
    await server.close();
    await rm(root, { recursive: true, force: true });
  });

  const make = (print: (text: string) => void = () => {}): { agent: Agent; store: SessionStore } => {
    const store = new SessionStore();
    attach(store, memory());
    const client = new OpenAI({ apiKey: 'none', baseURL: server.url, maxRetries: 0 });
    return { store, agent: new Agent(store.create(), { store, client, model: 'scripted', print, compactAt: 1500 }) };
  };

  test('streams, uses its tools and answers', async () => {
    let printed = '';
    const { agent } = make((text) => (printed += text));
    assert.deepEqual(await agent.turn('Read the file, then calculate.'), { kind: 'completed' });
    assert.match(printed, /the sum is 1\.5\. 😀/);
    const types = agent.session.events.map(({ type }) => type);
    assert.equal(types.filter((type) => type === 'tool/result').length, 3);
    assert.ok(types.filter((type) => type === 'assistant/chunk').length > 20);
    accept(agent.session);
  });

  test('hears a word while it runs, and compacts when it has said much', async () => {
    const { agent } = make();
    for (let n = 0; n < 6; n++) {
      const turn = agent.turn('Read the file, then calculate.');
      agent.steer('Be quick.');
      assert.deepEqual(await turn, { kind: 'completed' });
    }
    const types = agent.session.events.map(({ type }) => type);
    assert.equal(types.filter((type) => type === 'steering/message').length, 6);
    assert.ok(types.includes('compact/summary'));
    accept(agent.session);
  });

  test('stops when it is cancelled, wherever it is', async () => {
    for (const at of ['assistant/chunk', 'tool/call', 'assistant/message', 'step/start'] as const) {
      const { agent, store } = make();
      store.on('session/event', (_, { type }) => {
        if (type === at) agent.cancel();
      });
      assert.deepEqual(await agent.turn('Read the file.'), { kind: 'aborted', reason: 'cancelled by the user' }, at);
      accept(agent.session);
    }
  });

  test('forks to try another answer', async () => {
    const { agent } = make();
    await agent.turn('first');
    await agent.turn('second');
    const { agent: other, words } = agent.fork();
    assert.equal(words, 'second');
    assert.equal(other.session.header.parentSession, agent.session.id);
    await other.turn(words);
    assert.equal(other.session.deriveMessages().length, agent.session.deriveMessages().length);
    accept(other.session);
  });

  test('goes on after each of 20 deaths in a tool and 20 at an event', async (context) => {
    const dice = new Dice(1);
    const from = server.requests.length;
    const run = (...args: string[]): Promise<{ signal: NodeJS.Signals | null; error: string }> =>
      new Promise((resolve) => {
        const child = spawn(process.execPath, [CHILD, root, server.url, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
        let error = '';
        child.stderr.on('data', (chunk: Buffer) => (error += chunk.toString()));
        child.on('close', (code, signal) => resolve({ signal, error: code === 0 ? '' : error }));
      });
    for (let n = 0; n < 40; n++) {
      const [kind, most] = n % 2 === 0 ? ['tool', 6] : ['event', 60];
      const { signal, error } = await run(kind, `${1 + dice.below(most)}`);
      assert.equal(signal, 'SIGKILL', error);
    }
    assert.deepEqual(await run(), { signal: null, error: '' });

    const sent = server.requests.slice(from);
    for (const body of sent) assert.deepEqual(chatFaults(body), []);
    const { session } = await attach(new SessionStore(), jsonl(root)).read('agent');
    accept(session);
    const types = session.events.map((event) => (event.type === 'turn/end' ? event.data.reason.kind : event.type));
    const count = (type: string): number => types.filter((other) => other === type).length;
    context.diagnostic(`${session.seq} events, ${sent.length} requests, ${count('interrupted')} turns interrupted, ${count('compact/summary')} compactions`);
    assert.ok(count('interrupted') >= 20 && count('completed') >= 1);
  });

  test('runs in a terminal, and goes on under the same id', async () => {
    const run = (input: string): Promise<string> =>
      new Promise((resolve) => {
        const child = spawn(process.execPath, [MAIN, 'mine'], { env: { ...process.env, SESSIONS: root, OPENAI_BASE_URL: server.url }, stdio: ['pipe', 'pipe', 'inherit'] });
        let output = '';
        child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
        child.on('close', () => resolve(output));
        child.stdin.end(input);
      });
    assert.match(await run('Read and calculate.\n/fork\n'), /session mine, 0 events[^]*1\.5[^]*\(completed\)\nsession [^]*1\.5[^]*\(completed\)/);
    assert.match(await run('Again.\n'), /session mine, [1-9]\d+ events[^]*\(completed\)/);
  });

  test('calculates', () => {
    assert.equal(calculate('(2 + 3) * 4 - -1.5 / 3'), 20.5);
    for (const wrong of ['', '2 +', '(1', '1 1', 'process.exit()']) assert.throws(() => calculate(wrong));
  });
});
