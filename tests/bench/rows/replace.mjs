import { userMessages } from '../inputs.mjs';
import { timed } from '../measure.mjs';
import { chosen, compare, contestants } from './compare.mjs';

/** Replaces in one run, spread over the surface. */
const TIMES = 1000;

export default [
  {
    name: 'replace', work: 'append a replace, surface of 100,000 nodes', goal: 100, unit: 'µs',
    run: (options) =>
      compare({
        adapters: chosen(contestants, options),
        sizes: [10_000, 100_000],
        per: 1000 / TIMES,
        rounds: options.short ? 5 : 15,
        // The first replaces of a process are compiled anew several times.
        warmup: 5,
        prepare(adapter, nodes) {
          const session = adapter.create();
          for (const item of userMessages(nodes)) adapter.append(session, adapter.payload(item));
          const surface = Array.from({ length: nodes }, (_, seq) => seq);
          const items = userMessages(TIMES, 6);
          let used = 0;
          return {
            run() {
              const first = adapter.length(session);
              const payloads = items.map((item, i) => {
                const at = (used++ * 7919 + 13) % nodes;
                const start = surface[at];
                surface[at] = first + i;
                return adapter.payload({ ...item, replace: { start, end: start, sources: [start] } });
              });
              return timed(() => {
                for (const payload of payloads) adapter.append(session, payload);
                return adapter.length(session);
              });
            },
            close: () => adapter.free(session),
          };
        },
      }),
  },
];
