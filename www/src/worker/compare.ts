/** Two sessions beside each other. */

import type { Comparison } from '../lib/protocol.js';
import { itemsOf } from './conversation.js';
import type { Log } from './log.js';

const STRETCH = 1 << 20;

/** How far two logs are the same, byte for byte, and where their conversations part. */
export async function compare(left: Log, right: Log): Promise<Comparison> {
  const shared = await sharedRows(left, right);
  const [a, b] = [itemsOf(left), itemsOf(right)];
  const sharedItems = a.lastAtMost(shared - 1) + 1;
  return {
    left: { log: left.id, rows: left.outline.length },
    right: { log: right.id, rows: right.outline.length },
    shared,
    sharedItems,
    leftItems: a.length - sharedItems,
    rightItems: b.length - (b.lastAtMost(shared - 1) + 1),
  };
}

async function sharedRows(left: Log, right: Log): Promise<number> {
  const rows = Math.min(left.outline.length, right.outline.length);
  for (let row = 0; row < rows; ) {
    let end = row + 1;
    while (end < rows && left.outline.endOf(end) - left.outline.offsets.at(row) < STRETCH) end++;
    const [a, b] = await Promise.all([part(left, row, end), part(right, row, end)]);
    if (!same(a, b)) {
      for (; row < end; row++) if (!same(await part(left, row, row + 1), await part(right, row, row + 1))) return row;
    }
    row = end;
  }
  return rows;
}

/** The lines `from` to `to`; the last of a file may lack its line end. */
async function part({ outline, store }: Log, from: number, to: number): Promise<Uint8Array> {
  const bytes = await store.read(outline.offsets.at(from), outline.endOf(to - 1));
  return bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let at = 0; at < a.length; at++) if (a[at] !== b[at]) return false;
  return true;
}
