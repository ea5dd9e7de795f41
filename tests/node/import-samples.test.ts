// Real logs of other agents, where they lie beside the checkout: every fact of theirs comes out of the import.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { messagesRequest } from 'palimpsest/anthropic';
import { bytesSource, detect, importLog } from 'palimpsest/import';
import { checkLog } from 'palimpsest/invariants';
import { chatRequest, responsesRequest } from 'palimpsest/openai';
import { SAMPLES, samples } from '../support/foreign.js';
import type { Fact } from '../support/foreign-facts.js';
import { compare } from '../support/foreign-samples.js';
import { anthropicFaults, chatFaults, responsesFaults } from '../support/validators.js';

/** Facts that differ on purpose, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {};

/** Findings that the source is to blame for: the anomalies that tell of them. */
const REPORTED: Readonly<Record<string, readonly string[]>> = {
  CALL_WITHOUT_RESULT: ['unanswered-call'],
  CALL_ID_DUPLICATE: ['duplicate-call-id'],
  RESULT_DUPLICATE: ['duplicate-result'],
  RESULT_WITHOUT_CALL: ['orphan-result', 'late-result'],
};

const skip = SAMPLES === undefined;

suite(`samples of other agents${skip ? ' (skipped: no shared folder beside the checkout; name it in PALIMPSEST_SHARED)' : ''}`, { skip }, async () => {
  for (const { name, bytes, expected } of await samples()) {
    test(`${name} is detected, and its facts are reproduced`, async (context) => {
      assert.equal(detect(bytes.subarray(0, 65536), name)?.format, String(expected.format).replace(/^dsh-v0$/, 'dsh'));
      const result = await importLog(bytesSource(bytes, name));
      const facts = compare(result, expected);
      const wrong = facts.filter((fact) => !isDeepStrictEqual(fact.expected, fact.got) && !(`${name}: ${fact.fact}` in EXCEPTIONS));
      context.diagnostic(`${facts.length} facts`);
      assert.equal(wrong.length, 0, table(wrong));
    });

    test(`${name} makes requests that providers take`, async (context) => {
      const { sessions, report } = await importLog(bytesSource(bytes, name));
      assert.equal(report.mapped + report.kept, report.records);
      const told: Record<string, number> = {};
      for (const { session } of sessions) {
        const seqs = [...session!.events].flatMap(({ type, seq }) => (type === 'step/start' ? [seq] : []));
        for (const seq of [...seqs.slice(-20), session!.seq - 1]) {
          const request = session!.at(seq).request();
          if (request.messages.length === 0) continue;
          const model = { model: (request.config?.model ?? 'm') as string };
          const bodies = [chatRequest(request, model), responsesRequest(request, model), messagesRequest(request, model)] as const;
          assert.deepEqual([...chatFaults(bodies[0].body), ...responsesFaults(bodies[1].body), ...anthropicFaults(bodies[2].body)], [], `seq ${seq}`);
          for (const { report: notices } of bodies) for (const { code } of notices) told[code] = (told[code] ?? 0) + 1;
        }
        const broken = checkLog(session!).filter(({ severity, code }) => severity === 'error' && !(code in REPORTED && REPORTED[code]!.some((anomaly) => (report.anomalyCounts[anomaly] ?? 0) > 0)));
        assert.deepEqual(broken, []);
      }
      context.diagnostic(JSON.stringify(told));
    });
  }
});

function table(facts: readonly Fact[]): string {
  return ['fact | expected | got', ...facts.map(({ fact, expected, got }) => `${fact} | ${JSON.stringify(expected)} | ${JSON.stringify(got)}`)].join('\n');
}
