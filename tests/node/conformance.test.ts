// Every storage does what the suite says.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import 'palimpsest';
import { CASES, casesFor, conformance } from 'palimpsest/testing';
import { backends } from '../support/backends.js';
import { hasNodeSqlite } from '../support/sqlite.js';

for (const entry of backends) {
  suite(`conformance: ${entry.name}, ${CASES.length} cases`, () => {
    conformance(test, entry);
  });
}

test(`conformance: sqlite by node:sqlite${hasNodeSqlite ? '' : ` (skipped: Node ${process.version} has none)`}`, { skip: !hasNodeSqlite }, () => undefined);

test('conformance: every storage runs every case', (context) => {
  for (const entry of backends) {
    const cases = casesFor(entry);
    const skipped = cases.filter(({ skip }) => skip !== undefined);
    context.diagnostic(`${entry.name}: ${cases.length - skipped.length} of ${CASES.length} cases`);
    assert.deepEqual(skipped.map(({ title }) => title), []);
    assert.equal(new Set(cases.map(({ title }) => title)).size, CASES.length);
  }
});
