// What all rows do: the same work by each contestant at the row's size and at a tenth of it.
import { figures, measure, median } from '../measure.mjs';
import * as dsh from '../peers/dsh.mjs';
import * as ours from '../peers/palimpsest.mjs';
import * as seed from '../peers/seed.mjs';

/** Our adapter, the original's and the seed design's. pi takes part only where its vocabulary has the work. */
export const contestants = { ours, peer: dsh, seed };
export async function withPi() {
  const pi = await import('../peers/pi.mjs');
  // In a page it is left out.
  return pi.name === undefined ? contestants : { ...contestants, pi };
}

/** Those of `all` that take part: the command line's choice, else all, else in a short run only the two of the goals. */
export function chosen(all, { short, only = short ? ['ours', 'peer'] : Object.keys(all) }) {
  return Object.fromEntries(Object.entries(all).filter(([name]) => only.includes(name)));
}

/**
 * @param sizes the sizes to measure, the row's own last; the one before is a tenth of it and gives the growth
 * @param prepare (adapter, size) => { run: () => milliseconds, close? }
 * @param per what a run's time is divided by, and multiplied to get `unit` from milliseconds
 */
export async function compare({ adapters, sizes, prepare, per = 1, rounds, warmup }) {
  const found = [];
  for (const size of sizes) {
    const ready = {};
    for (const [name, adapter] of Object.entries(adapters)) {
      const made = await prepare(adapter, size);
      if (made !== undefined) ready[name] = made;
    }
    const runs = Object.fromEntries(Object.entries(ready).map(([name, { run }]) => [name, run]));
    found.push(await measure(runs, { rounds, warmup }));
    for (const { close } of Object.values(ready)) await close?.();
  }
  const own = found.at(-1);
  const factor = typeof per === 'function' ? per(sizes.at(-1)) : per;
  const result = figures(own, factor);
  if (found.length > 1) {
    result.growth = Object.fromEntries(Object.keys(own).map((name) => [name, median(own[name]) / median(found[0][name])]));
  }
  return result;
}
