import { log } from '../inputs.mjs';
import { jsonl } from '../lines.mjs';
import { timedEach } from '../measure.mjs';
import { chosen, compare, contestants } from './compare.mjs';

/** Forks in one run of ours; one is too short for the clock. The others copy the log, once a run. */
const FORKS = 50;

export default [
  {
    name: 'fork', work: 'fork a log of 100,000 events', goal: 10_000, unit: 'µs',
    run: (options) =>
      compare({
        adapters: chosen(contestants, options),
        sizes: [10_000, 100_000],
        per: 1000,
        rounds: options.short ? 3 : 11,
        warmup: options.short ? 1 : 2,
        async prepare(adapter, events) {
          const chunks = jsonl(adapter, log(events));
          const { fork, drop, close } = await adapter.forking(chunks, events * 400);
          const forks = adapter.name === 'ours' ? FORKS : 1;
          return {
            run: () =>
              timedEach(forks, async (call) => {
                const child = call(fork);
                // The original marks the end of the seed with an event of its own.
                if (child.seq !== events && child.seq !== events + 1) throw new Error(`${adapter.name}: the fork has ${child.seq} events`);
                await drop(child);
              }),
            close,
          };
        },
      }),
  },
];
