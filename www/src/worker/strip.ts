/** The log as a strip: rows put into as many bins as there are pixels, evenly or by their times. */

import { FAMILIES, familyOf, Flag, Kind, NONE } from '../lib/kinds.js';
import type { StripBins } from '../lib/protocol.js';
import type { Log } from './log.js';

/** Most rows that are looked at for the families; beyond it a sample tells enough. */
const SAMPLE = 200_000;

export function stripOf({ outline }: Log, from: number, to: number, bins: number, axis: 'events' | 'time'): StripBins {
  const length = Math.max(1, to - from);
  const [startTime, endTime] = [outline.times.at(from), outline.times.at(Math.max(from, to - 1))];
  const span = Math.max(1, endTime - startTime);
  const make = (): Float64Array => new Float64Array(bins);
  const [count, tokens, durations, errors, replaces] = [make(), make(), make(), make(), make()];
  const families = new Uint8Array(bins);
  const turns = new Uint8Array(bins);
  // Times may run backwards: they are kept within the strip.
  const share = (row: number): number => (axis === 'time' ? Math.max(0, (outline.times.at(row) - startTime) / span) : (row - from) / length);
  const bin = (row: number): number => Math.min(bins - 1, Math.floor(share(row) * bins));
  const tally = new Uint32Array(bins * FAMILIES.length);
  const stride = Math.max(1, Math.floor(length / SAMPLE));
  for (let row = from; row < to; row += stride) {
    const at = bin(row);
    count[at]! += stride;
    tally[at * FAMILIES.length + FAMILIES.indexOf(familyOf(outline.kinds.at(row)))]!++;
  }
  const firstRow = new Uint32Array(bins);
  let next = 0;
  for (let row = from; row < to; row++) {
    // A bin without rows of its own leads to the row before it.
    for (const last = bin(row); next <= last; next++) firstRow[next] = next === last ? row : Math.max(from, row - 1);
    const flags = outline.flags.at(row);
    if ((flags & Flag.error) !== 0) errors[bin(row)]!++;
    if ((flags & Flag.replace) !== 0) replaces[bin(row)]!++;
  }
  for (let at = 0; at < bins; at++) {
    let most = 0;
    // Chunks and the frame of turns and steps are everywhere: they colour a bin only where nothing else is.
    for (const [family, name] of FAMILIES.entries()) {
      const weight = name === 'chunk' || name === 'turn' ? 0.001 : 1;
      const value = tally[at * FAMILIES.length + family]! * weight;
      if (value > most) {
        most = value;
        families[at] = family;
      }
    }
  }
  const { steps } = outline;
  for (let step = Math.max(0, steps.row.lastAtMost(from)); step < steps.row.length && steps.row.at(step) < to; step++) {
    const row = steps.row.at(step);
    if (row < from) continue;
    const end = steps.end.at(step);
    const at = bin(row);
    tokens[at]! += steps.input.at(step) + steps.cacheRead.at(step) + steps.cacheWrite.at(step) + steps.output.at(step);
    if (end !== NONE) durations[at]! += Math.max(0, outline.times.at(end) - outline.times.at(row));
  }
  for (let turn = Math.max(0, outline.turns.row.lastAtMost(from)); turn < outline.turns.row.length && outline.turns.row.at(turn) < to; turn++) {
    const row = outline.turns.row.at(turn);
    if (row >= from && outline.kinds.at(row) === Kind.turnStart) turns[bin(row)] = 1;
  }
  firstRow.fill(Math.max(from, to - 1), next);
  return { from, to, firstRow, count, tokens, duration: durations, errors, replaces, families, turns, startTime, endTime };
}
