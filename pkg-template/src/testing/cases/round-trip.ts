/** What goes in comes out the same. */

import type { JsonValue } from '../../ids.js';
import { equal, ok } from '../check.js';
import type { ConformanceCase } from '../entry.js';
import { header, lines, plant, runTurn, say, stored, whole, within } from '../sessions.js';

const VALUES: Readonly<Record<string, JsonValue>> = {
  'lone surrogates': ['\ud83d', '\ude00', 'a\ud83db', '\ude00\ud83d'],
  'control characters': ['\u0000', 'a\u0000b', '\u001f\u007f', '\b\t\n\f\r'],
  'line ends of Unicode': '\u2028\u2029\u0085\u000b\r\n',
  'a byte order mark': '\ufeff\ufffe',
  'pairs and wide characters': '😀 語 é \u0301',
  'keys of every kind': JSON.parse('{"__proto__":{"x":1},"constructor":1,"":0,"10":1,"2":2,"\\ud83d":3,"a\\u0000":4}') as JsonValue,
  numbers: [1e21, 5e-324, 1.7976931348623157e308, 9007199254740991, -9007199254740991, 0.1, 1e-7, 123456789012345680000],
  'nothing and little': ['', [], {}, null, true, false, 0, [[]], [{}], { a: [] }],
  'what looks like an envelope': { seq: 7, surfaceOp: 'append', sourceEventSeqs: [1], text: '","surfaceOp":"append"}', line: '{"type":"x"}\n' },
  'text that looks like SQL and paths': ["'; DROP TABLE events; --", '../../etc', 'C:\\x', '%_?:@$'],
  'a string of 2 MB': 'x'.repeat(2_000_000),
  'a string of 1 MB in three-byte characters': '語'.repeat(350_000),
  'depth 1000': JSON.parse('['.repeat(1000) + ']'.repeat(1000)) as JsonValue,
};

// As other programs may have written them; the bytes must stay.
const FOREIGN = [
  '{"seq":0,"type":"other/order","data":{"n":9007199254740993},"time":5}',
  '{"type":"other/members","seq":1,"time":5,"data":{},"ignorable":true,"x":{"surfaceOp":"append"}}',
  '{"type":"other/numbers","seq":2,"time":5,"data":[1.0,1e2,-0.0,12345678901234567890,0.10]}',
  '{ "type" : "other/blanks" , "seq" : 3 , "time" : 5 , "data" : { } }',
  '{"type":"other\\/escapes","seq":4,"time":5,"data":"\\u0061\\/\\ud83d\\ude00\\ud83d"}',
  '{"type":"other/keys","seq":5,"time":5,"data":{"b":1,"a":2,"2":3,"1":4}}',
  '{"type":"other/string","seq":6,"time":5,"data":"a,\\"surfaceOp\\":\\"append\\"}"}',
  '{"type":"other/null","seq":7,"time":5,"data":null}',
  '{"type":"user/message","seq":8,"time":5,"surfaceOp":"append","data":{"content":[],"source":{"kind":"user"}}}',
];

export const roundTripCases: readonly ConformanceCase[] = [
  ...Object.entries(VALUES).map(
    ([title, value]): ConformanceCase => ({
      name: `${title} come back the same`,
      run: async (setup) => {
        const storage = await setup();
        const before = await within(storage, async ({ store, adapter }) => {
          const session = store.create('a');
          session.append('demo/value' as 'todo/write', { value } as never);
          say(session, typeof value === 'string' ? value : JSON.stringify(value));
          await adapter.flush();
          return whole(session);
        });
        equal(await stored(storage, 'a'), before, 'the stored bytes');
        await within(storage, async ({ adapter }) => {
          const session = await adapter.load('a');
          equal((session.events[0]?.data as unknown as { value: JsonValue }).value, value, 'the loaded value');
          equal(whole(session), before, 'the loaded bytes');
        });
      },
    }),
  ),
  {
    name: 'lines of other programs keep their bytes',
    run: async (setup) => {
      const storage = await setup();
      const log = lines(header('a', ',"later":{"member":[1.0]}'), ...FOREIGN);
      await plant(storage, 'a', log);
      equal(await stored(storage, 'a'), log, 'the stored bytes');
      await within(storage, async ({ adapter, store }) => {
        const session = await adapter.load('a');
        equal(session.seq, FOREIGN.length, 'the events');
        runTurn(session);
        await store.flush(session);
        equal(await stored(storage, 'a'), log + new TextDecoder().decode(session.jsonl(FOREIGN.length)), 'with what was appended');
      });
    },
  },
  {
    name: 'a header keeps its lineage',
    run: async (setup) => {
      const storage = await setup();
      const meta = { cwd: '/project/é "x"', parentSession: 'parent \ud83d', seedLength: 0, createdAt: 1234567890123 };
      const wanted = await within(storage, async ({ store, adapter }) => {
        const session = store.create('a', { meta });
        say(session, 'hi');
        await adapter.flush();
        return session.header;
      });
      await within(storage, async ({ adapter }) => {
        const { sessions, broken } = await adapter.list();
        equal([sessions, broken], [[wanted], []], 'the listing');
        equal((await adapter.load('a')).header, wanted, 'the loaded header');
      });
    },
  },
  {
    name: 'ids of every kind are different sessions',
    run: async (setup) => {
      const storage = await setup();
      const ids = ['a', 'b/c', '..', '.', 'a b', 'é', '😀', '\ud83d', '\ud83e', 'n\u0000ul', 'n', '~0041', '"a"', '["a",null]', "'", '%', 'x'.repeat(100), 'con', '-', ' '];
      await within(storage, async ({ store, adapter }) => {
        for (const id of ids) say(store.create(id), id);
        await adapter.flush();
      });
      await within(storage, async ({ adapter }) => {
        const { sessions, broken } = await adapter.list();
        equal(sessions.map(({ id }) => id).sort(), [...ids].sort(), 'the listing');
        equal(broken, [], 'broken logs');
        for (const id of ids) {
          const [message] = (await adapter.load(id)).deriveMessages();
          equal(message?.content, [{ type: 'text', text: id }], `session ${JSON.stringify(id)}`);
        }
      });
    },
  },
  {
    name: '5000 events in one batch',
    run: async (setup) => {
      const storage = await setup();
      await within(storage, async ({ store, adapter }) => {
        const session = store.create('a');
        for (let i = 0; i < 5000; i++) say(session, `${i}`);
        await adapter.flush();
        ok((await stored(storage, 'a')) === whole(session), 'the stored bytes differ');
      });
    },
  },
];
