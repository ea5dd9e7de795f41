// Search over the whole log: what it counts, where it leads, and expressions that do not end.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { SessionReader, SessionStore, type Session } from 'palimpsest';
import type { Page } from 'playwright-core';
import { launchFirefox } from '../support/browser.js';
import { EXAMPLES, isOpen, pick, show, texts, Viewer } from '../support/viewer.js';

const LONG = '#log=examples/long.jsonl';

suite('search', () => {
  let viewer: Viewer;
  let long: Session;
  before(async () => {
    viewer = await Viewer.open();
    const reader = new SessionReader('long');
    reader.push(await readFile(join(EXAMPLES, 'long.jsonl')));
    long = reader.finish().session;
  });
  after(() => viewer[Symbol.asyncDispose]());

  test('counts matches over the whole log; case, regular expressions and chunks are choices', () => viewer.visit(LONG, async (page) => {
    await isOpen(page);
    await page.keyboard.press('/');
    const status = page.locator('#search-status');
    const search = async (text: string, wanted: string): Promise<void> => {
      await page.locator('#search-text').fill(text);
      await page.keyboard.press('Enter');
      await status.getByText(wanted, { exact: true }).waitFor();
    };
    const inTexts = (pattern: RegExp): { matches: number; events: number } => {
      const counts = long.events.filter((event) => event.type !== 'assistant/chunk').map((event) => [event.type, ...stringsIn(event.data)].join('\0').match(pattern)?.length ?? 0);
      return { matches: counts.reduce((sum, n) => sum + n, 0), events: counts.filter((n) => n > 0).length };
    };
    for (const [text, pattern] of [['heap', /heap/gi], ['"path":"src/rank.js"', /"path":"src\/rank\.js"/g], ['zzz', /zzz/g], ['→', /→/g]] as const) {
      const { matches, events } = inTexts(pattern);
      await search(text, `${matches} match${matches === 1 ? '' : 'es'} in ${events} event${events === 1 ? '' : 's'}`);
    }
    await page.getByLabel('Match case').check();
    const upper = inTexts(/Heap/g);
    await search('Heap', `${upper.matches} matches in ${upper.events} events`);
    await page.getByLabel('Regular expression').check();
    const numbers = inTexts(/\d+(?:\.\d+)? → \d+/g);
    await search('\\d+(?:\\.\\d+)? → \\d+', `${numbers.matches} matches in ${numbers.events} events`);
    await page.locator('#search-text').fill('(');
    await page.keyboard.press('Enter');
    await page.locator('#search-error', { hasText: 'This is no regular expression' }).waitFor();
    await page.locator('#search-text').fill('');
    await page.getByText('All texts in all events are searched').waitFor();
    assert.equal(await page.locator('#search-text').inputValue(), '', 'what was taken out does not come back');
  }));

  test('leads from a match to its event, by keyboard as well', () => viewer.visit(`${LONG}&view=search&find=stemming`, async (page) => {
    await page.locator('.hit mark').first().waitFor();
    assert.deepEqual([...new Set((await texts(page, '.hit mark')).map((mark) => mark.toLowerCase()))], ['stemming']);
    assert.equal(await page.locator('#search-text').inputValue(), 'stemming');
    await page.getByRole('listbox', { name: /Matches/ }).focus();
    await page.keyboard.press('j');
    const seq = await page.locator('.hit.chosen').getAttribute('data-seq');
    await page.keyboard.press('Enter');
    await page.locator(`.row.chosen[data-seq="${seq}"]`).waitFor();
  }));

  test('arrows move among the matches from where the words are typed; the address keeps how was searched', () => viewer.visit(`${LONG}&view=search`, async (page) => {
    await isOpen(page);
    await page.getByLabel('Regular expression').check();
    await page.getByLabel('Match case').check();
    await page.locator('#search-text').fill('t[r]ie');
    await page.locator('.hit.chosen mark').first().waitFor();
    const status = await page.locator('#search-status').innerText();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.locator('#hit-2.chosen').waitFor();
    await page.keyboard.press('ArrowUp');
    await page.locator('#hit-1.chosen').waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'search-text');
    await page.waitForURL((url) => url.hash.endsWith('&view=search&find=t%5Br%5Die&how=regex.case'));
    await page.reload();
    await page.locator('#search-status').getByText(status.trim(), { exact: true }).waitFor();
    assert.ok(await page.getByLabel('Regular expression').isChecked() && await page.getByLabel('Match case').isChecked());
  }));

  suite('an expression that does not end', () => {
    test('is stopped, says where, keeps what was found before, and holds up nothing else', () => viewer.visit('', async (page) => {
      await pick(page, 'long-a.jsonl', trap());
      await isOpen(page);
      await show(page, 'Search');
      await page.getByLabel('Regular expression').check();
      await page.locator('#search-text').fill('(a+)+$|harmless');
      await page.keyboard.press('Enter');
      await page.getByRole('progressbar', { name: 'Searching' }).waitFor();
      // Whatever else the worker is asked for is answered meanwhile.
      await show(page, 'Conversation');
      await page.locator('.said-message', { hasText: 'harmless again' }).waitFor();
      await show(page, 'Search');
      await page.locator('#search-error', { hasText: 'The regular expression was stopped: on event 2 it found no end' }).waitFor();
      await isStopped(page);
      assert.equal(await page.getByRole('progressbar', { name: 'Searching' }).count(), 0);
      await page.locator('#search-text').fill('harm\\w+');
      await page.locator('#search-status').getByText('2 matches in 2 events', { exact: true }).waitFor();
      await page.locator('.hit mark').first().waitFor();
    }));

    test('gives way to the next query at once, and to the button', () => viewer.visit('', async (page) => {
      await pick(page, 'long-a.jsonl', trap());
      await isOpen(page);
      await show(page, 'Search');
      await page.getByLabel('Regular expression').check();
      const started = async (): Promise<void> => {
        await page.locator('#search-text').fill('(a+)+$');
        await page.keyboard.press('Enter');
        await page.getByRole('progressbar', { name: 'Searching' }).waitFor();
      };
      await started();
      await page.locator('#search-text').fill('harml');
      await page.locator('#search-status').getByText('2 matches in 2 events', { exact: true }).waitFor();
      assert.equal(await page.locator('#search-error').count(), 0);
      await started();
      await page.getByRole('button', { name: 'Stop' }).click();
      await isStopped(page);
      assert.equal(await page.locator('#search-error').count(), 0, 'who stopped it knows');
    }));

    test('is refused as a pattern of a redaction', () => viewer.visit('', async (page) => {
      await pick(page, 'long-a.jsonl', trap());
      await isOpen(page);
      await show(page, 'Take away');
      await page.getByLabel('Take secrets out first').check();
      await page.getByLabel('Own regular expressions, one a line').fill('harm[a-z]+\n(a+)+$');
      await page.getByRole('button', { name: 'Preview' }).click();
      await page.getByRole('alert').getByText('The regular expression was stopped: on event 2').waitFor();
      await page.getByLabel('Own regular expressions, one a line').fill('harm[a-z]+');
      await page.getByRole('button', { name: 'Preview' }).click();
      await page.locator('#taken-out', { hasText: '2 secrets taken out' }).waitFor();
    }));

    test('is stopped in Firefox', async () => {
      const firefox = await launchFirefox();
      try {
        const page = await firefox.newPage();
        await page.goto(viewer.address(`${LONG}&view=search`));
        await page.waitForSelector('#about');
        await page.locator('::-p-text(Regular expression)').click();
        await page.locator('#search-text').fill('(.+)+¶');
        await page.waitForFunction(() => document.querySelector('#search-error')?.textContent.includes('was stopped: on event'), { timeout: 60_000 });
        await page.locator('#search-text').fill('he[a]p');
        await page.waitForFunction(() => /^[1-9]\d* match/.test(document.querySelector('#search-status')?.textContent.trim() ?? ''), { timeout: 60_000 });
      } finally {
        await firefox.close();
      }
    });
  });

  test('a line that is no object is searched as well', () => viewer.visit('', async (page) => {
    await pick(page, 'odd.jsonl', Buffer.from('{"type":"session","version":0,"id":"odd","createdAt":1}\nnull\n"a needle"\n{"type":"x","seq":1,"time":1,"data":"a needle"}\n'));
    await isOpen(page);
    await show(page, 'Search');
    await page.locator('#search-text').fill('needle');
    await page.locator('#search-status').getByText('2 matches in 2 events', { exact: true }).waitFor();
  }));
});

/** A session in which `(a+)+$` takes longer than anybody waits. */
function trap(): Buffer {
  const session = new SessionStore().create('trap');
  const user = (words: string): void => { session.append('user/message', { content: [{ type: 'text', text: words }], source: { kind: 'user' } }, { surfaceOp: 'append' }); };
  session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } });
  user('harmless');
  user(`${'a'.repeat(60)}!`);
  user('harmless again');
  return Buffer.concat([session.headerLine(), session.jsonl()]);
}

/** Waits until no search is under way. */
async function isStopped(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Search', exact: true }).and(page.locator('[type=submit]')).waitFor();
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
