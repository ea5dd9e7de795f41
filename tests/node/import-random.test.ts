// Random logs of other agents, well-formed and damaged: what is imported is a log of ours, and no record is lost.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { PalimpsestError, SessionReader, type Session } from 'palimpsest';
import { messagesRequest } from 'palimpsest/anthropic';
import { bytesSource, detect, type ForeignFormat, importLog, type ImportResult } from 'palimpsest/import';
import { checkLog } from 'palimpsest/invariants';
import { chatRequest, responsesRequest } from 'palimpsest/openai';
import { randomAgentSession } from '../support/agent.js';
import { bytesOf, claudeLog, codexLog, damaged, dshLog, piLog } from '../support/foreign-random.js';
import { Dice } from '../support/random.js';
import { anthropicFaults, chatFaults, responsesFaults } from '../support/validators.js';

const MAKERS: Readonly<Record<ForeignFormat, (dice: Dice) => Record<string, unknown>[]>> = { 'claude-code': claudeLog, codex: codexLog, pi: piLog, dsh: dshLog };
const ROUNDS = 400;

/** Findings that a call without a result makes, which stays open: that is what the source says. */
const ODD = new Set(['CALL_WITHOUT_RESULT', 'TURN_OPEN_AT_END', 'CALL_ID_REUSED', 'CALL_ID_DUPLICATE', 'RESULT_OF_UNLOGGED_CALL', 'REPLACE_SPLITS_PAIR', 'RESULT_WITHOUT_CALL', 'RESULT_DUPLICATE', 'EMPTY_TEXT', 'EMPTY_CONTENT', 'RESULT_BEFORE_CALL']);

function linesOf(bytes: Uint8Array): string[] {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes).split('\n').filter((line) => line.trim() !== '');
}

/** What holds for every import, of whatever file. */
function checkImport(result: ImportResult, bytes: Uint8Array): void {
  const { report, sessions } = result;
  assert.equal(report.mapped + report.kept, report.records);
  assert.equal(report.records + report.broken, linesOf(bytes).length, 'every line is a record or broken');
  // Each line is in a session, whole or in part; only a harness's header and what is an event as it stands are not named.
  if (result.format !== 'dsh') {
    const lines = new Set(sessions.flatMap(({ session }) => [...session!.events].flatMap((event) => (event.type === 'import/record' ? [event.data.source.line] : []))));
    assert.equal(lines.size, report.records + report.broken, 'every line has left something in a session');
  }
  for (const { session, header, events } of sessions) {
    assert.equal(session!.seq, events);
    if (header.seedLength !== undefined && result.format !== 'dsh') sameSeed(session!, sessions.find(({ id }) => id === header.parentSession)!.session!, header.seedLength);
    reload(session!);
    session!.deriveMessages();
  }
}

function sameSeed(session: Session, parent: Session, length: number): void {
  assert.deepEqual(session.jsonl(0, length), parent.jsonl(0, length));
  assert.equal(session.events[length - 1]!.type, 'turn/end');
}

function reload(session: Session): void {
  const reader = new SessionReader();
  reader.push(session.headerLine());
  reader.push(session.jsonl());
  const loaded = reader.finish().session;
  assert.equal(loaded.seq, session.seq);
  loaded.free();
}

suite('imports of random logs', () => {
  for (const [format, make] of Object.entries(MAKERS) as [ForeignFormat, (dice: Dice) => Record<string, unknown>[]][]) {
    test(`${ROUNDS} well-formed logs of ${format} are detected, keep our rules, and make requests that providers take`, async () => {
      for (let seed = 0; seed < ROUNDS; seed++) {
        const bytes = bytesOf(make(new Dice(seed)));
        const found = detect(bytes.subarray(0, 65536));
        assert.equal(found?.format, format, `seed ${seed}`);
        const result = await importLog(bytesSource(bytes));
        try {
          checkImport(result, bytes);
          assert.equal(result.report.broken, 0);
          for (const { session } of result.sessions) {
            assert.deepEqual(checkLog(session!).filter(({ code }) => !ODD.has(code)), []);
            if (session!.deriveMessages().length === 0) continue;
            const request = session!.at(session!.seq - 1).request();
            assert.deepEqual(chatFaults(chatRequest(request, { model: 'm' }).body), []);
            assert.deepEqual(responsesFaults(responsesRequest(request, { model: 'm' }).body), []);
            assert.deepEqual(anthropicFaults(messagesRequest(request, { model: 'm' }).body), []);
          }
        } catch (error) {
          throw new Error(`seed ${seed}`, { cause: error });
        }
        for (const { session } of result.sessions) session!.free();
      }
    });

    test(`${ROUNDS} damaged logs of ${format} are imported or refused, and no line is lost`, async (context) => {
      const refused: Record<string, number> = {};
      for (let seed = 0; seed < ROUNDS; seed++) {
        const dice = new Dice(seed);
        const bytes = damaged(make(dice), dice);
        let result: ImportResult;
        detect(bytes.subarray(0, 65536));
        try {
          result = await importLog(bytesSource(bytes), { format });
        } catch (error) {
          if (!(error instanceof PalimpsestError && format === 'dsh')) throw new Error(`seed ${seed}`, { cause: error });
          refused[error.code] = (refused[error.code] ?? 0) + 1;
          continue;
        }
        try {
          checkImport(result, bytes);
        } catch (error) {
          throw new Error(`seed ${seed}`, { cause: error });
        }
        for (const { session } of result.sessions) session!.free();
      }
      context.diagnostic(`refused: ${JSON.stringify(refused)}`);
      assert.deepEqual(Object.keys(refused).filter((code) => code !== 'INVALID_HEADER' && code !== 'UNSUPPORTED_VERSION'), []);
    });
  }

  test('logs of ours come out as they went in', async () => {
    for (let seed = 0; seed < 100; seed++) {
      const session = randomAgentSession(new Dice(seed));
      const [head, body] = [session.headerLine(), session.jsonl()];
      const bytes = new Uint8Array([...head, ...body]);
      const result = await importLog(bytesSource(bytes));
      assert.equal(result.format, 'palimpsest');
      const [made] = result.sessions;
      assert.deepEqual(made!.session!.headerLine(), head);
      assert.deepEqual(made!.session!.jsonl(), body);
      assert.equal(result.report.records, session.seq + 1);
    }
  });
});
