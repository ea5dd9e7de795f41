// A log whose lines and numbers part: with a gap, every link, match and finding still leads to its own event.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { EXAMPLES, goTo, isOpen, pick, show, Viewer } from '../support/viewer.js';

/** Events that are missing, and how far the rows behind them are off their numbers. */
const [FIRST_MISSING, MISSING] = [91, 30];
/** «And 3?», behind the gap; the row with the same number holds another event. */
const ASKED = 192;

suite('a log with a gap', () => {
  let viewer: Viewer;
  let gap: Buffer;
  let lines: readonly string[];
  before(async () => {
    viewer = await Viewer.open();
    const all = (await readFile(join(EXAMPLES, 'long.jsonl'), 'utf8')).trimEnd().split('\n');
    lines = [...all.slice(0, 1 + FIRST_MISSING), ...all.slice(1 + FIRST_MISSING + MISSING)];
    gap = Buffer.from(`${lines.join('\n')}\n`);
    assert.match(all[1 + ASKED]!, /"seq":192,.*And 3\?/);
  });
  after(() => viewer[Symbol.asyncDispose]());

  const opened = async (page: Page): Promise<void> => {
    await pick(page, 'gap.jsonl', gap);
    await isOpen(page);
  };
  const isAt = async (page: Page, seq: number): Promise<void> => {
    await page.locator(`.row.chosen[data-seq="${seq}"]`).waitFor();
    await page.locator('#detail h2', { hasText: `#${seq}` }).waitFor();
  };

  test('the address names the event, and leads back to it', () => viewer.visit('', async (page) => {
    await opened(page);
    await goTo(page, ASKED);
    await isAt(page, ASKED);
    await page.waitForURL((url) => url.hash === `#seq=${ASKED}`);
    await page.reload();
    await pick(page, 'gap.jsonl', gap);
    await isAt(page, ASKED);
    await page.keyboard.press('j');
    await isAt(page, ASKED + 1);
    await page.waitForURL((url) => url.hash === `#seq=${ASKED + 1}`);
    for (const missing of [FIRST_MISSING, FIRST_MISSING + MISSING - 1]) {
      await goTo(page, missing);
      await page.getByText(`This log has no event ${missing}`).waitFor();
      await isAt(page, ASKED + 1);
    }
  }));

  test('a line that has no number of its own has an address as well', () => viewer.visit('', async (page) => {
    const torn = lines.map((line, at) => (at === 61 ? line.slice(0, 50) : line));
    await pick(page, 'torn.jsonl', Buffer.from(`${torn.join('\n')}\n`));
    await isOpen(page);
    await goTo(page, 59);
    await isAt(page, 59);
    await page.keyboard.press('j');
    await page.locator('.row.chosen', { hasText: 'not an event' }).waitFor();
    await page.waitForURL((url) => url.hash === '#row=60');
    await page.reload();
    await pick(page, 'torn.jsonl', Buffer.from(`${torn.join('\n')}\n`));
    await page.locator('.row.chosen', { hasText: 'not an event' }).waitFor();
  }));

  test('a match of a search leads to its event', () => viewer.visit('', async (page) => {
    await opened(page);
    await page.keyboard.press('/');
    await page.locator('#search-text').fill('And 3?');
    await page.locator(`.hit[data-seq="${ASKED}"]`).waitFor();
    await page.getByRole('button', { name: `Open #${ASKED} in the timeline` }).click();
    await isAt(page, ASKED);
  }));

  test('a finding leads to the line behind the gap', () => viewer.visit('', async (page) => {
    await opened(page);
    await page.getByRole('button', { name: 'damaged' }).click();
    await page.locator('.findings li', { hasText: 'SEQ_GAP' }).getByRole('button').first().click();
    await isAt(page, FIRST_MISSING + MISSING);
  }));

  test('what lies over a message leads to the event that does', () => viewer.visit('', async (page) => {
    await opened(page);
    await goTo(page, 151);
    await isAt(page, 151);
    await page.locator('#detail .provenance').getByRole('button', { name: 'Go to event 318' }).click();
    await isAt(page, 318);
  }));

  test('the slowest call and a point of a chart lead to their events', () => viewer.visit('', async (page) => {
    await opened(page);
    await show(page, 'Numbers');
    const slowest = page.locator('.tool-numbers tr', { hasText: 'run_tests' }).getByRole('button');
    const seq = Number((await slowest.innerText()).slice(1));
    await slowest.click();
    await isAt(page, seq);
    assert.match(await page.locator('#detail h2').innerText(), /tool\/result/);
  }));

  test('a part is taken by the numbers of its events', () => viewer.visit('', async (page) => {
    await opened(page);
    await show(page, 'Take away');
    assert.equal(await page.getByRole('radio', { name: 'A part of the log' }).isEnabled(), true);
    await page.getByRole('radio', { name: 'A part of the log' }).check();
    assert.equal(await page.getByLabel('Last event').inputValue(), '363');
    await page.getByLabel('First event').fill('190');
    await page.getByLabel('Last event').fill(String(ASKED));
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save' }).click()]);
    const taken = (await readFile(await download.path(), 'utf8')).trimEnd().split('\n');
    assert.deepEqual(taken, [lines[0], ...lines.filter((line) => /"seq":19[0-2],/.test(line.slice(0, 60)))]);
  }));

  test('the torn end of a log names the event before it', () => viewer.visit('', async (page) => {
    const bytes = await readFile(join(EXAMPLES, 'long.jsonl'));
    await pick(page, 'cut.jsonl', bytes.subarray(0, bytes.lastIndexOf('\n', bytes.length - 2) + 21));
    await page.getByRole('button', { name: 'torn' }).click();
    await page.locator('#integrity').getByRole('button', { name: 'Go to event 362' }).click();
    await isAt(page, 362);
  }));
});
