// What a log that is read derives: to the letter what JSON.parse makes of its lines.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type Message, type SessionEvent, SessionReader } from 'palimpsest';
import { Dice } from '../support/random.js';
import { refusal } from '../support/sessions.js';

const HEADER = '{"type":"session","version":0,"id":"s","createdAt":1}';

function read(lines: readonly (string | Uint8Array)[]): SessionReader {
  const reader = new SessionReader();
  for (const line of [HEADER, ...lines]) reader.push(Buffer.concat([Buffer.from(line), Buffer.from('\n')]));
  return reader;
}

/** Pieces of strings as they stand in JSON. */
const PIECES = ['a', 'plain words ', '0123456789abcdef', '\\n', '\\"', '\\\\', '\\/', '\\t\\b\\f\\r', '\\u0041', '\\u001b[0m', 'é', '\\u00e9', 'ÿ', 'Ā', '好', '\\u597d', '🙂', '\\ud83d\\ude42', '\u2028', '\ufeff', '\ufffd', '\\ud83d', '\\udc00', ''];

const ROLES = ['user/message', 'assistant/message', 'tool/result', 'context/message', 'steering/message'];

/** JSON texts of events, spelt as no one else spells them. */
class Spelling {
  constructor(readonly dice: Dice) {}

  string(): string {
    return `"${Array.from({ length: this.dice.below(this.dice.chance(0.1) ? 60 : 5) }, () => this.dice.pick(PIECES)).join('')}"`;
  }

  block(): string {
    const { dice } = this;
    const usual = [
      `{"type":"text","text":${this.string()}}`,
      `{"type":"reasoning","text":${this.string()}}`,
      `{"type":"tool-call","id":${this.string()},"name":"search","arguments":${this.string()}}`,
    ];
    const other = [
      `{"text":${this.string()},"type":"text"}`,
      `{"type":"text","text":${this.string()},"text":${this.string()}}`,
      `{"type":"text","text":${this.string()},"__proto__":{"text":1}}`,
      `{"type":"text" , "text":${this.string()}}`,
      `{"type":"text","t\\u0065xt":${this.string()}}`,
      `{"type":"reasoning","text":${this.string()},"signature":${this.string()}}`,
      `{"type":"tool-call","id":${this.string()},"name":"n","arguments":{"2":0,"1":1e400}}`,
      `{"type":"text","text":null}`,
      `{"__proto__":null}`,
      '[[-0]]',
      this.string(),
    ];
    return dice.chance(0.7) ? dice.pick(usual) : dice.pick(other);
  }

  event(seq: number): string {
    const { dice } = this;
    const gap = (): string => (dice.chance(0.1) ? ' ' : '');
    const content = (): string => `[${gap()}${Array.from({ length: dice.below(4) }, () => this.block()).join(`${gap()},${gap()}`)}${gap()}]`;
    const members = [`"content":${content()}`, `"callId":${this.string()}`, `"source":{"kind":${this.string()}}`];
    if (dice.chance(0.6)) members.push(`"isError":${dice.pick(['true', 'false', 'false', 'null', '"no"'])}`);
    if (dice.chance(0.3)) members.push(`"meta":${dice.pick(['[{}]', '{"content":[1]}', this.string()])}`);
    if (dice.chance(0.05)) members.push(`"content":${content()}`);
    if (dice.chance(0.05)) members.push('"c\\u0061llId":"other"');
    if (dice.chance(0.3)) members.reverse();
    return `{"type":"${dice.pick(ROLES)}","seq":${seq},"time":1,"data":{${gap()}${members.join(`${gap()},`)}},"surfaceOp":"append"}`;
  }
}

/** Whether everything in a value is frozen. */
function isFrozen(value: unknown): boolean {
  return typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(isFrozen));
}

suite('derived messages of a log that was read', () => {
  test('are those of its events as JSON.parse reads them: 3,000 random events', () => {
    const spelling = new Spelling(new Dice(7));
    const lines = Array.from({ length: 3000 }, (_, seq) => spelling.event(seq));
    // Longer than what goes together.
    const long = JSON.stringify('é"'.repeat(400_000));
    lines.push(`{"type":"user/message","seq":3000,"time":1,"data":{"content":[{"type":"text","text":${long}}],"source":{"kind":"user"}},"surfaceOp":"append"}`);
    const { session } = read(lines).finish();
    const expected = lines.map((line) => session.deriveEventMessage(JSON.parse(line) as SessionEvent)).filter((message) => message !== null);
    const found = session.deriveMessages();
    assert.equal(found.length, expected.length);
    for (const [index, message] of found.entries()) {
      // The first tells the order of the keys and halves of surrogate pairs, the second own properties of any name.
      assert.equal(JSON.stringify(message), JSON.stringify(expected[index]));
      assert.deepEqual(message, expected[index]);
      assert.ok(isFrozen(message));
    }
    const half = session.at(1499).messages();
    assert.deepEqual(half, found.slice(0, half.length));
  });

  test('hold every text unchanged, wherever it stands in memory', () => {
    const texts = ['é', '好', '🙂', 'ÿĀ', '\ufeff', 'a"b\\c\n'].flatMap((piece) => Array.from({ length: 40 }, (_, length) => `${'x'.repeat(length)}${piece}${'y'.repeat(length % 19)}`));
    const lines = texts.map((text, seq) => JSON.stringify({ type: 'user/message', seq, time: 1, data: { content: [{ type: 'text', text }], source: { kind: 'user' } }, surfaceOp: 'append' }));
    const messages: Message[] = read(lines).finish().session.deriveMessages();
    assert.deepEqual(messages.map(({ content: [block] }) => (block?.type === 'text' ? block.text : undefined)), texts);
  });
});

suite('strings of a log', () => {
  const line = (seq: number, text: Uint8Array): Uint8Array => Buffer.concat([Buffer.from(`{"type":"my/note","seq":${seq},"time":1,"data":"`), text, Buffer.from('"}')]);
  const isText = (bytes: Uint8Array): boolean => {
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes);
      return true;
    } catch {
      return false;
    }
  };
  // Both ends of every range of bytes that UTF-8 tells apart.
  const LEADS = [0x61, 0x80, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff];
  const NEXT = [0x61, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc2, 0xe1, 0xf1];
  const TAILS = [0x61, 0x80, 0xbf, 0xc3];

  test('are UTF-8 and nothing else', () => {
    const good: Uint8Array[] = [];
    let bad = 0;
    for (const lead of LEADS) {
      for (const next of NEXT) {
        for (const third of TAILS) {
          for (const fourth of TAILS) {
            const sequence = Buffer.from([lead, next, third, fourth]);
            // At the start, over the seam of two lanes, and at the very end.
            const before = (bad + good.length) % 17;
            const text = Buffer.concat([Buffer.alloc(before, 0x78), sequence]);
            if (isText(text)) {
              good.push(text);
            } else {
              bad++;
              const place = Buffer.from('{"type":"my/note","seq":0,"time":1,"data":"').length;
              const valid = [0, 1, 2, 3].filter((length) => isText(text.subarray(0, before + length))).at(-1) ?? 0;
              assert.throws(() => read([line(0, text)]), refusal('CORRUPT_LOG', new RegExp(`byte ${HEADER.length + 1 + place + before + valid}\\b.*UTF-8`, 's')), sequence.toString('hex'));
            }
          }
        }
      }
    }
    assert.ok(bad > 2000 && good.length > 100);
    const { session } = read(good.map((text, seq) => line(seq, text))).finish();
    assert.deepEqual(session.events.map(({ data }) => data as unknown), good.map((text) => Buffer.from(text).toString()));
  });
});
