/** `ls` over many sessions: their headers alone are read, and broken files hide nothing. */

import assert from 'node:assert/strict';
import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Session, SessionStore } from 'palimpsest';
import { attach, jsonl } from 'palimpsest/jsonl';
import { attach as attachSqlite, sqlite } from 'palimpsest/sqlite';
import { cli, cliJson, type Folder, folder } from '../support/cli.js';
import { runTurn } from '../support/sessions.js';

interface Listing {
  readonly sessions: readonly { readonly id: string; readonly format: string; readonly file: string; readonly createdAt?: number; readonly cwd?: string; readonly size?: number }[];
  readonly broken: readonly { readonly file: string; readonly error: string }[];
  readonly files: number;
  readonly bytesRead: number;
}

let place: Folder;
before(async () => {
  place = await folder();
});
after(() => place[Symbol.asyncDispose]());

describe('ls', () => {
  it('of 3,000 sessions reads at most 2 kB of each, whatever their size, and keeps their order', async (context) => {
    const root = join(place.path, 'many', '_no-cwd');
    await mkdir(root, { recursive: true });
    const session = new Session('template');
    for (let turn = 1; turn <= 40; turn++) runTurn(session, turn);
    const events = Buffer.from(session.jsonl());
    for (let index = 0; index < 3000; index++) {
      const file = join(root, `session-${index}.jsonl`);
      await writeFile(file, Buffer.concat([Buffer.from(`{"type":"session","version":0,"id":"session-${index}","createdAt":${1_000_000 + ((index * 7) % 3000)}}\n`), events]));
      // The time of a file says nothing.
      if (index % 100 === 0) await utimes(file, 1, 1);
    }
    const { sessions, broken, files, bytesRead } = await cliJson<Listing>(['ls', join(place.path, 'many')]);
    assert.deepEqual([sessions.length, broken, files], [3000, [], 3000]);
    assert.ok(bytesRead <= 3000 * 2048, `${bytesRead} bytes read`);
    assert.ok(sessions.every(({ size }) => size! > 10_000));
    assert.deepEqual(sessions.map(({ createdAt }) => createdAt), Array.from({ length: 3000 }, (_, index) => 1_000_000 + index));
    context.diagnostic(`${bytesRead.toLocaleString('en-US')} of ${(sessions.reduce((sum, { size }) => sum + size!, 0)).toLocaleString('en-US')} bytes read`);
    assert.match((await cli(['ls', join(place.path, 'many'), '-n', '2', '--verbose'])).out, /^.*\n.*\n2 sessions \(2,998 older ones not shown\); 3,000 files, [\d,]+ bytes read\n$/);
  });

  it('names broken files and shows the others', async () => {
    const root = join(place.path, 'mixed');
    const store = new SessionStore();
    const saved = attach(store, jsonl(root));
    for (const id of ['one', 'two', 'three']) runTurn(store.create(id, { meta: { cwd: '/work' } }), 1);
    await saved.close();
    for (const [name, bytes] of [['zeros', '\0'.repeat(413)], ['empty', ''], ['cut', '{"type":"session","ver'], ['other', '{"any":"json"}\n'], ['later', '{"type":"session","version":9,"id":"x","createdAt":1}\n']] as const) {
      await writeFile(join(root, 'cwd-000000000000.jsonl'.replace('cwd-000000000000', name)), bytes);
    }
    await writeFile(join(root, 'notes.json'), '{}');
    const { sessions, broken, exit } = await cliJson<Listing>(['ls', root]);
    assert.deepEqual(sessions.map(({ id, cwd }) => [id, cwd]).sort(), [['one', '/work'], ['three', '/work'], ['two', '/work']]);
    assert.deepEqual(broken.map(({ file }) => file.split(/[\\/]/).pop()), ['cut.jsonl', 'empty.jsonl', 'later.jsonl', 'other.jsonl', 'zeros.jsonl']);
    assert.ok(broken.every(({ error }) => error.length > 5));
    assert.equal(exit, 0);
    const { out, err } = await cli(['ls', root]);
    assert.match(out, /3 sessions, 5 broken\n$/);
    assert.equal(err.match(/^broken /gm)?.length, 5);
  });

  it('of a database', async () => {
    const file = join(place.path, 'sessions.db');
    const store = new SessionStore();
    const saved = attachSqlite(store, sqlite(file));
    runTurn(store.create('in-a-database'), 1);
    await saved.close();
    const { sessions } = await cliJson<Listing>(['ls', file]);
    assert.deepEqual(sessions.map(({ id }) => id), ['in-a-database']);
    assert.match((await cli(['stats', file])).out, /in-a-database/);
    assert.match((await cli(['show', file, '--session', 'nope'])).err, /hint: /);
  });

  it("of other agents' folders, in their usual places", async () => {
    const home = join(place.path, 'home');
    const line = (value: unknown): string => `${JSON.stringify(value)}\n`;
    const claude = join(home, '.claude/projects/-work');
    const codex = join(home, '.codex/sessions/2026/01/02');
    const pi = join(home, '.pi/agent/sessions/--work--');
    const dsh = join(home, '.dsh/sessions/--work--/dsh-1');
    for (const path of [claude, codex, pi, dsh]) await mkdir(path, { recursive: true });
    await writeFile(join(claude, 'c-1.jsonl'), line({ type: 'user', uuid: 'u1', parentUuid: null, sessionId: 'c-1', timestamp: '2026-01-02T03:04:05.000Z', cwd: '/work', message: { role: 'user', content: 'hello' } }));
    await writeFile(join(codex, 'rollout-1.jsonl'), line({ timestamp: '2026-01-02T03:04:05.000Z', type: 'session_meta', payload: { id: 'x-1', timestamp: '2026-01-02T03:04:05.000Z', cwd: '/work', originator: 'cli', cli_version: '1', base_instructions: 'long '.repeat(5000) } }));
    await writeFile(join(pi, '1_p-1.jsonl'), line({ type: 'session', version: 3, id: 'p-1', timestamp: '2026-01-02T03:04:05.000Z', cwd: '/work' }));
    const header = { type: 'session', version: 0, id: 'dsh-1', createdAt: Date.parse('2026-01-02T03:04:05.000Z'), cwd: '/work', delegationDepth: 0 };
    await writeFile(join(dsh, 'session.jsonl'), line({ ...header, id: 'older' }));
    await writeFile(join(dsh, 'session.v3.jsonl'), line({ ...header, version: 3 }));
    const env = { HOME: home, USERPROFILE: home, CLAUDE_CONFIG_DIR: join(home, '.claude'), CODEX_HOME: join(home, '.codex'), PI_CODING_AGENT_DIR: join(home, '.pi/agent'), DSH_HOME: join(home, '.dsh') };
    for (const [agent, format, id] of [['claude', 'claude-code', 'c-1'], ['codex', 'codex', 'x-1'], ['pi', 'pi', 'p-1'], ['dsh', 'dsh', 'dsh-1']] as const) {
      const { sessions, broken } = await cliJson<Listing>(['ls', '--agent', agent], { env });
      assert.deepEqual(sessions.map((session) => [session.format, session.id, session.cwd, session.createdAt]), [[format, id, '/work', Date.parse('2026-01-02T03:04:05.000Z')]], agent);
      assert.deepEqual(broken, []);
    }
    const none = await cli(['ls', '--agent', 'pi'], { env: { ...env, PI_CODING_AGENT_DIR: join(home, 'nowhere') } });
    assert.equal(none.code, 3);
    assert.match(none.err, /there are no logs of pi in .*\nhint: /);
  });
});
