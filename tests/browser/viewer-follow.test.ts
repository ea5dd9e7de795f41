// A session that another tab writes, message by message: lists stay at their end, whatever height their last item has.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, suite, test } from 'node:test';
import * as esbuild from 'esbuild';
import type { BrowserContext, Page } from 'playwright-core';
import type { writer } from '../support/writer-page.js';
import { Viewer } from '../support/viewer.js';

interface Writer {
  readonly writer: typeof writer;
}

const TALL = Array.from({ length: 120 }, (_, line) => `${line + 1}. a line of a long answer`).join('\n');
const CODE = `\`\`\`js\n${Array.from({ length: 150 }, (_, line) => `const line${line} = ${line};`).join('\n')}\n\`\`\``;

suite('following', () => {
  let viewer: Viewer;
  let context: BrowserContext;
  let made = 0;
  before(async () => {
    viewer = await Viewer.open();
    await esbuild.build({ entryPoints: [join(process.cwd(), 'target/tests/support/writer-page.js')], outfile: join(viewer.made, 'writer.js'), bundle: true, format: 'esm', platform: 'browser', logLevel: 'silent' });
    await writeFile(join(viewer.made, 'writer.html'), '<!doctype html><link rel="icon" href="data:,"><script type="module" src="writer.js"></script>');
    context = await viewer.browser.newContext({ viewport: { width: 1280, height: 600 } });
  });
  after(async () => {
    await context.close();
    await viewer[Symbol.asyncDispose]();
  });

  /** A page that writes, and one that follows it in a view. */
  async function opened(view: string): Promise<{ reader: Page; say: (text: string) => Promise<void>; close: () => Promise<void> }> {
    const [writing, reader] = [await context.newPage(), await context.newPage()];
    const id = `followed-${++made}`;
    await writing.goto(viewer.address('made/writer.html'));
    await writing.waitForFunction(() => 'writer' in globalThis);
    await writing.evaluate((session) => (globalThis as unknown as Writer).writer.start(session), id);
    reader.setDefaultTimeout(15_000);
    await reader.goto(viewer.address(`#db=${id}&view=${view}`));
    await reader.locator('#about', { hasText: '1 event' }).waitFor({ state: 'attached' });
    return {
      reader,
      say: (text) => writing.evaluate((words) => (globalThis as unknown as Writer).writer.say(words), text),
      close: async () => { await Promise.all([writing.close(), reader.close()]); },
    };
  }

  for (const { view, label, message } of [
    { view: 'conversation', label: 'Conversation', message: '.said-message' },
    { view: 'model', label: 'Messages that the model sees', message: '.message' },
  ]) {
    test(`${view}: the end stays in sight, however tall the last message is, unless scrolled away`, async () => {
      const { reader, say, close } = await opened(view);
      const list = reader.getByRole('list', { name: label });
      let last = 0;
      for (const text of ['short', TALL, 'short again', CODE, `${TALL}\n\n${CODE}`, TALL, 'the last']) {
        await say(text);
        last++;
        await reader.locator(`${message}[data-seq="${last}"]`).waitFor();
        await isAtEnd(reader, message, last);
      }
      await list.evaluate((node) => { node.scrollTop = 0; });
      await reader.locator(`${message}[data-seq="1"]`).waitFor();
      await say(TALL);
      await say('unseen');
      await reader.locator('#about', { hasText: `${last + 3} events` }).waitFor({ state: 'attached' });
      await quiet(reader);
      assert.equal(await list.evaluate((node) => node.scrollTop), 0, 'who has scrolled away stays there');
      await list.focus();
      await reader.keyboard.press('End');
      await isAtEnd(reader, message, last + 2);
      await say(CODE);
      await isAtEnd(reader, message, last + 3);
      await close();
    });
  }

  test('a search says when the log has grown since, and is done again', async () => {
    const { reader, say, close } = await opened('search');
    await say('a needle');
    await reader.locator('#about', { hasText: '2 events' }).waitFor({ state: 'attached' });
    await reader.locator('#search-text').fill('needle');
    const status = reader.locator('#search-status');
    await status.getByText('1 match in 1 event', { exact: true }).waitFor();
    assert.equal(await reader.locator('#search-old').count(), 0);
    await say('another needle');
    await reader.locator('#search-old', { hasText: 'The log has grown since.' }).getByRole('button', { name: 'Search again' }).click();
    await status.getByText('2 matches in 2 events', { exact: true }).waitFor();
    assert.equal(await reader.locator('#search-old').count(), 0);
    await close();
  });
});

/** Waits until a message is the last in its list, and its end is in sight. */
async function isAtEnd(page: Page, message: string, seq: number): Promise<void> {
  const where = (): Promise<string> => page.evaluate(({ selector, at }) => {
    const node = document.querySelector(`${selector}[data-seq="${at}"]`);
    const list = node?.closest('.virtual');
    if (!node || !list || node.querySelector('.markdown[hidden]')) return 'is not there';
    const [inner, outer] = [node.getBoundingClientRect(), list.getBoundingClientRect()];
    const atEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 2 && inner.bottom <= outer.bottom + 2 && inner.bottom > outer.top;
    return atEnd ? 'is at the end' : `ends ${inner.bottom - outer.bottom} pixels below the list, which is scrolled to ${list.scrollTop} of ${list.scrollHeight - list.clientHeight}`;
  }, { selector: message, at: seq });
  let found = await where();
  for (let frame = 0; frame < 300 && found !== 'is at the end'; frame++) {
    await page.evaluate(() => new Promise(requestAnimationFrame));
    found = await where();
  }
  assert.equal(found, 'is at the end', `event ${seq}`);
}

/** Waits for what the next frames and the list's own settling bring. */
async function quiet(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let frame = 0; frame < 30; frame++) await new Promise(requestAnimationFrame);
  });
}
