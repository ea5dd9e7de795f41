/** Injected faults are found, and no input makes the checker fail. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkLog, RULES } from 'palimpsest/invariants';
import { bytesOfLines, linesOf, MUTATORS } from '../support/mutate.js';
import { Dice } from '../support/random.js';
import { bytesOf } from '../support/rules.js';
import { randomAgentSession } from '../support/sessions.js';

describe('2,000 broken logs', () => {
  const counts = new Map<string, number>();
  const per = Math.ceil(2000 / MUTATORS.length);
  for (const { name, codes, apply } of MUTATORS) {
    it(`${name}: ${codes.join(' or ')}`, () => {
      let done = 0;
      for (let seed = 0; done < per; seed++) {
        assert.ok(seed < 3000, `only ${done} logs could be broken so`);
        const dice = new Dice(seed);
        const session = randomAgentSession(dice);
        const log = linesOf(session.events);
        if (apply(log, dice)) {
          const found = checkLog(bytesOfLines(session.headerLine(), log));
          assert.ok(found.some(({ code }) => codes.includes(code)), `seed ${seed}: ${found.map(({ code }) => code).join() || 'nothing found'}`);
          for (const { message, related, seq } of found) {
            assert.ok(message !== '' && !message.includes('#') && !message.includes('undefined'), message);
            assert.ok(seq !== undefined && related.every((other) => other <= log.length));
          }
          done++;
        }
        session.free();
      }
      counts.set(name, done);
    });
  }

  it('were broken in every way that a rule is about', () => {
    assert.ok([...counts.values()].reduce((sum, count) => sum + count, 0) >= 2000);
    const injected = new Set<string>(MUTATORS.flatMap(({ codes }) => codes));
    const elsewhere = ['UNKNOWN_SOURCE', 'TORN_TAIL', 'TURN_OPEN_AT_END', 'COMPACTION_OPEN_AT_END', 'RESULT_BEFORE_CALL', 'REQUEST_MISMATCH'];
    assert.deepEqual(Object.keys(RULES).filter((code) => !injected.has(code)).sort(), elsewhere.sort());
  });
});

it('2,000 logs with several faults at once, and with random bytes in them, are checked to their end', () => {
  for (let seed = 0; seed < 2000; seed++) {
    const dice = new Dice(seed);
    const session = randomAgentSession(dice, { turns: 1 + dice.below(3) });
    const log = linesOf(session.events);
    for (let faults = dice.below(5); faults > 0; faults--) dice.pick(MUTATORS).apply(log, dice);
    const bytes = bytesOfLines(session.headerLine(), log);
    for (let noise = dice.below(4); noise > 0; noise--) {
      const at = dice.below(bytes.length);
      bytes.fill(dice.below(256), at, Math.min(at + dice.below(6), bytes.length));
    }
    const cut = bytes.subarray(0, dice.chance(0.3) ? dice.below(bytes.length) : bytes.length);
    for (const { code, severity, line, byte } of checkLog(cut)) {
      assert.ok(code.length > 0 && ['error', 'warning'].includes(severity));
      if (line !== undefined) assert.ok(byte !== undefined && byte <= cut.length && (byte === 0 || cut[byte - 1] === 0x0a));
    }
    assert.deepEqual(checkLog(bytesOf(session)), []);
    session.free();
  }
});
