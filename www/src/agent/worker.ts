/**
 * The agent of the page, in a worker of its own: what it appends reaches the viewer through the browser's storage alone, as
 * another tab's would. A crash is a crash: the page ends this worker in the middle of a turn.
 */

import { BlockAssembler, init, positionOf, SessionStore, type ContentBlock, type Session } from 'palimpsest';
import { compactRegion } from 'palimpsest/compaction';
import { attach, indexeddb } from 'palimpsest/indexeddb';
import { HEADER, SUMMARY, TURNS, type Answer } from './script.js';

/** What the page asks for. */
export type Order =
  | { readonly order: 'create'; readonly id: string }
  | { readonly order: 'load'; readonly id: string }
  | { readonly order: 'turn'; readonly words: string }
  | { readonly order: 'compact' }
  | { readonly order: 'fork'; readonly id: string };

/** What the page is told. */
export type Report =
  | { readonly report: 'ready'; readonly id: string; readonly createdAt: number; readonly parent?: string; readonly seed?: number; readonly closed: number }
  | { readonly report: 'line'; readonly words: string }
  | { readonly report: 'done' }
  | { readonly report: 'failed'; readonly message: string };

const PACE = 28;
const TOOL = 900;
const user = { kind: 'user' } as const;
const text = (words: string): ContentBlock => ({ type: 'text', text: words });
const tell = (report: Report): void => { postMessage(report); };
const pause = (ms: number): Promise<void> => new Promise((resolve) => { setTimeout(resolve, ms); });

const store = new SessionStore();
const adapter = attach(store, indexeddb(), { flushWindow: 60 });
let session: Session | undefined;
let working: Promise<void> = Promise.resolve();

addEventListener('message', ({ data }: MessageEvent<Order>) => {
  working = working.then(() => obey(data)).catch((error: unknown) => { tell({ report: 'failed', message: error instanceof Error ? error.message : String(error) }); });
});

async function obey(order: Order): Promise<void> {
  await init();
  switch (order.order) {
    case 'create':
      await take(store.create(order.id, { meta: { cwd: '/garden' } }));
      break;
    case 'load': {
      const found = await adapter.read(order.id);
      found.session.free();
      await take(await adapter.load(order.id), found.closers.length);
      break;
    }
    case 'turn':
      await turn(live(), order.words);
      break;
    case 'compact':
      await compact(live());
      break;
    case 'fork':
      await take(store.fork(live(), undefined, order.id));
      break;
  }
  tell({ report: 'done' });
}

function live(): Session {
  if (!session) throw new Error('There is no session yet: start one.');
  return session;
}

async function take(next: Session, closed = 0): Promise<void> {
  session = next;
  // A session is stored with its first event: the header of its requests is one that needs no turn.
  next.recordRequestHeader(HEADER);
  await store.flush(next);
  const { createdAt, parentSession, seedLength } = next.header;
  tell({ report: 'ready', id: next.id, createdAt, closed, ...(parentSession !== undefined && { parent: parentSession }), ...(seedLength !== undefined && { seed: seedLength }) });
}

async function turn(log: Session, words: string): Promise<void> {
  const number = positionOf(log).turn + 1;
  const known = TURNS.find(({ prompt }) => prompt === words) ?? TURNS[(number - 1) % TURNS.length]!;
  log.append('turn/start', { turn: number, trigger: { kind: 'message', source: user } });
  log.append('user/message', { content: [text(words)], source: user }, { surfaceOp: 'append' });
  for (const [index, answer] of known.answers.entries()) {
    const step = index + 1;
    log.append('step/start', { turn: number, step });
    await say(log, number, step, answer);
    log.append('step/end', { turn: number, step });
  }
  log.append('turn/end', { turn: number, reason: { kind: 'completed' } });
  await store.flush(log);
  tell({ report: 'line', words: `turn ${number} is over, and durable` });
}

async function say(log: Session, turn: number, step: number, { think, say: words, tool }: Answer): Promise<void> {
  const at = { turn, step };
  const call = tool && ({ type: 'tool-call', id: `call_${turn}_${step}`, name: tool.name, arguments: JSON.stringify(tool.input) } as const);
  const blocks: ContentBlock[] = [...(think === undefined ? [] : [{ type: 'reasoning', text: think } as const]), text(words), ...(call ? [call] : [])];
  const assembler = new BlockAssembler();
  const push = async (chunk: Parameters<typeof assembler.push>[0]): Promise<void> => {
    assembler.push(chunk, log.append('assistant/chunk', { ...at, chunk }).seq);
    await pause(PACE);
  };
  for (const [index, block] of blocks.entries()) {
    await push({ type: 'block-start', index, blockType: block.type });
    if (block.type === 'text' || block.type === 'reasoning') {
      for (const piece of block.text.match(/(?:\S+\s*){1,3}/gu) ?? []) await push({ type: `${block.type}-delta`, index, text: piece });
    } else if (block.type === 'tool-call') await push({ type: 'tool-call-delta', index, id: block.id, name: block.name, argumentsDelta: block.arguments });
    await push({ type: 'block-end', index, block });
  }
  const size = JSON.stringify(log.at(log.seq - 1).request()).length / 4;
  await push({ type: 'usage', usage: { inputTokens: Math.ceil(size * 0.1), cacheReadTokens: Math.floor(size * 0.9), outputTokens: Math.ceil(words.length / 4) } });
  await push({ type: 'finish', reason: { kind: call ? 'tool-calls' : 'stop' } });
  log.append('assistant/message', assembler.message(at), assembler.intent);
  tell({ report: 'line', words: `the model says: ${words}` });
  if (!call) return;
  const { seq } = log.append('tool/call', { ...at, callId: call.id, name: call.name, arguments: call.arguments });
  tell({ report: 'line', words: `${call.name} runs…` });
  await store.flush(log);
  await pause(TOOL);
  log.append('tool/result', { ...at, callId: call.id, content: [text(tool.output)], isError: tool.failed === true }, { surfaceOp: 'append', sourceEventSeqs: [seq] });
}

async function compact(log: Session): Promise<void> {
  const { nodes } = log.surface;
  const [first, last] = [nodes[0], nodes.at(-1)];
  if (!first || !last || nodes.length < 3) throw new Error('There is too little to compact: let the agent work for a turn first.');
  const done = await compactRegion(log, first.seq, last.seq, {
    model: 'scripted-1',
    summarize: async () => {
      await pause(600);
      return SUMMARY;
    },
  });
  await store.flush(log);
  tell({ report: 'line', words: done ? `${done.shadowedSeqs.length} messages lie under event ${done.seq} now: about ${done.tokensBefore} tokens became ${done.tokensAfter}` : 'nothing to compact' });
}
