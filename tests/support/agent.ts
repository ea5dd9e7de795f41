/**
 * Random sessions as a correct agent writes them: turns, streamed steps, parallel calls, steering, context, headers,
 * compactions, prunes, forks, crashes with their repair. Everything goes through the public face, and the same dice
 * give the same session.
 */

import {
  type ContentBlock,
  type EpochHeader,
  interruptedTurnClosers,
  isToolPairingBalanced,
  positionOf,
  Session,
  type SessionEvent,
  SessionStore,
  type StreamChunk,
  type TurnEndReason,
} from 'palimpsest';
import type { Dice } from './random.js';

declare module 'palimpsest' {
  interface ContentBlockMap {
    /** A picture, as text in base64. */
    image: { mimeType: string; data: string };
  }
  interface SessionEventMap {
    /** An event of the program's own. */
    'test/note': { readonly note: string };
  }
}

/** What a random session may hold; everything when absent. */
export interface AgentOptions {
  /** Number of turns; 1 to 6 when absent. */
  readonly turns?: number;
  /** `assistant/chunk` events before a message. */
  readonly chunks?: boolean;
  /** Blocks that only the program knows. */
  readonly images?: boolean;
  /** Arguments that are not a JSON object: empty, cut, other values. */
  readonly oddArguments?: boolean;
  readonly compactions?: boolean;
  readonly prunes?: boolean;
  readonly forks?: boolean;
  readonly crashes?: boolean;
  /** Makes a text; never called for a blank one. */
  readonly text?: (dice: Dice) => string;
}

/** A random session that breaks no rule. It belongs to nobody: no store holds it. */
export function randomAgentSession(dice: Dice, options: AgentOptions = {}): Session {
  const agent = new RandomAgent(dice, options);
  const { crashes = true, forks = true, compactions = true, prunes = true } = options;
  for (let left = options.turns ?? 1 + dice.below(6); left > 0; left--) {
    if (crashes && dice.chance(0.15)) agent.crash();
    else agent.turn();
    if (compactions && dice.chance(0.25)) agent.idle(() => agent.compact());
    if (prunes && dice.chance(0.2)) agent.idle(() => agent.prune());
    if (forks && dice.chance(0.1)) agent.fork();
  }
  return agent.session;
}

const PLUGIN = { kind: 'plugin', plugin: 'compaction' } as const;
const TOOLS = ['read_file', 'run', 'search', 'think'];

/** Plays an agent on one session; each verb appends what it says. */
export class RandomAgent {
  session: Session;
  readonly #dice: Dice;
  readonly #options: AgentOptions;
  #turn = 0;
  #calls = 0;
  #forks = 0;

  constructor(dice: Dice, options: AgentOptions = {}, session = new Session(`agent-${dice.below(1e9)}`)) {
    this.#dice = dice;
    this.#options = options;
    this.session = session;
  }

  /** Counts on from where the log stands, after others have written to it. */
  resume(): void {
    this.#turn = positionOf(this.session).turn;
  }

  /** One whole turn. */
  turn(): void {
    const dice = this.#dice;
    const turn = ++this.#turn;
    const source = dice.chance(0.8) ? ({ kind: 'user' } as const) : ({ kind: 'plugin', plugin: dice.pick(['cron', 'a "b"']) } as const);
    this.session.append('turn/start', { turn, trigger: { kind: dice.chance(0.9) ? 'message' : 'injection', source } });
    if (dice.chance(0.05)) {
      this.session.append('prompt/blocked', { content: this.#content(), source, reason: 'policy' });
      this.#end({ kind: 'rejected', reason: 'policy' });
      return;
    }
    for (let n = dice.chance(0.15) ? 2 : 1; n > 0; n--) {
      this.session.append('user/message', { content: this.#content(), source }, { surfaceOp: 'append' });
    }
    if (dice.chance(0.15)) this.session.append('test/note', { note: dice.text() });
    if (dice.chance(0.1)) this.#context();
    const steps = 1 + dice.below(4);
    for (let step = 1; step <= steps; step++) {
      if (this.#options.compactions !== false && dice.chance(0.06)) this.compact();
      if (this.#options.prunes !== false && dice.chance(0.06)) this.prune();
      const reason = this.#step(turn, step, step === steps);
      if (reason !== undefined) {
        this.#end(reason);
        return;
      }
      if (dice.chance(0.15)) this.#steer(turn);
    }
    this.#end({ kind: 'completed' });
  }

  /** A turn that a crash cuts anywhere, and the repair closes. */
  crash(): void {
    const from = this.session.seq;
    this.turn();
    const cut = from + 1 + this.#dice.below(this.session.seq - from - 1);
    const kept = this.session.events.slice(0, cut);
    this.session = new Session(this.session.id, [...kept, ...interruptedTurnClosers(kept)], this.session.header);
  }

  /** Goes on in a child that begins at the end of any turn so far. */
  fork(): void {
    const ends = this.session.events.filter((event) => event.type === 'turn/end');
    if (ends.length === 0) return;
    const end = this.#dice.pick(ends);
    const store = new SessionStore();
    store.enter(this.session);
    const child = store.fork(this.session, end.seq, `${this.session.id}.${++this.#forks}`);
    for (const session of [this.session, child]) store.detach(session);
    this.#turn = end.data.turn;
    this.session = child;
  }

  /** Runs something between two turns, as a turn of its own. */
  idle(work: () => void): void {
    const turn = ++this.#turn;
    this.session.append('turn/start', { turn, trigger: { kind: 'injection', source: PLUGIN } });
    work();
    this.#end({ kind: 'completed' });
  }

  /** Lays a summary over a random stretch of the surface that begins and ends at balanced cuts. */
  compact(): void {
    const { session } = this;
    const dice = this.#dice;
    const { nodes } = session.surface;
    const cuts = [...nodes.map(({ seq }) => seq), null].flatMap((before, index) => (isToolPairingBalanced(nodes, session.events, before) ? [index] : []));
    const from = dice.below(cuts.length - 1);
    const first = cuts[dice.chance(0.6) ? 0 : from];
    const after = cuts[from + 1 + dice.below(cuts.length - from - 1)];
    if (first === undefined || after === undefined || first >= after) return;
    const shadowed = nodes.slice(first, after).map(({ seq }) => seq);
    const [start, end] = [shadowed[0]!, shadowed.at(-1)!];
    const turn = this.#turn;
    session.append('compact/start', { turn });
    if (dice.chance(0.15)) {
      session.append('compact/end', { turn, error: 'the summarizer failed' });
      return;
    }
    const words = this.#words();
    const text = `<compacted-summary>\n${words}\n</compacted-summary>`;
    session.append('compact/summary', { summary: [{ type: 'text', text: words }], shadowedRange: { start, end }, shadowedSeqs: shadowed, shadowedTokenCount: 1000, model: 'test' });
    session.append(
      'user/message',
      { content: [{ type: 'text', text }], source: PLUGIN },
      { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: [...shadowed, session.seq - 1] },
    );
    session.append('compact/end', { turn });
  }

  /** Shortens a random result on the surface, or takes the reasoning out of a random answer. */
  prune(): void {
    const { session } = this;
    const events = session.surface.nodes.map(({ seq }) => session.events[seq]!);
    const candidates = events.filter(({ type }) => type === 'tool/result' || type === 'assistant/message');
    if (candidates.length === 0) return;
    const event = this.#dice.pick(candidates);
    const intent = { surfaceOp: { op: 'replace', start: event.seq, end: event.seq }, sourceEventSeqs: [event.seq] } as const;
    if (event.type === 'tool/result') {
      session.append('tool/result', { ...event.data, content: [{ type: 'text', text: '[pruned]' }] }, intent);
    } else if (event.type === 'assistant/message') {
      const content = event.data.content.filter(({ type }) => type !== 'reasoning');
      session.append('assistant/message', { ...event.data, content }, intent);
    }
  }

  /** One step; why the turn ends with it, if it does. */
  #step(turn: number, step: number, last: boolean): TurnEndReason | undefined {
    const dice = this.#dice;
    const { session } = this;
    session.append('step/start', { turn, step });
    if (session.requestHeader() === undefined || dice.chance(0.1)) session.recordRequestHeader(this.#header());
    const calls = last || dice.chance(0.3) ? [] : Array.from({ length: dice.chance(0.7) ? 1 : 2 + dice.below(3) }, () => this.#call());
    const content = this.#answer(calls);
    const sources = this.#options.chunks === false || dice.chance(0.3) ? undefined : this.#stream(turn, step, content);
    if (dice.chance(0.04)) {
      session.append('step/end', { turn, step });
      return { kind: 'error', step, message: 'the connection was lost' };
    }
    const usage = { inputTokens: dice.below(1000), outputTokens: dice.below(1000) };
    session.append('assistant/message', { turn, step, content, ...(dice.chance(0.7) && { usage }) }, { surfaceOp: 'append', ...(sources && { sourceEventSeqs: sources }) });
    this.#runTools(turn, step, calls);
    if (dice.chance(0.1)) this.#context();
    session.append('step/end', { turn, step });
    if (dice.chance(0.04)) return { kind: 'aborted', reason: 'stopped' };
    return calls.length === 0 ? { kind: dice.chance(0.9) ? 'completed' : 'max-tokens' } : undefined;
  }

  #runTools(turn: number, step: number, calls: readonly ToolCall[]): void {
    const dice = this.#dice;
    const { session } = this;
    const running: { call: ToolCall; seq: number }[] = [];
    const answer = (): void => {
      const [{ call, seq }] = running.splice(dice.below(running.length), 1) as [(typeof running)[0]];
      const isError = dice.chance(0.15);
      session.append(
        'tool/result',
        {
          turn,
          step,
          callId: call.id,
          content: dice.chance(0.1) ? [] : this.#content(),
          isError,
          ...(isError && { error: { name: 'ToolError', code: 'failed' } }),
          ...(dice.chance(0.2) && { meta: dice.json(2) }),
        },
        { surfaceOp: 'append', sourceEventSeqs: [seq] },
      );
    };
    for (const call of calls) {
      if (dice.chance(0.1)) session.append('hook/invoked', { turn, point: 'PreToolUse', handlerId: 'h' });
      running.push({ call, seq: session.append('tool/call', { turn, step, callId: call.id, name: call.name, arguments: call.arguments }).seq });
      if (dice.chance(0.1)) session.append('todo/write', { todos: [{ content: this.#words(), status: 'pending' }] });
      if (dice.chance(0.4)) answer();
    }
    while (running.length > 0) answer();
  }

  /** Chunks that make up `content`; their seqs. */
  #stream(turn: number, step: number, content: readonly ContentBlock[]): number[] {
    const chunks = content.flatMap((block, index) => [...piecesOf(this.#dice, block, index)]);
    chunks.push({ type: 'usage', usage: { inputTokens: 1, outputTokens: chunks.length } });
    chunks.push({ type: 'finish', reason: { kind: 'stop' } });
    return chunks.map((chunk) => this.session.append('assistant/chunk', { turn, step, chunk }).seq);
  }

  #answer(calls: readonly ToolCall[]): ContentBlock[] {
    const dice = this.#dice;
    if (calls.length === 0 && dice.chance(0.03)) return [];
    const blocks: ContentBlock[] = [];
    if (dice.chance(0.3)) blocks.push({ type: 'reasoning', text: this.#words() });
    if (calls.length === 0 || dice.chance(0.4)) blocks.push({ type: 'text', text: this.#words() });
    return [...blocks, ...calls];
  }

  #call(): ToolCall {
    const dice = this.#dice;
    let text = JSON.stringify({ path: dice.text(8), n: dice.number() });
    if (dice.chance(0.1)) text = '{"id": 2512292042121000001}';
    if (this.#options.oddArguments !== false && dice.chance(0.1)) text = dice.pick(['', '{}', 'null', '[1]', '{"path": "cut']);
    return { type: 'tool-call', id: `call_${this.session.id.length}_${++this.#calls}`, name: dice.pick(TOOLS), arguments: text };
  }

  #content(): ContentBlock[] {
    const blocks: ContentBlock[] = Array.from({ length: this.#dice.chance(0.8) ? 1 : 2 }, () => ({ type: 'text', text: this.#words() }));
    if (this.#options.images !== false && this.#dice.chance(0.1)) blocks.push({ type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' });
    return blocks;
  }

  #words(): string {
    for (;;) {
      const words = this.#options.text?.(this.#dice) ?? this.#dice.text();
      if (words.trim() !== '') return words;
    }
  }

  #header(): EpochHeader {
    const dice = this.#dice;
    return {
      config: { model: dice.pick(['small', 'large']), temperature: dice.below(3) },
      ...(dice.chance(0.8) && { system: Array.from({ length: 1 + dice.below(5) }, () => dice.pick(['Be brief.', 'Be kind.', '', 'Use tools.'])).join('\n') }),
      ...(dice.chance(0.8) && { tools: TOOLS.filter(() => dice.chance(0.6)).map((name) => ({ name, description: name, parameters: { type: 'object', properties: {} } })) }),
      ...(dice.chance(0.1) && { messagePrefix: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'before all' }] }] }),
    };
  }

  #steer(turn: number): void {
    this.session.append('steering/message', { turn, content: this.#content(), source: { kind: 'user' } }, { surfaceOp: 'append' });
  }

  #context(): void {
    this.session.append('context/message', { content: this.#content(), source: { kind: 'plugin', plugin: 'hooks' } }, { surfaceOp: 'append' });
  }

  #end(reason: TurnEndReason): SessionEvent {
    return this.session.append('turn/end', { turn: this.#turn, reason });
  }
}

type ToolCall = Extract<ContentBlock, { type: 'tool-call' }>;

function* piecesOf(dice: Dice, block: ContentBlock, index: number): Iterable<StreamChunk> {
  yield { type: 'block-start', index, blockType: block.type };
  if (block.type === 'text' || block.type === 'reasoning') {
    for (const text of cut(dice, block.text)) yield { type: `${block.type}-delta`, index, text };
  } else if (block.type === 'tool-call') {
    let name: { name: string } | undefined = { name: block.name };
    for (const argumentsDelta of cut(dice, block.arguments)) {
      yield { type: 'tool-call-delta', index, id: block.id, ...name, argumentsDelta };
      name = undefined;
    }
  }
  yield { type: 'block-end', index, block };
}

/** A text in pieces, cut anywhere: in the middle of a surrogate pair too. */
function cut(dice: Dice, text: string): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length || pieces.length === 0; ) {
    const length = 1 + dice.below(Math.max(text.length, 1));
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}
