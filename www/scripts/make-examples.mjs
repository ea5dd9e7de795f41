// Writes the example sessions of the page to public/examples, or to another folder: `node www/scripts/make-examples.mjs
// [FOLDER]`. The same every time.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { SessionStore } from 'palimpsest';
import { estimateTokens, compactRegion, pruneToolResults } from 'palimpsest/compaction';
import { attach, memory } from 'palimpsest/persistence';
import { CODING, LONG, LONG_FIRST_FORK, LONG_SECOND_FORK, SUMMARIES } from './example-scripts.mjs';

const FOLDER = process.argv[2] ?? fileURLToPath(new URL('../public/examples/', import.meta.url));
const USER = { kind: 'user' };
const text = (words) => ({ type: 'text', text: words });

// The package takes the time from the host: here time is what the story says.
let now = Date.UTC(2026, 2, 9, 9, 14, 3);
Date.now = () => now;
const pass = (ms) => { now += Math.round(ms); };

/** Tells a story into a session, as an agent's loop would log it. */
class Teller {
  #sent = [];
  #header;

  constructor(session, header) {
    this.session = session;
    this.#header = header;
  }

  async turn(turn, { prompt, context, steering, header, compact, prune, steps, end = { kind: 'completed' }, crash }) {
    const { session } = this;
    this.#header = header ?? this.#header;
    session.append('turn/start', { turn, trigger: { kind: 'message', source: USER } });
    if (compact) await this.#compact(compact);
    if (prune) pruneToolResults(session, prune);
    session.append('user/message', { content: prompt.map((part) => (typeof part === 'string' ? text(part) : part)), source: USER }, { surfaceOp: 'append' });
    if (context) session.append('context/message', { content: [text(context)], source: { kind: 'plugin', plugin: 'workspace' } }, { surfaceOp: 'append' });
    pass(400);
    for (const [index, step] of steps.entries()) {
      const at = { turn, step: index + 1 };
      if (steering && index === steering.before) session.append('steering/message', { turn, content: [text(steering.words)], source: USER }, { surfaceOp: 'append' });
      session.append('step/start', at);
      session.recordRequestHeader(this.#header);
      if (step.todos) session.append('todo/write', { todos: step.todos });
      for (const [call, tool] of this.#answer(at, step)) {
        if (crash && index === steps.length - 1) return;
        this.#result(at, call, tool);
      }
      session.append('step/end', at);
      pass(120);
    }
    session.append('turn/end', { turn, reason: end });
    pass(48_000);
  }

  /** Streams an answer, logs it whole, and logs its calls; the calls with what their tools shall answer. */
  #answer(at, { think, say, tools = [] }) {
    const { session } = this;
    const calls = tools.map((tool, index) => ({ type: 'tool-call', id: `call_${at.turn}_${at.step}_${index + 1}`, name: tool.name, arguments: JSON.stringify(tool.input) }));
    const blocks = [...(think ? [{ type: 'reasoning', text: think }] : []), ...(say ? [text(say)] : []), ...calls];
    const usage = this.#usage(blocks);
    pass(700 + usage.inputTokens / 10);
    const chunks = [...blocks.flatMap(chunksOf), { type: 'usage', usage }, { type: 'finish', reason: { kind: calls.length > 0 ? 'tool-calls' : 'stop' } }];
    const seqs = chunks.map((chunk) => {
      pass(35);
      return session.append('assistant/chunk', { ...at, chunk }).seq;
    });
    session.append('assistant/message', { ...at, content: blocks, usage }, { surfaceOp: 'append', sourceEventSeqs: seqs });
    return calls.map((call, index) => [{ call, seq: session.append('tool/call', { ...at, callId: call.id, name: call.name, arguments: call.arguments }).seq }, tools[index]]);
  }

  /** What a provider with a prefix cache would count: the same beginning as the last request is read from the cache. */
  #usage(blocks) {
    const { system, tools, messages } = this.session.at(this.session.seq - 1).request();
    const parts = [JSON.stringify({ system, tools }), ...messages.map((message) => JSON.stringify(message))];
    const sizes = [Math.ceil(parts[0].length / 4), ...messages.map((message) => estimateTokens(message))];
    let same = 0;
    while (same < parts.length && parts[same] === this.#sent[same]) same++;
    this.#sent = parts;
    const sum = (from, to) => sizes.slice(from, to).reduce((total, size) => total + size, 0);
    const fresh = sum(same, parts.length);
    const reasoning = blocks.filter(({ type }) => type === 'reasoning').reduce((total, block) => total + Math.ceil(block.text.length / 4), 0);
    const output = estimateTokens({ role: 'assistant', content: blocks });
    return { inputTokens: Math.min(fresh, 40), outputTokens: output, cacheReadTokens: sum(0, same), cacheWriteTokens: Math.max(0, fresh - 40), ...(reasoning > 0 && { reasoningTokens: reasoning }) };
  }

  #result(at, { call, seq }, { output, took = 60, failed = false, image }) {
    pass(took);
    const content = [text(output), ...(image ? [{ type: 'image', mediaType: 'image/png', data: image }] : [])];
    this.session.append('tool/result', { ...at, callId: call.id, content, isError: failed, ...(failed && { error: { name: 'ToolError', code: 'exit-1' } }) }, { surfaceOp: 'append', sourceEventSeqs: [seq] });
  }

  async #compact({ summary, keep }) {
    const { nodes } = this.session.surface;
    const end = nodes[nodes.length - 1 - keep].seq;
    pass(2_300);
    await compactRegion(this.session, nodes[0].seq, end, { summarize: () => SUMMARIES[summary], model: 'swift-mini' });
    pass(300);
  }
}

function chunksOf(block, index) {
  const pieces = (value, pattern) => value.match(pattern) ?? [];
  const deltas = block.type === 'tool-call'
    ? pieces(block.arguments, /.{1,60}/gsu).map((argumentsDelta, n) => ({ type: 'tool-call-delta', index, id: block.id, ...(n === 0 && { name: block.name }), argumentsDelta }))
    : pieces(block.text, /(?:\S+\s*){1,6}/gu).map((delta) => ({ type: `${block.type}-delta`, index, text: delta }));
  return [{ type: 'block-start', index, blockType: block.type }, ...deltas, { type: 'block-end', index, block }];
}

async function tell(session, { header, turns }, from = 1) {
  const teller = new Teller(session, header);
  for (const [index, turn] of turns.entries()) await teller.turn(from + index, turn);
}

async function save(session, name) {
  const bytes = Buffer.concat([session.headerLine(), session.jsonl()]);
  await writeFile(join(FOLDER, `${name}.jsonl`), bytes);
  console.log(`${name}.jsonl: ${session.seq} events, ${bytes.length} bytes`);
}

const turnEnd = (session, turn) => session.events.find(({ type, data }) => type === 'turn/end' && data.turn === turn).seq;

await mkdir(FOLDER, { recursive: true });
const store = new SessionStore({ onError: (error) => { throw error; } });

const coding = store.create('invoice-rounding', { meta: { cwd: '/home/ada/invoices' } });
await tell(coding, CODING);
await save(coding, 'coding');

// The long one crashes in a turn: the store that it lives in is gone, and another loads what was stored.
now = Date.UTC(2026, 2, 11, 13, 2, 40);
const first = new SessionStore();
const before = first.create('search-rewrite', { meta: { cwd: '/home/ada/search' } });
const crashed = LONG.turns.findIndex(({ crash }) => crash);
await tell(before, { ...LONG, turns: LONG.turns.slice(0, crashed + 1) });
pass(95_000);
const second = new SessionStore();
const adapter = attach(second, memory());
await adapter.import(Buffer.concat([before.headerLine(), before.jsonl()]));
const long = await adapter.load(before.id);
const afterCrash = new Teller(long, LONG.header);
for (const [index, turn] of LONG.turns.slice(crashed + 1).entries()) await afterCrash.turn(crashed + 2 + index, turn);
await save(long, 'long');

const other = second.fork(long, turnEnd(long, 4), 'search-rewrite-other-way');
await tell(other, LONG_FIRST_FORK, 5);
await save(other, 'long-other-way');

const look = second.fork(long, turnEnd(long, crashed + 3), 'search-rewrite-second-look');
await tell(look, LONG_SECOND_FORK, crashed + 4);
await save(look, 'long-second-look');
await adapter.close();
process.exitCode = 0;
