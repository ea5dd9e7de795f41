/** Crashes, damage, and what loading makes of them. */

import type { ErrorCode } from '../../errors.js';
import { equal, ok, rejects } from '../check.js';
import type { ConformanceCase } from '../entry.js';
import { header, lines, openTurn, plant, runTurn, say, stored, turnEnd, user, whole, within } from '../sessions.js';

const LAST = user(3, 'é😀 \ud83d "x"');

/** Damage that makes a log unreadable, and how that is called. */
const BROKEN: readonly (readonly [string, string, ErrorCode])[] = [
  ['a bad line in the middle', lines(header('a'), user(0), '{"type":"user/mess', user(1), turnEnd(2)), 'CORRUPT_LOG'],
  ['a bad line before the end of its turn', lines(header('a'), user(0), 'x', turnEnd(2)), 'CORRUPT_LOG'],
  ['a gap', lines(header('a'), user(0), user(1), user(3), turnEnd(4)), 'SEQ_MISMATCH'],
  ['a sequence that starts again', lines(header('a'), user(0), user(1), user(1), turnEnd(2)), 'SEQ_MISMATCH'],
  ['a newer version', lines(header('a').replace('"version":0', '"version":1'), user(0)), 'UNSUPPORTED_VERSION'],
];

export const damageCases: readonly ConformanceCase[] = [
  {
    name: 'a last record torn at any point is dropped, and goes with the next write',
    run: async (setup) => {
      const storage = await setup();
      const kept = lines(header('a'), user(0), user(1), user(2));
      const record = new TextEncoder().encode(LAST);
      for (let cut = 0; cut < record.length; cut++) {
        const id = `cut${cut}`;
        const torn = new TextDecoder('latin1').decode(record.subarray(0, cut)).replace(/[^\x20-\x7e]/g, '?');
        await plant(storage, id, kept.replace('"a"', JSON.stringify(id)) + torn);
      }
      await within(storage, async ({ adapter, store }) => {
        for (let cut = 0; cut < record.length; cut++) {
          const id = `cut${cut}`;
          const before = await stored(storage, id);
          const session = await adapter.load(id);
          equal(session.seq, 3, `events after cut ${cut}`);
          await store.flush(session);
          equal(await stored(storage, id), before, `loading changed something at cut ${cut}`);
          say(session, 'next');
          await store.flush(session);
          equal(await stored(storage, id), whole(session), `what is stored after cut ${cut}`);
        }
      });
    },
  },
  {
    name: 'a turn that a crash left open is closed, durably and once',
    run: async (setup) => {
      const storage = await setup();
      const before = await within(storage, async ({ store, adapter }) => {
        const session = store.create('a');
        runTurn(session, 1);
        openTurn(session, 2);
        session.append(
          'assistant/message',
          { turn: 2, step: 1, content: [{ type: 'tool-call', id: 'c1', name: 'ls', arguments: '{}' }] },
          { surfaceOp: 'append', sourceEventSeqs: [] },
        );
        session.append('tool/call', { turn: 2, step: 1, callId: 'c1', name: 'ls', arguments: '{}' });
        await adapter.flush();
        return whole(session);
      });
      const repaired = await within(storage, async ({ adapter }) => {
        const read = await adapter.read('a');
        equal(read.closers.map(({ type }) => type), ['tool/result', 'step/end', 'turn/end'], 'the closers');
        read.session.free();
        equal(await stored(storage, 'a'), before, 'reading changed something');
        const session = await adapter.load('a');
        ok(whole(session).startsWith(before), 'the log before the repair');
        equal(session.seq, 14, 'the events');
        equal(await stored(storage, 'a'), whole(session), 'what is stored after the repair');
        return whole(session);
      });
      await within(storage, async ({ adapter }) => {
        equal(whole(await adapter.load('a')), repaired, 'the second load');
        equal(await stored(storage, 'a'), repaired, 'what is stored after the second load');
      });
    },
  },
  {
    name: 'a torn record goes in the same step as the turn is closed',
    run: async (setup) => {
      const storage = await setup();
      const start = '{"type":"turn/start","seq":0,"time":1,"data":{"turn":1,"trigger":{"kind":"message","source":{"kind":"user"}}}}';
      await plant(storage, 'a', `${lines(header('a'), start, user(1))}{"type":"assist`);
      await within(storage, async ({ adapter }) => {
        const session = await adapter.load('a');
        equal(session.seq, 3, 'the events');
        equal(await stored(storage, 'a'), whole(session), 'what is stored');
      });
    },
  },
  ...BROKEN.map(
    ([title, log, code]): ConformanceCase => ({
      name: `${title} is refused, and left as it is`,
      run: async (setup) => {
        const storage = await setup();
        await plant(storage, 'a', log);
        const before = await stored(storage, 'a');
        await within(storage, async ({ adapter, store }) => {
          for (const open of [() => adapter.read('a'), () => adapter.load('a')]) {
            const error = await rejects(open(), code, 'opening it');
            ok(error.message.length > 20, 'the message');
          }
          equal(store.list(), [], 'live sessions');
        });
        equal(await stored(storage, 'a'), before, 'what is stored');
      },
    }),
  ),
  {
    name: 'broken logs hide no others from the listing',
    run: async (setup) => {
      const storage = await setup();
      await plant(storage, 'newer', lines(header('newer').replace('"version":0', '"version":7'), user(0)));
      await plant(storage, 'damaged', lines(header('damaged'), 'x', user(0), turnEnd(1)));
      await within(storage, async ({ store, adapter }) => {
        for (const id of ['one', 'two', 'three']) say(store.create(id), id);
        await adapter.flush();
        const { sessions, broken } = await adapter.list();
        // Listing reads headers: damage behind one is found when the log is opened.
        equal(sessions.map(({ id }) => id).sort(), ['damaged', 'one', 'three', 'two'], 'good ones');
        equal(broken.map(({ error }) => error.code), ['UNSUPPORTED_VERSION'], 'broken ones');
        ok(broken.every(({ location }) => location.length > 0), 'where the broken ones are');
      });
    },
  },
  {
    name: 'the listing is in order of creation, whatever was used last',
    run: async (setup) => {
      const storage = await setup();
      await within(storage, async ({ store, adapter }) => {
        for (const [id, createdAt] of [['c', 3], ['a', 1], ['b', 3]] as const) say(store.create(id, { meta: { createdAt } }), id);
        await adapter.flush();
        say(store.get('a') ?? store.create(), 'more');
        await adapter.flush();
        equal((await adapter.list()).sessions.map(({ id }) => id), ['a', 'b', 'c'], 'the listing');
      });
    },
  },
  {
    name: '700 sessions are listed',
    run: async (setup) => {
      const storage = await setup();
      await within(storage, async ({ store, adapter }) => {
        for (let i = 0; i < 700; i++) say(store.create(`s${i}`, { meta: { createdAt: i, cwd: i % 3 ? '/p' : undefined } }), 'x'.repeat(100));
        await adapter.flush();
        const { sessions, broken } = await adapter.list();
        equal([sessions.map(({ createdAt }) => createdAt), broken], [Array.from({ length: 700 }, (_, i) => i), []], 'the listing');
      });
    },
  },
];
