/** Numbers that only a file's text can bring into a log: what looks at such a log must not refuse it. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { foldRequestHeader, interruptedTurnClosers, isToolPairingBalanced, type Session, SessionReader } from 'palimpsest';
import { checkRequest } from 'palimpsest/invariants';
import { repaired, salvage } from 'palimpsest/salvage';
import { decode } from '../support/sessions.js';

/** A log that ends in an open step, with a number in each place where one may stand. */
function logWith(number: string): string {
  const user = '{"kind":"user"}';
  return [
    '{"type":"session","version":0,"id":"numbers","createdAt":1}',
    `{"type":"turn/start","seq":0,"time":1,"data":{"turn":1,"trigger":{"kind":"message","source":${user}},"x":${number}}}`,
    `{"type":"user/message","seq":1,"time":1,"data":{"content":[{"type":"text","text":"a","x":${number}}],"source":${user}},"surfaceOp":"append"}`,
    '{"type":"step/start","seq":2,"time":1,"data":{"turn":1,"step":1}}',
    `{"type":"request/header","seq":3,"time":1,"data":{"header":{"config":{"model":"m","x":${number}}},"reason":"initial"}}`,
    `{"type":"assistant/message","seq":4,"time":1,"data":{"turn":1,"step":1,"content":[{"type":"tool-call","id":"c","name":"n","arguments":"{}","x":${number}}]},"surfaceOp":"append"}`,
    '',
  ].join('\n');
}

function load(text: string): Session {
  const reader = new SessionReader();
  reader.push(new TextEncoder().encode(text));
  return reader.finish().session;
}

describe('numbers that an append refuses, in a stored log', () => {
  for (const [text, value] of [['-0.0', -0], ['1e400', Infinity], ['-1e400', -Infinity]] as const) {
    it(text, async () => {
      const log = logWith(text);
      const session = load(log);
      const { nodes } = session.surface;

      assert.deepEqual(interruptedTurnClosers([...session.events]).map(({ type }) => type), ['tool/result', 'step/end', 'turn/end']);
      assert.equal(isToolPairingBalanced(nodes, session.events, null), false);
      assert.equal(isToolPairingBalanced(nodes, session.events, 4), true);
      assert.deepEqual(foldRequestHeader(session.events), { config: { model: 'm', x: value } });
      checkRequest(session, session.at(4).request());

      const [whole] = repaired(await salvage(new TextEncoder().encode(log)));
      assert.ok(whole);
      const bytes = Buffer.concat([...whole.chunks()]);
      assert.ok(decode(bytes).startsWith(log), 'what was there stands as it was');
      assert.equal(load(decode(bytes)).events.at(-1)?.type, 'turn/end');

      // The header in force is no obstacle to the next one; as a new header it is one.
      const next = { config: { model: 'm' }, system: 's' };
      assert.throws(() => session.recordRequestHeader({ config: { model: 'm', x: value } }), { code: 'INVALID_JSON_VALUE' });
      assert.ok(session.recordRequestHeader(next));
      assert.deepEqual(session.requestHeader(), next);
      assert.throws(() => session.append('todo/write', { todos: [], x: value } as never), { code: 'INVALID_JSON_VALUE' });
    });
  }
});
