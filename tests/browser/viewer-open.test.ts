// Opening: files, drops, folders, damaged logs, logs of other agents.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { EXAMPLES, goTo, isOpen, pick, show, texts, Viewer } from '../support/viewer.js';

const SHARED = resolve(process.env.PALIMPSEST_SHARED ?? '../shared');
const FOREIGN = join(SHARED, 'foreign');

suite('opening a log', () => {
  let viewer: Viewer;
  let long: Buffer;
  before(async () => {
    viewer = await Viewer.open();
    long = await readFile(join(EXAMPLES, 'long.jsonl'));
  });
  after(() => viewer[Symbol.asyncDispose]());

  test('a picked file, which has no link', () => viewer.visit('#log=examples/coding.jsonl', async (page) => {
    await isOpen(page);
    await pick(page, 'mine.jsonl', long);
    await page.locator('#about', { hasText: '364 events' }).waitFor();
    assert.equal(await page.locator('#name').innerText(), 'mine.jsonl');
    await page.waitForURL((url) => url.hash === '#seq=363');
  }));

  test('a link to an event of a file says what is missing, and leads there once the file is picked', () => viewer.visit('#seq=149&view=model', async (page) => {
    assert.match(await page.locator('#awaited').innerText(), /event 149 of a file/);
    assert.equal(await page.locator('#logs').count(), 0, 'no drawer of logs beside the list of logs');
    await pick(page, 'mine.jsonl', long);
    await page.locator('#model-head[data-seq="149"]').waitFor();
    await pick(page, 'again.jsonl', long);
    await page.locator('#model-head[data-seq="363"]').waitFor();
    await page.getByRole('tab', { name: 'Change from the request before' }).click();
    await page.getByText('Event 363 is in no step').waitFor();
    await page.getByRole('button', { name: 'Go to the step before' }).click();
    await page.locator('.request-diff').getByText('Compared with').waitFor();
  }));

  test('a file that is no log is called so', () => viewer.visit('', async (page) => {
    for (const bytes of ['', 'hello\nworld\n', '{"a":1}', '\0\x01\xff\n']) {
      await page.goto(viewer.address());
      await page.reload();
      await pick(page, 'notes.jsonl', Buffer.from(bytes, 'latin1'));
      await page.locator('#no-log', { hasText: 'it is no session log' }).waitFor();
      assert.doesNotMatch(await page.locator('main').innerText(), /1970/);
    }
  }));

  test('a dropped file, and a dropped folder of them', () => viewer.visit('', async (page) => {
    await drop(page, [{ name: 'one.jsonl', bytes: long }]);
    await page.locator('#about', { hasText: '364 events' }).waitFor();
    const other = await readFile(join(EXAMPLES, 'long-other-way.jsonl'));
    await drop(page, [{ name: 'a.jsonl', bytes: other }, { name: 'b.jsonl', bytes: long }, { name: 'notes.txt', bytes: Buffer.from('no log') }]);
    await page.locator('#about', { hasText: '234 events' }).waitFor();
    assert.deepEqual((await texts(page, '.drawer .entry bdi')).slice(0, 3), ['one.jsonl', 'a.jsonl', 'b.jsonl']);
    await page.locator('.drawer').getByRole('button', { name: 'b.jsonl' }).click();
    await page.locator('#about', { hasText: '364 events' }).waitFor();
  }));

  test('a folder from the picker', () => viewer.visit('', async (page) => {
    await writeFile(join(viewer.made, 'inside.jsonl'), long);
    await page.locator('#folder').setInputFiles(viewer.made);
    await page.locator('#about', { hasText: '364 events' }).waitFor();
    assert.match(await page.locator('#name').innerText(), /inside\.jsonl$/);
  }));

  test('a folder of another agent: files of sub-agents go with their session, linked to it', () => viewer.visit('', async (page) => {
    const project = join(viewer.made, 'project');
    await mkdir(join(project, 'c-1/subagents'), { recursive: true });
    await writeFile(join(project, 'c-1.jsonl'), claude([['user', 'What is here?'], ['assistant', 'I send somebody.']]));
    await writeFile(join(project, 'c-1/subagents/agent-x.jsonl'), claude([['user', 'Look about.'], ['assistant', 'A file.']], { isSidechain: true, agentId: 'x' }));
    await writeFile(join(project, 'c-1/subagents/agent-x.meta.json'), '{"agentType":"general"}');
    // One whose session is gone stands for itself.
    await mkdir(join(project, 'c-9/subagents'), { recursive: true });
    await writeFile(join(project, 'c-9/subagents/agent-y.jsonl'), claude([['user', 'And there?']], { isSidechain: true, agentId: 'y', sessionId: 'c-9' }));
    await page.locator('#folder').setInputFiles(project);
    await page.locator('.drawer').getByRole('button', { name: 'project/c-1.jsonl', exact: true }).click();
    await isOpen(page);
    await page.locator('.drawer .entry', { hasText: 'A sub-agent' }).waitFor();
    const names = (await texts(page, '.drawer .entry bdi')).filter((name) => name.startsWith('project'));
    assert.deepEqual(names.sort(), ['project/c-1.jsonl', 'project/c-1.jsonl › c-1.agent-x.jsonl', 'project/c-1/subagents/agent-x.meta.json', 'project/c-9/subagents/agent-y.jsonl']);
    await show(page, 'Forks');
    const child = page.locator('.family li', { hasText: 'c-1.agent-x' });
    assert.match(await child.innerText(), /belongs to c-1/);
    await child.getByRole('button', { name: 'Open' }).click();
    await page.locator('#name', { hasText: 'c-1.agent-x.jsonl' }).waitFor();
    await isOpen(page);
    await show(page, 'Conversation');
    await page.locator('.said-message', { hasText: 'A file.' }).waitFor();
    await show(page, 'Forks');
    // Of the session itself only the beginning of its file is read for this.
    await page.locator('.family li').nth(1).waitFor();
    assert.deepEqual(await texts(page, '.family-name'), ['c-1', 'c-1.agent-x']);
  }));

  test('shows rows while it reads, tells the bytes, and stops when told to', () => viewer.visit('', async (page) => {
    const header = long.subarray(0, long.indexOf('\n') + 1);
    const pad = 'words '.repeat(700);
    const lines = Array.from({ length: 30_000 }, (_, seq) => `{"type":"x/filler","seq":${seq},"time":1,"data":{"n":"${pad}"}}\n`);
    await writeFile(join(viewer.made, 'slow.jsonl'), Buffer.concat([header, Buffer.from(lines.join(''))]));
    await page.evaluate(() => {
      // Stops at the first progress that has rows: the page must have shown them by then.
      const look = new MutationObserver(() => {
        const said = document.querySelector('.progress [role=status]')?.textContent ?? '';
        if (!/Read [\d.]+ MB of 1\d\d\.\d MB, [1-9][\d,]* events/.test(said) || document.querySelector('.row') === null) return;
        (globalThis as { said?: string }).said = said;
        document.querySelector<HTMLElement>('#stop')?.click();
        look.disconnect();
      });
      look.observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    await page.locator('#file').setInputFiles(join(viewer.made, 'slow.jsonl'));
    await page.getByRole('button', { name: 'stopped' }).waitFor();
    const rows = Number((await page.locator('#about').innerText()).replace(/ events.*|,/g, ''));
    assert.ok(rows > 0 && rows < 30_000, `${rows} rows`);
    assert.match(await page.evaluate(() => (globalThis as { said?: string }).said ?? ''), /^Read/);
    await show(page, 'Model view');
    await page.getByText('Reading was stopped before the end').waitFor();
  }));

  test('a conversion that is stopped says so, and the log can be opened again', () => viewer.visit('', async (page) => {
    const said = claude(Array.from({ length: 2 }, (_, at) => [at % 2 === 0 ? 'user' : 'assistant', 'words '.repeat(300)] as const)).trimEnd().split('\n');
    await writeFile(join(viewer.made, 'foreign.jsonl'), `${said[0]}\n${Array.from({ length: 30_000 }, (_, at) => said[1]!.replace('"u1"', `"u${at + 1}"`).replace('"u0"', `"u${at}"`).replace('"m1"', `"m${at}"`)).join('\n')}\n`);
    await page.evaluate(() => {
      const look = new MutationObserver(() => {
        if (!document.querySelector('.progress [role=status]')?.textContent.startsWith('Converted')) return;
        look.disconnect();
        document.querySelector<HTMLElement>('#stop')?.click();
      });
      look.observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    await page.locator('#file').setInputFiles(join(viewer.made, 'foreign.jsonl'));
    await page.getByRole('alert').getByText('Reading was stopped before there was anything to show.').waitFor();
    await page.getByRole('button', { name: 'All logs at hand' }).click();
    await page.getByRole('button', { name: 'foreign.jsonl' }).click();
    await page.locator('#about').waitFor({ timeout: 60_000 });
    await page.locator('.row.chosen').waitFor();
  }));

  test('a small log stays as it was read while its file changes on the disk', () => viewer.visit('', async (page) => {
    const file = join(viewer.made, 'growing.jsonl');
    await writeFile(file, long);
    await page.locator('#file').setInputFiles(file);
    await isOpen(page);
    await writeFile(file, Buffer.concat([long, Buffer.from('{"type":"x/more","seq":364,"time":1,"data":0}\n')]));
    await goTo(page, 55);
    await page.locator('#detail', { hasText: 'Start with 1.' }).waitFor();
    await show(page, 'Conversation');
    await page.locator('.said-message[data-seq="55"]').waitFor();
    assert.equal(await page.locator('#changed').count(), 0);
  }));

  test('of a large log whose file changes is said so, and it opens again where it was', () => viewer.visit('', async (page) => {
    const header = long.subarray(0, long.indexOf('\n') + 1);
    const pad = 'words '.repeat(1700);
    const lines = Array.from({ length: 7_000 }, (_, seq) => `{"type":"x/filler","seq":${seq},"time":1,"data":{"n":"${pad}"}}\n`);
    const file = join(viewer.made, 'large.jsonl');
    await writeFile(file, Buffer.concat([header, Buffer.from(lines.join(''))]));
    await page.locator('#file').setInputFiles(file);
    await page.locator('#about').waitFor({ timeout: 60_000 });
    await page.locator('.row.chosen[data-seq="6999"]').waitFor();
    await appendFile(file, '{"type":"x/more","seq":7000,"time":1,"data":0}\n');
    await goTo(page, 3000);
    const changed = page.getByRole('alert').filter({ hasText: 'The file was changed, moved or removed since it was opened' });
    await changed.waitFor();
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), changed.getByRole('button', { name: 'Open it again…' }).click()]);
    await chooser.setFiles(file);
    await page.locator('.row.chosen[data-seq="3000"]').waitFor({ timeout: 60_000 });
    await page.locator('#about', { hasText: '7,001 events' }).waitFor({ state: 'attached' });
    assert.equal(await changed.count(), 0);
  }));

  test('a torn log opens, with the torn bytes in their place', () => viewer.visit('', async (page) => {
    const last = long.lastIndexOf('\n', long.length - 2) + 1;
    await pick(page, 'cut.jsonl', long.subarray(0, last + 21));
    await page.getByRole('button', { name: 'torn' }).click();
    assert.match(await page.locator('#integrity').innerText(), /Opens\.[\s\S]*The last line is torn: its 21 bytes were never acknowledged/);
    await page.locator('.findings li', { hasText: 'TORN_TAIL' }).getByRole('button').first().click();
    await page.locator('.row.chosen', { hasText: 'not an event' }).waitFor();
  }));

  test('a damaged log is shown read-only, each finding a link to its place, and what can be read opens', () => viewer.visit('', async (page) => {
    const lines = long.toString().split('\n');
    lines[51] = lines[51]!.slice(0, 60);
    lines.splice(91, 1);
    await pick(page, 'damaged.jsonl', Buffer.from(lines.join('\n')));
    await page.getByRole('button', { name: 'damaged' }).waitFor();
    assert.ok(await page.locator('.row').count() > 10, 'the timeline shows what can be read');
    await show(page, 'Integrity');
    await page.locator('#salvaged').waitFor();
    assert.match(await page.locator('#integrity').innerText(), /A load refuses this log: CORRUPT_LOG damaged\.jsonl, seq 50, line 52/);
    const findings = await texts(page, '.findings li');
    assert.ok(findings.some((finding) => finding.includes('UNPARSABLE_LINE') && finding.includes('line 52')), findings.join('\n'));
    assert.ok(findings.some((finding) => finding.includes('SEQ_GAP')), findings.join('\n'));
    await page.locator('.findings li', { hasText: 'UNPARSABLE_LINE' }).getByRole('button').click();
    await page.locator('.row.chosen', { hasText: 'not an event' }).waitFor();
    await show(page, 'Model view');
    await page.getByText('The log is damaged, so its surface cannot be derived').waitFor();
    await page.getByRole('button', { name: 'What is wrong, and where' }).click();
    await page.getByRole('button', { name: /Open what can be read/ }).click();
    await page.locator('#name', { hasText: 'damaged (what can be read).jsonl' }).waitFor();
    await isOpen(page);
    await show(page, 'Model view');
    await page.locator('#model-head').waitFor();
  }));

  test('the repaired copy of a damaged log loads', () => viewer.visit('', async (page) => {
    const lines = long.toString().split('\n');
    lines.splice(91, 2);
    await pick(page, 'gap.jsonl', Buffer.from(lines.join('\n')));
    await page.getByRole('button', { name: 'damaged' }).click();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save a repaired copy' }).click()]);
    assert.equal(download.suggestedFilename(), 'gap.repaired.jsonl');
    await pick(page, 'again.jsonl', await readFile(await download.path()));
    await page.locator('#name', { hasText: 'again.jsonl' }).waitFor();
    await isOpen(page);
    assert.equal(await page.getByRole('button', { name: 'damaged' }).count(), 0);
  }));

  test('open calls and split pairs are found and linked', () => viewer.visit('', async (page) => {
    const lines = long.toString().split('\n').filter((line) => line !== '');
    const call = lines.findIndex((line) => line.startsWith('{"type":"tool/call"'));
    await pick(page, 'open.jsonl', Buffer.from(`${lines.slice(0, call + 1).join('\n')}\n`));
    await page.locator('#name', { hasText: 'open.jsonl' }).waitFor();
    await isOpen(page);
    await show(page, 'Integrity');
    assert.match(await page.locator('#integrity').innerText(), /The last turn is open: a load would close it by tool\/result, step\/end, turn\/end/);
    const found = page.locator('.findings li', { hasText: 'TURN_OPEN_AT_END' });
    await found.getByRole('button').first().click();
    await page.locator('.row.chosen').waitFor();
  }));

  test(`logs of other agents are converted when they are opened${existsSync(FOREIGN) ? '' : ' (skipped: no samples beside the checkout)'}`, { skip: !existsSync(FOREIGN) }, () => viewer.visit('', async (page) => {
    for (const [path, detail] of [['claude-code/compact-real.jsonl', /Claude Code/], ['codex', /Codex/], ['pi', /pi/]] as const) {
      const file = path.endsWith('.jsonl') ? join(FOREIGN, path) : await firstLog(join(FOREIGN, path));
      await page.locator('#file').setInputFiles(file);
      await page.locator('#name', { hasText: file.split('/').pop() ?? '' }).waitFor();
      await isOpen(page);
      await show(page, 'Integrity');
      const made = await page.locator('#imported').innerText();
      assert.match(made, detail);
      assert.match(made, /[\d,]+ records?: [\d,]+ became events, [\d,]+ are kept/);
      await show(page, 'Conversation');
      await page.locator('.said-message').first().waitFor();
      await show(page, 'Model view');
      await page.locator('#model-head').waitFor();
    }
  }));

  test('a link to an event opens there, and a number that no event has is said so', () => viewer.visit('#log=examples/long.jsonl&seq=60', async (page) => {
    await page.locator('.row.chosen[data-seq="60"]').waitFor();
    await goTo(page, 9999);
    await page.getByText('This log has no event 9999').waitFor();
  }));
});

/** Lines as Claude Code writes them. */
function claude(said: readonly (readonly ['user' | 'assistant', string])[], rest: object = {}): string {
  return said.map(([type, text], at) => `${JSON.stringify({
    type, uuid: `u${at}`, parentUuid: at === 0 ? null : `u${at - 1}`, sessionId: 'c-1', timestamp: `2026-01-02T03:04:0${at}.000Z`, cwd: '/work', version: '2.0.0', isSidechain: false,
    message: type === 'user' ? { role: type, content: text } : { id: `m${at}`, role: type, model: 'large', content: [{ type: 'text', text }], usage: { input_tokens: 7, output_tokens: 3 } },
    ...rest,
  })}\n`).join('');
}

async function firstLog(folder: string): Promise<string> {
  const { readdir } = await import('node:fs/promises');
  const found = (await readdir(folder)).find((name) => name.endsWith('.jsonl'));
  assert.ok(found, folder);
  return join(folder, found);
}

async function drop(page: Page, files: readonly { name: string; bytes: Uint8Array }[]): Promise<void> {
  const transfer = await page.evaluateHandle((given) => {
    const data = new DataTransfer();
    for (const { name, text } of given) data.items.add(new File([Uint8Array.from(atob(text), (char) => char.charCodeAt(0))], name));
    return data;
  }, files.map(({ name, bytes }) => ({ name, text: Buffer.from(bytes).toString('base64') })));
  await page.dispatchEvent('body', 'dragover', { dataTransfer: transfer });
  await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
}
