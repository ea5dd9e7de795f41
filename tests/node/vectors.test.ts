/** The vectors, and the recorded sessions where they are at hand, through the façade. */

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import {
  applyHeaderDelta,
  canonicalHeader,
  diffHeader,
  foldRequestHeader,
  headerEquals,
  interruptedTurnClosers,
  isToolPairingBalanced,
  PalimpsestError,
  Session,
  SessionReader,
  SessionStore,
  type LoadedSession,
  type SessionEvent,
  type SessionSurface,
  type SurfaceSnapshot,
} from 'palimpsest';
import { appendAgain } from '../support/append.js';
import { casesIn, readJson, REAL, VECTORS, type Case, type HeaderCase, type Prefix } from '../support/fixtures.js';

let counted = 0;

function load(bytes: Uint8Array, chunk = bytes.length): LoadedSession {
  const reader = new SessionReader();
  for (let at = 0; at < bytes.length; at += chunk) reader.push(bytes.subarray(at, at + chunk));
  return reader.finish();
}

/** Deep equality down to key order, and with the prototypes of plain JSON. */
function same(actual: unknown, expected: unknown, what: string): void {
  assert.deepEqual(actual, expected, what);
  assert.equal(JSON.stringify(actual), JSON.stringify(expected), what);
}

function sameNodes(surface: SessionSurface | SurfaceSnapshot, prefix: Prefix, what: string): void {
  same(surface.nodes.map(({ seq, prev, next }) => [seq, prev, next]), prefix.nodes, what);
  assert.equal(surface.replaceGeneration, prefix.replaceGeneration, what);
}

/** Everything that is expected of a prefix, of a session that holds just that prefix. */
function checkSession(session: Session, prefix: Prefix, what: string): void {
  sameNodes(session.surface, prefix, `${what}: nodes`);
  same(session.deriveMessages(), prefix.messages, `${what}: messages`);
  same(session.requestHeader() ?? null, prefix.header, `${what}: header`);
  same(foldRequestHeader(session.events) ?? null, prefix.header, `${what}: folded header`);
  // Closers are compared without key order: on disk, it is the one of every event.
  assert.deepEqual(interruptedTurnClosers(session.events), prefix.closers, `${what}: closers`);
  checkBalance(session, prefix, what);
}

function checkBalance(session: Session, prefix: Prefix, what: string): void {
  const { nodes } = session.surface;
  for (const [before, balanced] of Object.entries(prefix.balanced)) {
    const check = () => isToolPairingBalanced(nodes, session.events, before === 'null' ? null : Number(before));
    if (balanced === 'corrupt') assert.throws(check, { code: 'UNPAIRED_TOOL_RESULT' }, `${what}: cut before ${before}`);
    else assert.equal(check(), balanced, `${what}: cut before ${before}`);
  }
}

function checkLog({ name, bytes, expected }: Case): void {
  const whole = load(bytes);
  assert.equal(whole.committedBytes, bytes.length);
  assert.equal(whole.tornBytes, 0);
  const events: SessionEvent[] = [...whole.session.events];
  const text = Buffer.from(bytes).toString();
  const lines = text.split('\n');
  assert.equal(Buffer.from(whole.session.headerLine()).toString() + Buffer.from(whole.session.jsonl()).toString(), text, 'bytes come back');
  same(events, lines.slice(1, -1).map((line) => JSON.parse(line) as unknown), `${name}: events`);

  for (const prefix of expected.prefixes) {
    const what = `${name}, first ${prefix.n} events`;
    const view = whole.session.at(prefix.n - 1);
    sameNodes(view.surface, prefix, `${what}: view's nodes`);
    same(view.messages(), prefix.messages, `${what}: view's messages`);
    same(view.requestHeader() ?? null, prefix.header, `${what}: view's header`);

    // A session that was read that far, one that was seeded with the events, one that they were appended to.
    const read = load(new TextEncoder().encode(`${lines.slice(0, prefix.n + 1).join('\n')}\n`));
    checkSession(read.session, prefix, `${what}, read`);
    assert.deepEqual(read.closers, prefix.closers, `${what}: closers of the load`);
    const seeded = new Session(whole.session.id, events.slice(0, prefix.n), whole.session.header);
    checkSession(seeded, prefix, `${what}, seeded`);
    const appended = new Session('appended');
    for (const event of events.slice(0, prefix.n)) appendAgain(appended, event);
    sameNodes(appended.surface, prefix, `${what}, appended: nodes`);
    same(appended.deriveMessages(), prefix.messages, `${what}, appended: messages`);
    same(appended.requestHeader() ?? null, prefix.header, `${what}, appended: header`);
    for (const session of [read.session, seeded, appended]) session.free();
    counted++;
  }
  checkForks(whole.session, expected.prefixes);
  whole.session.free();
}

function checkForks(session: Session, prefixes: readonly Prefix[]): void {
  const store = new SessionStore();
  const parent = store.create(session.id, { seed: session.events });
  for (const prefix of prefixes) {
    if (prefix.n > 0 && session.events[prefix.n - 1]?.type !== 'turn/end') continue;
    // An empty prefix is a fork only of an empty session.
    if (prefix.n === 0) continue;
    const child = store.fork(parent, prefix.n - 1);
    assert.equal(child.header.seedLength, prefix.n);
    checkSession(child, prefix, `${session.id}, fork of ${prefix.n}`);
    counted++;
  }
}

function checkDamage({ name, bytes, expected }: Case): void {
  for (const { cut, error, events, committedBytes, closers } of expected.torn ?? []) {
    const what = `${name} cut to ${cut} bytes`;
    counted++;
    if (error) {
      assert.throws(() => load(bytes.subarray(0, cut)), PalimpsestError, what);
      continue;
    }
    const loaded = load(bytes.subarray(0, cut), 7);
    assert.equal(loaded.session.seq, events, what);
    assert.equal(loaded.committedBytes, committedBytes, what);
    assert.equal(loaded.tornBytes, cut - (committedBytes ?? 0), what);
    assert.deepEqual(loaded.closers, closers, `${what}: closers`);
  }
  if (expected.corrupt === undefined) return;
  counted++;
  const { line, error, events, committedBytes } = expected.corrupt;
  const lines = Buffer.from(bytes).toString('latin1').split('\n');
  lines[line] = lines[line]?.slice(0, -3) ?? '';
  const damaged = Buffer.from(lines.join('\n'), 'latin1');
  if (error) {
    assert.throws(() => load(damaged), { code: 'CORRUPT_LOG', line: line + 1 }, `${name}, line ${line} damaged`);
  } else {
    const loaded = load(damaged);
    assert.equal(loaded.session.seq, events);
    assert.equal(loaded.committedBytes, committedBytes);
  }
}

describe('vectors', () => {
  const cases = casesIn(VECTORS);
  assert.ok(cases.length >= 24, 'the vectors are in tests/fixtures/vectors');
  for (const one of cases) {
    it(`log ${one.name}`, () => {
      checkLog(one);
      checkDamage(one);
    });
  }

  it('header deltas', () => {
    for (const { prev, next, delta, applied, roundTrips } of readJson<HeaderCase[]>(new URL('header-deltas.json', VECTORS))) {
      same(canonicalHeader(prev), prev, 'canonical');
      const found = diffHeader(prev, next);
      same(found ?? null, delta, 'delta');
      assert.equal(headerEquals(prev, next), delta === null);
      if (found !== undefined) {
        const result = applyHeaderDelta(prev, found);
        same(result, applied, 'applied');
        assert.equal(headerEquals(result, next), roundTrips);
      }
      counted++;
    }
  });
});

describe('recorded sessions of a real agent', () => {
  const cases = casesIn(REAL);
  if (cases.length === 0) it('are not beside the checkout (../shared/real), so they were not checked', { skip: '../shared/real is not there' }, () => undefined);
  for (const one of cases) {
    it(one.name, () => {
      checkLog(one);
    });
  }
});

after(() => {
  console.log(`${counted} cases ran in Node through the façade`);
});
