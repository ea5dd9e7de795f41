/** Other agents' logs on the command line: imported, opened on the way, checked. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { type Message, SessionReader } from 'palimpsest';
import { cli, cliJson, type Folder, folder, interruptedImport } from '../support/cli.js';

interface Imported {
  readonly imported: readonly { readonly source: string; readonly format: string; readonly sessions: readonly { readonly id: string; readonly role: string; readonly events: number; readonly file: string }[]; readonly report: { readonly records: number; readonly mapped: number; readonly kept: number } }[];
  readonly failed: number;
}

const lines = (records: readonly object[]): string => records.map((record) => `${JSON.stringify(record)}\n`).join('');
const claude = (uuid: string, parentUuid: string | null, type: 'user' | 'assistant', content: unknown, rest: object = {}): object => ({
  type, uuid, parentUuid, sessionId: 'c-1', timestamp: `2026-01-02T03:04:${uuid.slice(1).padStart(2, '0')}.000Z`, cwd: '/work', version: '2.0.0', isSidechain: false,
  message: type === 'user' ? { role: 'user', content } : { id: `m-${uuid}`, role: 'assistant', model: 'large', content, usage: { input_tokens: 7, output_tokens: 3, cache_read_input_tokens: 21, cache_creation_input_tokens: 0 } },
  ...rest,
});
const TALK = [
  claude('u1', null, 'user', 'What is here?'),
  claude('u2', 'u1', 'assistant', [{ type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } }]),
  claude('u3', 'u2', 'user', [{ type: 'tool_result', tool_use_id: 't1', content: 'a.txt' }]),
  claude('u4', 'u3', 'assistant', [{ type: 'text', text: 'A file.' }]),
];

let place: Folder;
let log: string;
before(async () => {
  place = await folder();
  await mkdir(join(place.path, 'project/c-1/subagents'), { recursive: true });
  log = await place.write('project/c-1.jsonl', lines(TALK));
  await writeFile(join(place.path, 'project/c-1/subagents/agent-x.jsonl'), lines([claude('u1', null, 'user', 'Look about.', { isSidechain: true, agentId: 'x' }), claude('u2', 'u1', 'assistant', [{ type: 'text', text: 'Done.' }], { isSidechain: true, agentId: 'x' })]));
});
after(() => place[Symbol.asyncDispose]());

describe('import', () => {
  it('a sub-agent whose session is gone is imported by itself', async () => {
    const folder = join(place.path, 'orphan/c-9/subagents');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'agent-x.jsonl'), lines(TALK.map((record) => ({ ...record, isSidechain: true, agentId: 'x' }))));
    const { imported, exit } = await cliJson<Imported>(['import', join(place.path, 'orphan'), '-o', `${join(place.path, 'orphans')}/`]);
    assert.deepEqual([exit, imported.length], [0, 1]);
  });

  it('interrupted, leaves nothing behind', async () => {
    const store = join(place.path, 'interrupted');
    await mkdir(store);
    const big = await place.write('big.jsonl', lines(Array.from({ length: 60_000 }, (_, at) => claude(`u${at}`, at === 0 ? null : `u${at - 1}`, at % 2 === 0 ? 'user' : 'assistant', [{ type: 'text', text: 'word' }], { timestamp: '2026-01-02T03:04:05.000Z' }))));
    assert.equal(await interruptedImport(big, store, 'SIGINT'), 130);
    assert.deepEqual(await readdir(store), []);
  });

  it('a folder into a store: each session in its place, sub-agents with the session that started them', async () => {
    const store = join(place.path, 'store');
    const { imported, failed, exit } = await cliJson<Imported>(['import', join(place.path, 'project'), '-o', `${store}/`]);
    assert.deepEqual([imported.length, failed, exit], [1, 0, 0]);
    const { format, sessions, report } = imported[0]!;
    assert.deepEqual([format, sessions.map(({ role }) => role)], ['claude-code', ['main', 'child']]);
    assert.equal(report.mapped + report.kept, report.records);
    for (const { id, events, file } of sessions) {
      const reader = new SessionReader(file);
      reader.push(await readFile(file));
      const { session } = reader.finish();
      assert.deepEqual([session.id, session.seq], [id, events]);
    }
    const { sessions: listed, broken } = await cliJson<{ sessions: { id: string; format: string }[]; broken: unknown[] }>(['ls', store]);
    assert.deepEqual([listed.map(({ id }) => id).sort(), new Set(listed.map(({ format: kind }) => kind)), broken], [sessions.map(({ id }) => id).sort(), new Set(['palimpsest']), []]);

    const again = await cli(['import', log, '-o', store]);
    assert.equal(again.code, 3);
    assert.match(again.err, /^error: .* exists already\nhint: /);
    assert.deepEqual((await readdir(store)).filter((name) => name.startsWith('.import')), []);
  });

  it('one log into one file, its branches and sub-agents beside it', async () => {
    const target = join(place.path, 'one.jsonl');
    const { imported } = await cliJson<Imported>(['import', log, '-o', target]);
    assert.deepEqual(imported[0]!.sessions.map(({ file }) => file), [target, join(place.path, 'one-child-1.jsonl')]);
    assert.equal((await cliJson<{ files: { findings: { severity: string }[] }[] }>(['check', target])).files[0]!.findings.filter(({ severity }) => severity === 'error').length, 0);
    assert.equal((await cli(['import', log, log, '-o', join(place.path, 'two.jsonl')])).code, 2);
  });

  it('what is no log is refused, and hides no other', async () => {
    const other = await place.write('other.jsonl', '{"any":"json"}\n');
    const { imported, failed, exit } = await cliJson<Imported>(['import', other, log, '-o', `${join(place.path, 'mixed')}/`]);
    assert.deepEqual([imported.length, failed, exit], [1, 1, 3]);
  });
});

describe('on the way', () => {
  it('show, stats, export and redact take a foreign log as it is, from a file or standard input', async () => {
    const messages = JSON.parse((await cli(['show', log, '--json'])).out) as Message[];
    assert.deepEqual(messages.map(({ role, content }) => [role, content[0]!.type]), [['user', 'text'], ['assistant', 'tool-call'], ['user', 'tool-result'], ['assistant', 'text']]);
    assert.equal((await cli(['show', '-'], { input: lines(TALK) })).out, (await cli(['show', log])).out);
    const { format, tokens, sessions } = await cliJson<{ format: string; tokens: { cachedShare: number }; sessions: string[] }>(['stats', log]);
    assert.deepEqual([format, tokens.cachedShare, sessions.length], ['claude-code', 0.75, 2]);
    const child = sessions[1]!;
    assert.match((await cli(['show', log, '--session', child])).out, /Look about\.[\s\S]*Done\./);
    assert.match((await cli(['export', log])).out, /\*\*Assistant\*\*[\s\S]*Calls `Bash`[\s\S]*a\.txt/);
    assert.equal((await cli(['redact', log, '-o', join(place.path, 'clean.jsonl')])).code, 0);
  });

  it('check says what the importer found odd, with its line', async () => {
    const odd = await place.write('odd.jsonl', `${lines(TALK.slice(0, 2))}{"type":"user","uui\n${lines([claude('u9', 'nobody', 'user', 'Hello?')])}`);
    const { files, exit } = await cliJson<{ files: { format: string; findings: { code: string; line: number; severity: string }[] }[] }>(['check', odd]);
    assert.equal(exit, 1);
    assert.equal(files[0]!.format, 'claude-code');
    const found = files[0]!.findings.map(({ code, line, severity }) => [code, line, severity]);
    assert.ok(found.some(([code, line, severity]) => code === 'not-json' && line === 3 && severity === 'error'), JSON.stringify(found));
    assert.ok(found.some(([code, line]) => code === 'phantom-parent' && line === 4), JSON.stringify(found));
  });

  it('search looks into foreign logs as well, by line', async () => {
    const { matches } = await cliJson<{ matches: { file: string; line: number; seq?: number }[] }>(['search', 'a\\.txt', log]);
    assert.deepEqual(matches.map(({ line, seq }) => [line, seq]), [[3, undefined]]);
  });
});

const shared = join(process.env.PALIMPSEST_SHARED ?? '../shared', 'foreign');
it(`real logs of four agents are listed, checked and imported${existsSync(shared) ? '' : ` (skipped: there is no ${shared})`}`, { skip: !existsSync(shared) }, async () => {
  const { sessions, broken } = await cliJson<{ sessions: { format: string }[]; broken: unknown[] }>(['ls', shared]);
  assert.deepEqual([...new Set(sessions.map(({ format }) => format))].sort(), ['claude-code', 'codex', 'dsh', 'pi']);
  assert.deepEqual(broken, []);
  for (const agent of ['claude-code', 'codex', 'dsh', 'pi']) {
    for (const name of (await readdir(join(shared, agent))).filter((file) => /\.jsonl(?:\.zstd)?$/.test(file))) {
      const file = join(shared, agent, name);
      const target = `${join(place.path, 'real', agent, name)}/`;
      const { code, err } = await cli(['import', file, '-o', target]);
      assert.equal(code, 0, `${name}: ${err}`);
      const checked = await cliJson<{ files: { findings: { code: string }[] }[]; failed: number }>(['check', target]);
      assert.equal(checked.failed, 0);
      // An import keeps what the agent has done, calls without answers included; it never writes a log that is broken.
      const codes = new Set(checked.files.flatMap(({ findings }) => findings.map((finding) => finding.code)));
      for (const broken of ['SEQ_GAP', 'FORKED_SEQUENCE', 'UNPARSABLE_LINE', 'NOT_AN_EVENT', 'INVALID_REPLACE', 'INVALID_SOURCES', 'OUTSIDE_TURN']) assert.ok(!codes.has(broken), `${name}: ${broken}`);
    }
  }
});
