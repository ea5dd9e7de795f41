// `npm start` as a user runs it, in a process of its own.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { Readable } from 'node:stream';
import { after, before, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';

const START = join(process.cwd(), 'www/start.mjs');
const VECTORS = join(process.cwd(), 'tests/fixtures/vectors');

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function start(...args: string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, [START, ...args], { timeout: 300_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

suite('npm start', () => {
  let directory: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'palimpsest-start-'));
  });
  after(() => rm(directory, { recursive: true }));

  test('--once does the main job, checks the page and ends', async () => {
    const { code, stdout, stderr } = await start('--once', '--dir', join(directory, 'demo'));
    assert.equal(code, 0, stderr);
    const steps = [
      /1 {2}An agent at work/,
      / 29 {2}assistant {2}I run the tests first\. → run_tests \{\}/,
      /The process is gone \((SIGKILL|exit \d+)\) while a tool was running/,
      /2 {2}Reload and repair/,
      /dropped +28 bytes that were never acknowledged; all 163 whole events are there/,
      /closed by +163 tool\/result: Tool call interrupted by a crash; no result was recorded\./,
      /closed by +165 turn\/end: interrupted/,
      /3 {2}Derive/,
      /166 events give 16 messages/,
      /4 {2}Compact, then go on/,
      /replaces: <compacted-summary>/,
      /before +16 messages/,
      /after +7 messages/,
      /5 {2}Fork, and try another answer/,
      /parent +fix-slug-\w+: 224 events, 11 messages/,
      /child +fix-slug-\w+-fork: 135 events, 12 messages/,
      /6 {2}Look back/,
      /session\.at\(53\)\.request\(\)/,
      /\[4\] {2}tool +export function slug\(title\)/,
      /http:\/\/127\.0\.0\.1:\d+\/#log=log\.jsonl/,
      /Checked: the page, its script and the log are served\./,
    ];
    let rest = stdout;
    for (const step of steps) {
      const at = rest.search(step);
      assert.ok(at >= 0, `${step} is missing, or out of order, in:\n${stdout}`);
      rest = rest.slice(at);
    }
    assert.equal(stdout.includes('\x1b'), false, 'no colour where no terminal is');
    const logs = (await readdir(join(directory, 'demo/sessions'), { recursive: true })).filter((name) => name.endsWith('.jsonl'));
    assert.equal(logs.length, 2);
  });

  test('--log reports on a stored log', async () => {
    const { code, stdout, stderr } = await start('--once', '--log', join(VECTORS, '1.jsonl'));
    assert.equal(code, 0, stderr);
    assert.match(stdout, /session +vec-1, format 0, created 2025-06-15 15:06:40 UTC/);
    assert.match(stdout, /size +22,621 bytes, 116 events/);
    assert.match(stdout, /turns +3 started; ended: 1 aborted, 2 max-tokens/);
    assert.match(stdout, /events +20 assistant\/chunk, 14 tool\/call/);
    assert.match(stdout, /integrity +every line is whole; no turn is open/);
    assert.match(stdout, /pairing +every tool call has its result/);
    assert.match(stdout, /config +\{"model":"m-2","temperature":1\}/);
    assert.match(stdout, /What the model sees: 9 messages/);
    assert.match(stdout, /Made in memory at event 115: 116 events, 9 messages; nothing is left out\./);
    assert.match(stdout, /Checked: the page, its script and the log are served\./);
  });

  test('--log says what a torn and open log lacks, and leaves it as it is', async () => {
    const whole = await readFile(join(VECTORS, '1.jsonl'));
    const { torn } = JSON.parse(await readFile(join(VECTORS, '1.expected.json'), 'utf8')) as { torn: { cut: number; error?: boolean; committedBytes: number; closers: { type: string }[] }[] };
    const cut = torn.find((each) => !each.error && each.cut > each.committedBytes && each.closers.length > 1);
    assert.ok(cut);
    const file = join(directory, 'torn.jsonl');
    await writeFile(file, whole.subarray(0, cut.cut));
    const { code, stdout, stderr } = await start('--once', '--log', file);
    assert.equal(code, 0, stderr);
    const text = stdout.replace(/\s+/g, ' ');
    assert.ok(text.includes(`a torn last line of ${cut.cut - cut.committedBytes} byte`), text);
    assert.ok(text.includes(`the next write goes to byte ${cut.committedBytes}`), text);
    assert.ok(text.includes(`a load would close it by ${cut.closers.map(({ type }) => type).join(', ')}`), text);
    assert.deepEqual(await readFile(file), whole.subarray(0, cut.cut));
  });

  test('--log refuses a damaged log with its place and exit code 1', async () => {
    const whole = await readFile(join(VECTORS, '1.jsonl'), 'utf8');
    const lines = whole.split('\n');
    lines[4] = lines[4]?.slice(0, -3) ?? '';
    const file = join(directory, 'damaged.jsonl');
    await writeFile(file, lines.join('\n'));
    const { code, stdout } = await start('--once', '--log', file);
    assert.equal(code, 1);
    assert.match(stdout.replace(/\s+/g, ' '), /Refused: CORRUPT_LOG .*damaged\.jsonl, seq 3, line 5, byte \d+: /);
    assert.doesNotMatch(stdout, /http:/);
  });

  test('--log writes no control character of a log to the terminal', async () => {
    const file = join(directory, 'hostile.jsonl');
    const header = { type: 'session', version: 0, id: 'x\x1b]0;title\x07', createdAt: 1, cwd: '/\x9b31m' };
    const event = { type: 'user/message', seq: 0, time: 1, data: { content: [{ type: 'text', text: '\x1b[2J\u202egnp.exe\r\b' }], source: { kind: 'user' } }, surfaceOp: 'append' };
    await writeFile(file, `${JSON.stringify(header)}\n${JSON.stringify(event)}\n`);
    const { code, stdout } = await start('--once', '--log', file);
    assert.equal(code, 0);
    const report = stdout.slice(stdout.indexOf('hostile.jsonl'));
    assert.match(report, /x\\u001b\]0;title\\u0007/);
    assert.match(report, /\\u001b\[2J\\u202egnp\.exe/);
    assert.deepEqual(report.match(/[^\P{C}\n]/gu), null);
  });

  for (const [args, message] of [
    [['--bogus'], /Unknown option '--bogus'/],
    [['file.jsonl'], /Unexpected argument 'file\.jsonl'/],
    [['--port', '70000'], /--port must be a number/],
    [['--log'], /--log/],
    [['--log', 'a', '--dir', 'b'], /exclude each other/],
  ] as const) {
    test(`${args.join(' ')} is answered with the usage and exit code 2`, async () => {
      const { code, stderr } = await start(...args);
      assert.equal(code, 2);
      assert.match(stderr, message);
      assert.match(stderr, /Usage: npm start -- /);
    });
  }

  test('--log says that a file is not there', async () => {
    const { code, stderr } = await start('--log', join(directory, 'none.jsonl'));
    assert.equal(code, 1);
    assert.match(stderr, /none\.jsonl cannot be read: ENOENT/);
  });

  test('stays up until it is interrupted, on the next port that is free', { skip: process.platform === 'win32' && 'signals end a process at once on Windows' }, async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    const { port } = blocker.address() as AddressInfo;
    const child = spawn(process.execPath, [START, '--port', String(port), '--log', join(VECTORS, '0.jsonl')]);
    try {
      const url = await urlOf(child.stdout);
      assert.ok(Number(new URL(url).port) > port);
      assert.equal((await fetch(new URL('/log.jsonl', url))).headers.get('content-type'), 'application/x-ndjson');
      assert.equal((await fetch(new URL('/..%2fstart.mjs', url))).status, 404, 'nothing beside the page');
      assert.equal((await fetch(new URL('/log.jsonl', url), { method: 'POST' })).status, 405);
      assert.equal(await statusFor(url, 'evil.example'), 421, 'a foreign name for this address');
      child.kill('SIGINT');
      assert.deepEqual(await once(child, 'exit'), [0, null]);
    } finally {
      child.kill('SIGKILL');
      blocker.close();
    }
  });

  test('the built-in example is what its script records', async () => {
    const { recordExample } = (await import(pathToFileURL(join(process.cwd(), 'www/demo/record.mjs')).href)) as { recordExample: () => Promise<Buffer> };
    const stored = await readFile(join(process.cwd(), 'www/public/example.jsonl'), 'utf8');
    assert.equal((await recordExample()).toString(), stored, 'run: node www/demo/record.mjs');
  });
});

/** The URL in the output, once all is up. The output is read on: a pipe that is closed would end its writer. */
function urlOf(output: Readable): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    output.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const found = /http:\/\/\S+(?=[\s\S]*Ctrl-C)/.exec(text);
      if (found) resolve(found[0]);
    });
    output.on('end', () => { reject(new Error(`no URL in:\n${text}`)); });
  });
}

function statusFor(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(new URL('/log.jsonl', url), { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });
}
