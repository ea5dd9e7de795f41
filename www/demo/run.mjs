// The main job, told step by step: an agent at work, a crash, a reload, a compaction, a fork, a look back.
import { fork as spawnNode } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SessionStore } from 'palimpsest';
import { attach, jsonl } from 'palimpsest/jsonl';
import { compact, estimate, runTurn } from './agent.mjs';
import { count, fact, heading, message, say, short, spoken } from './print.mjs';
import { createProject, toolsFor } from './project.mjs';
import { FIX_SUMMARY, GO_ON, OTHER_WAY, RESUMED_HEADER } from './script.mjs';

/** Tells the whole story in `directory`; returns the path of the main session's log. */
export async function runDemo(directory) {
  const id = `fix-slug-${Date.now().toString(36)}`;
  const root = join(directory, 'sessions');
  const project = join(directory, 'project');
  await mkdir(project, { recursive: true });
  await createProject(project);

  await crash({ id, root, project });

  const store = new SessionStore();
  const adapter = attach(store, jsonl({ root }));
  const { session, path } = await reload(adapter, id);
  const firstTurn = turnOf(session, 1);
  await goOn(store, session, { project, firstTurn });
  await tryOtherWay(store, session, firstTurn);
  lookBack(session);

  await store.flush(session);
  heading('On disk');
  const { sessions } = await adapter.list();
  say(`${count(sessions.length, 'session')} under ${root}, with one line of JSON for each event.`);
  fact('this one', path);
  await store.dispose();
  await adapter.close();
  return path;
}

async function crash({ id, root, project }) {
  heading('1  An agent at work, until its process is killed');
  say('A scripted model mends a small project with three tools. Each thing that happens is one event: turns, steps, streamed chunks, calls, results. Shown are those that the model sees, with their seq.');
  const child = spawnNode(new URL('./first-life.mjs', import.meta.url), [id, root, project]);
  const [code, signal] = await once(child, 'exit');
  if (code === 0) throw new Error('the first process was to be killed, and ended by itself');
  say(`The process is gone (${signal ?? `exit ${code}`}) while a tool was running: nothing was closed, nobody said goodbye.`);
}

async function reload(adapter, id) {
  heading('2  Reload and repair');
  const before = await adapter.read(id);
  before.session.free();
  const torn = '{"type":"tool/result","seq":';
  await appendFile(before.location, torn);
  say('A crash can also leave half a line at the end of the file; here is one. Then another process loads the log:');
  fact('torn', `${torn}  (added to ${count((await stat(before.location)).size - torn.length, 'byte')} of whole lines)`);

  const found = await adapter.read(id);
  found.session.free();
  const session = await adapter.load(id);
  fact('dropped', `${count(found.tornBytes, 'byte')} that were never acknowledged; all ${count(session.seq - found.closers.length, 'whole event')} are there`);
  for (const closer of found.closers) fact('closed by', `${closer.seq} ${closer.type}${describeCloser(closer)}`);
  say('The open call got an error result, so every call has an answer again and a model accepts the history. These closers were written to the file before load() returned.');
  heading('3  Derive');
  const messages = session.deriveMessages();
  say(`What the model will see is not stored: it is derived from the log. ${count(session.seq, 'event')} give ${count(messages.length, 'message')}; the last of them:`);
  messages.slice(-4).forEach((each, index) => message(each, messages.length - 4 + index));
  return { session, path: found.location };
}

function describeCloser({ type, data }) {
  if (type === 'tool/result') return `: ${data.content[0].text}`;
  return type === 'turn/end' ? `: ${data.reason.kind}` : '';
}

async function goOn(store, session, { project, firstTurn }) {
  heading('4  Compact, then go on');
  const stop = narrate(store, session);
  const before = session.deriveMessages();
  let done;
  say('The first turn is history by now. One replace lays a summary over it; then the interrupted work is finished.');
  await runTurn(session, 3, GO_ON, {
    header: RESUMED_HEADER,
    tools: toolsFor(project),
    prepare: () => {
      done = compact(session, 3, firstTurn.lastNode, FIX_SUMMARY);
      done.after = session.deriveMessages();
    },
  });
  stop();
  await store.flush(session);
  fact('before', `${count(before.length, 'message')}, about ${estimate(before)} tokens`);
  fact('after', `${count(done.after.length, 'message')}, about ${estimate(done.after)} tokens: event ${done.replacement.seq} stands for ${done.shadowed.length} others`);
  fact('the log', 'only grew: the covered events are still in it, and any earlier view can be had back (6)');
}

async function tryOtherWay(store, session, firstTurn) {
  heading('5  Fork, and try another answer');
  const child = store.fork(session, firstTurn.end, `${session.id}-fork`);
  say(`A fork at the end of turn 1 (event ${firstTurn.end}) shares the storage of its ${count(child.header.seedLength, 'inherited event')} and knows nothing of what came later, not even of the compaction.`);
  const stop = narrate(store, child);
  await runTurn(child, 2, OTHER_WAY);
  stop();
  await store.flush(child);
  fact('parent', `${session.id}: ${count(session.seq, 'event')}, ${count(session.deriveMessages().length, 'message')}`);
  fact('child', `${child.id}: ${count(child.seq, 'event')}, ${count(child.deriveMessages().length, 'message')}`);
}

function lookBack(session) {
  heading('6  Look back');
  const { seq } = session.events.find(({ type, data }) => type === 'step/start' && data.turn === 1 && data.step === 3);
  const { config, system, tools, messages } = session.at(seq).request();
  say(`session.at(${seq}).request() is, to the letter, what the model was sent in step 3 of turn 1, though a summary lies over that turn now:`);
  fact('model', `${config.model}, at most ${count(config.maxTokens, 'token')}`);
  fact('system', short(system, 200));
  fact('tools', tools.map(({ name }) => name).join(', '));
  messages.forEach((each, index) => message(each, index));
}

/** Prints what the model comes to see, from the store's feed. */
function narrate(store, session) {
  return store.on('session/event', (source, event) => {
    if (source === session && event.surfaceOp) spoken(event);
  });
}

function turnOf(session, turn) {
  const end = session.events.find(({ type, data }) => type === 'turn/end' && data.turn === turn).seq;
  return { end, lastNode: session.surface.nodes.findLast(({ seq }) => seq < end).seq };
}
