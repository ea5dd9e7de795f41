import { userMessages } from '../inputs.mjs';
import { keep, timedEach } from '../measure.mjs';
import { chosen, compare, contestants, withPi } from './compare.mjs';

/** Derivations in one run: few beside the surface's length, and fewer of what takes milliseconds. */
const times = (adapter) => (adapter.name === 'ours' || adapter.name === 'peer' ? 1000 : 5);

/** A session with these messages, derived once. */
function ready(adapter, payloads) {
  const session = adapter.create();
  for (const payload of payloads) adapter.append(session, payload);
  keep(adapter.derive(session).length);
  return session;
}

/**
 * Only the derivations are timed, not the appends between them.
 * @param next (item, part, nodes) => the item to append; `part` goes from 0 to 1 in a run
 * @param reader (adapter, session) => the call to time
 */
const row = (name, work, goal, next, reader, peers = () => contestants) => ({
  name, work, goal,
  unit: 'µs',
  async run(options) {
    const adapters = chosen(await peers(), options);
    if (adapters.ours && reader(adapters.ours, adapters.ours.create()) === undefined) return undefined;
    return compare({
      adapters,
      sizes: [1000, 10_000],
      per: 1000,
      rounds: options.short ? 5 : 15,
      warmup: options.short ? 2 : 3,
      prepare(adapter, nodes) {
        const count = times(adapter);
        const before = userMessages(nodes).map(adapter.payload);
        const payloads = userMessages(count, 6).map((item, i) => adapter.payload(next(item, (i + 0.5) / count, nodes)));
        return {
          async run() {
            const session = ready(adapter, before);
            const read = reader(adapter, session);
            const elapsed = await timedEach(count, (call, i) => {
              adapter.append(session, payloads[i]);
              call(read);
            });
            adapter.free(session);
            return elapsed / (read.repeats ?? 1);
          },
        };
      },
    });
  },
});

/** Node `at` of the surface gives way to the new one; the surface keeps its length. */
function pruned(item, part, nodes) {
  const at = Math.floor(nodes * part);
  return { ...item, replace: { start: at, end: at, sources: [at] } };
}

const derived = (adapter, session) => () => adapter.derive(session);

export default [
  row('derive-append', 'derive after an append, 10,000 nodes', 4, (item) => item, derived, withPi),
  row('derive-changes', 'changesSince after an append, 10,000 nodes; others derive', 40, (item) => item,
    (adapter, session) => (adapter.name === 'ours' ? adapter.changes(session) : derived(adapter, session))),
  row('derive-replace', 'derive after a replace, 10,000 nodes', 50, pruned, derived),
];
