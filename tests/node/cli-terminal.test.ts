/** The command line on a terminal: colours, and a progress line for what takes long. */

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, describe, it } from 'node:test';
import { Session } from 'palimpsest';
import { BIN, cli, type Folder, folder } from '../support/cli.js';
import { runTurn } from '../support/sessions.js';

// `script` of util-linux runs a command on a pseudo-terminal.
const script = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

/** What a command shows on a terminal. */
function onTerminal(args: readonly string[], env: Readonly<Record<string, string>> = {}, tell: (text: string) => void = () => undefined): Promise<string> {
  const command = [process.execPath, BIN, ...args].map((word) => `'${word}'`).join(' ');
  return new Promise((resolve, reject) => {
    const child = execFile('script', ['--quiet', '--return', '--command', command, '/dev/null'], { env: { ...process.env, NO_COLOR: '', FORCE_COLOR: '', TERM: 'xterm-256color', ...env }, maxBuffer: 1 << 26 }, (error, out) => {
      if (error !== null && error.code !== 1) reject(new Error('script failed', { cause: error }));
      else resolve(out);
    });
    child.stdout?.on('data', tell);
  });
}

describe(`on a terminal${script ? '' : ' (skipped: no `script` of util-linux)'}`, { skip: !script }, () => {
  let place: Folder;
  let log: string;
  before(async () => {
    place = await folder();
    const session = new Session('s');
    runTurn(session, 1);
    log = await place.save('s.jsonl', session);
  });
  after(() => place[Symbol.asyncDispose]());

  it('output is in colours, and is not with NO_COLOR or a dumb terminal', async () => {
    assert.ok((await onTerminal(['stats', log])).includes('\u001b[1msession\u001b[22m'));
    assert.ok(!(await onTerminal(['stats', log], { NO_COLOR: '1' })).includes('\u001b'));
    assert.ok(!(await onTerminal(['stats', log], { TERM: 'dumb' })).includes('\u001b'));
  });

  it('what takes longer than a second shows how far it is, and takes the line away', async () => {
    const pipe = join(place.path, 'slow.jsonl');
    assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
    let out = '';
    const ended = onTerminal(['check', pipe], {}, (text) => (out += text));
    const session = new Session('slow');
    const writer = createWriteStream(pipe);
    writer.write(session.headerLine());
    // As long as it takes: the line comes after a second of reading.
    for (let turn = 1; !/checking {2}[\d.]+ [kM]?B {2}[\d.]+ [kM]?B\/s/.test(out); turn++) {
      const from = session.seq;
      runTurn(session, turn);
      if (!writer.write(session.jsonl(from))) await once(writer, 'drain');
    }
    writer.end();
    assert.match((await ended).replaceAll('\r\u001b[K', '<clear>'), /<clear>checking[^<]*<clear>[^<]*slow\.jsonl/);
    const piped = await cli(['check', log]);
    assert.equal(piped.err, '');
    assert.doesNotMatch(piped.out, /[█\r]/);
  });
});
