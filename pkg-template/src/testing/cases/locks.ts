/** One writer for each session, any number of readers. */

import { equal, ok, rejects } from '../check.js';
import type { ConformanceCase } from '../entry.js';
import { openTurn, place, runTurn, say, stored, whole, within } from '../sessions.js';

export const lockCases: readonly ConformanceCase[] = [
  {
    name: 'a second writer is refused at once, whoever came first',
    needs: ['locks'],
    run: async (setup) => {
      const storage = await setup();
      const [one, two] = [await place(storage), await place(storage)];
      const session = one.store.create('a');
      runTurn(session);
      await one.store.flush(session);
      await rejects(two.adapter.load('a'), 'SESSION_LOCKED', 'loading what another store has created');
      const rival = two.store.create('a');
      say(rival, 'mine');
      await rejects(two.store.flush(rival), 'SESSION_LOCKED', 'a new session of that id');
      two.store.detach(rival);
      equal(await stored(storage, 'a'), whole(session), 'what is stored');
      await one.adapter.close();

      const loaded = await two.adapter.load('a');
      const three = await place(storage);
      await rejects(three.adapter.load('a'), 'SESSION_LOCKED', 'loading what another store has loaded');
      await rejects(three.adapter.delete('a'), 'SESSION_LOCKED', 'deleting it');
      runTurn(loaded, 2);
      await two.adapter.close();
      equal(whole(await three.adapter.load('a')), whole(loaded), 'once it is free');
      await three.adapter.close();
    },
  },
  {
    name: 'the refusal says since when',
    needs: ['locks'],
    run: async (setup) => {
      const storage = await setup();
      const before = Date.now();
      const one = await place(storage);
      say(one.store.create('a'), 'hi');
      await one.adapter.flush();
      const two = await place(storage);
      const error = await rejects(two.adapter.load('a'), 'SESSION_LOCKED', 'loading it');
      const since = /since (\S+?)[;,]/.exec(error.message)?.[1];
      ok(since !== undefined && Date.parse(since) >= before - 1000 && Date.parse(since) <= Date.now(), `since when: ${error.message}`);
      await one.adapter.close();
      await two.adapter.close();
    },
  },
  {
    name: 'a session that leaves the store is free, and locked again when it comes back',
    needs: ['locks'],
    run: async (setup) => {
      const storage = await setup();
      const [one, two] = [await place(storage), await place(storage)];
      const session = one.store.create('a');
      runTurn(session, 1);
      await one.store.flush(session);
      one.store.detach(session);
      // Given back behind the last write.
      await one.adapter.flush();
      const taken = await two.adapter.load('a').catch(() => new Promise((resolve) => setTimeout(resolve, 100)).then(() => two.adapter.load('a')));
      one.store.enter(session);
      one.store.announce(session);
      runTurn(session, 2);
      await rejects(one.store.flush(session), 'SESSION_LOCKED', 'writing it again');
      two.store.detach(taken);
      await two.adapter.close();
      await one.store.flush(session);
      equal(await stored(storage, 'a'), whole(session), 'what is stored');
      await one.adapter.close();
    },
  },
  {
    name: 'other sessions of the storage can be written at the same time',
    needs: ['locks'],
    run: async (setup) => {
      const storage = await setup();
      const places = await Promise.all([place(storage), place(storage), place(storage)]);
      const sessions = places.map(({ store }, index) => store.create(`s${index}`));
      for (let round = 0; round < 5; round++) {
        for (const session of sessions) say(session, `${round}`);
        await Promise.all(places.map(({ adapter }) => adapter.flush()));
      }
      for (const session of sessions) equal(await stored(storage, session.id), whole(session), session.id);
      for (const { adapter } of places) await adapter.close();
    },
  },
  {
    name: 'readers are never refused',
    needs: ['locks'],
    run: async (setup) => {
      const storage = await setup();
      const writer = await place(storage);
      const session = writer.store.create('a');
      openTurn(session, 1);
      await writer.store.flush(session);
      await within(storage, async ({ adapter }) => {
        equal((await adapter.list()).sessions.length, 1, 'the listing');
        const read = await adapter.read('a');
        equal([read.session.seq, read.closers.length], [3, 2], 'what was read');
        read.session.free();
        equal(new TextDecoder().decode(await adapter.export('a')), whole(session), 'the export');
      });
      say(session, 'the writer goes on');
      await writer.adapter.close();
      equal(await stored(storage, 'a'), whole(session), 'what is stored');
    },
  },
  {
    name: 'a refused or failed load holds nothing',
    needs: ['locks'],
    run: async (setup) => {
      const storage = await setup();
      await within(storage, async ({ store, adapter }) => {
        runTurn(store.create('a'));
        await adapter.flush();
      });
      const one = await place(storage);
      const stop = one.store.on('session/created', () => {
        throw new Error('no room');
      });
      await one.adapter.load('a').then(() => ok(false, 'the load was not refused'), () => undefined);
      stop();
      await within(storage, async ({ adapter }) => {
        equal((await adapter.load('a')).seq, 6, 'the events');
      });
      await one.adapter.close();
    },
  },
];
