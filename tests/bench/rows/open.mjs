import { log } from '../inputs.mjs';
import { jsonl } from '../lines.mjs';
import { timed } from '../measure.mjs';
import { chosen, compare, contestants, withPi } from './compare.mjs';

const bytes = (chunks) => chunks.reduce((total, chunk) => total + chunk.length, 0);

const row = (name, work, goal, sizes, compacted, { full = false } = {}) => ({
  name, work, goal, full,
  unit: 'ms',
  async run(options) {
    let messages;
    return compare({
      // A million events of four kinds of objects would be a test of the collector.
      adapters: chosen(full ? { ours: contestants.ours, peer: contestants.peer } : await withPi(), options),
      sizes,
      rounds: options.short ? 3 : 9,
      warmup: full || options.short ? 1 : 2,
      prepare(adapter, events) {
        const chunks = jsonl(adapter, log(events, { compacted }));
        const size = bytes(chunks);
        messages = undefined;
        return {
          run() {
            let session;
            let derived;
            const elapsed = timed(() => {
              session = adapter.open(chunks, size);
              derived = adapter.derive(session);
              return derived;
            });
            // All of them must have derived the same number of messages.
            messages ??= derived.length;
            if (derived.length !== messages) throw new Error(`${adapter.name} derives ${derived.length} messages, another ${messages}`);
            adapter.free(session);
            return elapsed;
          },
        };
      },
    });
  },
});

export default [
  row('open-100k-compacted', 'open 100,000 events (30 MB), compacted', 5, [10_000, 100_000], true),
  row('open-100k', 'open 100,000 events (30 MB)', 5, [10_000, 100_000], false),
  row('open-1m-compacted', 'open 1,000,000 events (300 MB), compacted', 8, [100_000, 1_000_000], true, { full: true }),
  row('open-1m', 'open 1,000,000 events (300 MB)', 5, [100_000, 1_000_000], false, { full: true }),
];
