import { chunks, structuredResults, textResults } from '../inputs.mjs';
import { timed } from '../measure.mjs';
import { chosen, compare, withPi } from './compare.mjs';

/** Events whose bytes are taken at once: what a model streams between two looks of a write-behind adapter. */
const BATCH = 256;

const row = (name, work, goal, items, count) => ({
  name, work, goal,
  unit: 'µs/event',
  async run(options) {
    const size = options.short ? count / 4 : count;
    return compare({
      adapters: chosen(await withPi(), options),
      sizes: [size / 10, size],
      per: (events) => 1000 / events,
      rounds: options.short ? 5 : 15,
      warmup: options.short ? 2 : 3,
      prepare(adapter, events) {
        const payloads = items(events).map(adapter.payload);
        if (adapter.text) check(adapter, payloads);
        return {
          run() {
            const session = adapter.create();
            const elapsed = timed(() => adapter.write(session, payloads, BATCH));
            adapter.free(session);
            return elapsed;
          },
        };
      },
    });
  },
});

/** The bytes that are taken must be those that `JSON.stringify` makes of the events. */
function check(adapter, payloads) {
  const session = adapter.create();
  const wanted = payloads.map((payload) => `${JSON.stringify(adapter.append(session, payload))}\n`).join('');
  if (adapter.text(session) !== wanted) throw new Error(`${adapter.name}: bytes differ from JSON.stringify`);
  adapter.free(session);
}

export default [
  row('append-chunk', 'append a 100-byte chunk, with its bytes', 8, chunks, 40_000),
  row('append-text', 'append a 4 KB text result, with its bytes', 5, textResults, 4000),
  row('append-structured', 'append a 4 KB structured result, with its bytes', 7, structuredResults, 2000),
];
