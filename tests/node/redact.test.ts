/** Secrets are taken out wherever they stand, and nothing else is changed. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Message, Session, type SessionEvent } from 'palimpsest';
import { findSecrets, redactSession } from 'palimpsest/redact';
import { appendLoosely } from '../support/append.js';
import { conversation } from '../support/conversations.js';
import { Dice } from '../support/random.js';
import { decode, randomAgentSession, refusal, text } from '../support/sessions.js';

const letters = (count: number): string => 'aB3dE5gH7jK9mN1pQ'.repeat(Math.ceil(count / 17)).slice(0, count);
// Put together here, so that no scanner takes this file for a leak.
const SECRETS: readonly (readonly [kind: string, secret: string, before?: string, after?: string])[] = [
  ['api-key', ['sk', 'ant', 'api03', letters(40)].join('-')],
  ['api-key', ['sk', 'proj', letters(48)].join('-')],
  ['api-key', ['sk', letters(32)].join('-')],
  ['api-key', ['ghp', letters(36)].join('_')],
  ['api-key', ['github', 'pat', letters(60)].join('_')],
  ['api-key', ['glpat', letters(20)].join('-')],
  ['api-key', ['xoxb', '123456789012', letters(24)].join('-')],
  ['api-key', `AKIA${'ABCDEFGH'.repeat(2)}`],
  ['api-key', `AIza${letters(35)}`],
  ['api-key', ['sk', 'live', letters(24)].join('_')],
  ['api-key', ['npm', letters(36)].join('_')],
  ['api-key', ['hf', letters(34)].join('_')],
  ['jwt', `eyJ${letters(20)}.eyJ${letters(60)}.${letters(43)}`],
  ['credential', letters(24), 'Authorization: Bearer '],
  ['credential', 'hunter2-and-more', 'password = "', '"'],
  ['credential', `${letters(20)}/${letters(19)}`, 'AWS_SECRET_ACCESS_KEY='],
  ['credential', letters(20), '"secretAccessKey": "', '"'],
  ['credential', letters(20), 'AccountName=x;AccountKey=', ';'],
  ['credential', letters(20), 'export DEPLOY_TOKEN='],
  ['api-key', ['dckr', 'pat', letters(24)].join('_')],
  ['credential', letters(20), 'https://someone:', '@host.example/path'],
  ['mail', 'first.last+tag@mail.example.org'],
  ['home', 'alice', '/home/', '/work'],
  ['home', 'bob', '/Users/', '/Library'],
  ['home', 'Carol.Ann', 'C:\\Users\\', '\\Desktop'],
  ['home', 'dave', '~/.agent/projects/-home-', '-work'],
];

function withText(words: string): Session {
  const session = new Session('s');
  session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } });
  session.append('user/message', { content: text(words), source: { kind: 'user' } }, { surfaceOp: 'append' });
  return session;
}

describe('each kind of secret', () => {
  for (const [kind, secret, before = 'see ', after = ' there'] of SECRETS) {
    it(`${kind}: ${before}${secret.slice(0, 6)}…`, () => {
      const session = withText(`${before}${secret}${after}`);
      const { session: clean, hits, counts } = redactSession(session);
      const placeholder = kind === 'home' ? 'redacted-user-1' : `[redacted:${kind}-1]`;
      assert.deepEqual(clean.events[1]!.data, { content: text(`${before}${placeholder}${after}`), source: { kind: 'user' } });
      assert.deepEqual(counts, { [kind]: 1 });
      const [hit] = hits;
      assert.deepEqual([hit?.seq, hit?.path, hit?.kind, hit?.placeholder], [1, 'data.content[0].text', kind, placeholder]);
      assert.ok(!hit!.excerpt.includes(secret) && !hit!.masked.includes(secret));
    });
  }

  it('a private key, whole or cut, with real line ends or escaped ones', () => {
    const body = [letters(64), letters(64), 'ab=='].join('\n');
    for (const key of [`-----BEGIN OPENSSH PRIVATE KEY-----\n${body}\n-----END OPENSSH PRIVATE KEY-----`, `-----BEGIN RSA PRIVATE KEY-----\n${body}`]) {
      for (const words of [key, JSON.stringify({ key })]) {
        const clean = decode(redactSession(withText(words)).session.jsonl());
        assert.ok(!clean.includes(letters(64)), words);
        assert.match(clean, /\[redacted:private-key-1\]/);
      }
    }
  });
});

describe('what is looked at', () => {
  const mail = 'someone@mail.example.org';

  it('every string of header and payloads, keys too, raw arguments within their JSON', () => {
    const session = new Session('s', [], { version: 0, id: 's', createdAt: 0, cwd: '/home/alice/work' });
    appendLoosely(session, 'plugin/thing', { [mail]: [{ deep: { note: `by ${mail}` } }], n: 1 });
    session.append('tool/call', { turn: 1, step: 1, callId: 'c', name: 'mail', arguments: `{"to":"${mail}","n":12345678901234567890}` });
    const { session: clean, hits } = redactSession(session);
    assert.equal(clean.header.cwd, '/home/redacted-user-1/work');
    assert.deepEqual(clean.events[0]!.data, { '[redacted:mail-1]': [{ deep: { note: 'by [redacted:mail-1]' } }], n: 1 });
    assert.equal((clean.events[1] as SessionEvent<'tool/call'>).data.arguments, '{"to":"[redacted:mail-1]","n":12345678901234567890}');
    assert.deepEqual(hits.map(({ path }) => path), ['cwd', `data["${mail}"] (the key)`, `data["${mail}"][0].deep.note`, 'data.arguments']);
  });

  it('a member whose name says that it is a secret', () => {
    const session = new Session('s');
    appendLoosely(session, 'plugin/thing', { OPENAI_API_KEY: 'nothing-special', clientSecret: 'also-nothing', password: 'no', title: 'a plain title' });
    assert.deepEqual(redactSession(session).session.events[0]!.data, { OPENAI_API_KEY: '[redacted:credential-1]', clientSecret: '[redacted:credential-2]', password: 'no', title: 'a plain title' });
  });

  it('escapes hide nothing', () => {
    const session = withText('x');
    const line = decode(session.jsonl(1, 2)).replace('"x"', `"${mail.replace(/./g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`);
    const again = new Session('s', [session.events[0]!, JSON.parse(line) as SessionEvent]);
    assert.match(decode(redactSession(again).session.jsonl()), /\[redacted:mail-1\]/);
  });

  it('signatures and sealed content are left alone, and a text beside one is marked', () => {
    const key = ['sk', letters(40)].join('-');
    const session = new Session('s');
    appendLoosely(session, 'assistant/message', { turn: 1, step: 1, content: [{ type: 'reasoning', text: `by ${mail}`, signature: key }, { type: 'x', encrypted_content: mail }], replayState: { any: [mail] } }, { surfaceOp: 'append' });
    const { session: clean, hits } = redactSession(session);
    assert.deepEqual(clean.events[0]!.data, { turn: 1, step: 1, content: [{ type: 'reasoning', text: 'by [redacted:mail-1]', signature: key }, { type: 'x', encrypted_content: mail }], replayState: { any: [mail] } });
    assert.deepEqual(hits.map(({ breaksSignature }) => breaksSignature), [true]);
  });

  it('pictures are left alone: a shape in them is chance', () => {
    const session = new Session('s');
    const data = `${letters(3000)}AKIA${'ABCDEFGH'.repeat(2)}`;
    appendLoosely(session, 'plugin/thing', { data, url: `data:image/png;base64,${data}` });
    assert.deepEqual(redactSession(session).counts, {});
  });
});

describe('the same secret', () => {
  it('has the same placeholder everywhere, and another one has another', () => {
    const session = withText('a@x.example b@x.example a@x.example');
    assert.match(decode(redactSession(session).session.jsonl()), /\[redacted:mail-1\] \[redacted:mail-2\] \[redacted:mail-1\]/);
  });
});

describe('a secret that a stream has cut', () => {
  const key = ['sk', 'ant', letters(40)].join('-');
  const delta = (session: Session, index: number, words: string): void => void session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', index, text: words } });

  it('is taken out of all its pieces, however they interleave with those of another block', () => {
    for (let seed = 0; seed < 100; seed++) {
      const dice = new Dice(seed);
      const session = new Session('s');
      session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } });
      session.append('step/start', { turn: 1, step: 1 });
      const whole = `first ${key} then a@x.example and ${key} again`;
      let [at, beside] = [0, 0];
      while (at < whole.length) {
        if (dice.chance(0.3)) delta(session, 1, `${beside++} `);
        const length = 1 + dice.below(30);
        delta(session, 0, whole.slice(at, at + length));
        at += length;
      }
      session.append('step/end', { turn: 1, step: 1 });
      const { session: clean, counts } = redactSession(session);
      const joined = (index: number): string => clean.events.map(({ data }) => data as { chunk?: { index: number; text: string } }).flatMap(({ chunk }) => (chunk?.index === index ? [chunk.text] : [])).join('');
      assert.equal(joined(0), 'first [redacted:api-key-1] then [redacted:mail-1] and [redacted:api-key-1] again', `seed ${seed}`);
      assert.equal(joined(1), Array.from({ length: beside }, (_, number) => `${number} `).join(''));
      assert.deepEqual(counts, { 'api-key': 2, mail: 1 });
      assert.equal(clean.seq, session.seq);
    }
  });

  it('is taken out of the arguments of a call, too', () => {
    const session = new Session('s');
    for (const argumentsDelta of ['{"key":"', key.slice(0, 9), key.slice(9, 20), `${key.slice(20)}"}`]) {
      session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'tool-call-delta', index: 0, id: 'c', argumentsDelta } });
    }
    assert.ok(!decode(redactSession(session).session.jsonl()).includes(key.slice(9, 20)));
  });
});

describe('options', () => {
  it('own patterns and words, kinds, and a report without a copy', () => {
    const session = withText('Project Aurora, ticket ABC-1234, by a@x.example');
    const options = { kinds: ['mail'] as const, words: ['Aurora'], patterns: [{ kind: 'ticket', pattern: /[A-Z]{3}-(?<secret>\d+)/ }] };
    assert.match(decode(redactSession(session, options).session.jsonl()), /Project \[redacted:own-1\], ticket ABC-\[redacted:ticket-1\], by \[redacted:mail-1\]/);
    assert.deepEqual(findSecrets(session, options), (({ hits, counts }) => ({ hits, counts }))(redactSession(session, options)));
    assert.deepEqual(findSecrets(session, { kinds: ['jwt'] }), { hits: [], counts: {} });
    assert.deepEqual([findSecrets(session, { ...options, maxHits: 1 }).hits.length, findSecrets(session, { ...options, maxHits: 1 }).counts], [1, { own: 1, ticket: 1, mail: 1 }]);
  });

  it('words of the format stay, or the copy would be no log', () => {
    const session = randomAgentSession(new Dice(7));
    const words = ['content', 'type', 'text', 'kind', 'user', 'source', 'callId', 'arguments', 'tool-call', 'turn', 'chunk'];
    const { session: clean } = redactSession(session, { words, patterns: [{ kind: 'any', pattern: /^[a-zA-Z-]+$/ }] });
    assert.deepEqual([...clean.surface.nodes].map(({ seq }) => seq), [...session.surface.nodes].map(({ seq }) => seq));
    const shape = (messages: readonly Message[]): unknown => messages.map(({ role, content }) => [role, content.map((block) => [Object.keys(block), block.type])]);
    assert.deepEqual(shape(clean.deriveMessages()), shape(session.deriveMessages()));
    const { session: talk } = redactSession(withText('the type of a user'), { words: ['type', 'user'] });
    assert.deepEqual(talk.events[1]!.data, { content: text('the [redacted:own-1] of a [redacted:own-2]'), source: { kind: 'user' } });
  });

  it('patterns that cannot be used are refused', () => {
    const session = withText('x');
    assert.throws(() => findSecrets(session, { patterns: [{ kind: 'own', pattern: /x*/ }] }), refusal('INVALID_PAYLOAD', /empty text/));
    assert.throws(() => findSecrets(session, { patterns: [{ kind: 'a b', pattern: /x/ }] }), refusal('INVALID_PAYLOAD', /letters, digits and dashes/));
    assert.throws(() => findSecrets(session, { kinds: ['nothing' as 'mail'] }), refusal('INVALID_PAYLOAD', /the kinds are/));
  });
});

describe('what is not a secret', () => {
  it('stays byte for byte, in 150 random sessions', () => {
    for (let seed = 0; seed < 150; seed++) {
      const dice = new Dice(seed);
      const session = dice.chance(0.5) ? randomAgentSession(dice) : conversation(dice, true);
      const { session: clean, hits } = redactSession(session);
      assert.deepEqual(hits, [], `seed ${seed}`);
      assert.ok(Buffer.from(clean.jsonl()).equals(Buffer.from(session.jsonl())), `seed ${seed}`);
      session.free();
      clean.free();
    }
  });

  it('keeps seqs, the surface and all numbers where something is taken out', () => {
    let total = 0;
    for (let seed = 0; seed < 60; seed++) {
      const dice = new Dice(seed);
      const session = randomAgentSession(dice, { chunks: false, text: () => `${dice.pick(['a', 'b'])}@mail.example "quoted" ${dice.below(99)}` });
      const { session: clean, counts } = redactSession(session);
      total += counts.mail ?? 0;
      assert.equal(clean.seq, session.seq);
      assert.deepEqual(clean.surface.nodes, session.surface.nodes);
      const back = decode(clean.jsonl()).replaceAll('[redacted:mail-1]', 'A').replaceAll('[redacted:mail-2]', 'B');
      const [first] = findSecrets(session).hits;
      const [one, two] = first?.masked.startsWith('a') ? ['a@mail.example', 'b@mail.example'] : ['b@mail.example', 'a@mail.example'];
      assert.equal(back, decode(session.jsonl()).replaceAll(one, 'A').replaceAll(two, 'B'), `seed ${seed}`);
      session.free();
      clean.free();
    }
    assert.ok(total > 100, `${total} hits`);
  });

  it('a megabyte of letters, dots and at-signs is looked at once, not again and again', () => {
    const session = withText('');
    for (const words of ['a'.repeat(1 << 20), 'a.'.repeat(1 << 19), '@'.repeat(1 << 20), '/home/'.repeat(1 << 17), 'password='.repeat(1 << 17), '-----BEGIN '.repeat(1 << 16), 'eyJ'.repeat(1 << 18)]) {
      session.append('user/message', { content: text(words), source: { kind: 'user' } }, { surfaceOp: 'append' });
    }
    assert.ok(findSecrets(session).hits.length >= 0);
  });
});
