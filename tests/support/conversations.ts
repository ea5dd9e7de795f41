/** Random sessions for the converters: what agents write, and what other programs have left in logs. */

import { type ContentBlock, type Message, Session } from 'palimpsest';
import { appendLoosely } from './append.js';
import type { Dice } from './random.js';

const APPEND = { surfaceOp: 'append' } as const;
const NAMES = ['read_file', 'run', 'search-web', 'a.b/c', 'naïve tool', 'x'.repeat(80), '漢字', ''];
const ARGUMENTS = ['{}', '{"path":"/tmp/a"}', '{"id":2512292042121000001}', '', 'null', '{"a":', '[1,2]', '"text"', '{"n":1e400,"m":-0,"t":"\\ud83d"}', '{"__proto__":{"x":1}}', '{"deep":[{"n":90071992547409931}]}', ' {"a" : 1.50 } '];
const IDS = ['call_1', 'call:2', 'toolu_01', 'ж', 'long'.repeat(20), ''];

/** A text that no provider refuses. */
export function word(dice: Dice): string {
  return dice.pick(['hello', 'a longer sentence, with a comma', 'line\nline', ' edge ', '漢字 😀', '{"json":true}', '<tag>', 'x'.repeat(200)]);
}

/** Content of a user's message or a result. */
export function content(dice: Dice, hostile: boolean): ContentBlock[] {
  const blocks: ContentBlock[] = [];
  for (let n = dice.below(3) + (hostile ? 0 : 1); n > 0; n--) {
    const image = { type: 'image', mimeType: dice.pick(['image/png', 'image/jpeg', ...(hostile ? ['image/tiff'] : [])]), data: 'AAAA' };
    if (dice.chance(0.1)) blocks.push(image as unknown as ContentBlock);
    else if (hostile && dice.chance(0.3)) blocks.push(dice.pick([{ type: 'text', text: '' }, { type: 'text', text: ' \n' }, { type: 'text', text: 'half \ud83d' }, { type: 'audio', data: 'x' } as unknown as ContentBlock]));
    else blocks.push({ type: 'text', text: word(dice) });
  }
  return blocks;
}

class Conversation {
  readonly session = new Session('s');
  #turn = 0;
  #calls = 0;
  readonly #ids: string[] = [];

  constructor(readonly dice: Dice, readonly hostile: boolean) {}

  run(): Session {
    const { dice, session } = this;
    const prefix: Message[] = dice.chance(0.2) ? [{ role: this.hostile && dice.chance(0.3) ? 'system' : 'user', content: [{ type: 'text', text: 'prefix' }] }] : [];
    const tools = NAMES.slice(0, dice.below(this.hostile ? NAMES.length : 4)).map((name) => ({ name, description: word(dice), parameters: dice.chance(0.8) ? { type: 'object', properties: {} } : {} }));
    session.recordRequestHeader({ config: { model: 'm-1', ...(dice.chance(0.5) && { maxTokens: 100, temperature: 0.5 }) }, ...(dice.chance(0.7) && { system: `You help.\n${word(dice)}` }), tools, messagePrefix: prefix });
    for (let n = 1 + dice.below(4); n > 0; n--) this.turn();
    return session;
  }

  turn(): void {
    const { dice, session, hostile } = this;
    const turn = ++this.#turn;
    session.append('turn/start', { turn, trigger: { kind: 'message', source: { kind: 'user' } } });
    session.append('user/message', { content: content(dice, hostile), source: { kind: 'user' } }, APPEND);
    if (dice.chance(0.2)) session.append('context/message', { content: content(dice, hostile), source: { kind: 'plugin', plugin: 'clock' } }, APPEND);
    const steps = 1 + dice.below(3);
    for (let step = 1; step <= steps; step++) this.step(turn, step, step === steps);
    session.append('turn/end', { turn, reason: { kind: 'completed' } });
  }

  step(turn: number, step: number, last: boolean): void {
    const { dice, session, hostile } = this;
    session.append('step/start', { turn, step });
    const calls = last ? [] : Array.from({ length: 1 + dice.below(3) }, () => this.call());
    const blocks: ContentBlock[] = [];
    if (dice.chance(0.3)) blocks.push({ type: 'reasoning', text: word(dice) });
    if (dice.chance(0.15)) blocks.push({ type: 'reasoning', text: word(dice), provider: dice.pick(['anthropic', 'openai']), model: dice.pick(['m-1', 'm-2']), id: 'rs_1', signature: 'c2lnbmVk' } as unknown as ContentBlock);
    if (last || dice.chance(0.5)) blocks.push(...(hostile ? content(dice, true) : [{ type: 'text' as const, text: word(dice) }]));
    blocks.push(...calls);
    if (hostile && dice.chance(0.1)) blocks.splice(dice.below(blocks.length + 1), 0, ...content(dice, true));
    session.append('assistant/message', { turn, step, content: blocks }, APPEND);
    const results = hostile && dice.chance(0.3) ? calls.reverse() : calls;
    for (const { id, name, arguments: text } of results) {
      if (typeof text === 'string') session.append('tool/call', { turn, step, callId: id, name, arguments: text });
      if (hostile && dice.chance(0.15)) session.append('user/message', { content: [{ type: 'text', text: 'wait' }], source: { kind: 'user' } }, APPEND);
      if (hostile && dice.chance(0.15)) continue;
      appendLoosely(session, 'tool/result', { turn, step, callId: id, content: dice.chance(0.1) ? [] : content(dice, hostile), isError: dice.chance(0.2) }, APPEND);
    }
    if (dice.chance(0.15)) session.append('steering/message', { turn, content: content(dice, hostile), source: { kind: 'user' } }, APPEND);
    if (hostile && dice.chance(0.15)) appendLoosely(session, 'tool/result', { turn, step, callId: dice.pick(['nobody', ...this.#ids]), content: content(dice, true), isError: false }, APPEND);
    session.append('step/end', { turn, step });
    if (hostile && dice.chance(0.1)) this.shadow();
  }

  call(): ContentBlock & { type: 'tool-call' } {
    const { dice, hostile } = this;
    const id = hostile && dice.chance(0.3) ? dice.pick([...IDS, ...this.#ids]) : `call_${++this.#calls}`;
    this.#ids.push(id);
    const name = hostile ? dice.pick(NAMES) : dice.pick(NAMES.slice(0, 3));
    const text = hostile ? dice.pick(ARGUMENTS) : dice.pick(ARGUMENTS.slice(0, 2));
    const call = { type: 'tool-call' as const, id, name, arguments: text };
    if (hostile && dice.chance(0.05)) return { type: 'tool-call', id, name } as ContentBlock & { type: 'tool-call' };
    return call;
  }

  /** A replace that asks nobody whether it splits a pair. */
  shadow(): void {
    const { nodes } = this.session.surface;
    const start = this.dice.below(nodes.length);
    const covered = nodes.slice(start, start + 1 + this.dice.below(nodes.length - start)).map(({ seq }) => seq);
    this.session.append('user/message', { content: [{ type: 'text', text: 'summary' }], source: { kind: 'user' } }, { surfaceOp: { op: 'replace', start: covered[0]!, end: covered.at(-1)! }, sourceEventSeqs: covered });
  }
}

/** A session as a well-behaved agent writes it, or a hostile one: lost results, bad ids, empty texts, half pairs. */
export function conversation(dice: Dice, hostile: boolean): Session {
  return new Conversation(dice, hostile).run();
}
