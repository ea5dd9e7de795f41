/**
 * A small agent, complete: it streams, runs tools, can be steered and cancelled, compacts its history, and goes on after
 * a crash. Everything that it knows is in its session; this file is the loop around it.
 */

import type OpenAI from 'openai';
import { BlockAssembler, type ContentBlock, type EpochHeader, type Session, type SessionStore, type TurnEndReason } from 'palimpsest';
import { compactIfNeeded } from 'palimpsest/compaction';
import { checkRequest } from 'palimpsest/invariants';
import { ChatReader, chatRequest, readChunks } from 'palimpsest/openai';
import { TOOLS } from './tools.js';

export interface AgentOptions {
  readonly store: SessionStore;
  readonly client: OpenAI;
  readonly model: string;
  /** Where the words go, as they come. */
  readonly print: (text: string) => void;
  /** Compacts beyond this many tokens. */
  readonly compactAt?: number;
}

type Call = ContentBlock & { type: 'tool-call' };

const user = { kind: 'user' } as const;
const text = (words: string): ContentBlock[] => [{ type: 'text', text: words }];
const told = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export class Agent {
  readonly #steering: string[] = [];
  #running: AbortController | undefined;

  constructor(readonly session: Session, readonly options: AgentOptions) {}

  get busy(): boolean {
    return this.#running !== undefined;
  }

  /** A word to the running turn; the model hears it with its next call. */
  steer(words: string): void {
    this.#steering.push(words);
  }

  /** Ends the running turn. What has been said and done by then stays in the log. */
  cancel(): void {
    this.#running?.abort(new Error('cancelled by the user'));
  }

  /** One turn: from the user's words until the model has no more to do. */
  async turn(words: string): Promise<TurnEndReason> {
    const { session, options } = this;
    const { signal } = (this.#running = new AbortController());
    const turn = this.#lastTurn().turn + 1;
    session.append('turn/start', { turn, trigger: { kind: 'message', source: user } });
    session.append('user/message', { content: text(words), source: user }, { surfaceOp: 'append' });
    let reason: TurnEndReason = { kind: 'completed' };
    let step = 0;
    try {
      for (let more = true; more; ) {
        await this.#compact(signal);
        for (const word of this.#steering.splice(0)) session.append('steering/message', { turn, content: text(word), source: user }, { surfaceOp: 'append' });
        session.recordRequestHeader(this.#header());
        more = (await this.#step(turn, ++step, signal)) || this.#steering.length > 0;
        signal.throwIfAborted();
      }
    } catch (error) {
      reason = signal.aborted ? { kind: 'aborted', reason: told(signal.reason) } : { kind: 'error', step, message: told(error) };
    }
    session.append('turn/end', { turn, reason });
    this.#running = undefined;
    await options.store.flush(session);
    return reason;
  }

  /** Another agent whose session is this one's without its last turn, to give the same words a second answer. */
  fork(): { agent: Agent; words: string } {
    const { session, options } = this;
    const { seq } = this.#lastTurn();
    const said = session.events[seq + 1];
    const words = said?.type === 'user/message' ? said.data.content.map((block) => (block.type === 'text' ? block.text : '')).join('') : '';
    const child = seq <= 0 ? options.store.create(undefined, { meta: { cwd: session.header.cwd } }) : options.store.fork(session, seq - 1, `${session.id}-${Date.now()}`);
    return { agent: new Agent(child, options), words };
  }

  /** One model call and the tools that it asks for; whether the model wants to go on. */
  async #step(turn: number, step: number, signal: AbortSignal): Promise<boolean> {
    const { session, options } = this;
    session.append('step/start', { turn, step });
    try {
      const calls = (await this.#ask(turn, step, signal)).filter((block): block is Call => block.type === 'tool-call');
      const logged = calls.map((call) => ({ call, seq: session.append('tool/call', { turn, step, callId: call.id, name: call.name, arguments: call.arguments }).seq }));
      // The calls are durable before they have effects: after a crash it is known that they may have run.
      await options.store.flush(session);
      await Promise.all(
        logged.map(async ({ call, seq }) => {
          const { output, isError } = await this.#run(call, signal);
          session.append('tool/result', { turn, step, callId: call.id, content: text(output), isError }, { surfaceOp: 'append', sourceEventSeqs: [seq] });
        }),
      );
      return calls.length > 0;
    } finally {
      session.append('step/end', { turn, step });
    }
  }

  async #ask(turn: number, step: number, signal: AbortSignal): Promise<readonly ContentBlock[]> {
    const { session, options } = this;
    const request = session.at(session.seq - 1).request();
    checkRequest(session, request);
    const { body, report, aliases } = chatRequest(request);
    for (const { path, message } of report) options.print(`[${path}: ${message}]\n`);
    const assembler = new BlockAssembler();
    const log = (content: readonly ContentBlock[]): readonly ContentBlock[] =>
      session.append('assistant/message', { ...assembler.message({ turn, step }), content }, assembler.intent).data.content;
    try {
      const stream = await options.client.chat.completions.create({ ...body, stream: true, stream_options: { include_usage: true } }, { signal });
      for await (const chunk of readChunks(stream, new ChatReader(aliases))) {
        assembler.push(chunk, session.append('assistant/chunk', { turn, step, chunk }).seq);
        if (chunk.type === 'text-delta') options.print(chunk.text);
      }
      signal.throwIfAborted();
      if (assembler.finish === undefined) throw new Error('the answer broke off');
    } catch (error) {
      // What was said stays; a call that is half told is none.
      log(assembler.blocks.filter(({ type }) => type === 'text'));
      throw error;
    }
    return log(assembler.blocks);
  }

  /** A tool's answer; whatever goes wrong is an answer too, and the model goes on from there. */
  async #run(call: Call, signal: AbortSignal): Promise<{ output: string; isError: boolean }> {
    this.options.print(`\n[${call.name} ${call.arguments}]\n`);
    try {
      signal.throwIfAborted();
      const tool = TOOLS[call.name];
      if (!tool) throw new Error(`there is no tool ${call.name}`);
      const input = JSON.parse(call.arguments === '' ? '{}' : call.arguments) as Record<string, unknown>;
      return { output: await tool.run(input, signal), isError: false };
    } catch (error) {
      return { output: told(error), isError: true };
    }
  }

  async #compact(signal: AbortSignal): Promise<void> {
    const { client, model, compactAt = 50_000, print } = this.options;
    const done = await compactIfNeeded(this.session, {
      triggerTokens: compactAt,
      retainTokens: compactAt / 4,
      signal,
      summarize: async ({ instructions, prompt }) => {
        const answer = await client.chat.completions.create({ model, messages: [{ role: 'system', content: instructions }, { role: 'user', content: prompt }] }, { signal });
        return answer.choices[0]?.message.content ?? '';
      },
    }).catch((error: unknown) => {
      // Without a summary the turn goes on with what there is.
      signal.throwIfAborted();
      print(`[not compacted: ${told(error)}]\n`);
    });
    if (done) print(`[${done.shadowedSeqs.length} messages compacted]\n`);
  }

  #header(): EpochHeader {
    const tools = Object.entries(TOOLS).map(([name, { description, parameters }]) => ({ name, description, parameters }));
    return { config: { model: this.options.model }, system: 'You are a careful assistant. Use the tools where they help.', tools };
  }

  /** Number and first event of the last turn; 0 and -1 before the first. */
  #lastTurn(): { turn: number; seq: number } {
    const { events } = this.session;
    for (let seq = events.length - 1; seq >= 0; seq--) {
      const event = events[seq];
      if (event?.type === 'turn/start') return { turn: event.data.turn, seq };
    }
    return { turn: 0, seq: -1 };
  }
}
