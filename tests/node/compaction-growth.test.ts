/** Pruning; how logs grow; and what any sequence of compactions and prunes leaves of the history. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Message, PalimpsestError, positionOf, type Session, type SessionEvent, isToolPairingBalanced } from 'palimpsest';
import { compactIfNeeded, compactRegion, pruneToolResults } from 'palimpsest/compaction';
import { checkLog } from 'palimpsest/invariants';
import { RandomAgent } from '../support/agent.js';
import { Dice } from '../support/random.js';
import { answer, block, call, compacting, endStep, endTurn, type Entry, logOf, result, say, step, turn, write } from '../support/rules.js';
import { refusal } from '../support/sessions.js';

/** A turn with one call and a result of so many characters. */
const run = (n: number, length: number, content?: object[]): Entry[] => [
  turn(n),
  say('go'),
  step(1, n),
  answer([block(`c${n}`)], [1, n]),
  call(`c${n}`, 1, n),
  result(`c${n}`, [1, n], { content: content ?? [{ type: 'text', text: 'x'.repeat(length) }], meta: { big: 'm'.repeat(1000) } }),
  endStep(1, n),
  endTurn(n),
];

describe('pruneToolResults', () => {
  const all = { olderThan: 0, keep: 0, maxChars: 200 };

  it('replaces a long result by its beginning and end, under the same call', () => {
    const session = logOf(run(1, 0, [{ type: 'text', text: `head${'x'.repeat(1000)}tail` }]));
    const [pruned, ...others] = pruneToolResults(session, all);
    assert.deepEqual([others, pruned?.shadowed, pruned?.charsBefore, pruned?.charsAfter], [[], 5, 1008, 200]);
    const { data, surfaceOp, sourceEventSeqs } = session.events[pruned!.seq] as SessionEvent<'tool/result'>;
    assert.deepEqual([surfaceOp, sourceEventSeqs], [{ op: 'replace', start: 5, end: 5 }, [5]]);
    assert.deepEqual({ ...data, content: undefined }, { turn: 1, step: 1, callId: 'c1', isError: false, content: undefined });
    assert.match((data.content[0] as { text: string }).text, /^headx+\n\[1008 characters, pruned to the beginning and the end\]\nx+tail$/);
    assert.deepEqual(checkLog(session), []);
    assert.deepEqual(session.events.slice(8).map(({ type }) => type), ['turn/start', 'tool/result', 'turn/end']);
    assert.deepEqual(pruneToolResults(session, all), [], 'a second time changes nothing');
    assert.equal(session.seq, 11);
  });

  it('spares new turns, new results and short ones', () => {
    const log = [1, 2, 3, 4].flatMap((n) => run(n, n === 2 ? 200 : 1000));
    const pruned = (options: object, more: Entry[] = []): number[] => pruneToolResults(logOf([...log, ...more]), { maxChars: 200, ...options }).map(({ shadowed }) => shadowed);
    assert.deepEqual(pruned({ olderThan: 0, keep: 0 }), [5, 21, 29]);
    assert.deepEqual(pruned({ olderThan: 1, keep: 0 }), [5, 21, 29], 'between turns, the last one is one back');
    assert.deepEqual(pruned({ olderThan: 1, keep: 0 }, [turn(5)]), [5, 21, 29]);
    assert.deepEqual(pruned({ olderThan: 2, keep: 0 }, [turn(5)]), [5, 21]);
    assert.deepEqual(pruned({ olderThan: 0, keep: 1 }), [5, 21]);
    assert.deepEqual(pruned({}), [5]);
    assert.deepEqual(pruned({ olderThan: 0, keep: 9 }), []);
    assert.deepEqual(pruned({ olderThan: 0, keep: 0, maxChars: 1000 }), []);
  });

  it('in a turn needs none of its own, also in the middle of a step', () => {
    const session = logOf([...run(1, 1000), turn(2), step(1, 2), answer([block('d')], [1, 2]), call('d', 1, 2)]);
    pruneToolResults(session, all);
    write(session, [result('d', [1, 2]), endStep(1, 2), endTurn(2)]);
    assert.deepEqual(checkLog(session), []);
    assert.equal(session.events.filter(({ type }) => type === 'turn/start').length, 2);
  });

  it('leaves pictures out, and cuts no character in half', () => {
    const session = logOf(run(1, 0, [{ type: 'text', text: 'a' }, { type: 'image', data: 'A'.repeat(1_000_000) }]));
    assert.deepEqual(pruneToolResults(session, all).map(({ charsBefore, charsAfter }) => [charsBefore, charsAfter]), [[1_000_006, 16]]);
    assert.deepEqual((session.events[9] as SessionEvent<'tool/result'>).data.content, [{ type: 'text', text: 'a\n[image pruned]' }]);
    for (let length = 600; length < 606; length++) {
      const emoji = logOf(run(1, 0, [{ type: 'text', text: 'x'.repeat(length % 2) + '😀'.repeat(length) }]));
      pruneToolResults(emoji, { ...all, maxChars: length % 7 + 200 });
      const { text } = (emoji.events[9] as SessionEvent<'tool/result'>).data.content[0] as { text: string };
      assert.ok(!/\p{Surrogate}/u.test(text), text);
    }
  });

  it('waits for an open compaction', () => {
    assert.throws(() => pruneToolResults(logOf([...run(1, 1000), turn(2), compacting(2)]), all), refusal('COMPACTION_OPEN'));
  });

  it('does not prune for ever, however little may stay', () => {
    const session = logOf(run(1, 123_456));
    const tiny = { olderThan: 0, keep: 0, maxChars: 0 };
    assert.equal(pruneToolResults(session, tiny).length, 1);
    assert.deepEqual(pruneToolResults(session, tiny), []);
  });
});

describe('a log grows with what is new', () => {
  /** Bytes that a log gains with each of `rounds` compactions over a surface of `size` bytes with a picture in it. */
  async function growth(rounds: number, size: number, fresh: number): Promise<number[]> {
    const session = logOf([turn(1), ['user/message', { content: [{ type: 'image', data: 'A'.repeat(size) }], source: { kind: 'user' } }, { surfaceOp: 'append' }]]);
    const gained: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const before = session.jsonl().length;
      for (let n = 0; n < 10; n++) write(session, [say('x'.repeat(fresh / 10))]);
      const nodes = session.surface.nodes;
      // The picture stays on the surface: a compaction neither copies nor drops it.
      await compactRegion(session, nodes[1]!.seq, nodes[nodes.length - 2]!.seq, { summarize: () => 's'.repeat(fresh / 5) });
      gained.push(session.jsonl().length - before);
    }
    write(session, [endTurn(1)]);
    assert.deepEqual(checkLog(session), []);
    assert.equal(session.deriveMessages().length, 3);
    return gained;
  }

  it('200 compactions over 2 MB add no more than a constant part of the new content each', async () => {
    const fresh = 5000;
    const gained = await growth(200, 2_000_000, fresh);
    for (const [round, bytes] of gained.entries()) assert.ok(bytes < fresh * 2 + 2500, `round ${round} gained ${bytes} bytes`);
    const total = gained.reduce((sum, bytes) => sum + bytes, 0);
    console.log(`200 compactions with ${fresh} new characters each: ${Math.round(total / 200)} bytes a round`);
  });

  it('retention over 2 MB of text, compacted again and again, stays linear too', async () => {
    const session = logOf([turn(1)]);
    let said = 0;
    let compactions = 0;
    const fill = (chars: number): void => {
      for (; chars > 0; chars -= 4000) {
        write(session, [say('x'.repeat(4000))]);
        said += 4000;
      }
    };
    fill(2_000_000);
    for (let round = 0; round < 200; round++) {
      fill(20_000);
      if (await compactIfNeeded(session, { summarize: ({ tokens }) => 's'.repeat(tokens), triggerTokens: 500_000, retainTokens: 490_000 })) compactions++;
    }
    assert.ok(compactions > 20, `${compactions}`);
    const bytes = session.jsonl().length;
    console.log(`${compactions} compactions: ${(bytes / said).toFixed(2)} bytes logged for each said`);
    assert.ok(bytes < said * 3, `${bytes} bytes for ${said} characters`);
  });
});

/** Whether each result follows its call and each call of a finished step has its result. */
function halves(session: Session): string[] {
  const open = new Set<string>();
  const wrong: string[] = [];
  for (const { content } of session.deriveMessages() as readonly Message[]) {
    for (const part of content) {
      if (part.type === 'tool-call') open.add(part.id);
      if (part.type === 'tool-result' && !open.delete(part.toolCallId)) wrong.push(`result of ${part.toolCallId}`);
    }
  }
  if (!positionOf(session).stepOpen) wrong.push(...[...open].map((id) => `call ${id}`));
  return wrong;
}

it('no sequence of compactions and prunes leaves half a pair: 2,000 random sessions', async () => {
  let [compactions, refused, prunes] = [0, 0, 0];
  for (let seed = 0; seed < 2000; seed++) {
    const dice = new Dice(seed);
    const agent = new RandomAgent(dice, { chunks: false, compactions: false, prunes: false });
    const summarize = (): string => {
      if (dice.chance(0.1)) throw new RangeError('no model');
      return dice.chance(0.1) ? 's'.repeat(5000) : 's';
    };
    for (let left = 2 + dice.below(5); left > 0; left--) {
      agent.resume();
      if (dice.chance(0.2)) agent.crash();
      else agent.turn();
      if (dice.chance(0.1)) agent.fork();
      const { session } = agent;
      for (let n = dice.below(4); n > 0; n--) {
        const nodes = session.surface.nodes.map(({ seq }) => seq);
        try {
          if (dice.chance(0.3)) {
            prunes += pruneToolResults(session, { olderThan: dice.below(3), keep: dice.below(2), maxChars: 100 }).length;
          } else if (dice.chance(0.4)) {
            if (await compactIfNeeded(session, { summarize, triggerTokens: dice.below(300), retainTokens: dice.below(300) })) compactions++;
          } else if (nodes.length > 0) {
            if (await compactRegion(session, dice.pick(nodes), dice.pick(nodes), { summarize })) compactions++;
          }
        } catch (error) {
          assert.ok(error instanceof RangeError || (error instanceof PalimpsestError && ['UNBALANCED_REGION', 'INVALID_REPLACE', 'COMPACTION_FAILED'].includes(error.code)), String(error));
          refused++;
        }
        assert.deepEqual(halves(session), [], `seed ${seed}`);
        assert.ok(isToolPairingBalanced(session.surface.nodes, session.events, null));
      }
    }
    assert.deepEqual(checkLog(agent.session), [], `seed ${seed}`);
    agent.session.free();
  }
  console.log(`${compactions} compactions, ${prunes} prunes, ${refused} refused or failed`);
  assert.ok(compactions > 1000 && prunes > 300 && refused > 500);
});
