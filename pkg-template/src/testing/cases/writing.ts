/** When and how events are written. */

import type { EventBatch, StoredPosition } from '../../persistence/backend.js';
import { equal, ok, rejects } from '../check.js';
import type { ConformanceCase } from '../entry.js';
import { header, lines, openTurn, place, plant, runTurn, say, stored, user, whole, within } from '../sessions.js';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

function batch(position: StoredPosition | undefined, ...texts: string[]): EventBatch {
  return { id: 'a', position, header: encode(lines(header('a'))), count: texts.length, lines: texts.map((text) => encode(`${text}\n`)), retry: false };
}

export const writingCases: readonly ConformanceCase[] = [
  {
    name: 'nothing is stored for a session without events',
    run: async (setup) => {
      const storage = await setup();
      await within(storage, async ({ store, adapter }) => {
        const session = store.create('a');
        await store.flush(session);
        await adapter.flush();
        equal(await adapter.list(), { sessions: [], broken: [] }, 'the listing');
      });
      equal(await stored(storage, 'a'), undefined, 'what is stored');
      await within(storage, ({ adapter }) => rejects(adapter.load('a'), 'SESSION_NOT_FOUND', 'loading it').then(() => undefined));
    },
  },
  {
    name: 'a batch must continue the stored log',
    run: async (setup) => {
      const storage = await setup();
      const backend = await storage.open();
      const first = await backend.appendBatch(batch(undefined, user(0), user(1)));
      equal(first.seq, 2, 'the position');
      const second = await backend.appendBatch(batch(first, user(2)));
      equal(second.seq, 3, 'the next position');
      const log = lines(header('a'), user(0), user(1), user(2));
      // From another process, which has seen less, or more, or nothing.
      const other = await storage.open();
      await rejects(other.appendBatch(batch(first, user(2, 'other'))), 'WRITE_CONFLICT', 'a batch at a stale position');
      await rejects(other.appendBatch(batch({ ...second, seq: 4, bytes: second.bytes + 9 }, user(4))), 'WRITE_CONFLICT', 'a batch behind a gap');
      await rejects(other.appendBatch(batch(undefined, user(0, 'other'))), 'SESSION_COLLISION', 'a batch that makes the log anew');
      await rejects(other.commitRepair(batch(first, user(2, 'other'))), 'WRITE_CONFLICT', 'a repair at a stale position');
      await rejects(other.appendBatch({ ...batch(second, user(3)), id: 'b' }), 'WRITE_CONFLICT', 'a batch for a log that is not there');
      equal(await stored(storage, 'a'), log, 'what is stored');
      await backend.close?.();
      await other.close?.();
    },
  },
  {
    name: 'an empty batch makes a log without events, and changes none that is there',
    run: async (setup) => {
      const storage = await setup();
      const backend = await storage.open();
      const first = await backend.appendBatch(batch(undefined));
      equal(await stored(storage, 'a'), lines(header('a')), 'the log without events');
      const again = await backend.appendBatch(batch(first));
      const next = await backend.appendBatch(batch(again, user(0)));
      const last = await backend.appendBatch(batch(next));
      equal([first.seq, again.seq, next.seq, last.seq], [0, 0, 1, 1], 'the positions');
      equal(await stored(storage, 'a'), lines(header('a'), user(0)), 'what is stored');
      await backend.close?.();
    },
  },
  {
    name: 'a batch that fails half way is absent, or there in whole events',
    run: async (setup) => {
      const storage = await setup();
      const backend = await storage.open();
      const first = await backend.appendBatch(batch(undefined, user(0)));
      const broken: EventBatch = {
        ...batch(first, user(1), user(2)),
        lines: {
          *[Symbol.iterator]() {
            yield encode(lines(user(1)));
            throw new Error('the session was freed');
          },
        },
      };
      let failed = false;
      await backend.appendBatch(broken).catch(() => (failed = true));
      ok(failed, 'the batch has been taken');
      const kept = [lines(header('a'), user(0)), lines(header('a'), user(0), user(1))];
      ok(kept.includes((await stored(storage, 'a')) ?? ''), 'something else is stored');
      const next = await backend.appendBatch({ ...batch(first, user(1), user(2)), retry: true });
      equal(next.seq, 3, 'the position after the retry');
      equal(await stored(storage, 'a'), lines(header('a'), user(0), user(1), user(2)), 'what is stored');
      await backend.close?.();
    },
  },
  {
    name: 'many sessions and flushes at once stay in order',
    run: async (setup) => {
      const storage = await setup();
      await within(storage, async ({ store, adapter }) => {
        const sessions = Array.from({ length: 20 }, (_, i) => store.create(`s${i}`));
        const flushes: Promise<void>[] = [];
        for (let round = 0; round < 5; round++) {
          for (const session of sessions) {
            say(session, `${session.id} ${round}`);
            flushes.push(store.flush(session));
          }
          await Promise.resolve();
        }
        await Promise.all(flushes);
        for (const session of sessions) {
          equal(await stored(storage, session.id), whole(session), session.id);
          equal(adapter.state(session.id), { status: 'durable', durableSeq: 4 }, `the state of ${session.id}`);
        }
      });
    },
  },
  {
    name: 'closing waits until all is stored',
    run: async (setup) => {
      const storage = await setup();
      const at = await place(storage);
      const sessions = Array.from({ length: 10 }, (_, i) => at.store.create(`s${i}`));
      for (const session of sessions) runTurn(session);
      at.store.detach(sessions[0] ?? at.store.create());
      await at.adapter.close();
      for (const session of sessions) equal(await stored(storage, session.id), whole(session), session.id);
      equal(at.reported, [], 'reported failures');
    },
  },
  {
    name: 'an event is written a moment later without a flush',
    run: async (setup) => {
      const storage = await setup();
      const at = await place(storage, { timed: true });
      const saved = new Promise<void>((resolve) => at.adapter.on('state', (_id, { status }) => status === 'durable' && resolve()));
      const session = at.store.create('a');
      say(session, 'hi');
      await saved;
      equal(await stored(storage, 'a'), whole(session), 'what is stored');
      await at.adapter.close();
    },
  },
  {
    name: 'a fork of a live session has its prefix stored once',
    run: async (setup) => {
      const storage = await setup();
      await within(storage, async ({ store, adapter }) => {
        const parent = store.create('a', { meta: { cwd: '/p' } });
        for (let turn = 1; turn <= 60; turn++) runTurn(parent, turn);
        await adapter.flush();
        const child = store.fork(parent, 299, 'b');
        openTurn(child, 51);
        await adapter.flush();
        say(child, 'more');
        await adapter.flush();
        equal(await stored(storage, 'b'), whole(child), 'the child');
        equal(await stored(storage, 'a'), whole(parent), 'the parent');
        ok(child.header.parentSession === 'a' && child.header.seedLength === 300 && child.header.cwd === '/p', 'the lineage');
      });
    },
  },
  {
    name: 'appending to a log that was planted continues it',
    run: async (setup) => {
      const storage = await setup();
      await plant(storage, 'a', lines(header('a'), user(0)));
      await within(storage, async ({ adapter, store }) => {
        const session = await adapter.load('a');
        say(session, 'more');
        await store.flush(session);
        equal(await stored(storage, 'a'), whole(session), 'what is stored');
      });
    },
  },
];
