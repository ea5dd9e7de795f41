/**
 * The agent in a terminal: `node main.js [session id]`. A line is a prompt; while a turn runs it steers. `/cancel` ends
 * the turn, `/fork` gives the last prompt a second answer in a session of its own, `/quit` leaves. Started again with the
 * same id it goes on, also after a crash.
 *
 * OPENAI_BASE_URL, OPENAI_API_KEY and MODEL name an endpoint; without them a scripted one is started. SESSIONS is where
 * the logs are kept.
 */

import process from 'node:process';
import { createInterface } from 'node:readline';
import OpenAI from 'openai';
import { PalimpsestError, SessionStore } from 'palimpsest';
import { attach, jsonl } from 'palimpsest/jsonl';
import { Agent } from './agent.js';
import { serve } from './server.js';

const { OPENAI_BASE_URL, OPENAI_API_KEY = 'none', MODEL = 'scripted', SESSIONS = 'sessions' } = process.env;
const server = OPENAI_BASE_URL === undefined ? await serve() : undefined;
const store = new SessionStore();
const adapter = attach(store, jsonl(SESSIONS));
const id = process.argv[2] ?? `agent-${Date.now()}`;
const session = await adapter.load(id).catch((error: unknown) => {
  if (error instanceof PalimpsestError && error.code === 'SESSION_NOT_FOUND') return store.create(id, { meta: { cwd: process.cwd() } });
  throw error;
});
const client = new OpenAI({ apiKey: OPENAI_API_KEY, baseURL: OPENAI_BASE_URL ?? server!.url });
let agent = new Agent(session, { store, client, model: MODEL, print: (text) => process.stdout.write(text) });
console.log(`session ${id}, ${session.seq} events`);

let running: Promise<unknown> = Promise.resolve();
const run = (words: string): void => {
  running = agent.turn(words).then((reason) => console.log(`\n(${reason.kind})`));
};
for await (const line of createInterface({ input: process.stdin })) {
  if (line === '/quit') break;
  if (line === '/cancel') {
    agent.cancel();
  } else if (line === '/fork') {
    await running;
    const fork = agent.fork();
    agent = fork.agent;
    console.log(`session ${agent.session.id}`);
    run(fork.words);
  } else if (agent.busy) {
    agent.steer(line);
  } else if (line !== '') {
    run(line);
  }
}
await running;
await adapter.close();
await server?.close();
