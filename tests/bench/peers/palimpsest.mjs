// Ours: the built package.
import { Session, SessionReader, SessionStore } from 'palimpsest';

export const name = 'ours';

const CONTENT = {
  user: ({ content }) => ({ content, source: { kind: 'user' } }),
  assistant: ({ turn, step, content, usage }) => ({ turn, step, content, usage }),
  tool: ({ turn, step, callId, content, meta }) => ({ turn, step, callId, content, isError: false, ...(meta && { meta }) }),
};

/** What `append` takes for an item. */
export const payload = (item) => eventOf(item, CONTENT);

/** The events that this vocabulary and the original's have in common; `content` maps the ones that differ. */
export function eventOf(item, content) {
  const { kind, turn, step } = item;
  switch (kind) {
    case 'turn-start': return { type: 'turn/start', data: { turn, trigger: { kind: 'message', source: { kind: 'user' } } } };
    case 'turn-end': return { type: 'turn/end', data: { turn, reason: { kind: 'completed' } } };
    case 'step-start': return { type: 'step/start', data: { turn, step } };
    case 'step-end': return { type: 'step/end', data: { turn, step } };
    case 'chunk': return { type: 'assistant/chunk', data: { turn, step, chunk: { type: 'text-delta', index: 0, text: item.text } } };
    case 'assistant': return { type: 'assistant/message', data: content.assistant(item), intent: { surfaceOp: 'append', ...(item.sources && { sourceEventSeqs: item.sources }) } };
    case 'tool': return { type: 'tool/result', data: content.tool(item), intent: { surfaceOp: 'append' } };
    case 'user': return { type: 'user/message', data: content.user(item), intent: intentOf(item.replace) };
    default: throw new Error(`no such item: ${kind}`);
  }
}

const intentOf = (replace) =>
  replace ? { surfaceOp: { op: 'replace', start: replace.start, end: replace.end }, sourceEventSeqs: replace.sources } : { surfaceOp: 'append' };

export const lineOf = ({ type, data, intent }, { seq, time }) =>
  `${JSON.stringify({ type, seq, time, data, sourceEventSeqs: intent?.sourceEventSeqs, surfaceOp: intent?.surfaceOp })}\n`;

export const headerLine = () => '{"type":"session","version":0,"id":"bench","createdAt":1700000000000}\n';
export const line = (item) => lineOf(payload(item), item);

export const create = () => new Session('bench');
export const free = (session) => session.free();
export const length = (session) => session.seq;

export function append(session, { type, data, intent }) {
  return intent === undefined ? session.append(type, data) : session.append(type, data, intent);
}

/** Appends all and takes their bytes, `batch` events at a time; how many bytes. */
export function write(session, payloads, batch) {
  let bytes = 0;
  let sent = 0;
  for (let i = 0; i < payloads.length; i++) {
    const { type, data, intent } = payloads[i];
    if (intent === undefined) session.append(type, data);
    else session.append(type, data, intent);
    if (i + 1 - sent === batch || i + 1 === payloads.length) {
      bytes += session.jsonl(sent, i + 1).length;
      sent = i + 1;
    }
  }
  return bytes;
}

/** The text of all events, to compare with what it should be. */
export const text = (session) => new TextDecoder().decode(session.jsonl());

export function open(chunks, size) {
  const reader = new SessionReader('bench', size);
  for (const chunk of chunks) reader.push(chunk);
  return reader.finish().session;
}

export const derive = (session) => session.deriveMessages();

/**
 * What a client needs that patches an array of its own; `undefined` where the package has no such call. It takes less
 * than the clock can tell, so it is asked `repeats` times from the same cursor.
 */
export function changes(session) {
  if (typeof session.changesSince !== 'function') return undefined;
  let { cursor } = session.changesSince();
  const read = () => {
    let change;
    let inserted = 0;
    for (let i = 0; i < read.repeats; i++) {
      change = session.changesSince(cursor);
      inserted += change.inserted.length;
    }
    ({ cursor } = change);
    return inserted;
  };
  read.repeats = 50;
  return read;
}

/** Makes the log live in a store, and how to fork it there and give a fork back. */
export async function forking(chunks, size) {
  const store = new SessionStore();
  const session = open(chunks, size);
  store.enter(session);
  let children = 0;
  return {
    fork: () => store.fork(session, undefined, `child-${++children}`),
    drop: (child) => {
      store.detach(child);
      child.free();
    },
    close: () => session.free(),
  };
}
