// Timing: contestants take turns within each round, so that what disturbs the machine disturbs all of them.
import process from 'node:process';
import { threadClock } from './thread-clock.mjs';

/** Milliseconds of the wall clock, or with `run.mjs --clock cpu` of this thread's time on a processor. */
const clock = process.env.BENCH_CLOCK === 'cpu' ? threadClock() : () => performance.now();

/** What two readings in a row differ by. */
const OVERHEAD = quantile(Array.from({ length: 999 }, () => -clock() + clock()), 0.5);

let sink = 0;

/** Makes a result count, so that the work behind it cannot be left out. */
export function keep(value) {
  sink = (sink + (typeof value === 'number' ? value : (value.length ?? value.seq))) % 1e9;
  return value;
}

export const kept = () => sink;

/** Collects what came before, where the process was started with --expose-gc. */
export const collect = () => globalThis.gc?.();

/** Milliseconds that `work` takes, after a collection of what came before. */
export function timed(work) {
  collect();
  const start = clock();
  keep(work());
  return clock() - start - OVERHEAD;
}

/**
 * Milliseconds of one call among many short ones: their mean without the slowest tenth, by the wall clock, since reading
 * the other one takes as long as they do. What is cut off is the scheduler and most of the collector.
 * @param step (call) => void: makes ready, and gives the work to `call`
 */
export async function timedEach(times, step) {
  collect();
  const each = [];
  for (let i = 0; i < times; i++) {
    await step((work) => {
      const start = performance.now();
      const result = work();
      each.push(performance.now() - start);
      return keep(result);
    }, i);
  }
  const kept = each.sort((a, b) => a - b).slice(0, Math.ceil(times * 0.9));
  return kept.reduce((total, time) => total + time, 0) / kept.length;
}

/**
 * Runs every contestant once a round; who begins rotates. The first rounds warm up and are not counted.
 * @param contestants { name: () => milliseconds or a promise of them }
 * @returns { name: [milliseconds of each round] }
 */
export async function measure(contestants, { rounds, warmup }) {
  const names = Object.keys(contestants);
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -warmup; round < rounds; round++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(turn + round + warmup) % names.length];
      const elapsed = await contestants[name]();
      if (round >= 0) samples[name].push(elapsed);
    }
  }
  return samples;
}

export function quantile(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const below = Math.floor(at);
  const above = sorted[Math.min(below + 1, sorted.length - 1)];
  return sorted[below] + (above - sorted[below]) * (at - below);
}

export const median = (values) => quantile(values, 0.5);

/**
 * The figures of a row: each contestant's median times `factor`, and the peer's median / ours, with the quartiles of the
 * ratios within each round.
 */
export function figures(samples, factor = 1) {
  const { ours, peer } = samples;
  const found = Object.fromEntries(Object.entries(samples).map(([name, values]) => [name, median(values) * factor]));
  if (!ours || !peer) return found;
  const each = peer.map((time, round) => time / ours[round]);
  return { ...found, ratio: median(peer) / median(ours), spread: [quantile(each, 0.25), quantile(each, 0.75)], rounds: each.length };
}
