// The scanner against JSON.parse: what one takes, the other takes.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { PalimpsestError, SessionReader } from 'palimpsest';
import { Dice } from '../support/random.js';

const TEXTS = 200_000;

const HEADER = '{"type":"session","version":0,"id":"s","createdAt":1}';
const FIRST = '{"type":"assistant/chunk","seq":0,"time":1,"data":{"turn":0,"step":0,"chunk":{"type":"text-delta","index":0,"text":"before"}}}';
const LAST = '{"type":"x/last","seq":2,"time":1,"data":null}';
const PARTS = ['"', '\\', '\\u', '\\ud83d', '{', '}', '[', ']', ':', ',', '-', '+', '.', '0', '00', '1e', 'E+9', '1e999', 'true', 'nul', 'null', ' ', '\t', '\r', '\v', '\u00a0', '\ufeff', '\0', '\u001f', '\u007f', '//', "'", '漢', '😀', '"text":', '"seq":1'].map((part) => Buffer.from(part));

/** An event line: a chunk like the one before it, or any JSON, printed in one way or another. */
function line(dice: Dice): Buffer {
  if (dice.chance(0.4)) return Buffer.from(FIRST.replace('"seq":0', '"seq":1').replace('"before"', JSON.stringify(dice.text(12))));
  const value = JSON.stringify(dice.json(3), null, dice.chance(0.2) ? '\t' : 0).replaceAll('\n', ' ');
  return Buffer.from(`{"type":"x/any","seq":1,"time":1,"data":${value}}`);
}

function mutated(dice: Dice, bytes: Buffer): Buffer {
  const at = dice.below(bytes.length + 1);
  switch (dice.below(6)) {
    case 0:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + dice.below(3))]);
    case 1:
      return Buffer.concat([bytes.subarray(0, at), dice.pick(PARTS), bytes.subarray(at)]);
    case 2:
      return Buffer.concat([bytes.subarray(0, at), dice.pick(PARTS), bytes.subarray(at + 1)]);
    case 3: {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at] = dice.below(256);
      return copy;
    }
    case 4: {
      const from = dice.below(bytes.length);
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(from, from + dice.below(12)), bytes.subarray(at)]);
    }
    default: {
      const copy = Buffer.from(bytes);
      if (at < copy.length) copy[at]! ^= 1 << dice.below(8);
      return copy;
    }
  }
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** What JSON.parse says, and whether the envelope is still the one that was written. */
function parsed(bytes: Uint8Array): 'refused' | 'taken' | 'another' {
  let value: unknown;
  try {
    value = JSON.parse(strict.decode(bytes));
  } catch {
    return 'refused';
  }
  const { type, seq, time, ...rest } = Object(value) as Record<string, unknown>;
  const same = (type === 'x/any' || type === 'assistant/chunk') && seq === 1 && time === 1 && Object.keys(rest).join() === 'data';
  // A second member of one name, or another way to write a number, is the envelope's matter and not JSON's.
  return same && strict.decode(bytes).includes('"seq":1,"time":1,"data"') && (strict.decode(bytes).match(/"(type|seq|time)"/g)?.length ?? 0) <= 4 ? 'taken' : 'another';
}

suite('the scanner', () => {
  test(`takes what JSON.parse takes, and nothing else: ${TEXTS} mutated lines`, (context) => {
    const dice = new Dice(11);
    const counts = { refused: 0, taken: 0, another: 0 };
    for (let n = 0; n < TEXTS; n++) {
      let bytes = line(dice);
      for (let times = dice.below(4); times > 0; times--) bytes = mutated(dice, bytes);
      if (bytes.includes(0x0a)) continue;
      const expected = parsed(bytes);
      counts[expected]++;
      const reader = new SessionReader();
      let found: string;
      try {
        reader.push(Buffer.concat([Buffer.from(`${HEADER}\n${FIRST}\n`), bytes, Buffer.from(`\n${LAST}\n`)]));
        const { session } = reader.finish();
        found = session.seq === 3 ? 'taken' : `taken, but there are ${session.seq} events`;
        session.free();
      } catch (error) {
        assert.ok(error instanceof PalimpsestError, String(error));
        found = 'refused';
        reader.free();
      }
      if (expected !== 'another') assert.equal(found, expected, `line ${n}: ${JSON.stringify(bytes.toString('latin1'))}`);
    }
    context.diagnostic(`${counts.taken} taken, ${counts.refused} refused, ${counts.another} with another envelope`);
    assert.ok(counts.taken > TEXTS / 4 && counts.refused > TEXTS / 4);
  });
});
