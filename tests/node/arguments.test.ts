// What a caller without types gets wrong: refused by name, and nothing is changed by it.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { inspect } from 'node:util';
import * as palimpsest from 'palimpsest';
import { BlockAssembler, type ErrorCode, PalimpsestError, Session, SessionReader, SessionStore } from 'palimpsest';
import { compactIfNeeded, compactRegion, estimateTokens, pruneToolResults } from 'palimpsest/compaction';
import { LogChecker, attachInvariants, checkLog } from 'palimpsest/invariants';
import { attach, memory } from 'palimpsest/persistence';
import { appendLoosely } from '../support/append.js';
import { decode, runTurn } from '../support/sessions.js';

/** A function as a program without types calls it. */
type Loose = (...args: unknown[]) => unknown;
const loosely = (call: unknown): Loose => call as Loose;
const method = <T extends object>(self: T, name: keyof T): Loose => (...args) => Reflect.apply(self[name] as Loose, self, args);

/** Makes sure that the call is refused for what is wrong, by throwing or by rejecting. */
async function refused(code: ErrorCode, what: RegExp, call: () => unknown, title: string): Promise<void> {
  let error: unknown;
  try {
    await call();
  } catch (thrown) {
    error = thrown;
  }
  assert.ok(error instanceof PalimpsestError, `${title}: ${error === undefined ? 'accepted' : inspect(error)}`);
  assert.equal(error.code, code, `${title}: ${error.message}`);
  assert.match(error.message, what, title);
}

const NONE = [null, 5, 'text', true];
const NO_AMOUNT = [NaN, -1, '5', null, {}, []];
const NO_COUNT = [...NO_AMOUNT, 1.5];

/** A session with a whole turn, and what must be the same after each refusal. */
function subject(): { session: Session; unchanged: () => void } {
  const session = new Session('s');
  runTurn(session);
  const before = decode(session.jsonl());
  return {
    session,
    unchanged: () => {
      assert.equal(decode(session.jsonl()), before);
    },
  };
}

suite('arguments that no call can work with', () => {
  test('of compaction and its estimate', async () => {
    const { session, unchanged } = subject();
    const own = { triggerTokens: 0, retainTokens: 0, summarize: () => 's' };
    const estimate: readonly (readonly [string, readonly unknown[]])[] = [
      ['charsPerToken', [...NO_AMOUNT, 0, Infinity]],
      ['tokensPerMessage', NO_AMOUNT],
      ['tokensPerBlob', NO_AMOUNT],
      ['estimate', [5, null, 'x', () => NaN, () => -1, () => '5', () => undefined]],
    ];
    const shared = [...estimate, ['summarize', [undefined, null, 'x']], ['signal', [5, null, {}]], ['instructions', [5, null]], ['maxTokens', [...NO_AMOUNT, 0, Infinity]], ['model', [5, null]]] as const;
    const needed = [...shared, ['triggerTokens', [undefined, ...NO_AMOUNT]], ['retainTokens', [undefined, ...NO_AMOUNT]]] as const;
    for (const [name, values] of needed) for (const value of values) await refused('INVALID_ARGUMENT', new RegExp(`options\\.${name}`), () => loosely(compactIfNeeded)(session, { ...own, [name]: value }), `compactIfNeeded ${name} ${inspect(value)}`);
    for (const [name, values] of shared) for (const value of values) await refused('INVALID_ARGUMENT', new RegExp(`options\\.${name}`), () => loosely(compactRegion)(session, 1, 1, { ...own, [name]: value }), `compactRegion ${name} ${inspect(value)}`);
    for (const [name, values] of estimate) for (const value of values) await refused('INVALID_ARGUMENT', new RegExp(`options\\.${name}`), () => loosely(estimateTokens)(session.deriveMessages(), { [name]: value }), `estimateTokens ${name} ${inspect(value)}`);
    for (const value of [undefined, ...NONE]) {
      await refused('INVALID_ARGUMENT', /options/, () => loosely(compactRegion)(session, 1, 1, value), 'compactRegion');
      await refused('INVALID_ARGUMENT', /options/, () => loosely(compactIfNeeded)(session, value), 'compactIfNeeded');
      await refused('INVALID_ARGUMENT', /messages/, () => loosely(estimateTokens)(value), 'estimateTokens');
      await refused('INVALID_ARGUMENT', /messages\[0\]/, () => loosely(estimateTokens)([value]), 'estimateTokens');
    }
    await refused('INVALID_REPLACE', /NaN/, () => loosely(compactRegion)(session, NaN, '1', own), 'compactRegion');
    unchanged();
    assert.equal(await compactIfNeeded(session, { ...own, triggerTokens: Infinity }), null);
    assert.equal(await compactIfNeeded(session, { ...own, retainTokens: Infinity }), null);
    await refused('COMPACTION_FAILED', /string/, () => loosely(compactIfNeeded)(session, { ...own, summarize: () => 5 }), 'a summary that is no text');
  });

  test('of pruning', async () => {
    const { session, unchanged } = subject();
    for (const name of ['olderThan', 'keep', 'maxChars']) for (const value of NO_COUNT) await refused('INVALID_ARGUMENT', new RegExp(`options\\.${name}`), () => loosely(pruneToolResults)(session, { [name]: value }), `${name} ${inspect(value)}`);
    for (const value of NONE) await refused('INVALID_ARGUMENT', /options/, () => loosely(pruneToolResults)(session, value), inspect(value));
    unchanged();
    assert.deepEqual(pruneToolResults(session, { olderThan: Infinity, keep: 0, maxChars: 0 }), []);
  });

  test('of a session', async () => {
    const { session, unchanged } = subject();
    const make: Loose = (...args) => Reflect.construct(Session, args) as Session;
    for (const id of ['', undefined, null, 5, {}]) await refused('INVALID_ID', /id/, () => make(id), `id ${inspect(id)}`);
    for (const seed of [5, 'text', null, {}]) await refused('INVALID_ARGUMENT', /seed/, () => make('x', seed), `seed ${inspect(seed)}`);
    for (const range of [[-1, 3], [0, 7], [3, 1], [0.5, 1], ['0', 1], [NaN], [0, null], [0, Infinity]]) {
      await refused('INVALID_SEQ', /jsonl\(/, () => method(session, 'jsonl')(...range), `jsonl ${range.join()}`);
    }
    assert.deepEqual([session.jsonl(0, 0).length, session.jsonl(6).length, session.jsonl(0, 6)], [0, 0, session.jsonl()]);
    for (const cursor of [null, 5, 'text', {}]) await refused('INVALID_ARGUMENT', /cursor/, () => method(session, 'changesSince')(cursor), `cursor ${inspect(cursor)}`);
    for (const event of [undefined, ...NONE]) await refused('INVALID_ARGUMENT', /event/, () => method(session, 'deriveEventMessage')(event), `event ${inspect(event)}`);
    for (const data of [undefined, ...NONE, {}, { content: [] }]) await refused('INVALID_PAYLOAD', /data/, () => method(session, 'deriveEventMessage')({ type: 'context/message', data }), `payload ${inspect(data)}`);
    for (const intent of NONE) await refused('MISSING_SURFACE_OP', /seq 6/, () => appendLoosely(session, 'user/message', { content: [], source: { kind: 'user' } }, intent), `intent ${inspect(intent)}`);
    unchanged();
  });

  test('of request headers', async () => {
    const { session, unchanged } = subject();
    const config = { model: 'm' };
    const wrong: readonly (readonly [string, unknown])[] = [
      ...[null, 5, 'text', [], {}].map((header) => ['header.config', header] as const),
      ...[null, 5, 'text', []].map((value) => ['header.config', { config: value }] as const),
      ...[5, {}, ['a']].map((system) => ['header.system', { config, system }] as const),
      ...[null, 5, 'text', {}].map((tools) => ['header.tools', { config, tools }] as const),
      ...[null, 5, 'text', []].map((tool) => ['header.tools[1]', { config, tools: [{ name: 'a', parameters: {} }, tool] }] as const),
      ...[null, 5, 'text', {}].map((messagePrefix) => ['header.messagePrefix', { config, messagePrefix }] as const),
      ...[null, 5, 'text', []].map((message) => ['header.messagePrefix[0]', { config, messagePrefix: [message] }] as const),
      ...[undefined, 'tool', 5].map((role) => ['header.messagePrefix[0].role', { config, messagePrefix: [{ ...(role !== undefined && { role }), content: [] }] }] as const),
      ...[undefined, 'text', {}].map((content) => ['header.messagePrefix[0].content', { config, messagePrefix: [{ role: 'user', ...(content !== undefined && { content }) }] }] as const),
    ];
    for (const [path, header] of wrong) {
      await assert.rejects(
        async () => method(session, 'recordRequestHeader')(header),
        (error: unknown) => error instanceof PalimpsestError && error.code === 'INVALID_PAYLOAD' && error.path === path && error.session === 's' && error.seq === 6,
        `${path} ${JSON.stringify(header)}`,
      );
    }
    await refused('INVALID_JSON_VALUE', /session "s", seq 6, header\.config\.n/, () => method(session, 'recordRequestHeader')({ config: { n: NaN } }), 'NaN');
    unchanged();
    assert.equal(session.recordRequestHeader({ config, own: { of: 'a program' } } as never)?.type, 'request/header');
  });

  test('of stores and scopes', async () => {
    for (const options of NONE) await refused('INVALID_ARGUMENT', /options/, () => Reflect.construct(SessionStore, [options]) as unknown, 'new SessionStore');
    await refused('INVALID_ARGUMENT', /options\.onError/, () => Reflect.construct(SessionStore, [{ onError: 5 }]) as unknown, 'new SessionStore');
    const store = new SessionStore();
    const session = store.create('a');
    for (const owner of [store, store.scope()]) {
      for (const signal of ['bogus', '__proto__', 'toString', undefined, 5]) await refused('INVALID_ARGUMENT', /signal’s name.*session\/created/, () => method(owner, 'on')(signal, () => undefined), `on ${inspect(signal)}`);
      for (const listener of [undefined, ...NONE]) await refused('INVALID_ARGUMENT', /listener/, () => method(owner, 'on')('session/event', listener), 'on');
      for (const options of [...NONE, { meta: null }, { meta: 5 }, { seed: 5 }, { seed: null }]) await refused('INVALID_ARGUMENT', /options|seed/, () => method(owner, 'create')('b', options), `create ${JSON.stringify(options)}`);
      for (const id of [null, 5, '']) await refused('INVALID_ID', /id/, () => method(owner, 'create')(id), `create ${inspect(id)}`);
      for (const verb of ['enter', 'announce', 'detach', 'flush', 'fork'] as const) {
        for (const value of [undefined, null, 5]) await refused('INVALID_ARGUMENT', /session|source/, () => method(owner, verb)(value), `${verb} ${inspect(value)}`);
      }
      for (const child of [null, 5, '']) await refused('INVALID_ID', /id/, () => method(owner, 'fork')(session, undefined, child), `fork to ${inspect(child)}`);
    }
    for (const name of NONE.filter((value) => typeof value !== 'string')) await refused('INVALID_ARGUMENT', /name/, () => method(store, 'scope')(name), 'scope');
    assert.deepEqual(store.list(), [session]);
  });

  test('of persistence', async () => {
    const store = new SessionStore();
    for (const backend of [undefined, ...NONE, {}, { ...memory(), list: 5 }]) await refused('INVALID_ARGUMENT', /backend.*loadStored, appendBatch, commitRepair, list/, () => loosely(attach)(store, backend), 'backend');
    for (const owner of [undefined, ...NONE, {}]) await refused('INVALID_ARGUMENT', /owner/, () => loosely(attach)(owner, memory()), 'owner');
    for (const options of NONE) await refused('INVALID_ARGUMENT', /options/, () => loosely(attach)(store, memory(), options), 'options');
    for (const flushWindow of NO_AMOUNT) await refused('INVALID_ARGUMENT', /options\.flushWindow/, () => loosely(attach)(store, memory(), { flushWindow }), 'flushWindow');
  });

  test('of readers, which then go on as if nothing had been said', async () => {
    const { session } = subject();
    for (const bytes of [undefined, ...NONE, [1], new ArrayBuffer(3)]) {
      const reader = new SessionReader('r');
      await refused('INVALID_ARGUMENT', /chunk/, () => method(reader, 'push')(bytes), 'push');
      await refused('INVALID_ARGUMENT', /bytes/, () => loosely(palimpsest.readHeaderLine)(bytes), 'readHeaderLine');
      for (const length of [NaN, -1, 0.5, '5', null, 2 ** 18 + 1, 2 ** 32]) await refused('INVALID_ARGUMENT', /length/, () => method(reader, 'fill')(length, () => 0), `fill ${inspect(length)}`);
      for (const count of [NaN, -1, 0.5, '5', null, 11, undefined]) await refused('INVALID_ARGUMENT', /returns/, () => method(reader, 'fill')(10, () => count), `fill gives ${inspect(count)}`);
      await refused('INVALID_ARGUMENT', /read/, () => method(reader, 'fill')(10, 5), 'fill');
      reader.push(session.headerLine());
      reader.push(session.jsonl());
      assert.equal(reader.finish().session.seq, session.seq);
    }
    for (const expected of NO_AMOUNT) await refused('INVALID_ARGUMENT', /expectedBytes/, () => Reflect.construct(SessionReader, ['r', expected]) as unknown, `expects ${inspect(expected)}`);
    const hopeful = new SessionReader('r', 1e15);
    hopeful.push(session.headerLine());
    assert.equal(hopeful.finish().session.id, 's');
    for (const source of [undefined, ...NONE, {}, { size: 5 }, { size: 'x', read: () => undefined }]) {
      await refused('INVALID_ARGUMENT', /source/, () => loosely(palimpsest.openSource)(source, 'x'), 'openSource');
      await refused('INVALID_ARGUMENT', /blob/, () => loosely(palimpsest.openBlob)(source), 'openBlob');
    }
  });

  test('of checks', async () => {
    const { session } = subject();
    for (const source of ['text', 5, null, undefined, {}, []]) await refused('INVALID_ARGUMENT', /source/, () => loosely(checkLog)(source), 'checkLog');
    for (const options of NONE) await refused('INVALID_ARGUMENT', /options/, () => loosely(checkLog)(session, options), 'checkLog');
    for (const name of ['maxBlobBytes', 'now', 'maxAheadMs']) for (const value of [NaN, '5', null]) await refused('INVALID_ARGUMENT', new RegExp(`options\\.${name}`), () => loosely(checkLog)(session, { [name]: value }), name);
    const checker = new LogChecker();
    await refused('INVALID_ARGUMENT', /chunk/, () => method(checker, 'push')('text'), 'push');
    checker.push(session.headerLine());
    checker.finish();
    await refused('DISPOSED', /new one/, () => checker.push(session.jsonl()), 'push after finish');
    await refused('DISPOSED', /new one/, () => checker.finish(), 'finish again');
    for (const owner of [undefined, ...NONE, {}]) await refused('INVALID_ARGUMENT', /owner/, () => loosely(attachInvariants)(owner), 'attachInvariants');
    for (const options of [...NONE, { mode: 'bogus' }, { onFinding: 5 }]) await refused('INVALID_ARGUMENT', /options/, () => loosely(attachInvariants)(new SessionStore(), options), 'attachInvariants');
  });

  test('of pure functions over events, and of the assembler', async () => {
    for (const value of [undefined, ...NONE, {}]) {
      await refused('INVALID_ARGUMENT', /events/, () => loosely(palimpsest.interruptedTurnClosers)(value), 'interruptedTurnClosers');
      await refused('INVALID_ARGUMENT', /nodes/, () => loosely(palimpsest.isToolPairingBalanced)(value, [], null), 'isToolPairingBalanced');
      await refused('INVALID_ARGUMENT', /events/, () => loosely(palimpsest.isToolPairingBalanced)([], value, null), 'isToolPairingBalanced');
      if (typeof value !== 'string') {
        await refused('INVALID_ARGUMENT', /events/, () => loosely(palimpsest.foldRequestHeader)(value), 'foldRequestHeader');
        await refused('INVALID_ARGUMENT', /chunks/, () => method(BlockAssembler, 'of')(value), 'BlockAssembler.of');
      }
      await refused('SESSION_NOT_LIVE', /not a session/, () => loosely(palimpsest.positionOf)(value), 'positionOf');
    }
    await refused('INVALID_ARGUMENT', /nodes\[0\]/, () => loosely(palimpsest.isToolPairingBalanced)([null], [], null), 'isToolPairingBalanced');
    assert.deepEqual(loosely(palimpsest.foldRequestHeader)([{ type: 'request/header' }, { type: 'request/header', data: null }]), {});
    const assembler = new BlockAssembler();
    for (const chunk of [undefined, ...NONE]) await refused('INVALID_ARGUMENT', /chunk/, () => method(assembler, 'push')(chunk), 'push');
    await refused('INVALID_ARGUMENT', /chunk\.block/, () => method(assembler, 'push')({ type: 'block-end', index: 0 }), 'push');
    await refused('INVALID_ARGUMENT', /seq/, () => method(assembler, 'push')({ type: 'text-delta', index: 0, text: 'a' }, -1), 'push');
    method(assembler, 'push')({ type: 'text-delta', index: 0 });
    assert.deepEqual(assembler.message({ turn: 1, step: 1 }), { turn: 1, step: 1, content: [] });
  });
});
