/** Following: every event once, in order, whoever writes it. */

import type { PersistenceAdapter } from '../../persistence/adapter.js';
import { equal, ok, rejects } from '../check.js';
import type { ConformanceCase } from '../entry.js';
import { place, plant, header, lines, user, runTurn, say, within } from '../sessions.js';

/** Follows until `count` events have come. */
async function collect(adapter: PersistenceAdapter, id: string, count: number, from?: number): Promise<number[]> {
  const seqs: number[] = [];
  for await (const event of adapter.follow(id, { from, interval: 50 })) {
    ok(Object.isFrozen(event) && Object.isFrozen(event.data), 'an event that is not frozen');
    if (seqs.push(event.seq) >= count) break;
  }
  return seqs;
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

export const followCases: readonly ConformanceCase[] = [
  {
    name: 'a follower gets history and what comes, each event once and in order',
    run: async (setup) => {
      const storage = await setup();
      const [writer, reader] = [await place(storage, { timed: true }), await place(storage, { timed: true })];
      const session = writer.store.create('a');
      for (let i = 0; i < 50; i++) say(session, `${i}`);
      await writer.store.flush(session);
      const followers = [collect(reader.adapter, 'a', 250), collect(reader.adapter, 'a', 200, 50), collect(writer.adapter, 'a', 250)];
      // The seam between history and live is somewhere in here.
      for (let i = 50; i < 250; i++) {
        say(session, `${i}`);
        if (i % 7 === 0) await writer.store.flush(session);
        if (i % 40 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await writer.store.flush(session);
      equal(await Promise.all(followers), [range(0, 250), range(50, 250), range(0, 250)], 'the events');
      await writer.adapter.close();
      await reader.adapter.close();
    },
  },
  {
    name: 'following ends when it is told to',
    run: async (setup) => {
      const storage = await setup();
      await plant(storage, 'a', lines(header('a'), user(0), user(1)));
      const at = await place(storage, { timed: true });
      const abort = new AbortController();
      const seqs: number[] = [];
      const done = (async () => {
        for await (const { seq } of at.adapter.follow('a', { signal: abort.signal })) {
          seqs.push(seq);
          if (seq === 1) setTimeout(() => abort.abort(), 10);
        }
      })();
      await done;
      equal(seqs, [0, 1], 'the events');
      await at.adapter.close();
    },
  },
  {
    name: 'a follower changes nothing, and leaves a torn record alone',
    run: async (setup) => {
      const storage = await setup();
      await plant(storage, 'a', `${lines(header('a'), user(0), user(1))}{"type":"user/m`);
      const reader = await place(storage, { timed: true });
      const following = collect(reader.adapter, 'a', 8);
      await new Promise((resolve) => setTimeout(resolve, 20));
      await within(storage, async ({ adapter, store }) => {
        const session = await adapter.load('a');
        runTurn(session);
        await store.flush(session);
      });
      equal(await following, range(0, 8), 'the events');
      await reader.adapter.close();
    },
  },
  {
    name: 'what is not stored cannot be followed',
    run: async (setup) => {
      const storage = await setup();
      await within(storage, async ({ adapter }) => {
        await rejects(adapter.follow('a').next(), 'SESSION_NOT_FOUND', 'following it');
      });
    },
  },
];
