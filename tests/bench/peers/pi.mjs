// The session manager of `@mariozechner/pi-coding-agent`: a tree of entries. Read the readme before comparing: it
// neither checks nor copies nor freezes what it is given.
//
// Imported by its file, since the package's one entry loads a whole terminal application with it.
import { lines } from '../lines.mjs';

const { SessionManager, buildSessionContext } = await import(
  new URL('../node_modules/@mariozechner/pi-coding-agent/dist/core/session-manager.js', import.meta.url)
);

export const name = 'pi';

const id = (seq) => seq.toString(16).padStart(8, '0');

/** The call that takes an item: a message where pi has one, else a custom entry, which its context leaves out. */
export function payload(item) {
  const { kind, time: timestamp, content } = item;
  switch (kind) {
    case 'user': return item.replace
      ? { type: 'compaction', summary: content[0].text, firstKeptEntryId: id(item.replace.keptFrom), tokensBefore: 100000 }
      : { type: 'message', message: { role: 'user', content, timestamp } };
    case 'assistant': return { type: 'message', message: { role: 'assistant', content, usage: item.usage, stopReason: 'toolUse', timestamp } };
    case 'tool': return { type: 'message', message: { role: 'toolResult', toolCallId: item.callId, toolName: 'search', content, isError: false, timestamp, ...(item.meta && { details: item.meta }) } };
    case 'chunk': return { type: 'custom', customType: kind, data: { turn: item.turn, step: item.step, chunk: { type: 'text-delta', index: 0, text: item.text } } };
    default: return { type: 'custom', customType: kind, data: { turn: item.turn, step: item.step } };
  }
}

export const headerLine = () => '{"type":"session","version":3,"id":"bench","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/bench"}\n';
export const line = (item) =>
  `${JSON.stringify({ ...payload(item), id: id(item.seq), parentId: item.seq === 0 ? null : id(item.seq - 1), timestamp: new Date(item.time).toISOString() })}\n`;

export const create = () => SessionManager.inMemory('/bench');
export const free = () => {};

export function append(session, payload) {
  if (payload.type === 'message') return session.appendMessage(payload.message);
  if (payload.type === 'custom') return session.appendCustomEntry(payload.customType, payload.data);
  return session.appendCompaction(payload.summary, payload.firstKeptEntryId, payload.tokensBefore);
}

export function write(session, payloads) {
  let bytes = 0;
  for (let i = 0; i < payloads.length; i++) {
    append(session, payloads[i]);
    bytes += JSON.stringify(session.getLeafEntry()).length + 1;
  }
  return bytes;
}

/** What opening a file does, without the file: entries, then the context of the last one. */
export function open(chunks) {
  const entries = [];
  for (const text of lines(chunks)) entries.push(JSON.parse(text));
  entries.shift();
  return { buildSessionContext: () => buildSessionContext(entries) };
}

export const derive = (session) => session.buildSessionContext().messages;
