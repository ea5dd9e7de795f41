// Real logs of other agents, where they lie beside the checkout: every fact of theirs comes out of the import.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { bytesSource, detect, importLog } from 'palimpsest/import';
import { SAMPLES, samples } from '../support/foreign.js';
import type { Fact } from '../support/foreign-facts.js';
import { compare } from '../support/foreign-samples.js';

/** Facts that differ on purpose, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {};

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
  }
});

function table(facts: readonly Fact[]): string {
  return ['fact | expected | got', ...facts.map(({ fact, expected, got }) => `${fact} | ${JSON.stringify(expected)} | ${JSON.stringify(got)}`)].join('\n');
}
