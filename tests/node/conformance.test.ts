// Every storage does what the suite says.
import { suite, test } from 'node:test';
import 'palimpsest';
import { CASES, conformance } from 'palimpsest/testing';
import { backends } from '../support/backends.js';
import { hasNodeSqlite } from '../support/sqlite.js';

for (const entry of backends) {
  suite(`conformance: ${entry.name}, ${CASES.length} cases`, () => {
    conformance(test, entry);
  });
}

test(`conformance: sqlite by node:sqlite${hasNodeSqlite ? '' : ` (skipped: Node ${process.version} has none)`}`, { skip: !hasNodeSqlite }, () => undefined);
