// An exported page in a browser: it asks for nothing, and runs nothing.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { launchChromium } from '../support/browser.js';
import { markedPage } from '../support/marked.js';

test('an exported page runs no script, loads nothing, and follows the colours of the system', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'palimpsest-html-'));
  const chrome = await launchChromium();
  try {
    const file = join(folder, 'page.html');
    await writeFile(file, markedPage());
    const page = await chrome.newPage();
    const asked: string[] = [];
    const refused: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    page.on('console', (message) => refused.push(message.text()));
    page.on('dialog', (dialog) => assert.fail(`a script ran: ${dialog.message()}`));
    await page.goto(pathToFileURL(file).href);
    assert.deepEqual(asked.filter((url) => !url.startsWith('data:')), [pathToFileURL(file).href]);
    assert.deepEqual(refused, []);
    assert.equal(await page.locator('article').count(), 3);
    const background = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await background();
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.notEqual(await background(), light);
  } finally {
    await chrome.close();
    await rm(folder, { recursive: true });
  }
});
