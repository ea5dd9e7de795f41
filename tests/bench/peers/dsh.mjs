// The published original, `@deepseek-ai/dsh-session`. Its messages carry an id and a source of their own.
import { Context } from '@deepseek-ai/cordis';
import { Session, SessionStore } from '@deepseek-ai/dsh-session';
import { lines } from '../lines.mjs';
import { eventOf, lineOf } from './palimpsest.mjs';

export const name = 'peer';

const id = ({ seq }) => `m-${seq.toString(16).padStart(8, '0')}`;
const CONTENT = {
  user: (item) => ({ id: id(item), role: 'user', content: item.content, source: { kind: 'user' } }),
  assistant: (item) => ({
    turn: item.turn, step: item.step,
    message: { id: id(item), role: 'assistant', content: item.content, source: { kind: 'model', provider: 'p', model: 'm' } },
    usage: item.usage,
  }),
  tool: (item) => ({
    turn: item.turn, step: item.step,
    message: {
      id: id(item), role: 'user', source: { kind: 'tool', callId: item.callId },
      content: [{ type: 'tool-result', toolCallId: item.callId, content: item.content, isError: false }],
    },
    ...(item.meta && { meta: item.meta }),
  }),
};

export function payload(item) {
  if (item.kind === 'turn-start') return { type: 'turn/start', data: { turn: item.turn } };
  return eventOf(item, CONTENT);
}
export const line = (item) => lineOf(payload(item), item);
export { headerLine } from './palimpsest.mjs';

export const create = () => Session.create('bench');
export const free = () => {};
export const length = (session) => session.seq;

export function append(session, { type, data, intent }) {
  return intent === undefined ? session.append(type, data) : session.append(type, data, intent);
}

/** Appends all; their bytes are what `JSON.stringify` makes, which is left a string here. */
export function write(session, payloads) {
  let bytes = 0;
  for (let i = 0; i < payloads.length; i++) {
    const { type, data, intent } = payloads[i];
    const event = intent === undefined ? session.append(type, data) : session.append(type, data, intent);
    bytes += JSON.stringify(event).length + 1;
  }
  return bytes;
}

/** Lines to a header and events. */
export function parse(chunks) {
  let header;
  const events = [];
  for (const text of lines(chunks)) {
    if (header === undefined) header = JSON.parse(text);
    else events.push(JSON.parse(text));
  }
  delete header.type;
  return { header, events };
}

/** Its restore takes ownership of fresh values: validated and frozen where they are, without a copy. */
export function open(chunks) {
  const { header, events } = parse(chunks);
  return Session.fromRestore(header.id, events, header);
}

export const derive = (session) => session.deriveMessages();

export async function forking(chunks) {
  const ctx = new Context();
  await ctx.plugin(SessionStore);
  const { header, events } = parse(chunks);
  const session = ctx.sessions.prepare(header.id, { seed: events, meta: header, seedSource: 'persistence' });
  ctx.sessions.enter(session);
  // A fork lives as long as the plugin that asked for it.
  let owner;
  let fiber;
  const enter = async () => {
    fiber = ctx.plugin({ name: 'bench', inject: ['sessions'], apply: (context) => void (owner = context) });
    await fiber;
  };
  await enter();
  return {
    fork: () => owner.sessions.fork(session),
    drop: async () => {
      await fiber.dispose();
      await enter();
    },
    close: () => ctx.fiber.dispose?.(),
  };
}
