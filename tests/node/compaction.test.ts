/** Compaction: regions, retention, the bracket in the log, what goes wrong while somebody summarizes. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Message, positionOf, Session, type SessionEvent, SessionReader, SessionStore } from 'palimpsest';
import {
  compactIfNeeded, compactRegion, type CompactionOptions, estimateTokens, frameSummary, INSTRUCTIONS, summaryOf, type SummaryRequest,
} from 'palimpsest/compaction';
import { attachInvariants, checkLog } from 'palimpsest/invariants';
import { asks, bytesOf, call, compacted, compacting, endStep, endTurn, type Entry, logOf, replace, result, say, step, turn, write } from '../support/rules.js';
import { refusal } from '../support/sessions.js';

const long = (word: string): string => `${word} `.repeat(200).trim();
const talk = (count: number): Entry[] => Array.from({ length: count }, (_, index) => say(long(`message-${index}`)));
const texts = (messages: readonly Message[]): string[] => messages.map(({ content }) => content.map((block) => ('text' in block ? block.text : block.type)).join('|'));
const types = (session: Session, from = 0): string[] => session.events.slice(from).map(({ type }) => type);
const never = { summarize: () => assert.fail('nothing is to be summarized') };
const seqs = (session: Session): number[] => session.surface.nodes.map(({ seq }) => seq);

/** A summarizer that waits until it is told. */
function waiting(): CompactionOptions & { finish: (text: string) => void; fail: (error: Error) => void; request: SummaryRequest | undefined; asked: AbortSignal | undefined } {
  let finish!: (text: string) => void;
  let fail!: (error: Error) => void;
  const answer = new Promise<string>((resolve, reject) => {
    [finish, fail] = [resolve, reject];
  });
  const options = {
    finish,
    fail,
    request: undefined as SummaryRequest | undefined,
    asked: undefined as AbortSignal | undefined,
    summarize: (request: SummaryRequest, signal: AbortSignal) => {
      options.request = request;
      options.asked = signal;
      return answer;
    },
  };
  return options;
}

describe('compactRegion', () => {
  it('lays a framed summary over the region, in a bracket', async () => {
    const session = logOf([turn(1), ...talk(4)]);
    const before = session.jsonl();
    const done = await compactRegion(session, 2, 3, { summarize: () => ' short \n', model: 'cheap', maxTokens: 50 });
    assert.deepEqual(types(session, 5), ['compact/start', 'compact/summary', 'user/message', 'compact/end']);
    assert.deepEqual(done, { seq: 7, summary: 'short', shadowedSeqs: [2, 3], tokensBefore: 1008, tokensAfter: 16 });
    assert.deepEqual(seqs(session), [1, 7, 4]);
    assert.equal(texts(session.deriveMessages())[1], '<compacted-summary>\nshort\n</compacted-summary>');
    const { data } = session.events[6] as SessionEvent<'compact/summary'>;
    assert.deepEqual(data, { summary: [{ type: 'text', text: 'short' }], shadowedRange: { start: 2, end: 3 }, shadowedSeqs: [2, 3], shadowedTokenCount: 1008, model: 'cheap', maxTokens: 50 });
    const { surfaceOp, sourceEventSeqs } = session.events[7]!;
    assert.deepEqual([surfaceOp, sourceEventSeqs], [{ op: 'replace', start: 2, end: 3 }, [2, 3, 6]]);
    assert.deepEqual(session.events[8]!.data, { turn: 1 });
    assert.deepEqual(session.jsonl().subarray(0, before.length), before, 'what was logged stays');
    assert.equal(summaryOf(session.events[7]!), 'short');
    write(session, [endTurn(1)]);
    assert.deepEqual(checkLog(session), []);
  });

  it('outside of a turn runs in one of its own', async () => {
    const session = logOf([turn(1), ...talk(3), endTurn(1)]);
    await compactRegion(session, 1, 2, { summarize: async () => 'short' });
    assert.deepEqual(types(session, 5), ['turn/start', 'compact/start', 'compact/summary', 'user/message', 'compact/end', 'turn/end']);
    assert.deepEqual(session.events[5]!.data, { turn: 2, trigger: { kind: 'injection', source: { kind: 'plugin', plugin: 'compaction' } } });
    assert.deepEqual(checkLog(session), []);
    assert.equal(positionOf(session).turn, 2);
  });

  it('merges earlier summaries, and takes none for one that a user typed', async () => {
    const session = logOf([turn(1), say(frameSummary('typed')), ...talk(3)]);
    await compactRegion(session, 2, 3, { summarize: () => 'first' });
    const requests: SummaryRequest[] = [];
    const summarize = (request: SummaryRequest): string => {
      requests.push(request);
      return frameSummary('second');
    };
    const done = await compactRegion(session, 1, 4, { summarize, instructions: 'shorter', maxTokens: 9 });
    const [request] = requests;
    assert.deepEqual([request?.previous, request?.instructions, request?.maxTokens], [['first'], 'shorter', 9]);
    assert.deepEqual(request && texts(request.messages), [frameSummary('typed'), long('message-2')]);
    assert.equal(request?.prompt, `<compacted-summary>\nfirst\n</compacted-summary>\n\n[user] ${frameSummary('typed')}\n[user] ${long('message-2')}`);
    assert.equal(done?.summary, 'second', "the model's own tags are taken off");
    assert.deepEqual(texts(session.deriveMessages()), [frameSummary('second')]);
    assert.equal(await compactRegion(session, done.seq, done.seq, never), null, 'nothing but a summary');
  });

  it('shows calls, results and media in the prompt as text, and no half character', async () => {
    const session = logOf([turn(1), say('cut \ud83d'), step(1), asks('a'), call('a'), result('a', [1, 1], { isError: true, content: [{ type: 'text', text: long('x') }, { type: 'image', data: 'A' }] }), endStep(1)]);
    const options = waiting();
    const running = compactRegion(session, 1, 5, options);
    options.finish('done');
    await running;
    assert.equal(options.request?.prompt, `[user] cut \ufffd\n[assistant calls run] {}\n[tool failed] ${long('x')}\n[tool failed] (image left out)`);
    assert.equal(options.request.instructions, INSTRUCTIONS);
    assert.equal(texts(options.request.messages)[0], 'cut \ud83d', 'the messages are as they are');
  });

  it('refuses regions that are none', async () => {
    const session = logOf([turn(1), say(), step(1), asks('a', 'b'), call('a'), call('b'), result('b'), result('a'), endStep(1), say()]);
    const before = session.seq;
    for (const [start, end, code] of [
      [3, 3, 'UNBALANCED_REGION'], [6, 7, 'UNBALANCED_REGION'], [1, 6, 'UNBALANCED_REGION'], [7, 9, 'UNBALANCED_REGION'],
      [9, 1, 'INVALID_REPLACE'], [0, 1, 'INVALID_REPLACE'], [1, 99, 'INVALID_REPLACE'], [-1, 1, 'INVALID_REPLACE'],
    ] as const) {
      await assert.rejects(compactRegion(session, start, end, never), refusal(code), `${start} to ${end}`);
    }
    assert.equal(session.seq, before, 'nothing is logged');
    await compactRegion(session, 3, 7, { summarize: () => '.' });
    assert.deepEqual(seqs(session), [1, 12, 9]);
  });

  it('does not cut in front of a result that is still to come, and heals what will never be answered', async () => {
    const waits = logOf([turn(1), say(long('a')), step(1), asks('a'), call('a')]);
    await assert.rejects(compactRegion(waits, 1, 3, never), refusal('UNBALANCED_REGION'));
    await compactRegion(waits, 1, 1, { summarize: () => '.' });
    const dead = logOf([turn(1), step(1), asks('a'), call('a'), endStep(1), say(long('a'))]);
    await compactRegion(dead, 2, 5, { summarize: () => '.' });
    assert.equal(dead.deriveMessages().length, 1);
  });
});

describe('what goes wrong', () => {
  const start = (): Session => logOf([turn(1), ...talk(3)]);

  /** Rejects so, and leaves the surface as it was, with the reason in the log. */
  async function fails(session: Session, running: Promise<unknown>, check: object | RegExp | ((error: unknown) => true), message: RegExp): Promise<void> {
    await assert.rejects(running, check);
    const end = session.events.filter(({ type }) => type === 'compact/end').at(-1) as SessionEvent<'compact/end'>;
    assert.match(end.data.error ?? '', message);
    assert.equal(positionOf(session).compaction, undefined);
    assert.ok(session.deriveMessages().every((one) => !texts([one])[0]?.includes('compacted')));
  }

  it('a summarizer that throws, at once or later', async () => {
    const error = new Error('no model');
    for (const summarize of [(): string => { throw error; }, async (): Promise<string> => { throw error; }]) {
      const session = start();
      await fails(session, compactRegion(session, 1, 2, { summarize }), (thrown: unknown) => (assert.equal(thrown, error), true), /no model/);
      assert.deepEqual(types(session, 4), ['compact/start', 'compact/end']);
      await compactRegion(session, 1, 2, { summarize: () => 'again' });
      write(session, [endTurn(1)]);
      assert.deepEqual(checkLog(session), []);
    }
  });

  it('a summary that is none', async () => {
    for (const [text, message] of [['', /empty/], [' \n', /empty/], [frameSummary(''), /empty/], [long('long').repeat(2), /no smaller/]] as const) {
      const session = start();
      await fails(session, compactRegion(session, 1, 1, { summarize: () => text }), refusal('COMPACTION_FAILED'), message);
    }
    const session = start();
    await fails(session, compactRegion(session, 1, 1, { summarize: () => 7 as never }), refusal('COMPACTION_FAILED'), /string/);
  });

  it('an abort, which does not wait for the summarizer', async () => {
    for (const idle of [false, true]) {
      const session = start();
      if (idle) write(session, [endTurn(1)]);
      const controller = new AbortController();
      const options = waiting();
      const running = compactRegion(session, 1, 2, { ...options, signal: controller.signal });
      await Promise.resolve();
      controller.abort(new Error('stop'));
      await fails(session, running, /stop/, /stop/);
      assert.equal(options.asked, controller.signal);
      const seq = session.seq;
      options.finish('too late');
      await new Promise(setImmediate);
      assert.equal(session.seq, seq);
      if (!idle) write(session, [endTurn(1)]);
      else assert.deepEqual((session.events[seq - 1] as SessionEvent<'turn/end'>).data.reason, { kind: 'aborted', reason: 'stop' });
      assert.deepEqual(checkLog(session), []);
    }
    const session = start();
    await assert.rejects(compactRegion(session, 1, 2, { ...never, signal: AbortSignal.abort() }), { name: 'AbortError' });
    assert.equal(session.seq, 4, 'nothing is logged when it is aborted before');
  });

  it('an abort after which the summarizer answers all the same', async () => {
    const session = start();
    const controller = new AbortController();
    const summarize = (): string => {
      controller.abort(new Error('stop'));
      return 'fine';
    };
    await fails(session, compactRegion(session, 1, 2, { summarize, signal: controller.signal }), /stop/, /stop/);
  });

  it('a second compaction while one is open, also from inside the summarizer', async () => {
    const session = start();
    const options = waiting();
    const running = compactRegion(session, 1, 2, options);
    await assert.rejects(compactRegion(session, 3, 3, never), refusal('COMPACTION_OPEN', /seq 4/));
    await assert.rejects(compactIfNeeded(session, { ...never, triggerTokens: 0, retainTokens: 0 }), refusal('COMPACTION_OPEN'));
    options.finish('one');
    await running;
    await compactRegion(session, 3, 3, {
      summarize: async () => {
        await assert.rejects(compactRegion(session, 3, 3, never), refusal('COMPACTION_OPEN'));
        return 'two';
      },
    });
    assert.deepEqual(texts(session.deriveMessages()), [frameSummary('one'), frameSummary('two')]);
  });

  it('a bracket that somebody else has opened in the log', async () => {
    const session = logOf([turn(1), ...talk(2), compacting()]);
    await assert.rejects(compactRegion(session, 1, 1, never), refusal('COMPACTION_OPEN'));
    write(session, [compacted()]);
    await compactRegion(session, 1, 1, { summarize: () => '.' });
  });

  it('a bracket that a crash has left open does not lock for ever', async () => {
    const session = start();
    const options = waiting();
    void compactRegion(session, 1, 2, options).catch(() => {});
    const reader = new SessionReader();
    reader.push(bytesOf(session));
    const loaded = reader.finish();
    assert.deepEqual(loaded.closers.map(({ type }) => type), ['turn/end']);
    const again = new Session('rules', [...loaded.session.events, ...loaded.closers], loaded.header);
    await compactRegion(again, 1, 2, { summarize: () => 'after the crash' });
    assert.deepEqual(checkLog(again), []);
  });

  it('a turn that ends meanwhile takes the compaction with it', async () => {
    const session = start();
    const options = waiting();
    const running = compactRegion(session, 1, 2, options);
    write(session, [endTurn(1, 'disposed'), turn(2)]);
    const seq = session.seq;
    options.finish('too late');
    await assert.rejects(running, refusal('COMPACTION_FAILED', /turn ended/));
    assert.equal(session.seq, seq, 'nothing more is logged');
    assert.deepEqual(checkLog(session).map(({ code }) => code), ['COMPACTION_NOT_CLOSED', 'TURN_OPEN_AT_END']);
  });

  it('a session that is freed meanwhile', async () => {
    const session = start();
    const options = waiting();
    const running = compactRegion(session, 1, 2, options);
    session.free();
    options.finish('too late');
    await assert.rejects(running, refusal('COMPACTION_FAILED'));
  });

  it('a region that changes meanwhile', async () => {
    for (const other of [say('x', replace(2, 2)), say('x', replace(1, 1)), say('x', replace(2, 3)), say('x', replace(1, 3, [1, 2, 3]))]) {
      const session = start();
      const options = waiting();
      const running = compactRegion(session, 1, 2, options);
      write(session, [other]);
      options.finish('fine');
      await assert.rejects(running, refusal('COMPACTION_FAILED', /changed/));
      write(session, [endTurn(1)]);
      assert.deepEqual(checkLog(session), []);
    }
  });

  it('but not what is appended behind the region, steps included', async () => {
    const session = start();
    const options = waiting();
    const running = compactRegion(session, 1, 2, options);
    write(session, [step(1), asks('a'), call('a')]);
    options.finish('fine');
    await running;
    write(session, [result('a'), endStep(1), say('x', replace(3, 3)), endTurn(1)]);
    assert.deepEqual(checkLog(session), []);
    assert.equal(texts(session.deriveMessages())[0], frameSummary('fine'));
  });

  it('a listener that compacts the session that it is told about', async () => {
    const store = new SessionStore();
    const refused: Promise<unknown>[] = [];
    store.on('session/event', (session, { type }) => {
      if (type === 'steering/message') refused.push(compactRegion(session, 1, 2, never));
    });
    const session = store.create();
    write(session, [turn(1), ...talk(2), ['steering/message', { turn: 1, content: [{ type: 'text', text: 'x' }], source: { kind: 'user' } }, { surfaceOp: 'append' }]]);
    await assert.rejects(refused[0]!, refusal('REENTRANT_APPEND'));
    assert.equal(session.seq, 4);
  });

  it('nothing, where the rules are checked as it goes', async () => {
    const store = new SessionStore();
    attachInvariants(store, { onFinding: ({ message }) => assert.fail(message) });
    const session = store.create();
    write(session, [turn(1), ...talk(3)]);
    await compactRegion(session, 1, 2, { summarize: () => 'one' });
    write(session, [endTurn(1)]);
    await compactRegion(session, seqs(session)[0]!, 3, { summarize: () => 'two' });
    assert.equal(await compactRegion(session, seqs(session)[0]!, seqs(session)[0]!, never), null);
  });
});

describe('compactIfNeeded', () => {
  it('does nothing below the trigger, and nothing when nothing can be cut', async () => {
    const session = logOf([turn(1), ...talk(2)]);
    const tokens = estimateTokens(session.deriveMessages());
    assert.equal(await compactIfNeeded(session, { ...never, triggerTokens: tokens, retainTokens: 0 }), null);
    assert.equal(await compactIfNeeded(session, { ...never, triggerTokens: 0, retainTokens: tokens }), null);
    const empty = new Session('empty');
    empty.recordRequestHeader({ config: {}, system: 'Be brief.' });
    assert.equal(await compactIfNeeded(empty, { ...never, triggerTokens: 0, retainTokens: 0 }), null);
    assert.equal(await compactIfNeeded(logOf([turn(1), say(long('one'))]), { ...never, triggerTokens: 0, retainTokens: 0 }), null, 'the newest unit always stays');
    assert.equal(session.seq, 3);
  });

  it('counts the header in', async () => {
    const session = logOf([turn(1), ...talk(2)]);
    const triggerTokens = estimateTokens(session.deriveMessages());
    session.recordRequestHeader({ config: {}, system: 'Be brief.' });
    assert.ok(await compactIfNeeded(session, { summarize: () => '.', triggerTokens, retainTokens: 0 }));
  });

  it('keeps the newest whole units that fit', async () => {
    // Units: say, [call, results], say; each message of about 604 tokens or less.
    const log = [turn(1), say(long('message-0')), say(long('message-1')), step(1), asks('a', 'b'), call('a'), call('b'), result('a'), result('b'), endStep(1), say(long('message-9'))];
    const head = async (retainTokens: number): Promise<number[]> => {
      const session = logOf(log);
      await compactIfNeeded(session, { summarize: () => '.', triggerTokens: 100, retainTokens });
      return seqs(session).slice(1);
    };
    const last = estimateTokens(logOf(log).deriveMessages().at(-1)!);
    const unit = estimateTokens(logOf(log).deriveMessages().slice(2, 5));
    assert.deepEqual(await head(0), [10]);
    assert.deepEqual(await head(last), [10]);
    assert.deepEqual(await head(last + unit - 1), [10], 'half a unit does not fit');
    assert.deepEqual(await head(last + unit + 1), [4, 7, 8, 10]);
    assert.deepEqual(await head(last * 2 + unit), [2, 4, 7, 8, 10]);
  });

  it('does not write a summary again for less than it is long', async () => {
    const session = logOf([turn(1), ...talk(3)]);
    const summary = long('summary').slice(0, 1000);
    await compactIfNeeded(session, { summarize: () => summary, triggerTokens: 100, retainTokens: 0 });
    write(session, [say('short'), say('short')]);
    const options = { triggerTokens: 100, retainTokens: 0 };
    // The region holds the summary, message-2 (long) and one short message.
    assert.ok(await compactIfNeeded(session, { ...options, summarize: () => summary }));
    write(session, [say('short'), say('short')]);
    assert.equal(await compactIfNeeded(session, { ...options, ...never }), null);
  });
});

describe('estimateTokens', () => {
  const message = (...content: object[]): Message => ({ role: 'user', content }) as unknown as Message;
  it('divides characters and adds overhead', () => {
    assert.equal(estimateTokens([]), 0);
    assert.equal(estimateTokens(message({ type: 'text', text: 'x'.repeat(40) })), 14);
    assert.equal(estimateTokens([message({ type: 'text', text: 'x'.repeat(40) }), message()]), 18);
    assert.equal(estimateTokens(message({ type: 'text', text: 'x'.repeat(40) }), { charsPerToken: 2, tokensPerMessage: 1 }), 21);
    assert.equal(estimateTokens(message({ type: 'tool-call', id: 'a', name: 'run', arguments: '{"a":12}' }), { tokensPerMessage: 0 }), 3);
    assert.equal(estimateTokens(message({ type: 'tool-result', toolCallId: 'a', content: [{ type: 'text', text: 'x'.repeat(8) }] }), { tokensPerMessage: 0 }), 2);
    assert.equal(estimateTokens([message(), message()], { estimate: () => 7 }), 14);
  });
  it('does not take a picture for text', () => {
    const picture = message({ type: 'image', source: { data: 'A'.repeat(4_000_000) } });
    assert.equal(estimateTokens(picture), 1604);
    assert.equal(estimateTokens(picture, { tokensPerBlob: 100, tokensPerMessage: 0 }), 100);
    assert.equal(estimateTokens(message({ type: 'note', of: ['abcd', 'efgh'] }), { tokensPerMessage: 0 }), 3);
  });
});
