// What moves: the page's own agent, and a session that another tab writes.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { launchFirefox } from '../support/browser.js';
import { show, texts, Viewer } from '../support/viewer.js';

suite('live', () => {
  let viewer: Viewer;
  before(async () => { viewer = await Viewer.open(); });
  after(() => viewer[Symbol.asyncDispose]());

  test('a newcomer starts an agent, crashes it, loads it again, compacts and forks', () => viewer.visit('#view=try', async (page) => {
    await page.getByRole('button', { name: 'Start a session' }).click();
    await page.locator('#live', { hasText: '1 event in the log' }).waitFor();
    await page.getByRole('button', { name: 'Say it' }).click();
    await feed(page, 'read_sensor runs…');
    await page.getByRole('button', { name: 'Crash' }).click();
    await feed(page, 'the agent is gone, in the middle of what it did');
    await show(page, 'Integrity');
    await page.locator('.findings li', { hasText: 'TURN_OPEN_AT_END' }).or(page.locator('#integrity')).first().waitFor();
    await show(page, 'Try it');
    await page.getByRole('button', { name: 'Load it again' }).click();
    await feed(page, '3 events closed what the crash had left open');
    const conversation = page.getByRole('region', { name: 'The session, live' });
    await conversation.getByText('The turn ended: interrupted').waitFor();
    await conversation.getByText('Tool call interrupted by a crash; no result was recorded.').waitFor();

    await page.getByRole('button', { name: 'Say it' }).click();
    await feed(page, 'turn 2 is over, and durable');
    await conversation.getByText('The anemometer is silent').waitFor();
    await page.getByRole('button', { name: 'Compact' }).click();
    await feed(page, /\d+ messages lie under event \d+ now/);
    await page.getByRole('button', { name: 'Strata' }).last().click();
    await page.locator('.layer.top', { hasText: 'Compaction' }).waitFor();
    await show(page, 'Model view');
    await page.locator('.message', { hasText: 'compacted-summary' }).waitFor();
    assert.match(await page.locator('#model-facts').innerText(), /^1 message, /);

    await show(page, 'Try it');
    await page.getByRole('button', { name: 'Fork', exact: true }).click();
    await feed(page, /a fork: it shares \d+ events with try-/);
    await page.locator('#name', { hasText: /-fork-/ }).waitFor();
    await show(page, 'Forks');
    await page.locator('.family li.current', { hasText: '-fork-' }).waitFor();
    assert.equal(await page.locator('.family li').count(), 2);
  }));

  test('the conversation stays at its end while the agent writes, unless scrolled away', () => viewer.visit('#view=try', async (page) => {
    await page.setViewportSize({ width: 1280, height: 500 });
    await page.getByRole('button', { name: 'Start a session' }).click();
    await page.locator('#live', { hasText: '1 event in the log' }).waitFor();
    const list = page.getByRole('list', { name: 'Conversation' });
    await page.getByRole('button', { name: 'Say it' }).click();
    await feed(page, 'turn 1 is over, and durable');
    await page.locator('.try-log').getByText('The night before went down').waitFor();
    const handle = await list.elementHandle();
    await page.waitForFunction((node) => node.scrollTop > 0 && node.scrollTop + node.clientHeight >= node.scrollHeight - 4, handle);
    await list.evaluate((node) => { node.scrollTop = 0; });
    await page.getByRole('button', { name: 'Say it' }).click();
    await feed(page, 'turn 2 is over, and durable');
    await page.locator('.try-log .pane-head', { hasText: /[6-9] messages/ }).waitFor();
    assert.equal(await list.evaluate((node) => node.scrollTop), 0);
  }));

  test('a crash between two turns says that nothing was open', () => viewer.visit('#view=try', async (page) => {
    await page.getByRole('button', { name: 'Start a session' }).click();
    await page.locator('#live', { hasText: '1 event in the log' }).waitFor();
    await page.getByRole('button', { name: 'Say it' }).click();
    await feed(page, 'turn 1 is over, and durable');
    await page.locator('form button:not([disabled])', { hasText: 'Say it' }).waitFor();
    await page.getByRole('button', { name: 'Crash' }).click();
    await feed(page, 'between two turns: nothing was open');
    assert.equal(await page.locator('.try-steps li.done').count(), 1, 'only what was said is done');
  }));

  test('a session that another tab appends to is followed, at its end unless scrolled away', async () => {
    const context = await viewer.browser.newContext({ viewport: { width: 1280, height: 500 } });
    const [writer, reader] = [await context.newPage(), await context.newPage()];
    const problems: string[] = [];
    for (const page of [writer, reader]) page.on('pageerror', (error) => problems.push(error.message));
    await writer.goto(viewer.address('#view=try'));
    await writer.getByRole('button', { name: 'Start a session' }).click();
    await writer.locator('#live', { hasText: '1 event in the log' }).waitFor();
    const id = await writer.locator('#name').innerText();
    await reader.goto(viewer.address(`#db=${id}`));
    await reader.locator('#about', { hasText: '1 event' }).waitFor();
    await writer.getByRole('button', { name: 'Say it' }).click();
    await reader.locator('.row', { hasText: 'turn 1: completed' }).waitFor();
    const count = async (): Promise<number> => Number(/^\d+/.exec(await reader.locator('#about').innerText())?.[0]);
    await feed(writer, 'turn 1 is over');
    const first = await count();
    await reader.locator(`.row.chosen[data-seq="${first - 1}"]`).waitFor();

    await reader.getByRole('tree').evaluate((tree) => { tree.scrollTop = 0; });
    await reader.locator('.row[data-seq="0"]').waitFor();
    await reader.keyboard.press('g');
    await reader.getByLabel('Number of the event').fill('2');
    await reader.keyboard.press('Enter');
    await reader.locator('.row.chosen[data-seq="2"]').waitFor();
    await writer.getByRole('button', { name: 'Say it' }).click();
    await feed(writer, 'turn 2 is over');
    await reader.waitForFunction((known) => Number(/^\d+/.exec(document.querySelector('#about')?.textContent ?? '')?.[0]) > known + 20, first);
    assert.equal(await reader.locator('.row.chosen').getAttribute('data-seq'), '2', 'who looks at something stays there');
    assert.ok(await reader.getByRole('tree').evaluate((tree) => tree.scrollTop) < 200, 'and is not moved');

    // The log that was followed and the one that is read anew are the same.
    await reader.reload();
    await reader.locator('#about', { hasText: '2 turns' }).waitFor();
    await show(reader, 'Model view');
    await reader.locator('#model-head').waitFor();
    assert.deepEqual(problems, []);
    await context.close();
  });

  test('in Firefox an agent writes, and the page follows', async () => {
    const firefox = await launchFirefox();
    try {
      const page = await firefox.newPage();
      await page.setViewport({ width: 1280, height: 800 });
      await page.goto(viewer.address('#view=try'));
      await page.locator('::-p-text(Start a session)').click();
      await page.waitForSelector('#live');
      await page.locator('::-p-text(Say it)').click();
      await page.waitForFunction(() => document.querySelector('.try-feed')?.textContent.includes('turn 1 is over, and durable'), { timeout: 60_000 });
      await page.waitForFunction(() => document.querySelector('.try-log')?.textContent.includes('Unless clouds come, cover them.'), { timeout: 60_000 });
    } finally {
      await firefox.close();
    }
  });

  test('stored sessions are at hand after a reload, and can be removed', async () => {
    const context = await viewer.browser.newContext();
    const page = await context.newPage();
    await page.goto(viewer.address('#view=try'));
    await page.getByRole('button', { name: 'Start a session' }).click();
    await page.locator('#live').waitFor();
    const id = await page.locator('#name').innerText();
    await page.goto(viewer.address());
    await page.reload();
    await page.getByRole('heading', { name: 'In this browser' }).waitFor();
    assert.ok((await texts(page, '.entry bdi')).includes(id));
    await page.getByRole('button', { name: `Remove ${id} for good` }).click();
    await page.getByText(`${id} is removed`).waitFor();
    await page.getByRole('heading', { name: 'In this browser' }).waitFor({ state: 'detached' });
    await context.close();
  });
});

async function feed(page: Page, words: string | RegExp): Promise<void> {
  await page.getByRole('log', { name: 'What happens' }).getByText(words).first().waitFor();
}
