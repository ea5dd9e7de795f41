/** The example agent in a process of its own, which dies at a moment that it is told: `ROOT URL KIND COUNT`. */

import process from 'node:process';
import OpenAI from 'openai';
import { PalimpsestError, SessionStore } from 'palimpsest';
import { attachInvariants } from 'palimpsest/invariants';
import { attach, jsonl } from 'palimpsest/jsonl';
import { Agent } from '../examples/agent/agent.js';
import { TOOLS } from '../examples/agent/tools.js';

const [root = '', baseURL = '', kind = '', count = '0'] = process.argv.slice(2);
let left = Number(count);

/** One moment of a kind has come; the last one is the end. */
function moment(of: string): void {
  if (of === kind && --left === 0) process.kill(process.pid, 'SIGKILL');
}

for (const tool of Object.values(TOOLS)) {
  const run = tool.run.bind(tool);
  (tool as { run: typeof run }).run = async (...args) => {
    moment('tool');
    const result = await run(...args);
    moment('tool');
    return result;
  };
}

const store = new SessionStore();
attachInvariants(store);
const adapter = attach(store, jsonl(root));
const session = await adapter.load('agent').catch((error: unknown) => {
  if (error instanceof PalimpsestError && error.code === 'SESSION_NOT_FOUND') return store.create('agent');
  throw error;
});
store.on('session/event', () => moment('event'));
const agent = new Agent(session, { store, client: new OpenAI({ apiKey: 'none', baseURL, maxRetries: 0 }), model: 'scripted', print: () => {}, compactAt: 1200 });
const reason = await agent.turn('Read the file, then calculate.');
if (reason.kind !== 'completed') throw new Error(JSON.stringify(reason));
await adapter.close();
