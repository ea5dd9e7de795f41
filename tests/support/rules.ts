/** Short names for events, and logs made of them. */

import { Session, type SessionEvent, type SessionStore } from 'palimpsest';
import { appendLoosely } from './append.js';

/** An event without a seq: what `append` takes. */
export type Entry = readonly [type: string, data: object, intent?: object];

const append = { surfaceOp: 'append' };
const user = { kind: 'user' };

export const turn = (n: number): Entry => ['turn/start', { turn: n, trigger: { kind: 'message', source: user } }];
export const endTurn = (n: number, kind = 'completed'): Entry => ['turn/end', { turn: n, reason: { kind } }];
export const step = (n: number, turn = 1): Entry => ['step/start', { turn, step: n }];
export const endStep = (n: number, turn = 1): Entry => ['step/end', { turn, step: n }];
export const say = (text = 'hello', intent: object = append): Entry => ['user/message', { content: [{ type: 'text', text }], source: user }, intent];
export const steer = (turn: number): Entry => ['steering/message', { turn, content: [{ type: 'text', text: 'left' }], source: user }, append];
export const block = (id: string): object => ({ type: 'tool-call', id, name: 'run', arguments: '{}' });
export const answer = (blocks: readonly object[], [step, turn] = [1, 1], intent: object = append): Entry => ['assistant/message', { turn, step, content: blocks }, intent];
export const asks = (...ids: string[]): Entry => answer(ids.map(block));
export const call = (id: string, step = 1, turn = 1): Entry => ['tool/call', { turn, step, callId: id, name: 'run', arguments: '{}' }];
export const result = (id: string, [step, turn] = [1, 1], more: object = {}, intent: object = append): Entry => [
  'tool/result',
  { turn, step, callId: id, content: [{ type: 'text', text: 'done' }], isError: false, ...more },
  intent,
];
export const chunk = (step = 1, turn = 1): Entry => ['assistant/chunk', { turn, step, chunk: { type: 'text-delta', index: 0, text: 'x' } }];
export const custom = (): Entry => ['x/custom', {}];
export const header = (): Entry => ['request/header', { header: { config: {} }, reason: 'initial' }];
export const delta = (): Entry => ['request/header-delta', { config: { model: 'm' } }];
export const compacting = (turn = 1): Entry => ['compact/start', { turn }];
export const compacted = (turn = 1): Entry => ['compact/end', { turn }];
export const summary = (): Entry => ['compact/summary', { summary: [] }];
export const replace = (start: number, end: number, sources = [start, end]): object => ({ surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: [...new Set(sources)] });

/** Appends entries; the events. */
export function write(session: Session, entries: readonly Entry[]): SessionEvent[] {
  return entries.map(([type, data, intent]) => appendLoosely(session, type, data, intent));
}

/** A detached session of these entries. */
export function logOf(entries: readonly Entry[]): Session {
  const session = new Session('rules');
  write(session, entries);
  return session;
}

/** A live session of these entries. */
export function liveLog(store: SessionStore, entries: readonly Entry[]): Session {
  const session = store.create();
  write(session, entries);
  return session;
}

/** A stored log's bytes. */
export function bytesOf(session: Session): Uint8Array {
  return Buffer.concat([session.headerLine(), session.jsonl()]);
}
