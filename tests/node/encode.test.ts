/** The walk: what is refused and where, what is kept, and that its text is JSON.stringify's. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isJsonValue, PalimpsestError, Session } from 'palimpsest';
import { appendLoosely } from '../support/append.js';
import { Dice } from '../support/random.js';

const decoder = new TextDecoder();

/** The payload's text as it is stored. */
function stored(value: unknown): string {
  const session = new Session('s');
  appendLoosely(session, 'x/custom', value);
  const line = decoder.decode(session.jsonl());
  session.free();
  const from = line.indexOf('"data":') + '"data":'.length;
  return line.slice(from, -2);
}

describe('the walk', () => {
  it('writes the text of JSON.stringify, byte for byte: 100,000 random values', () => {
    const dice = new Dice(1);
    const session = new Session('s');
    const batch = 500;
    for (let round = 0; round < 100_000; round += batch) {
      const values = Array.from({ length: batch }, () => dice.json());
      for (const value of values) appendLoosely(session, 'x/custom', value);
      const lines = decoder.decode(session.jsonl(round)).trimEnd().split('\n');
      for (const [index, value] of values.entries()) {
        const line = lines[index] ?? '';
        assert.equal(line.slice(line.indexOf('"data":') + '"data":'.length, -1), JSON.stringify(value), `round ${round + index}`);
      }
    }
  });

  it('writes long strings like short ones, at every kind of place where a piece ends', () => {
    for (const unit of ['a', '\n', 'é', '漢', '😀', '\ud83d', '\ude00', '\u0000', '\ufffd', '한']) {
      for (const length of [47, 48, 95, 96, 97, 98, 16_383, 16_384, 16_385, 16_386, 40_000]) {
        for (const shift of ['', 'x']) {
          const text = shift + unit.repeat(length);
          assert.equal(stored(text), JSON.stringify(text), `${length} × U+${unit.codePointAt(0)?.toString(16)}`);
        }
      }
    }
  });

  it('comes back deep-equal and in the same key order, through the log', () => {
    const session = new Session('s');
    const dice = new Dice(2);
    const values = [
      '\ud83d', 'a\u0000b', '\u2028', 1e21, 5e-324, '', 'x'.repeat(2_000_000), [[]], {}, { b: 1, a: 2, 1: 0 },
      JSON.parse('{"__proto__":{"x":1},"constructor":null}') as unknown,
      ...Array.from({ length: 500 }, () => dice.json()),
    ];
    const events = values.map((value) => appendLoosely(session, 'x/custom', value));
    session.deriveMessages();
    session.events.forEach((event, index) => {
      assert.deepEqual(event, events[index]);
      assert.deepEqual(event.data, values[index]);
      assert.equal(JSON.stringify(event.data), JSON.stringify(values[index]));
    });
  });

  it('prints every number as JSON.stringify does: decimals, their neighbours, and where the notation changes', () => {
    const dice = new Dice(8);
    const bits = new DataView(new ArrayBuffer(8));
    const near = (value: number): number[] =>
      [-2n, -1n, 0n, 1n, 2n].map((step) => {
        bits.setFloat64(0, value);
        bits.setBigInt64(0, bits.getBigInt64(0) + step);
        return bits.getFloat64(0);
      });
    const numbers = [1e-6, 1e-7, 9.99999999e-7, 0.1 + 0.2, 1 / 3, 999_999.999999999, 999_999.9999999999, 1e6 + 0.5, 123_456.7, 1e-9].flatMap(near);
    for (let n = 0; n < 100_000; n++) {
      const decimal = Math.floor(dice.next() * 10 ** (1 + dice.below(15))) / 10 ** (1 + dice.below(12));
      numbers.push(...(n % 50 === 0 ? near(decimal) : [decimal]), -decimal, dice.next());
    }
    const finite = numbers.filter((number) => Number.isFinite(number) && !Object.is(number, -0));
    const session = new Session('s');
    for (let from = 0; from < finite.length; from += 1000) {
      const slice = finite.slice(from, from + 1000);
      const { seq } = appendLoosely(session, 'x/numbers', slice);
      const line = new TextDecoder().decode(session.jsonl(seq));
      assert.ok(line.includes(JSON.stringify(slice)), `one of the numbers from ${slice[0]} on`);
    }
  });

  it('names the whole path of a value far below the depth that the call stack is used for', () => {
    const deeply = (levels: number, value: unknown): unknown => (levels === 0 ? value : [deeply(levels - 1, value)]);
    const below = '[0]'.repeat(300);
    for (const [value, path] of [
      [deeply(300, { get b(): never { throw new Error('no'); } }), `data${below}.b`],
      [deeply(300, new Proxy({}, { ownKeys() { throw new Error('no'); } })), `data${below}`],
      [{ a: deeply(300, { b: [1, undefined] }) }, `data.a${below}.b[1]`],
    ] as const) {
      assert.throws(() => appendLoosely(new Session('s'), 'x/custom', value), { code: 'INVALID_JSON_VALUE', path });
    }
  });

  it('takes the payload of a chunk as it takes any other value, whatever its shape', () => {
    class Delta {
      type = 'text-delta';
      index = 0;
      text = '';
    }
    const get = (value: () => unknown): PropertyDescriptor => ({ get: value, enumerable: true });
    const fail = (): never => { throw new Error('no'); };
    const deltas: (() => unknown)[] = [
      () => ({ type: 'text-delta', index: 0, text: 'a"\n\ud800日' }),
      () => ({ type: 'reasoning-delta', index: -1.5, text: '' }),
      () => ({ type: 'te"xt', index: [1], text: { a: null } }),
      () => ({ index: 0, type: 'text-delta', text: 'x' }),
      () => ({ type: 'text-delta', index: 0, text: 'x', more: 1 }),
      () => ({ type: 'text-delta', index: 0 }),
      () => ({ type: 'text-delta', index: 0, text: undefined }),
      () => ({ type: 'text-delta', index: NaN, text: 'x' }),
      () => ({ type: undefined, index: 0, text: 'x' }),
      () => Object.assign(Object.create(null) as object, { type: 'text-delta', index: 0, text: 'x' }),
      () => Object.assign({}, { type: 'text-delta', index: 0, text: 'x', [Symbol('s')]: 1 }),
      () => Object.defineProperty({ type: 'text-delta', index: 0 }, 'text', { value: 'hidden' }),
      () => Object.defineProperty({ type: 'text-delta', index: 0 }, 'text', get(() => 'got')),
      () => Object.defineProperty({ type: 'text-delta', index: 0 }, 'text', get(fail)),
      () => new Proxy({ type: 'text-delta', index: 0, text: 'x' }, {}),
      () => new Proxy({ type: 'text-delta', index: 0, text: 'x' }, { ownKeys: fail }),
      () => new Delta(), () => ['type', 'index', 'text'], () => 'text', () => null, () => undefined, () => ({}), () => new Map(),
    ];
    const outers: ((chunk: unknown) => unknown)[] = [
      (chunk) => ({ turn: 1, step: 2, chunk }),
      (chunk) => ({ turn: { deep: [1] }, step: 'x', chunk }),
      (chunk) => ({ turn: 1, step: -0, chunk }),
      (chunk) => ({ step: 1, turn: 1, chunk }),
      (chunk) => ({ turn: 1, chunk }),
      (chunk) => Object.defineProperty({ turn: 1, step: 1 }, 'chunk', get(() => chunk)),
      (chunk) => [chunk],
      (chunk) => chunk,
    ];
    const attempt = (type: string, value: unknown): unknown => {
      const session = new Session('s');
      try {
        const { data } = appendLoosely(session, type, value);
        assert.ok(Object.isFrozen(data));
        const line = new TextDecoder().decode(session.jsonl());
        return { data, text: line.slice(line.indexOf('"data":')) };
      } catch (error) {
        const { code, path, message } = error as PalimpsestError;
        assert.deepEqual([session.seq, session.jsonl().length], [0, 0], 'the log is as it was');
        return { code, path, message };
      }
    };
    for (const polluted of [false, true]) {
      if (polluted) Object.defineProperty(Object.prototype, 'more', { value: 1, enumerable: true, configurable: true });
      try {
        for (const outer of outers) {
          for (const delta of deltas) assert.deepStrictEqual(attempt('assistant/chunk', outer(delta())), attempt('x/custom', outer(delta())));
        }
      } finally {
        Reflect.deleteProperty(Object.prototype, 'more');
      }
    }
  });

  const sparse = [1, 2];
  sparse.length = 3;
  class Point {
    x = 1;
  }
  const cycle: Record<string, unknown> = { a: 1 };
  cycle.deep = { back: cycle };
  const refused: [string, unknown, string][] = [
    ['undefined', { a: undefined }, 'data.a'],
    ['a function', { a: () => 1 }, 'data.a'],
    ['a symbol', [Symbol('s')], 'data[0]'],
    ['a BigInt', { a: [{ 'b c': 1n }] }, 'data.a[0]["b c"]'],
    ['NaN', NaN, 'data'],
    ['Infinity', [1, Infinity], 'data[1]'],
    ['-Infinity', { n: -Infinity }, 'data.n'],
    ['-0', { n: -0 }, 'data.n'],
    ['a cycle', cycle, 'data.deep.back'],
    ['a sparse array', { a: sparse }, 'data.a'],
    ['an array with a key of its own', Object.assign([1], { extra: 1 }), 'data'],
    ['a Map', { m: new Map() }, 'data.m'],
    ['a Set', new Set(), 'data'],
    ['a Date', [new Date(0)], 'data[0]'],
    ['a class instance', { p: new Point() }, 'data.p'],
    ['an array of a subclass', { a: new (class extends Array<number> {})() }, 'data.a'],
    ['a typed array', new Uint8Array(1), 'data'],
    ['a boxed string', { s: Object('x') as unknown }, 'data.s'],
    ['a getter that throws', { a: { get b(): never { throw new Error('no'); } } }, 'data.a.b'],
    ['a proxy whose trap throws', { p: new Proxy({}, { ownKeys() { throw new Error('no'); } }) }, 'data.p'],
    ['an object with another prototype', Object.create({ inherited: 1 }), 'data'],
  ];
  for (const [what, value, path] of refused) {
    it(`refuses ${what} at ${path} and leaves the log as it was`, () => {
      const session = new Session('s');
      session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', index: 0, text: 'waits' } });
      assert.equal(isJsonValue(value), false);
      assert.throws(() => appendLoosely(session, 'x/custom', value), (error) => {
        assert.ok(error instanceof PalimpsestError);
        assert.equal(error.code, 'INVALID_JSON_VALUE');
        assert.equal(error.path, path);
        assert.equal(error.session, 's');
        assert.equal(error.seq, 1);
        for (const part of ['"s"', 'seq 1', path]) assert.ok(error.message.includes(part), error.message);
        return true;
      });
      assert.equal(session.seq, 1);
      assert.equal(decoder.decode(session.jsonl()).split('\n').length, 2);
      session.append('turn/end', { turn: 1, reason: { kind: 'completed' } });
      assert.equal(session.events[1]?.seq, 1);
    });
  }

  it('accepts an object without a prototype, and leaves symbols and hidden keys out, as JSON does', () => {
    const value = Object.assign(Object.create(null) as Record<string | symbol, unknown>, { a: 1, [Symbol('s')]: 2 });
    Object.defineProperty(value, 'hidden', { value: 3, enumerable: false });
    assert.equal(isJsonValue(value), true);
    const event = appendLoosely(new Session('s'), 'x/custom', value);
    assert.deepEqual(event.data, { a: 1 });
    assert.deepEqual(Reflect.ownKeys(event.data as object), ['a']);
  });

  it('reads each property once: what was checked is what was stored', () => {
    let reads = 0;
    const value = {
      get tricky() {
        reads++;
        return reads === 1 ? 'first' : undefined;
      },
      list: new Proxy(['x'], {
        get(target, key, receiver) {
          if (key === '0') reads += 100;
          return Reflect.get(target, key, receiver) as unknown;
        },
      }),
    };
    const event = appendLoosely(new Session('s'), 'x/custom', value);
    assert.equal(reads, 101);
    assert.deepEqual(event.data, { tricky: 'first', list: ['x'] });
  });

  it('takes a snapshot, deeply frozen', () => {
    const session = new Session('s');
    const data = { list: [{ deep: 'before' }] };
    const event = appendLoosely(session, 'x/custom', data);
    (data.list[0] as { deep: string }).deep = 'after';
    assert.deepEqual(event.data, { list: [{ deep: 'before' }] });
    const check = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      assert.ok(Object.isFrozen(value));
      Object.values(value).forEach(check);
    };
    check(event);
    session.jsonl();
    check(session.events[0]);
  });

  it('keeps 100,000 levels, in arrays and objects, and says where a value that deep is wrong', () => {
    const nest = (leaf: unknown): unknown => {
      let value = leaf;
      for (let level = 0; level < 50_000; level++) value = { a: [value] };
      return value;
    };
    const session = new Session('s');
    appendLoosely(session, 'x/custom', nest('bottom'));
    session.jsonl();
    let value: unknown = session.events[0]?.data;
    for (let level = 0; level < 50_000; level++) value = (value as { a: unknown[] }).a[0];
    assert.equal(value, 'bottom');
    assert.throws(() => appendLoosely(session, 'x/custom', nest(undefined)), (error) => {
      assert.ok(error instanceof PalimpsestError);
      assert.equal(error.path, `data${'.a[0]'.repeat(50_000)}`);
      assert.ok(error.message.length < 1000, 'the message stays readable');
      return true;
    });
    assert.equal(isJsonValue(nest(1)), true);
  });

  it('keeps a string of 100 MB', () => {
    const session = new Session('s');
    const text = 'x\n'.repeat(50_000_000);
    appendLoosely(session, 'x/custom', text);
    session.jsonl(0, 0);
    assert.equal(session.events[0]?.data === text, true);
    session.free();
  });

  it('refuses what no string could hold when it is read again, and goes on', () => {
    const session = new Session('s');
    const other = new Session('other');
    appendLoosely(other, 'x/custom', 'kept');
    const text = 'x'.repeat(100_000_000);
    assert.throws(() => appendLoosely(session, 'x/custom', { parts: [text, text, text, text, text, text] }), (error) => {
      assert.ok(error instanceof PalimpsestError);
      assert.equal(error.code, 'INVALID_JSON_VALUE');
      assert.equal(error.path, 'data.parts[5]');
      return true;
    });
    assert.equal(session.seq, 0);
    appendLoosely(session, 'x/custom', 'small');
    assert.deepEqual([session, other].map(({ events }) => events.map(({ data }) => data)), [['small'], ['kept']]);
    assert.equal(new TextDecoder().decode(session.jsonl()), `${JSON.stringify(session.events[0])}\n`);
  });

  it('accepts the same object twice: that is no cycle', () => {
    const shared = { a: 1 };
    assert.deepEqual(appendLoosely(new Session('s'), 'x/custom', [shared, shared]).data, [{ a: 1 }, { a: 1 }]);
  });
});
