/** Stored sessions that are forked, deleted, exported and imported without being live. */

import type { Session } from '../../session.js';
import { equal, ok, rejects } from '../check.js';
import type { ConformanceCase } from '../entry.js';
import { header, lines, openTurn, place, plant, runTurn, say, stored, turnEnd, user, whole, within } from '../sessions.js';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The events of a stored log, without its header line. */
async function eventsOf(storage: Parameters<typeof stored>[0], id: string): Promise<string | undefined> {
  const log = await stored(storage, id);
  return log?.slice(log.indexOf('\n') + 1);
}

const decode = (session: Session, to: number): string => new TextDecoder().decode(session.jsonl(0, to));

export const manageCases: readonly ConformanceCase[] = [
  {
    name: 'a stored session is forked without being live',
    run: async (setup) => {
      const storage = await setup();
      const parent = await within(storage, async ({ store, adapter }) => {
        const session = store.create('a', { meta: { cwd: '/p' } });
        for (let turn = 1; turn <= 50; turn++) runTurn(session, turn);
        await adapter.flush();
        return session;
      });
      await within(storage, async ({ store, adapter }) => {
        const child = await adapter.fork('a', 59, { childId: 'b' });
        equal([child.id, child.parentSession, child.seedLength, child.cwd], ['b', 'a', 60, '/p'], 'the header');
        const all = await adapter.fork('a');
        equal([all.seedLength, store.list().length], [300, 0], 'the whole of it');
        equal(await eventsOf(storage, 'b'), decode(parent, 60), 'the child');
        equal(await eventsOf(storage, all.id), decode(parent, 300), 'the child of the whole');
        equal((await adapter.list()).sessions.length, 3, 'the listing');

        // A child goes on by itself, and its own child inherits from both.
        const session = await adapter.load('b');
        runTurn(session, 11);
        await store.flush(session);
        equal(await stored(storage, 'b'), whole(session), 'the child with events of its own');
        await adapter.fork('b', 65, { childId: 'c' });
        await adapter.fork('b', 29, { childId: 'd' });
        equal(await eventsOf(storage, 'c'), decode(session, 66), 'the grandchild');
        equal(await eventsOf(storage, 'd'), decode(session, 30), 'the grandchild of the inherited part');
        equal(await eventsOf(storage, 'a'), decode(parent, 300), 'the parent');
      });
    },
  },
  {
    name: 'a fork that cannot be is refused as in memory',
    run: async (setup) => {
      const storage = await setup();
      await within(storage, async ({ store, adapter }) => {
        const session = store.create('a');
        runTurn(session, 1);
        openTurn(session, 2);
        await adapter.flush();
        await rejects(adapter.fork('a', 5, { childId: 'a' }), 'SESSION_ALREADY_EXISTS', 'a live child');
        await rejects(adapter.fork('x', 5), 'SESSION_NOT_FOUND', 'an unknown source');
        for (const boundary of [-1, 9, 1.5]) await rejects(adapter.fork('a', boundary), 'INVALID_BOUNDARY', `boundary ${boundary}`);
        await rejects(adapter.fork('a', 4), 'OPEN_TURN', 'a boundary inside a turn');
        await rejects(adapter.fork('a'), 'OPEN_TURN', 'the last event, inside a turn');
        await adapter.fork('a', 5, { childId: 'b' });
        await rejects(adapter.fork('a', 5, { childId: 'b' }), 'SESSION_COLLISION', 'a child that is stored');
        equal((await adapter.list()).sessions.length, 2, 'the listing');
      });
    },
  },
  {
    name: 'a deleted session is gone, and its forks keep all they have',
    needs: ['delete'],
    run: async (setup) => {
      const storage = await setup();
      await within(storage, async ({ store, adapter }) => {
        const session = store.create('a');
        for (let turn = 1; turn <= 20; turn++) runTurn(session, turn);
        await adapter.flush();
        await rejects(adapter.delete('a'), 'SESSION_ALREADY_EXISTS', 'deleting a live one');
        for (const [id, boundary] of [['b', 119], ['c', 59], ['d', 29], ['e', 119]] as const) await adapter.fork('a', boundary, { childId: id });
        const c = await adapter.load('c');
        runTurn(c, 11);
        await store.flush(c);
        await adapter.fork('c', 65, { childId: 'f' });
        store.detach(session);
        await adapter.delete('a');
        equal(await stored(storage, 'a'), undefined, 'the deleted one');
        await rejects(adapter.load('a'), 'SESSION_NOT_FOUND', 'loading it');
        await rejects(adapter.delete('a'), 'SESSION_NOT_FOUND', 'deleting it again');
        const intact = async (deleted: string): Promise<void> => {
          for (const [id, length] of [['b', 120], ['d', 30], ['e', 120]] as const) {
            if (!deleted.includes(id)) equal(await eventsOf(storage, id), decode(session, length), `${id} without ${deleted}`);
          }
          if (!deleted.includes('c')) equal(await stored(storage, 'c'), whole(c), `c without ${deleted}`);
          equal(await eventsOf(storage, 'f'), decode(c, 66), `f without ${deleted}`);
        };
        await intact('a');
        store.detach(c);
        await adapter.delete('c');
        await intact('ac');
        await adapter.delete('b');
        await intact('abc');
        await adapter.delete('e');
        await intact('abce');
        // The id is free for another one.
        const again = store.create('a');
        say(again, 'anew');
        await adapter.flush();
        equal(await stored(storage, 'a'), whole(again), 'another one of that id');
        const f = await adapter.load('f');
        runTurn(f, 12);
        await store.flush(f);
        equal(await stored(storage, 'f'), whole(f), 'f goes on');
      });
    },
  },
  {
    name: 'an export is the log, and can be imported elsewhere',
    run: async (setup) => {
      const [here, there] = [await setup(), await setup()];
      const bytes = await within(here, async ({ store, adapter }) => {
        const session = store.create('a', { meta: { cwd: '/p', createdAt: 7 } });
        runTurn(session);
        const exported = await adapter.export('a');
        equal(new TextDecoder().decode(exported), whole(session), 'the export of a live session');
        return exported;
      });
      await within(there, async ({ store, adapter }) => {
        const { header: found, events, tornBytes } = await adapter.import(bytes);
        equal([found.id, found.cwd, events, tornBytes], ['a', '/p', 6, 0], 'the import');
        equal(await stored(there, 'a'), new TextDecoder().decode(bytes), 'what is stored');
        await rejects(adapter.import(bytes), 'SESSION_COLLISION', 'importing it again');
        equal((await adapter.load('a')).seq, 6, 'the loaded one');
        await rejects(adapter.import(bytes), 'SESSION_ALREADY_EXISTS', 'importing what is live');
        equal(store.list().length, 1, 'live sessions');
        await rejects(adapter.export('x'), 'SESSION_NOT_FOUND', 'exporting what is not there');
      });
    },
  },
  {
    name: 'an import takes no damage, and says what it leaves out',
    run: async (setup) => {
      const storage = await setup();
      const at = await place(storage);
      await rejects(at.adapter.import(encode(lines(header('a'), user(0), user(2), turnEnd(3)))), 'SEQ_MISMATCH', 'a gap');
      await rejects(at.adapter.import(encode('hello\n')), 'INVALID_HEADER', 'no log at all');
      equal(await at.adapter.list(), { sessions: [], broken: [] }, 'the listing');
      const log = lines(header('a'), user(0));
      async function* chunks(): AsyncGenerator<Uint8Array> {
        for (const byte of encode(`${log}{"type":"us`)) yield Uint8Array.of(byte);
      }
      const { events, tornBytes } = await at.adapter.import(chunks());
      equal([events, tornBytes], [1, 11], 'the import');
      equal(await stored(storage, 'a'), log, 'what is stored');
      await at.adapter.close();
    },
  },
  {
    name: 'a torn record is not exported',
    run: async (setup) => {
      const storage = await setup();
      const log = lines(header('a'), user(0));
      await plant(storage, 'a', `${log}{"type":"us`);
      await within(storage, async ({ adapter }) => {
        equal(new TextDecoder().decode(await adapter.export('a')), log, 'the export');
      });
      ok((await stored(storage, 'a'))?.startsWith(`${log}{"type":"us`) === true, 'the export changed something');
    },
  },
];
