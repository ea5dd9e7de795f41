/** `check` and `repair` on each fault of a file: the fault has its code, and the copy loads and holds what was readable. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type ContentBlock, Session, type SessionEvent, SessionReader, SessionStore } from 'palimpsest';
import { attach, jsonl } from 'palimpsest/jsonl';
import { appendLoosely } from '../support/append.js';
import { cli, cliJson, type Folder, folder } from '../support/cli.js';
import { BREAKS } from '../support/damage.js';
import { Dice } from '../support/random.js';
import { decode, endTurn, openTurn, runTurn, text } from '../support/sessions.js';

interface Checked {
  readonly files: readonly { readonly file: string; readonly format: string; readonly records: number; readonly findings: readonly { code: string; severity: string; line: number; byte: number; seq?: number; message: string }[]; readonly lostBytes: number }[];
  readonly error: number;
  readonly warning: number;
  readonly failed: number;
}
interface Repaired {
  readonly records: number;
  readonly copies: number;
  readonly logs: readonly { readonly file: string; readonly id: string; readonly parentSession?: string; readonly added: readonly { seq: number }[]; readonly done: readonly { code: string; action: string }[] }[];
}

let place: Folder;
before(async () => {
  place = await folder();
});
after(() => place[Symbol.asyncDispose]());

const APPEND = { surfaceOp: 'append' } as const;

/** A log with one step in which a test may do what it likes. */
function withStep(fill: (session: Session) => void, close = true): Session {
  const session = new Session('s');
  openTurn(session, 1);
  fill(session);
  if (close) endTurn(session, 1);
  return session;
}

const call = (id: string, rest: object = {}): ContentBlock => ({ type: 'tool-call', id, name: 'run', arguments: '{}', ...rest });
function answer(session: Session, content: readonly unknown[], calls: readonly string[] = [], results = calls): void {
  appendLoosely(session, 'assistant/message', { turn: 1, step: 1, content }, APPEND);
  for (const callId of calls) session.append('tool/call', { turn: 1, step: 1, callId, name: 'run', arguments: '{}' });
  for (const callId of results) session.append('tool/result', { turn: 1, step: 1, callId, content: text('done'), isError: false }, APPEND);
}
function replace(session: Session, start: number, end: number, sources: readonly number[]): void {
  session.append('user/message', { content: text('summary'), source: { kind: 'user' } }, { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs: sources });
}

/** Faults of events, which a log may hold and still load. */
const EVENTS: readonly (readonly [name: string, code: string, session: () => Session])[] = [
  ['a compaction keeps a result whose call it removed', 'REPLACE_SPLITS_PAIR', () => withStep((session) => { answer(session, [call('a')], ['a']); replace(session, 1, 3, [1, 3]); })],
  ['a result without any call', 'RESULT_WITHOUT_CALL', () => withStep((session) => { session.append('tool/result', { turn: 1, step: 1, callId: 'a', content: text('done'), isError: false }, APPEND); })],
  ['two calls of one id in one message', 'CALL_ID_DUPLICATE', () => withStep((session) => answer(session, [call('a'), call('a')], ['a']))],
  ['a call without a result in a closed step', 'CALL_WITHOUT_RESULT', () => withStep((session) => answer(session, [call('a')], ['a'], []))],
  ['a call without arguments', 'CALL_MALFORMED', () => withStep((session) => answer(session, [{ type: 'tool-call', id: 'a', name: 'run' }], ['a']))],
  ['a text between a call and its result', 'TEXT_BETWEEN_PAIR', () => withStep((session) => {
    answer(session, [call('a')], ['a'], []);
    session.append('user/message', { content: text('wait'), source: { kind: 'user' } }, APPEND);
    session.append('tool/result', { turn: 1, step: 1, callId: 'a', content: text('done'), isError: false }, APPEND);
  })],
  ['the log ends behind a call', 'TURN_OPEN_AT_END', () => withStep((session) => answer(session, [call('a')], ['a'], []), false)],
  ['half a surrogate pair', 'LONE_SURROGATE', () => withStep((session) => answer(session, text('a\ud83d')))],
  ['an empty text beside a call', 'EMPTY_TEXT', () => withStep((session) => answer(session, [{ type: 'text', text: '' }, call('a')], ['a']))],
  ['a message without content', 'EMPTY_CONTENT', () => withStep((session) => { session.append('user/message', { content: [], source: { kind: 'user' } }, APPEND); })],
  ['a picture over the limit', 'OVERSIZED_BLOB', () => withStep((session) => answer(session, [{ type: 'image', mimeType: 'image/png', data: 'A'.repeat(6 << 20) }]))],
  ['a type that nobody knows', 'UNKNOWN_TYPE', () => withStep((session) => { appendLoosely(session, 'model/selection', {}); })],
  ['a compaction that never ended', 'COMPACTION_OPEN_AT_END', () => withStep((session) => { session.append('compact/start', { turn: 1 }); }, false)],
];

async function check(path: string): Promise<Checked & { exit: number | null }> {
  return cliJson<Checked>(['check', path]);
}

/** Records without what a repair may change in them. */
function essences(lines: readonly string[]): string[] {
  return lines.map((line) => {
    const { type, time, data } = JSON.parse(line) as SessionEvent;
    return JSON.stringify([type, time, data]);
  }).sort();
}

describe('faults of bytes', () => {
  for (const [name, damage] of Object.entries(BREAKS)) {
    it(name, async () => {
      const session = new Session('three');
      for (const turn of [1, 2, 3]) runTurn(session, turn);
      const stored = { header: decode(session.headerLine()), lines: decode(session.jsonl()).split('\n').slice(0, -1) };
      const { bytes, readable, codes } = damage(stored, new Dice(7));
      const file = await place.write('three.jsonl', bytes);
      const found = await check(file);
      for (const code of codes) assert.ok(found.files[0]!.findings.some((finding) => finding.code === code), code);
      assert.equal(found.exit, 1);

      const target = join(place.path, `${createHash('sha1').update(name).digest('hex')}.jsonl`);
      const { logs } = await cliJson<Repaired>(['repair', file, '-o', target]);
      assert.deepEqual(await readFile(file), Buffer.from(bytes), 'the original is as it was');
      const records: string[] = [];
      for (const { file: written, added, parentSession } of logs) {
        const reader = new SessionReader(written);
        reader.push(await readFile(written));
        const { session: again, closers, tornBytes } = reader.finish();
        assert.deepEqual([closers, tornBytes], [[], 0]);
        const own = new Set(added.map(({ seq }) => seq));
        const lines = decode(again.jsonl()).split('\n').slice(0, -1);
        records.push(...lines.slice(parentSession === undefined ? 0 : again.header.seedLength).filter((line, index) => !own.has(index + (parentSession === undefined ? 0 : again.header.seedLength!)) && !line.startsWith('{"type":"repair/')));
      }
      assert.deepEqual(essences(records), essences(readable));
      assert.equal((await check(target)).error, 0, 'nothing of it is left to repair');
    });
  }
});

describe('faults of events', () => {
  for (const [name, code, make] of EVENTS) {
    it(`${name}: ${code}`, async () => {
      const file = await place.save('events.jsonl', make());
      const { files, exit, error, warning } = await check(file);
      const finding = files[0]!.findings.find((one) => one.code === code);
      assert.ok(finding, files[0]!.findings.map((one) => one.code).join());
      assert.ok(finding.line >= 2 && finding.seq !== undefined && finding.message.length > 10);
      assert.equal(exit, error + warning > 0 ? 1 : 0);
      const target = join(place.path, `${code}.jsonl`);
      assert.equal((await cli(['repair', file, '-o', target])).code, 0);
      const store = join(place.path, `store-${code}`);
      await mkdir(store);
      assert.equal((await cli(['export', target, '--as', 'anthropic'])).code, 0, 'and it can be sent');
    });
  }
});

describe('files that are nothing', () => {
  it('an empty one, one of zero bytes, a log of another version: found, and not repaired', async () => {
    const session = new Session('s');
    runTurn(session, 1);
    const other = decode(session.headerLine()).replace('"version":0', '"version":7') + decode(session.jsonl());
    for (const [bytes, code] of [['', 'EMPTY_FILE'], ['\0'.repeat(413), 'NUL_RUN'], [other, 'UNSUPPORTED_VERSION']] as const) {
      const file = await place.write(`${code}.broken.jsonl`, bytes);
      const { files, exit } = await check(file);
      assert.deepEqual([files[0]!.findings[0]!.code, exit], [code, 1]);
      const target = join(place.path, `${code}.repaired.jsonl`);
      const { code: failed, err } = await cli(['repair', file, '-o', target]);
      assert.equal(failed, 3);
      assert.match(err, /^error: .*\nhint: /);
      assert.ok(!(await readdir(place.path)).includes(`${code}.repaired.jsonl`));
    }
  });
});

describe('check', () => {
  it('finds the same in a file, which it does not hold, as in a pipe', async () => {
    for (const [, , make] of EVENTS) {
      const file = await place.save('twice.jsonl', make());
      const [{ files: [own] }, { files: [piped] }] = [await check(file), await cliJson<Checked>(['check', '-'], { input: await readFile(file) })];
      assert.deepEqual({ ...own, file: '-' }, piped);
    }
  });

  it('looks at all logs of a store, says nothing of sound ones, and one that cannot be read hides no other', async () => {
    const root = join(place.path, 'root');
    const store = new SessionStore();
    const saved = attach(store, jsonl(root));
    for (const id of ['one', 'two']) runTurn(store.create(id), 1);
    await saved.close();
    const sound = await cliJson<Checked>(['check', root, join(place.path, 'missing.jsonl')]);
    assert.deepEqual([sound.files.map(({ findings }) => findings), sound.failed, sound.exit], [[[], []], 1, 3]);
    const { code, out } = await cli(['check', root]);
    assert.equal(code, 0);
    assert.match(out, /one\.jsonl {2}nothing found {2}6 records\n.*two\.jsonl {2}nothing found {2}6 records\n2 files: 0 errors, 0 warnings\n$/);
  });

  it('names line, byte and seq on a terminal as in JSON, and folds what comes often', async () => {
    const session = withStep((one) => {
      for (let count = 0; count < 9; count++) one.append('user/message', { content: text(' '), source: { kind: 'user' } }, APPEND);
    });
    const file = await place.save('often.jsonl', session);
    const { out } = await cli(['check', file]);
    assert.match(out, /often\.jsonl {2}9 findings {2}15 records\n {2}warning EMPTY_TEXT {2}line 5, byte \d+, seq 3\n/);
    assert.match(out, /and 4 more of EMPTY_TEXT; --all lists them\n$/);
    assert.equal((await cli(['check', file, '--all'])).out.match(/EMPTY_TEXT/g)?.length, 9);
    assert.equal((await cli(['check', file, '--level', 'error'])).code, 0);
  });
});
