/** The rules of correct logs: each with the smallest log that breaks it and one that just does not. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type PalimpsestError, type Session, type SessionEvent, SessionReader, SessionStore } from 'palimpsest';
import { attachInvariants, checkLog, type Finding, InvariantError, LogChecker, RULES, type RuleCode } from 'palimpsest/invariants';
import { appendAgain } from '../support/append.js';
import { casesIn, REAL } from '../support/fixtures.js';
import { Dice } from '../support/random.js';
import {
  answer, asks, block, bytesOf, call, chunk, compacted, compacting, custom, delta, endStep, endTurn, type Entry, header, liveLog, logOf, replace,
  result, say, steer, step, summary, turn, write,
} from '../support/rules.js';
import { randomAgentSession } from '../support/sessions.js';

const codes = (findings: readonly Finding[]): string[] => findings.map(({ code }) => code);
/** Findings but for those that say that the log is not finished. */
const broken = (findings: readonly Finding[]): string[] => codes(findings).filter((code) => !code.endsWith('_AT_END'));

const image = (data: string) => ({ type: 'image', mimeType: 'image/png', data });
const blob = (length: number): Entry => ['user/message', { content: [image('A'.repeat(length))], source: { kind: 'user' } }, { surfaceOp: 'append' }];
const texts = (...content: object[]): Entry => answer(content);
/** The first step of turn 1, open. */
const open = [turn(1), step(1)];
/** Turn 1, open, after a step in which call `a` was answered: the message at 2, the result at 4. */
const paired = [...open, asks('a'), call('a'), result('a'), endStep(1)];

/** Per rule: the event that breaks it, behind what makes it do so; and the nearest log that is in order. */
const cases: Record<Exclude<RuleCode, 'SEQ_GAP' | 'SEQ_REPEATED' | 'UNKNOWN_SOURCE' | 'TORN_TAIL' | 'TIME_IN_FUTURE' | 'REQUEST_MISMATCH'>, { bad: Entry[]; good: Entry[] }[]> = {
  TURN_NESTED: [{ bad: [turn(1), turn(2)], good: [turn(1), endTurn(1), turn(2)] }],
  TURN_NUMBER: [
    { bad: [turn(0)], good: [turn(1)] },
    { bad: [turn(2)], good: [turn(1)] },
    { bad: [turn(1), endTurn(1), turn(3)], good: [turn(1), endTurn(1), turn(2)] },
    { bad: [turn(1), endTurn(1), turn(1)], good: [turn(1), endTurn(1), turn(2)] },
    { bad: [['turn/start', {}]], good: [turn(1)] },
  ],
  TURN_NOT_OPEN: [{ bad: [endTurn(1)], good: [turn(1), endTurn(1)] }, { bad: [turn(1), endTurn(1), endTurn(1)], good: [turn(1), endTurn(1)] }],
  TURN_OPEN_AT_END: [{ bad: [turn(1)], good: [turn(1), endTurn(1)] }],
  WRONG_TURN: [
    { bad: [turn(1), endTurn(2)], good: [turn(1), endTurn(1)] },
    { bad: [turn(1), steer(2)], good: [turn(1), steer(1)] },
    { bad: [turn(1), compacting(2)], good: [turn(1), compacting(1)] },
    { bad: [turn(1), step(1, 2)], good: [turn(1), step(1, 1)] },
    { bad: [...open, chunk(1, 2)], good: [...open, chunk(1, 1)] },
  ],
  OUTSIDE_TURN: [
    { bad: [say()], good: [turn(1), say()] },
    { bad: [custom()], good: [turn(1), custom()] },
    { bad: [step(1)], good: [turn(1), step(1)] },
    { bad: [turn(1), endTurn(1), compacting(1)], good: [turn(1), compacting(1)] },
    { bad: [turn(1), endTurn(1), custom()], good: [turn(1), endTurn(1), header()] },
  ],
  STEP_NESTED: [{ bad: [...open, step(2)], good: [...open, endStep(1), step(2)] }],
  STEP_NUMBER: [
    { bad: [turn(1), step(0)], good: [turn(1), step(1)] },
    { bad: [...open, endStep(1), step(3)], good: [...open, endStep(1), step(2)] },
    { bad: [...open, endStep(1), endTurn(1), turn(2), step(2, 2)], good: [...open, endStep(1), endTurn(1), turn(2), step(1, 2)] },
  ],
  STEP_NOT_OPEN: [{ bad: [turn(1), endStep(1)], good: [...open, endStep(1)] }],
  STEP_NOT_CLOSED: [{ bad: [...open, endTurn(1)], good: [...open, endStep(1), endTurn(1)] }],
  WRONG_STEP: [
    { bad: [...open, chunk(2)], good: [...open, chunk(1)] },
    { bad: [...open, endStep(2)], good: [...open, endStep(1)] },
    { bad: [...open, asks('a'), call('a', 2)], good: [...open, asks('a'), call('a', 1)] },
  ],
  OUTSIDE_STEP: [
    { bad: [turn(1), chunk()], good: [...open, chunk()] },
    { bad: [turn(1), answer([])], good: [...open, answer([])] },
    // What replaces says which step it comes from, and may stand anywhere in a turn.
    { bad: [...paired, answer([block('b')])], good: [...paired, answer([block('a')], [1, 1], replace(2, 2))] },
  ],
  CALL_WITHOUT_RESULT: [
    { bad: [...open, asks('a'), endStep(1)], good: [...open, asks('a'), call('a'), result('a'), endStep(1)] },
    { bad: [...open, asks('a', 'b'), call('a'), call('b'), result('b'), endStep(1)], good: [...open, asks('a', 'b'), call('a'), call('b'), result('b'), result('a'), endStep(1)] },
    { bad: [...open, asks('a'), call('a'), endStep(1)], good: [...open, asks('a'), call('a'), result('a'), endStep(1)] },
  ],
  CALL_MALFORMED: [
    { bad: [...open, texts({ type: 'tool-call', id: 'a', name: 'run' })], good: [...open, texts({ type: 'tool-call', id: 'a', name: 'run', arguments: '' })] },
    { bad: [...open, texts({ type: 'tool-call', id: '', name: 'run', arguments: '' })], good: [...open, asks('a')] },
    { bad: [...open, texts({ type: 'tool-call', id: 'a', name: '', arguments: '' })], good: [...open, asks('a')] },
    { bad: [...open, texts({ type: 'tool-call', id: 'a', name: 'run', arguments: {} })], good: [...open, asks('a')] },
  ],
  CALL_ID_DUPLICATE: [
    { bad: [...open, asks('a', 'a')], good: [...open, asks('a', 'b')] },
    { bad: [...paired, step(2), answer([block('a')], [2, 1])], good: [...paired, step(2), answer([block('b')], [2, 1])] },
    { bad: [...open, asks('a'), call('a'), call('a')], good: [...open, asks('a', 'b'), call('a'), call('b')] },
  ],
  CALL_ID_REUSED: [
    {
      bad: [...paired, say('summary', replace(2, 4)), step(2), answer([block('a')], [2, 1])],
      good: [...paired, say('summary', replace(2, 4)), step(2), answer([block('b')], [2, 1])],
    },
  ],
  RESULT_WITHOUT_CALL: [
    { bad: [...open, result('a')], good: [...open, asks('a'), call('a'), result('a')] },
    { bad: [...open, asks('a'), call('a'), result('b')], good: [...open, asks('a'), call('a'), result('a')] },
    { bad: [...open, call('a'), result('a')], good: [...open, call('a'), asks('a'), result('a')] },
    // A result of the step before.
    { bad: [...paired, step(2), result('a', [2, 1])], good: [...paired, step(2), answer([block('b')], [2, 1]), call('b', 2), result('b', [2, 1])] },
    // A result in the place of a message.
    { bad: [turn(1), say(), result('a', [1, 1], {}, replace(1, 1))], good: [turn(1), say(), say('other', replace(1, 1))] },
  ],
  RESULT_OF_UNLOGGED_CALL: [
    { bad: [...open, asks('a'), result('a')], good: [...open, asks('a'), result('a', [1, 1], { isError: true, error: { name: 'InterruptedError', code: 'interrupted' } })] },
  ],
  RESULT_DUPLICATE: [{ bad: [...open, asks('a'), call('a'), result('a'), result('a')], good: [...open, asks('a', 'b'), call('a'), call('b'), result('a'), result('b')] }],
  RESULT_BEFORE_CALL: [
    // The result moves to where the first message stood.
    { bad: [turn(1), say(), step(1), asks('a'), call('a'), result('a', [1, 1], {}, replace(1, 1))], good: [turn(1), say(), step(1), asks('a'), call('a'), result('a')] },
  ],
  REPLACE_SPLITS_PAIR: [
    { bad: [...paired, say('summary', replace(2, 2))], good: [...paired, say('summary', replace(2, 4))] },
    { bad: [...paired, say('summary', replace(4, 4))], good: [...paired, result('a', [1, 1], {}, replace(4, 4))] },
    { bad: [...paired, answer([], [1, 1], replace(2, 2))], good: [...paired, answer([block('a')], [1, 1], replace(2, 2))] },
    { bad: [...paired, answer([block('b')], [1, 1], replace(2, 4))], good: [...paired, answer([], [1, 1], replace(2, 4))] },
    // The call waits for its result.
    { bad: [...open, asks('a'), say('summary', replace(2, 2))], good: [...open, answer([]), say('summary', replace(2, 2))] },
    // Chained: what shadows the pair is shadowed with a message beside it, or not.
    {
      bad: [...paired, result('a', [1, 1], {}, replace(4, 4)), say(), say('summary', replace(6, 7))],
      good: [...paired, result('a', [1, 1], {}, replace(4, 4)), say(), say('summary', replace(2, 7, [2, 6, 7]))],
    },
    {
      bad: [...paired, answer([block('a')], [1, 1], replace(2, 2)), say('summary', replace(6, 6))],
      good: [...paired, answer([block('a')], [1, 1], replace(2, 2)), say('summary', replace(6, 4))],
    },
    { bad: [...paired, result('b', [1, 1], {}, replace(4, 4))], good: [...paired, result('a', [1, 1], {}, replace(4, 4))] },
  ],
  COMPACTION_NESTED: [{ bad: [turn(1), compacting(), compacting()], good: [turn(1), compacting(), compacted(), compacting()] }],
  COMPACTION_NOT_OPEN: [{ bad: [turn(1), compacted()], good: [turn(1), compacting(), compacted()] }, { bad: [turn(1), summary()], good: [turn(1), compacting(), summary()] }],
  COMPACTION_NOT_CLOSED: [
    { bad: [turn(1), compacting(), endTurn(1)], good: [turn(1), compacting(), compacted(), endTurn(1)] },
    { bad: [turn(1), compacting(), endTurn(1, 'disposed')], good: [turn(1), compacting(), endTurn(1, 'interrupted')] },
  ],
  COMPACTION_OPEN_AT_END: [{ bad: [turn(1), compacting()], good: [turn(1), compacting(), compacted()] }],
  DELTA_WITHOUT_HEADER: [{ bad: [delta()], good: [header(), delta()] }],
  EMPTY_TEXT: [
    { bad: [turn(1), say('')], good: [turn(1), say('.')] },
    { bad: [turn(1), say(' \n\t')], good: [turn(1), say(' \n\t.')] },
    { bad: [...open, texts({ type: 'text', text: '' }, block('a'))], good: [...open, texts({ type: 'text', text: 'a' }, block('a'))] },
    { bad: [...open, asks('a'), call('a'), result('a', [1, 1], { content: [{ type: 'text', text: '' }] })], good: [...open, asks('a'), call('a'), result('a', [1, 1], { content: [] })] },
  ],
  EMPTY_CONTENT: [{ bad: [turn(1), ['user/message', { content: [], source: { kind: 'user' } }, { surfaceOp: 'append' }]], good: [...open, answer([])] }],
  OVERSIZED_BLOB: [
    { bad: [turn(1), blob(5 * 1024 * 1024 + 1)], good: [turn(1), blob(5 * 1024 * 1024)] },
    // Text of any length is text.
    { bad: [turn(1), blob(6_000_000)], good: [turn(1), say('A'.repeat(6_000_000))] },
  ],
};
const warnings: readonly string[] = ['TURN_OPEN_AT_END', 'COMPACTION_OPEN_AT_END', 'CALL_ID_REUSED', 'EMPTY_TEXT', 'EMPTY_CONTENT'];

describe('each rule', () => {
  for (const [code, logs] of Object.entries(cases)) {
    it(`${code}: ${RULES[code as RuleCode]}`, () => {
      for (const { bad, good } of logs) checkCase(code, bad, good);
    });
  }
});

function checkCase(code: string, bad: readonly Entry[], good: readonly Entry[]): void {
  const session = logOf(bad);
  const atEnd = code.endsWith('_AT_END');
  const found = checkLog(session);
  const finding = found.find((one) => one.code === code);
  assert.ok(finding, `${JSON.stringify(bad).slice(0, 500)}: ${codes(found).join()}`);
  assert.equal(finding.severity, warnings.includes(code) ? 'warning' : 'error');
  assert.ok(!finding.message.includes('#') && !finding.message.includes('undefined'), finding.message);
  assert.ok(finding.related.every((seq) => seq <= bad.length));
  // It is the last event that breaks the rule, and nothing was wrong before it.
  if (!atEnd) assert.equal(finding.seq, bad.length - 1);
  assert.deepEqual(broken(checkLog(logOf(bad.slice(0, -1)))), []);
  const right = checkLog(logOf(good));
  assert.ok(!(atEnd ? codes(right) : broken(right)).includes(code) && broken(right).length === 0, `${JSON.stringify(good).slice(0, 500)}: ${codes(right).join()}`);
  // A stored log gives the same findings, with their places.
  const stored = checkLog(bytesOf(session)).map(({ line: _, byte: __, ...rest }) => rest);
  assert.deepEqual(stored, found);
  if (!atEnd) checkLive(code, bad, good);
}

/** The same rules as the events come in. */
function checkLive(code: string, bad: readonly Entry[], good: readonly Entry[]): void {
  for (const mode of ['throw', 'report'] as const) {
    const reported: Finding[] = [];
    const store = new SessionStore();
    const detach = attachInvariants(store, { mode, onFinding: (finding) => reported.push(finding) });
    const session = liveLog(store, bad.slice(0, -1));
    const before = { seq: session.seq, bytes: session.jsonl(), nodes: session.surface.nodes };
    const last = bad.slice(-1);
    if (mode === 'throw' && !warnings.includes(code)) {
      assert.throws(() => write(session, last), (error) => {
        assert.ok(error instanceof InvariantError, String(error));
        assert.deepEqual([error.code, error.session, error.seq], ['INVARIANT', session.id, bad.length - 1]);
        assert.ok(error.message.includes(error.rule), error.message);
        return true;
      });
      assert.deepEqual({ seq: session.seq, bytes: session.jsonl(), nodes: session.surface.nodes }, before, 'a refused event leaves the log as it was');
      assert.deepEqual(reported, []);
    } else {
      write(session, last);
      assert.deepEqual(reported, checkLog(logOf(bad)).filter((finding) => !finding.code.endsWith('_AT_END')));
    }
    reported.length = 0;
    liveLog(store, good);
    assert.deepEqual(reported, []);
    detach();
  }
}

describe('a stored log', () => {
  const session = logOf([...paired, endTurn(1)]);
  const lines = [...new TextDecoder().decode(bytesOf(session)).trimEnd().split('\n')].map((line) => `${line}\n`);
  const check = (parts: readonly string[]): Finding[] => checkLog(Buffer.from(parts.join('')));

  it('SEQ_GAP: a lost line', () => assert.deepEqual(check(lines.filter((_, index) => index !== 6)).map(({ code, seq, line }) => [code, seq, line]), [['SEQ_GAP', 6, 7]]));
  it('SEQ_REPEATED: a second writer', () => assert.deepEqual(check([...lines, lines[6]!]).map(({ code, seq, line }) => [code, seq, line]), [['SEQ_REPEATED', 5, 9]]));
  it('TORN_TAIL: a write that was cut', () => {
    for (let cut = 1; cut < lines[7]!.length; cut++) {
      const [torn, ...rest] = check([...lines.slice(0, 7), lines[7]!.slice(0, cut)]);
      assert.deepEqual([torn?.code, torn?.severity, torn?.line, codes(rest)], ['TORN_TAIL', 'warning', 8, ['TURN_OPEN_AT_END']]);
      assert.ok(torn?.message.includes(`its ${cut} bytes`), torn?.message);
    }
    assert.deepEqual(check(lines), []);
  });
  it('TIME_IN_FUTURE: a clock that runs ahead', () => {
    const now = 1_700_000_000_000;
    const at = (time: number): Finding[] => checkLog(Buffer.from(lines.join('').replaceAll(/"time":\d+/g, `"time":${time}`)), { now, maxAheadMs: 1000 });
    assert.deepEqual(at(now + 1000), []);
    assert.deepEqual(new Set(codes(at(now + 1001))), new Set(['TIME_IN_FUTURE']));
    assert.ok(at(now + 1001).every(({ severity }) => severity === 'warning'));
    assert.deepEqual(checkLog(Buffer.from(lines.join('').replaceAll(/"time":\d+/g, '"time":9e15')), { maxAheadMs: Infinity }), []);
  });
  it('gives the same findings in chunks of any size', () => {
    const damaged = Buffer.from([...lines.slice(0, 3), '{"type":"user/mess\n', ...lines.slice(4, 6), lines[4]!, ...lines.slice(6)].join(''));
    const whole = checkLog(damaged);
    assert.deepEqual(codes(whole), ['CORRUPT_LOG', 'SEQ_REPEATED']);
    for (let size = 1; size < 200; size++) {
      const checker = new LogChecker();
      const found: Finding[] = [];
      for (let from = 0; from < damaged.length; from += size) found.push(...checker.push(damaged.subarray(from, from + size)));
      found.push(...checker.finish());
      assert.deepEqual(found, whole);
      assert.throws(() => checker.push(damaged), (error: PalimpsestError) => error.code === 'DISPOSED');
    }
  });
  it('limits are options', () => {
    const small = { maxBlobBytes: 10 };
    assert.deepEqual(broken(checkLog(logOf([turn(1), blob(10)]), small)), []);
    assert.deepEqual(broken(checkLog(logOf([turn(1), blob(11)]), small)), ['OVERSIZED_BLOB']);
    assert.deepEqual(broken(checkLog(logOf([turn(1), blob(6_000_000)]), { maxBlobBytes: Infinity })), []);
  });
});

describe('logs that keep the rules', () => {
  it('2,000 random sessions of a correct agent give no finding', () => {
    let events = 0;
    for (let seed = 0; seed < 2000; seed++) {
      const session = randomAgentSession(new Dice(seed));
      events += session.seq;
      assert.deepEqual(checkLog(session), [], `seed ${seed}`);
      if (seed % 10 === 0) {
        assert.deepEqual(checkLog(bytesOf(session)), [], `seed ${seed}, stored`);
        relive(session);
      }
      session.free();
    }
    console.log(`${events} events of 2000 sessions`);
  });

  it('recorded sessions of a real agent give no finding', () => {
    for (const { name, bytes } of casesIn(REAL)) assert.deepEqual(checkLog(bytes), [], name);
  });
});

/** The same events once more, each checked before it enters. */
function relive(session: Session): void {
  const store = new SessionStore();
  attachInvariants(store, { onFinding: (finding) => assert.fail(finding.message) });
  const again = store.create();
  for (const event of session.events as Iterable<SessionEvent>) appendAgain(again, event);
  const reader = new SessionReader();
  reader.push(bytesOf(again));
  assert.equal(reader.finish().session.seq, session.seq);
}
