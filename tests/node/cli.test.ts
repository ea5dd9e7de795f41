/** The command line in a pipe: what it prints, where, and how it ends. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { appendFile, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { type Message, Session, SessionReader, type SessionHeader } from 'palimpsest';
import { estimateTokens } from 'palimpsest/compaction';
import { BIN, cli, cliJson, type Folder, folder } from '../support/cli.js';
import { conversation } from '../support/conversations.js';
import { Dice } from '../support/random.js';
import { openTurn, runTurn, say, text } from '../support/sessions.js';

const COMMANDS = ['ls', 'show', 'stats', 'check', 'repair', 'fork', 'import', 'export', 'redact', 'search', 'tail', 'view'];

let place: Folder;
let log: string;
let session: Session;
before(async () => {
  place = await folder();
  session = new Session('talk', [], { version: 0, id: 'talk', createdAt: 1_700_000_000_000, cwd: '/home/alice/work' });
  runTurn(session, 1);
  session.append('turn/start', { turn: 2, trigger: { kind: 'message', source: { kind: 'user' } } });
  say(session, 'mail someone@mail.example \u001b[31mred\u001b[0m');
  session.recordRequestHeader({ config: { model: 'large' }, system: 'Be brief.', tools: [{ name: 'read', description: 'reads', parameters: {} }] });
  session.append('step/start', { turn: 2, step: 1 });
  session.append('assistant/message', { turn: 2, step: 1, content: [{ type: 'tool-call', id: 'c', name: 'read', arguments: '{}' }], usage: { inputTokens: 10, outputTokens: 5, cacheReadTokens: 30 } }, { surfaceOp: 'append' });
  session.append('tool/call', { turn: 2, step: 1, callId: 'c', name: 'read', arguments: '{}' });
  session.append('tool/result', { turn: 2, step: 1, callId: 'c', content: text('the answer'), isError: true }, { surfaceOp: 'append' });
  session.append('step/end', { turn: 2, step: 1 });
  session.append('turn/end', { turn: 2, reason: { kind: 'completed' } });
  log = await place.save('talk.jsonl', session);
});
after(() => place[Symbol.asyncDispose]());

describe('help', () => {
  it('lists every command and the exit codes', async () => {
    const { code, out, err } = await cli(['--help']);
    assert.deepEqual([code, err], [0, '']);
    for (const command of COMMANDS) assert.match(out, new RegExp(`^  ${command} `, 'm'));
    assert.match(out, /Exit codes:\n {2}0 /);
  });

  it('is there for each command, and says of each option what it does', async () => {
    for (const command of COMMANDS) {
      const { code, out, err } = await cli([command, '--help']);
      assert.deepEqual([code, err], [0, ''], command);
      assert.match(out, new RegExp(`^Usage: palimpsest ${command} `));
      for (const [, option, what] of out.matchAll(/^ {2}(-\S.*?)(?: {2,}|\n {6,})(\S.*)?$/gm)) assert.ok(what !== undefined && what.length > 5, `${command} ${option}`);
    }
  });

  it('says the version of the package', async () => {
    const { version } = JSON.parse(await readFile('pkg/package.json', 'utf8')) as { version: string };
    assert.equal((await cli(['--version'])).out, `${version}\n`);
  });
});

describe('a command line that is wrong', () => {
  const cases: readonly (readonly [args: readonly string[], message: RegExp])[] = [
    [['shwo', 'x'], /unknown command 'shwo'[\s\S]*Did you mean show/],
    [['show'], /missing required argument 'file'/],
    [['show', 'x', '--at', '-1'], /--at/],
    [['show', 'x', '--at', '1.5'], /whole number/],
    [['show', 'x', '--as', 'poem'], /Allowed choices are messages, request, surface, events/],
    [['repair', 'x'], /required option '-o, --output/],
    [['view', '--port', '99999'], /0 to 65535/],
    [['ls', '-n', '0'], /1 or more/],
    [['search', 'x', '-m', '0'], /1 or more/],
    [['redact', 'x', '--dry-run', '--kind', 'poem'], /Allowed choices are private-key, /],
  ];
  for (const [args, message] of cases) {
    it(`${args.join(' ')}: exit code 2, on standard error, with a hint`, async () => {
      const { code, out, err } = await cli(args);
      assert.deepEqual([code, out], [2, '']);
      assert.match(err, message);
      assert.match(err, /^hint: .*--help/m);
    });
  }
});

describe('a file that cannot be had', () => {
  it('missing, a directory, another program\'s: exit code 3 or 2, in one line with a hint', async () => {
    const png = await place.write('picture.png', Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10));
    const missing = join(place.path, 'no-such-file');
    for (const [path, exit, message] of [[missing, 3, /no-such-file: no such file/], [place.path, 2, /holds 0 sessions/], [png, 3, /picture\.png/]] as const) {
      const { code, out, err } = await cli(['show', path]);
      assert.deepEqual([code, out], [exit, ''], err);
      assert.match(err, /^error: .*\nhint: .*\n$/);
      assert.match(err, message);
    }
  });
});

describe('a place that cannot be written to', () => {
  it('a directory that is not there is named, and so is what to do', async () => {
    const { code, err } = await cli(['export', log, '-o', join(place.path, 'nowhere', 'page.md')]);
    assert.equal(code, 3);
    assert.match(err, /there is no directory .*nowhere\nhint: make it first/);
  });

  it('a full disk behind standard output is exit code 3, not the 1 of a finding', { skip: process.platform !== 'linux' }, async () => {
    const full = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [BIN, 'check', log], { stdio: ['ignore', full, 'pipe'] });
    let err = '';
    child.stderr!.setEncoding('utf8').on('data', (words: string) => (err += words));
    const code = await new Promise((resolve) => child.on('close', resolve));
    closeSync(full);
    assert.equal(code, 3);
    assert.match(err, /^error: .*\nhint: the disk is full\n$/);
  });
});

describe('show', () => {
  it('the history, at the end or at any seq, as JSON the one that the library derives', async () => {
    assert.deepEqual(JSON.parse((await cli(['show', log, '--json'])).out) as Message[], session.deriveMessages());
    assert.deepEqual(JSON.parse((await cli(['show', log, '--json', '--at', '1'])).out) as Message[], session.at(1).messages());
    const { out } = await cli(['show', log]);
    assert.match(out, /^user\nquestion 1\n\nassistant\nanswer 1\n/);
  });

  it('the request, the surface and all events', async () => {
    assert.deepEqual(JSON.parse((await cli(['show', log, '--as', 'request', '--json', '--at', '10'])).out), JSON.parse(JSON.stringify(session.at(10).request())));
    assert.deepEqual((JSON.parse((await cli(['show', log, '--as', 'surface', '--json'])).out) as { nodes: unknown }).nodes, session.surface.nodes);
    const lines = (await cli(['show', log, '--as', 'events', '--json'])).out.trimEnd().split('\n');
    assert.deepEqual(lines.map((line) => JSON.parse(line) as unknown), [...session.events]);
    assert.match((await cli(['show', log, '--as', 'request'])).out, /config {2}\{"model":"large"\}[\s\S]*Be brief\.[\s\S]*read {2}reads/);
  });

  it('obeys no escape sequence of the log', async () => {
    for (const as of ['messages', 'events', 'surface', 'request']) assert.ok(!(await cli(['show', log, '--as', as])).out.includes('\u001b'));
    assert.match((await cli(['show', log])).out, /\\u001b\[31mred/);
  });

  it('events as JSON are the lines of the log, however deep and with numbers of any size', async () => {
    const lines = (await readFile(log, 'utf8')).split('\n').slice(0, -1);
    const deep = `{"type":"own/deep","seq":15,"time":1,"data":{"n":12345678901234567890,"d":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;
    const file = await place.write('deep.jsonl', `${[...lines, deep].join('\n')}\n`);
    const { code, out } = await cli(['show', file, '--as', 'events', '--json']);
    assert.equal(code, 0);
    assert.deepEqual(out.split('\n'), [...lines.slice(1), deep, '']);
  });

  it('a seq behind the end is refused, with the seqs that there are', async () => {
    const { code, err } = await cli(['show', log, '--at', '99']);
    assert.equal(code, 2);
    assert.match(err, /holds 15 events[\s\S]*hint: give a seq from 0 to 14/);
  });

  it('reads standard input, and ends quietly when its reader does', async () => {
    assert.equal((await cli(['show', '-'], { input: await readFile(log) })).out, (await cli(['show', log])).out);
    const big = new Session('big');
    for (let turn = 1; turn <= 3000; turn++) runTurn(big, turn);
    const file = await place.save('big.jsonl', big);
    const child = spawn(process.execPath, [BIN, 'show', file, '--as', 'events', '--json']);
    let err = '';
    child.stderr.setEncoding('utf8').on('data', (words: string) => (err += words));
    await new Promise((resolve) => child.stdout.once('data', resolve));
    child.stdout.destroy();
    const code = await new Promise((resolve) => child.on('close', resolve));
    assert.deepEqual([code, err], [0, '']);
  });

  it('of a damaged log what can be read, and says so on standard error', async () => {
    const lines = (await readFile(log, 'utf8')).split('\n');
    lines[4] = '{"type":"assistant/mess';
    const { code, out, err } = await cli(['show', await place.write('damaged.jsonl', lines.join('\n'))]);
    assert.equal(code, 0);
    assert.match(out, /question 1/);
    assert.match(err, /^note: .*damaged: .*what can be read/);
  });

  it('of two writers the first, and says how to see the other', async () => {
    const lines = (await readFile(log, 'utf8')).split('\n').slice(0, -1);
    const second = lines.slice(-2).map((line) => line.replace('"time":', '"by":2,"time":'));
    const { code, err } = await cli(['show', await place.write('writers.jsonl', `${[...lines, ...second].join('\n')}\n`)]);
    assert.equal(code, 0);
    assert.match(err, /in 2 sessions, .*--session ID/);
  });
});

describe('stats', () => {
  it('counts turns, tokens, tools and compactions', async () => {
    const found = await cliJson<Record<string, unknown>>(['stats', log]);
    assert.deepEqual([found.id, found.events, found.turns, found.steps, found.models], ['talk', 15, 2, 2, ['large']]);
    assert.deepEqual(found.tokens, { calls: 1, input: 10, output: 5, cacheRead: 30, cacheWrite: 0, reasoning: 0, cachedShare: 0.75 });
    assert.deepEqual(found.tools, [{ name: 'read', calls: 1, errors: 1 }]);
    assert.match((await cli(['stats', log])).out, /75\.0% of the input from a cache/);
  });

  it('counts every message of the surface, short and long, of any script', async () => {
    const mixed = new Session('mixed');
    for (let i = 0; i < 600; i++) say(mixed, `${i} ${i % 2 === 0 ? 'words '.repeat(200) : '好的'.repeat(i)}`);
    const { surface } = await cliJson<{ surface: { nodes: number; estimatedTokens: number } }>(['stats', await place.save('mixed.jsonl', mixed)]);
    const estimatedTokens = mixed.deriveMessages().reduce((sum, message) => sum + estimateTokens(message), 0);
    assert.deepEqual(surface, { nodes: 600, estimatedTokens });
  });
});

describe('repair', () => {
  it('never writes over anything, its source above all', async () => {
    const bytes = await readFile(log);
    const same = await cli(['repair', log, '-o', log]);
    const existing = await cli(['repair', log, '-o', await place.write('there.jsonl', 'mine')]);
    assert.deepEqual([same.code, existing.code], [2, 3]);
    assert.match(existing.err, /exists already\nhint: /);
    assert.deepEqual([await readFile(log), await readFile(join(place.path, 'there.jsonl'), 'utf8')], [bytes, 'mine']);
  });
});

describe('fork', () => {
  it('writes a child that begins with the events through a turn\'s end', async () => {
    const child = join(place.path, 'child.jsonl');
    const { exit, ...header } = await cliJson<SessionHeader & { file: string }>(['fork', log, '-o', child, '--at', '5', '--id', 'mine']);
    assert.deepEqual([exit, header.id, header.parentSession, header.seedLength, header.cwd], [0, 'mine', 'talk', 6, '/home/alice/work']);
    const reader = new SessionReader('child');
    reader.push(await readFile(child));
    assert.deepEqual([...reader.finish().session.events], session.events.slice(0, 6));
    assert.equal((await cli(['fork', log, '-o', join(place.path, 'x.jsonl'), '--at', '3'])).code, 3);
  });

  it('puts it into a store, where ls finds it', async () => {
    const store = `${join(place.path, 'store')}/`;
    assert.equal((await cli(['fork', log, '-o', store])).code, 0);
    const { sessions } = await cliJson<{ sessions: { id: string; parentSession: string }[] }>(['ls', store]);
    assert.deepEqual(sessions.map(({ id, parentSession }) => [id, parentSession]), [['talk-fork', 'talk']]);
    assert.match((await cli(['fork', log, '-o', store])).err, /error: [\s\S]*hint: /);
  });
});

describe('export', () => {
  it('each form, to standard output or to a new file', async () => {
    const forms: readonly (readonly [string, RegExp])[] = [['markdown', /^# talk\n/], ['html', /^<!doctype html>/], ['messages', /^\{\n {2}"config"/], ['openai', /"model": "large"/], ['anthropic', /"max_tokens": 4096/]];
    for (const [as, start] of forms) {
      const { code, out } = await cli(['export', log, '--as', as]);
      assert.equal(code, 0);
      assert.match(out, start);
      const file = join(place.path, `export-${as}`);
      assert.equal((await cli(['export', log, '--as', as, '-o', file])).out, '');
      assert.equal(await readFile(file, 'utf8'), out);
    }
    assert.equal((await cli(['export', log, '--as', 'jsonl'])).out, await readFile(log, 'utf8'));
  });

  it('says on standard error what a provider\'s form could not say', async () => {
    const hostile = await place.save('hostile.jsonl', conversation(new Dice(11), true));
    const { out, err } = await cli(['export', hostile, '--as', 'openai']);
    assert.ok(JSON.parse(out) !== null);
    assert.match(err, /^note: .*could not be said/);
  });
});

describe('redact', () => {
  it('lists first, then writes a copy; the log is as it was', async () => {
    const bytes = await readFile(log);
    const clean = join(place.path, 'clean.jsonl');
    const looked = await cliJson<{ counts: object }>(['redact', log, '--dry-run']);
    const { counts, hits } = await cliJson<{ counts: object; hits: { path: string }[] }>(['redact', log, '-o', clean, '--word', 'brief']);
    assert.deepEqual(looked.counts, { home: 1, mail: 1 });
    assert.deepEqual(counts, { home: 1, mail: 1, own: 1 });
    assert.equal(hits.length, 3);
    assert.doesNotMatch(await readFile(clean, 'utf8'), /alice|someone@|brief/);
    assert.deepEqual(await readFile(log), bytes);
    assert.equal((await cli(['redact', log])).code, 2);
    for (const pattern of ['(', '']) assert.equal((await cli(['redact', log, '--dry-run', '--pattern', pattern])).code, 2);
  });

  it('says so where there is nothing to take out', async () => {
    assert.equal((await cli(['redact', log, '--dry-run', '--kind', 'jwt'])).out, 'nothing would be taken out\n');
    const clean = join(place.path, 'clean-jwt.jsonl');
    assert.equal((await cli(['redact', log, '-o', clean, '--kind', 'jwt'])).out, `nothing was found to take out; the copy is ${clean}\n`);
  });
});

describe('search', () => {
  it('finds words in texts, by file, line and seq, in damaged logs too', async () => {
    const broken = await place.write('broken.jsonl', `${await readFile(log, 'utf8')}\0\0{"type":"user/mess\n`);
    const { matches, exit } = await cliJson<{ matches: { file: string; line: number; seq: number; type: string; path: string }[] }>(['search', 'QUESTION \\d', log, broken, '-i']);
    assert.equal(exit, 0);
    assert.deepEqual(matches.map(({ file, line, seq, type, path }) => [file, line, seq, type, path]), [log, broken].map((file) => [file, 3, 1, 'user/message', 'data.content[0].text']));
    assert.match((await cli(['search', 'answer', log, '--type', 'tool/result'])).out, /^.*talk\.jsonl:14 {2}seq 12 tool\/result {2}the answer\n$/);
  });

  it('ends with 1 without a match, and takes a text as it is with --fixed', async () => {
    assert.deepEqual([(await cli(['search', 'nowhere at all', log])).code, (await cli(['search', 'a(', log])).code], [1, 2]);
    assert.equal((await cli(['search', 'mail.example', log, '-F'])).code, 0);
  });
});

describe('tail', () => {
  it('shows the last events', async () => {
    const { out } = await cli(['tail', log, '-n', '2', '--json']);
    assert.deepEqual(out.trimEnd().split('\n').map((line) => (JSON.parse(line) as { seq: number }).seq), [13, 14]);
  });

  it('of standard input shows the last ones of what comes, or each as it comes', async () => {
    const input = await readFile(log);
    const seqs = (out: string): number[] => out.trimEnd().split('\n').filter((line) => line !== '').map((line) => (JSON.parse(line) as { seq?: number }).seq ?? -1);
    assert.deepEqual(seqs((await cli(['tail', '-', '-n', '2', '--json'], { input })).out), [13, 14]);
    assert.deepEqual(seqs((await cli(['tail', '-', '-n', '0', '--json'], { input })).out), []);
    assert.deepEqual(seqs((await cli(['tail', '-', '-f', '--json'], { input })).out), Array.from({ length: 16 }, (_, index) => index - 1));
    const { out, err, code } = await cli(['tail', '-', '-n', '1', '--json'], { input: input.subarray(0, -3) });
    assert.deepEqual([seqs(out), code], [[13], 0]);
    assert.match(err, /bytes follow without a line end/);
  });

  it('directories have no end to begin at', async () => {
    const { code, err } = await cli(['tail', place.path]);
    assert.equal(code, 2);
    assert.match(err, /^error: .*\nhint: name /);
  });

  it('goes on as the log grows, and Ctrl-C is its normal end', async () => {
    const growing = new Session('growing');
    openTurn(growing, 1);
    const file = await place.save('growing.jsonl', growing);
    const child = spawn(process.execPath, [BIN, 'tail', file, '-f', '--json', '-n', '1']);
    child.stdout.setEncoding('utf8');
    let out = '';
    const shown = (count: number): Promise<void> =>
      new Promise((resolve) => {
        const look = (words: string): void => {
          out += words;
          if (out.split('\n').length > count) {
            child.stdout.off('data', look);
            resolve();
          }
        };
        child.stdout.on('data', look);
      });
    await shown(1);
    const seq = growing.seq;
    growing.append('step/end', { turn: 1, step: 1 });
    growing.append('turn/end', { turn: 1, reason: { kind: 'completed' } });
    const lines = Buffer.from(growing.jsonl(seq)).toString();
    // A write that stops within a line is no line yet.
    await appendFile(file, lines.slice(0, 20));
    const rest = shown(3);
    await appendFile(file, lines.slice(20));
    await rest;
    assert.deepEqual(out.trimEnd().split('\n').map((line) => (JSON.parse(line) as { type: string }).type), ['step/start', 'step/end', 'turn/end']);
    child.kill('SIGINT');
    assert.equal(await new Promise((resolve) => child.on('close', resolve)), 0);
  });
});

describe('view', () => {
  it('serves the page, its core and the log to this machine alone', async () => {
    const child = spawn(process.execPath, [BIN, 'view', log, '--port', '0', '--json']);
    const { url } = JSON.parse(String(await new Promise<Buffer>((resolve) => child.stdout.once('data', resolve)))) as { url: string };
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/#log=/);
    const page = await (await fetch(url)).text();
    const script = /<script[^>]+src="([^"]+)"/.exec(page)![1]!;
    assert.equal((await fetch(new URL(script, url))).status, 200);
    const { core } = JSON.parse(await readFile('pkg/viewer/viewer.json', 'utf8')) as { core: string[] };
    for (const file of core) {
      const served = await fetch(new URL(file, url));
      assert.deepEqual([served.status, served.headers.get('content-type')], [200, 'application/wasm']);
    }
    const served = await fetch(new URL(decodeURIComponent(new URL(url).hash.slice('#log='.length)), url));
    assert.equal(await served.text(), await readFile(log, 'utf8'));
    child.kill('SIGINT');
    assert.equal(await new Promise((resolve) => child.on('close', resolve)), 0);
  });
});

describe('colours', () => {
  it('none in a pipe, some when they are forced, none with NO_COLOR', async () => {
    assert.ok(!(await cli(['stats', log])).out.includes('\u001b'));
    assert.ok((await cli(['stats', log], { env: { FORCE_COLOR: '1' } })).out.includes('\u001b[1m'));
    assert.ok(!(await cli(['stats', log], { env: { FORCE_COLOR: '1', NO_COLOR: '1' } })).out.includes('\u001b'));
  });
});

describe('the library', () => {
  it('loads nothing of the command line', async () => {
    const files = (await readdir('pkg/dist', { recursive: true })).filter((file) => file.endsWith('.js') && !file.startsWith('cli'));
    assert.ok(files.length > 80);
    for (const file of files) assert.doesNotMatch(await readFile(join('pkg/dist', file), 'utf8'), /from '(?:\.\.?\/)+cli\/|['"]commander['"]/, file);
  });
});
