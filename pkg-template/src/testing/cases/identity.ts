/** Which log belongs to which session. */

import { equal, rejects } from '../check.js';
import type { ConformanceCase } from '../entry.js';
import { attach } from '../../persistence/coordinator.js';
import { SessionStore } from '../../store.js';
import { openTurn, place, runTurn, say, stored, whole, within } from '../sessions.js';

export const identityCases: readonly ConformanceCase[] = [
  {
    name: 'sessions that are live already are saved from their beginning',
    run: async (setup) => {
      const storage = await setup();
      const store = new SessionStore();
      const session = store.create('a');
      runTurn(session, 1);
      const adapter = attach(store, await storage.open());
      runTurn(session, 2);
      await adapter.close();
      equal(await stored(storage, 'a'), whole(session), 'what is stored');
    },
  },
  {
    name: 'a live session that was saved before continues its own log',
    run: async (setup) => {
      const storage = await setup();
      const store = new SessionStore();
      const session = store.create('a', { meta: { cwd: '/p' } });
      runTurn(session, 1);
      await attach(store, await storage.open()).close();
      runTurn(session, 2);
      const adapter = attach(store, await storage.open());
      runTurn(session, 3);
      await adapter.close();
      equal(await stored(storage, 'a'), whole(session), 'what is stored');
    },
  },
  {
    name: 'a new session neither adopts nor overwrites what is stored under its id',
    run: async (setup) => {
      const storage = await setup();
      const original = await within(storage, async ({ store, adapter }) => {
        const session = store.create('a', { meta: { createdAt: 5 } });
        runTurn(session);
        await adapter.flush();
        return whole(session);
      });
      const at = await place(storage);
      const intruder = at.store.create('a', { meta: { createdAt: 5 } });
      say(intruder, 'mine');
      for (let attempt = 0; attempt < 2; attempt++) await rejects(at.store.flush(intruder), 'SESSION_COLLISION', 'flushing another session of that id');
      equal(await stored(storage, 'a'), original, 'what is stored');
      // Once it has left, the stored one can be had.
      at.store.detach(intruder);
      equal(whole(await at.adapter.load('a')), original, 'the loaded one');
      await at.adapter.close();
    },
  },
  {
    name: 'a live session is not adopted into a log that is not its beginning',
    run: async (setup) => {
      const storage = await setup();
      const original = await within(storage, async ({ store, adapter }) => {
        const session = store.create('a', { meta: { createdAt: 5 } });
        runTurn(session, 1);
        await adapter.flush();
        return whole(session);
      });
      const store = new SessionStore();
      const other = store.create('a', { meta: { createdAt: 5 } });
      openTurn(other, 2);
      const adapter = attach(store, await storage.open(), { timers: { setTimeout: () => undefined, clearTimeout: () => undefined } });
      await rejects(adapter.flush(), 'SESSION_COLLISION', 'flushing it');
      store.detach(other);
      await adapter.close();
      equal(await stored(storage, 'a'), original, 'what is stored');
    },
  },
  {
    name: 'a different working directory is a different session',
    run: async (setup) => {
      const storage = await setup();
      const places = ['/one', '/two', undefined];
      await within(storage, async ({ store, adapter }) => {
        for (const cwd of places) {
          const session = store.create('a', { meta: { cwd } });
          say(session, cwd ?? 'none');
          await store.flush(session);
          store.detach(session);
        }
        equal((await adapter.list()).sessions.map(({ cwd }) => cwd ?? '').sort(), ['', '/one', '/two'], 'the listing');
      });
      const at = await place(storage);
      await rejects(at.adapter.load('a'), 'SESSION_COLLISION', 'loading one of several');
      await rejects(at.adapter.load('a', { cwd: '/three' }), 'SESSION_NOT_FOUND', 'loading one that is not there');
      for (const cwd of places) {
        const session = await at.adapter.load('a', { cwd: cwd ?? null });
        equal(session.header.cwd, cwd, 'the working directory');
        say(session, 'again');
        await at.store.flush(session);
        equal(await stored(storage, 'a', cwd ?? null), whole(session), `what is stored for ${cwd ?? 'none'}`);
        at.store.detach(session);
      }
      await at.adapter.close();
    },
  },
  {
    name: 'a session keeps its log when it leaves and comes back',
    run: async (setup) => {
      const storage = await setup();
      const at = await place(storage);
      const session = at.store.create('a');
      runTurn(session, 1);
      at.store.detach(session);
      await at.adapter.flush();
      runTurn(session, 2);
      at.store.enter(session);
      at.store.announce(session);
      runTurn(session, 3);
      await at.adapter.close();
      equal(await stored(storage, 'a'), whole(session), 'what is stored');
    },
  },
];
