// The process that dies: it works through one turn, and is killed inside a tool of the second.
import process from 'node:process';
import { SessionStore } from 'palimpsest';
import { attach, jsonl } from 'palimpsest/jsonl';
import { runTurn } from './agent.mjs';
import { spoken } from './print.mjs';
import { toolsFor } from './project.mjs';
import { FIX, HEADER, SPACES } from './script.mjs';

const [id, root, project] = process.argv.slice(2);
const store = new SessionStore();
attach(store, jsonl({ root }));
store.on('session/event', (_, event) => {
  if (event.surfaceOp) spoken(event);
});

const session = store.create(id, { meta: { cwd: project } });
const tools = toolsFor(project);
await runTurn(session, 1, FIX, { header: HEADER, tools });
await store.flush(session);
await runTurn(session, 2, SPACES, { header: HEADER, tools: { ...tools, run_tests: dieInTool } });

async function dieInTool() {
  await store.flush(session);
  await new Promise((resolve) => process.stdout.write('', resolve));
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => undefined);
}
