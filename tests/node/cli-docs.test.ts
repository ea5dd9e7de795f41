/**
 * The page on the command line: each command in it is run, in order and in one folder, and prints what stands there.
 * With PALIMPSEST_WRITE_DOCS set, the page is written anew from what the commands print.
 */

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import process from 'node:process';
import { it } from 'node:test';
import { cli, folder } from '../support/cli.js';

const PAGE = 'pkg-template/CLI.md';

/** The example with four faults. */
function broken(log: string): string {
  const lines = log.trimEnd().split('\n');
  const theirs = lines.slice(-3).map((line) => line.replace('README.md', 'The README'));
  return [...lines.slice(0, 20), '\0'.repeat(64) + lines[20]!, ...lines.slice(21, 40), ...lines.slice(41), ...theirs, lines.at(-1)!.slice(0, 50)].join('\n');
}

/** A conversation as Codex writes it. */
function codex(): string {
  const at = (second: number): string => `2026-07-14T09:30:0${second}.000Z`;
  const records = [
    { timestamp: at(0), type: 'session_meta', payload: { id: '0197a1b2-0000-7000-8000-000000000001', timestamp: at(0), cwd: '/home/ada/slug', originator: 'codex_cli_rs', cli_version: '0.50.0' } },
    { timestamp: at(1), type: 'turn_context', payload: { cwd: '/home/ada/slug', model: 'gpt-5-codex', approval_policy: 'never', sandbox_policy: { mode: 'read-only' }, summary: 'auto' } },
    { timestamp: at(1), type: 'event_msg', payload: { type: 'user_message', message: 'What does slug.js do?' } },
    { timestamp: at(1), type: 'response_item', payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What does slug.js do?' }] } },
    { timestamp: at(2), type: 'response_item', payload: { type: 'function_call', name: 'shell', arguments: '{"command":["cat","slug.js"]}', call_id: 'call_1' } },
    { timestamp: at(3), type: 'response_item', payload: { type: 'function_call_output', call_id: 'call_1', output: 'export const slug = (title) => title.toLowerCase();' } },
    { timestamp: at(4), type: 'response_item', payload: { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It lowers a title.' }] } },
  ];
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}

it('every command of the page prints what the page shows', async () => {
  await using place = await folder();
  const example = await readFile('www/public/example.jsonl', 'utf8');
  await place.write('session.jsonl', example);
  await place.write('broken.jsonl', broken(example));
  await place.write('codex.jsonl', codex());
  const page = await readFile(PAGE, 'utf8');
  let written = '';
  let done = 0;
  let commands = 0;
  for (const block of page.matchAll(/```console\n([\s\S]*?)```/g)) {
    const shown: string[] = [];
    for (const [, command] of block[1]!.matchAll(/^\$ palimpsest (.*)$/gm)) {
      const { out, err } = await cli(command!.split(' '), { cwd: place.path });
      shown.push(`$ palimpsest ${command!}\n${out}${err}`);
      commands++;
    }
    written += page.slice(done, block.index) + `\`\`\`console\n${shown.join('')}\`\`\``;
    done = block.index + block[0].length;
  }
  written += page.slice(done);
  assert.ok(commands >= 12);
  if (process.env.PALIMPSEST_WRITE_DOCS) await writeFile(PAGE, written);
  else assert.equal(written, page, `Run: PALIMPSEST_WRITE_DOCS=1 node --test target/tests/node/cli-docs.test.js`);
});
