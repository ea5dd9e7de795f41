/**
 * The session of an OpenAI Agents run: `palimpsest/openai-agents`.
 *
 * `run(agent, input, { session: new AgentsSession(session) })`. Each item becomes an event of the log, so that the
 * history can be read, compacted and converted like any other, with the item itself beside it, so that the framework
 * gets back exactly what it has given. Removing items lays an event without content over them: the log keeps them.
 */

import type { AgentInputItem, Session as AgentsSessionInterface } from '@openai/agents-core';
import { blocksIn, isRecord, textOf, thawed } from '../depth.js';
import type { ContentBlock, Message, SessionEvent, SurfaceIntent } from '../events.js';
import type { SessionOwner } from '../scope.js';
import type { Session } from '../session.js';

const SOURCE = { kind: 'plugin', plugin: 'openai-agents' } as const;

type Role = 'user' | 'assistant';

/** Where an item stands beside the payload. */
interface WithItem {
  readonly item?: AgentInputItem;
}

/** A session of this package as the framework wants it. */
export class AgentsSession implements AgentsSessionInterface {
  readonly #session: Session;
  readonly #store: SessionOwner | undefined;

  /**
   * @param session a live session, or a detached one
   * @param store the store that it lives in; with a storage attached, every change is durable when its promise resolves
   */
  constructor(session: Session, store?: SessionOwner) {
    this.#session = session;
    this.#store = store;
  }

  getSessionId(): Promise<string> {
    return Promise.resolve(this.#session.id);
  }

  /** The items on the surface; messages that came another way, such as a compaction's summary, as items of their text. */
  async getItems(limit = Infinity): Promise<AgentInputItem[]> {
    const items = this.#nodes().flatMap((event) => itemsOf(event, this.#session.deriveEventMessage(event)));
    return limit <= 0 ? [] : thawed(items.slice(-limit));
  }

  async addItems(items: AgentInputItem[]): Promise<void> {
    if (items.length === 0) return;
    const turn = new Turn(this.#session);
    try {
      for (const item of items) turn.add(item);
    } finally {
      turn.end();
    }
    await this.#flush();
  }

  async popItem(): Promise<AgentInputItem | undefined> {
    const nodes = this.#nodes();
    const last = nodes.filter((event) => itemsOf(event, this.#session.deriveEventMessage(event)).length > 0).at(-1);
    if (!last) return undefined;
    const popped = itemsOf(last, this.#session.deriveEventMessage(last)).at(-1);
    await this.#cover(nodes.slice(nodes.indexOf(last)));
    return thawed(popped);
  }

  async clearSession(): Promise<void> {
    await this.#cover(this.#nodes());
  }

  #nodes(): SessionEvent[] {
    return this.#session.surface.nodes.map(({ seq }) => this.#session.events[seq]!);
  }

  /** Lays a message without content over nodes: it yields no message. */
  async #cover(nodes: readonly SessionEvent[]): Promise<void> {
    const seqs = nodes.map(({ seq }) => seq);
    if (seqs.length === 0) return;
    const turn = new Turn(this.#session);
    turn.assistant([], {}, { surfaceOp: { op: 'replace', start: seqs[0]!, end: seqs.at(-1)! }, sourceEventSeqs: seqs });
    turn.end();
    await this.#flush();
  }

  async #flush(): Promise<void> {
    await this.#store?.flush(this.#session);
  }
}

/** One batch of items as a turn, with a step for each answer of the model and its tools. */
class Turn {
  readonly #session: Session;
  readonly #turn: number;
  #step = 0;
  #stepOpen = false;
  #answered = false;

  constructor(session: Session) {
    this.#session = session;
    let last = 0;
    for (let seq = session.seq - 1; seq >= 0 && last === 0; seq--) {
      const event = session.events[seq]!;
      if (event.type === 'turn/start') last = event.data.turn;
    }
    this.#turn = last + 1;
    session.append('turn/start', { turn: this.#turn, trigger: { kind: 'injection', source: SOURCE } });
  }

  add(item: AgentInputItem): void {
    const beside: WithItem = { item };
    if (item.type === 'function_call') {
      const { callId, name, arguments: text } = item;
      this.assistant([{ type: 'tool-call', id: callId, name, arguments: text }], beside);
      this.#session.append('tool/call', { turn: this.#turn, step: this.#step, callId, name, arguments: text });
    } else if (item.type === 'function_call_result') {
      this.#enterStep(false);
      const { output } = item;
      const data = { turn: this.#turn, step: this.#step, callId: item.callId, content: typeof output === 'string' ? [{ type: 'text' as const, text: output }] : blocksOf(Array.isArray(output) ? output : [output]), isError: item.status === 'incomplete' };
      this.#session.append('tool/result', { ...data, ...beside }, { surfaceOp: 'append' });
    } else if (item.type === 'reasoning') {
      this.assistant([{ type: 'reasoning', text: blocksIn(item.content).map((part) => textOf((part as { text?: unknown }).text)).join('\n\n') }], beside);
    } else if ('role' in item && item.role === 'user') {
      this.#leaveStep();
      const content = typeof item.content === 'string' ? [{ type: 'text' as const, text: item.content }] : blocksOf(item.content);
      this.#session.append('user/message', { content, source: SOURCE, ...beside }, { surfaceOp: 'append' });
    } else if ('role' in item && item.role === 'assistant') {
      this.assistant(blocksOf(item.content), beside);
    } else {
      // What the vocabulary has no word for is kept, and is no message.
      this.assistant([], beside);
    }
  }

  assistant(content: readonly ContentBlock[], beside: WithItem, intent: SurfaceIntent = { surfaceOp: 'append' }): void {
    this.#enterStep(true);
    this.#session.append('assistant/message', { turn: this.#turn, step: this.#step, content, ...beside }, intent);
  }

  end(): void {
    this.#leaveStep();
    this.#session.append('turn/end', { turn: this.#turn, reason: { kind: 'completed' } });
  }

  /** What a model says behind results is another step. */
  #enterStep(speaks: boolean): void {
    if (this.#stepOpen && speaks && this.#answered) this.#leaveStep();
    if (!this.#stepOpen) {
      this.#session.append('step/start', { turn: this.#turn, step: ++this.#step });
      this.#stepOpen = true;
    }
    this.#answered = !speaks;
  }

  #leaveStep(): void {
    if (!this.#stepOpen) return;
    this.#session.append('step/end', { turn: this.#turn, step: this.#step });
    this.#stepOpen = false;
    this.#answered = false;
  }
}

function blocksOf(parts: unknown): ContentBlock[] {
  return blocksIn(parts).flatMap((part): ContentBlock[] => {
    const { text, refusal } = part as { text?: unknown; refusal?: unknown };
    const words = text ?? refusal;
    // Images and files stay in the item; the log's own view names them.
    return typeof words === 'string' ? (words === '' ? [] : [{ type: 'text', text: words }]) : [{ type: 'text', text: `[${part.type}]` }];
  });
}

function itemsOf({ data }: SessionEvent, message: Message | null): AgentInputItem[] {
  const item: unknown = (data as WithItem).item;
  // Plugins may put a member of this name beside a payload as well.
  if (isRecord(item)) return [item as unknown as AgentInputItem];
  if (!message) return [];
  const words: AgentInputItem[] = [];
  const role: Role = message.role === 'assistant' ? 'assistant' : 'user';
  for (const block of blocksIn(message.content)) {
    if (block.type === 'text' && role === 'assistant') words.push({ type: 'message', role, status: 'completed', content: [{ type: 'output_text', text: textOf(block.text) }] });
    else if (block.type === 'text') words.push({ type: 'message', role: 'user', content: textOf(block.text) });
    else if (block.type === 'tool-call') words.push({ type: 'function_call', callId: textOf(block.id), name: textOf(block.name), arguments: textOf(block.arguments), status: 'completed' });
    else if (block.type === 'tool-result') words.push({ type: 'function_call_result', callId: textOf(block.toolCallId), name: '', status: 'completed', output: blocksIn(block.content).map((inner) => (inner.type === 'text' ? textOf(inner.text) : '')).join('') });
  }
  return words;
}
