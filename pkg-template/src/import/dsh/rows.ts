/** Packed rows: runs of equal chunks that are stored as one line. */

import { isObject, type Raw } from '../json.js';

const ROWS: Readonly<Record<string, { readonly texts: 'texts' | 'args'; readonly keys: readonly string[] }>> = {
  'text-chunks': { texts: 'texts', keys: ['dt', 'index', 'step', 'texts', 'turn'] },
  'reasoning-chunks': { texts: 'texts', keys: ['dt', 'index', 'step', 'texts', 'turn'] },
  'tool-call-chunks': { texts: 'args', keys: ['args', 'dt', 'id', 'index', 'step', 'turn'] },
};

/** The events of a line: its members where it is a packed row, else itself. */
export function membersOf(value: Raw): readonly Raw[] | 'malformed' {
  const row = typeof value.type === 'string' && Object.hasOwn(ROWS, value.type) ? ROWS[value.type] : undefined;
  if (row === undefined) return [value];
  const { type, seq0, time0, data } = value;
  if (Object.keys(value).sort().join() !== 'data,seq0,time0,type' || !isObject(data) || !isSafe(seq0) || !isSafe(time0)) return 'malformed';
  const keys = Object.keys(data).filter((key) => !(key === 'name' && type === 'tool-call-chunks')).sort();
  const { dt, [row.texts]: texts, turn, step, index, id, name } = data;
  const fits =
    keys.join() === row.keys.join() &&
    Array.isArray(dt) &&
    Array.isArray(texts) &&
    dt.length === texts.length - 1 &&
    texts.every((text) => typeof text === 'string') &&
    isSafe(seq0 + texts.length) &&
    (row.texts === 'texts' || (typeof id === 'string' && (name === undefined || typeof name === 'string')));
  if (!fits) return 'malformed';
  const members: Raw[] = [];
  let time: number = time0;
  for (const [at, text] of texts.entries()) {
    if (at > 0) {
      const step: unknown = dt[at - 1];
      time += typeof step === 'number' ? step : NaN;
    }
    if (!Number.isSafeInteger(time)) return 'malformed';
    const chunk =
      type === 'text-chunks'
        ? { type: 'text-delta', index, text }
        : type === 'reasoning-chunks'
          ? { type: 'reasoning-delta', index, text }
          : { type: 'tool-call-delta', index, id, ...(at === 0 && name !== undefined && { name }), argumentsDelta: text };
    members.push({ type: 'assistant/chunk', seq: seq0 + at, time, data: { turn, step, chunk } } as Raw);
  }
  return members;
}

function isSafe(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
