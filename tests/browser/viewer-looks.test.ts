// How the viewer looks and whom it serves: themes, widths, contrast, names, focus, motion. Screenshots are in target/screenshots.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { goTo, isOpen, pick, SCREENSHOTS, EXAMPLES, Viewer } from '../support/viewer.js';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const LONG = '#log=examples/long.jsonl';

interface Look {
  readonly name: string;
  readonly hash: string;
  /** Brings it to what is worth a look, and waits until that is there. */
  readonly ready: (page: Page) => Promise<void>;
}

const LOOKS: readonly Look[] = [
  { name: 'library', hash: '', ready: (page) => page.getByRole('heading', { name: 'What did the model see' }).waitFor() },
  { name: 'timeline', hash: `${LONG}&seq=149`, ready: async (page) => { await page.locator('.row.chosen[data-seq="149"]').waitFor(); await page.locator('#detail h2').waitFor({ state: 'attached' }); } },
  { name: 'conversation', hash: '#log=examples/coding.jsonl&view=conversation&seq=58', ready: (page) => page.locator('.said-message .diff-line').first().waitFor() },
  { name: 'model', hash: `${LONG}&view=model&seq=200`, ready: (page) => page.locator('.message[data-seq="151"], .message[data-seq="178"]').first().waitFor() },
  { name: 'header', hash: `${LONG}&view=model&seq=200`, ready: async (page) => { await page.getByRole('tab', { name: 'System' }).click(); await page.locator('.header-view').waitFor(); } },
  { name: 'request-diff', hash: `${LONG}&view=model&seq=200`, ready: async (page) => { await page.getByRole('tab', { name: 'Change from' }).click(); await page.locator('#divergence').waitFor(); await page.locator('.diff-line').first().waitFor(); } },
  { name: 'strata', hash: `${LONG}&view=strata&seq=318`, ready: async (page) => { await page.locator('.chosen-stratum .stratum').waitFor(); await page.getByRole('button', { name: 'Open event 149' }).first().click(); await page.locator('.stratum[data-under="149"]').first().waitFor(); } },
  { name: 'forks', hash: `${LONG}&view=forks&beside=log%3Dexamples/long-other-way.jsonl`, ready: (page) => page.locator('.branch .said-message').first().waitFor() },
  { name: 'numbers', hash: `${LONG}&view=numbers`, ready: (page) => page.locator('.chart canvas').nth(2).waitFor() },
  { name: 'search', hash: `${LONG}&view=search&find=trie`, ready: (page) => page.locator('.hit mark').first().waitFor() },
  { name: 'integrity', hash: '', ready: async (page) => { await pick(page, 'damaged.jsonl', await damaged()); await page.getByRole('button', { name: 'damaged' }).click(); await page.locator('#salvaged').waitFor(); } },
  { name: 'take', hash: `${LONG}&view=take`, ready: async (page) => { await page.getByLabel('Take secrets out first').check(); await page.getByRole('button', { name: 'Preview' }).click(); await page.locator('#preview').waitFor(); } },
  { name: 'try', hash: '#view=try', ready: async (page) => { await page.getByRole('button', { name: 'Start a session' }).click(); await page.locator('#live').waitFor(); await page.getByRole('button', { name: 'Say it' }).click(); await page.locator('.said-message .result').first().waitFor(); } },
  { name: 'help', hash: LONG, ready: async (page) => { await isOpen(page); await page.keyboard.press('?'); await page.getByRole('dialog').waitFor(); } },
  { name: 'logs', hash: LONG, ready: async (page) => { await isOpen(page); await page.locator('#logs').click(); await page.locator('.drawer .entry').first().waitFor(); } },
];

suite('looks', () => {
  let viewer: Viewer;
  let axe: string;
  before(async () => {
    viewer = await Viewer.open();
    axe = await readFile(AXE, 'utf8');
  });
  after(() => viewer[Symbol.asyncDispose]());

  for (const { name, hash, ready } of LOOKS) {
    test(`${name}: no serious violation, no sideways scrolling, enough contrast, in both themes and at all widths`, async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await viewer.visit(hash, async (page) => {
          await ready(page);
          for (const [width, height] of [[1280, 800], [390, 844], [2560, 1440]] as const) {
            await page.setViewportSize({ width, height });
            // Layout follows in the next frames.
            await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
            const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
            assert.equal(overflow, 0, `${width} pixels`);
            await page.screenshot({ path: join(SCREENSHOTS, `${name}-${colorScheme}-${width}.png`) });
            // Colours are the same at every width, and names in every theme.
            if (width === 2560 || (width === 390 && colorScheme === 'dark')) continue;
            assert.deepEqual(await violations(page, axe), [], `${colorScheme}, ${width} pixels`);
          }
        }, { colorScheme, bypassCSP: true });
      }
    });
  }

  test('the theme can be chosen against the system', () => viewer.visit(LONG, async (page) => {
    await isOpen(page);
    const paper = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await page.getByRole('button', { name: 'Dark or light' }).click();
    assert.notEqual(await paper(), light);
    await page.getByRole('button', { name: 'Dark or light' }).click();
    assert.equal(await paper(), light);
  }, { colorScheme: 'light' }));

  test('nothing moves for those who asked for no motion', () => viewer.visit(LONG, async (page) => {
    await isOpen(page);
    const moving = await page.evaluate(() => [...document.querySelectorAll('*')].filter((element) => {
      const { transitionDuration, animationName } = getComputedStyle(element);
      return animationName !== 'none' || transitionDuration.split(',').some((time) => parseFloat(time) > 0);
    }).map((element) => element.outerHTML.slice(0, 80)));
    assert.deepEqual(moving, []);
  }, { reducedMotion: 'reduce' }));

  test('every control is reached by Tab, with the focus visible', () => viewer.visit(`${LONG}&seq=149`, async (page) => {
    await page.locator('.row.chosen').waitFor();
    const reached: string[] = [];
    for (let n = 0; n < 60; n++) {
      await page.keyboard.press('Tab');
      const found = await page.evaluate(() => {
        const at = document.activeElement;
        if (!at || at === document.body) return undefined;
        const name = at.getAttribute('aria-label') ?? at.textContent.trim().slice(0, 40);
        return getComputedStyle(at).outlineStyle === 'none' ? `${name} without a ring` : name;
      });
      if (found === undefined) break;
      reached.push(found);
    }
    assert.deepEqual(reached.filter((name) => name.endsWith('without a ring')), []);
    for (const wanted of ['palimpsest', 'Logs', 'Help', 'Timeline', 'Try it', 'Only rows with these words', 'Events', 'What the model saw here']) assert.ok(reached.includes(wanted), `${wanted}: ${reached.join(' | ')}`);
  }));

  test('what is said for a moment covers no row', async () => {
    for (const [width, height] of [[1280, 800], [390, 844]] as const) {
      await viewer.visit(LONG, async (page) => {
        await isOpen(page);
        await goTo(page, 9999);
        const said = page.getByRole('status').getByText('This log has no event 9999');
        await said.waitFor();
        const [box, list] = [await said.boundingBox(), await page.locator('.timeline-list').boundingBox()];
        assert.ok(box && list);
        assert.ok(box.y + box.height <= list.y || box.y >= list.y + list.height, JSON.stringify({ box, list }));
      }, { viewport: { width, height } });
    }
  });

  test('text can be selected in a row, which is no choice of it', () => viewer.visit(`${LONG}&seq=0`, async (page) => {
    await page.locator('.row.chosen[data-seq="0"]').waitFor();
    const box = await page.locator('.row[data-seq="1"] .summary').boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + 2, box.y + 8);
    await page.mouse.down();
    await page.mouse.move(box.x + 120, box.y + 8, { steps: 5 });
    await page.mouse.up();
    assert.notEqual(await page.evaluate(() => getSelection()?.toString()), '');
    assert.equal(await page.locator('.row.chosen').getAttribute('data-seq'), '0');
  }));
});

async function damaged(): Promise<Buffer> {
  const lines = (await readFile(join(EXAMPLES, 'long.jsonl'), 'utf8')).split('\n');
  lines[51] = lines[51]!.slice(0, 60);
  lines.splice(91, 1);
  return Buffer.from(lines.join('\n'));
}

/** What axe finds that is serious or worse. */
async function violations(page: Page, source: string): Promise<string[]> {
  await page.evaluate((code) => { if (!('axe' in globalThis)) (0, eval)(code); }, source);
  return page.evaluate(async () => {
    interface Result { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }
    const { axe } = globalThis as unknown as { axe: { run(context: Document, options: object): Promise<{ violations: Result[] }> } };
    const { violations: found } = await axe.run(document, { resultTypes: ['violations'] });
    return found.filter(({ impact }) => impact === 'serious' || impact === 'critical').flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary.replace(/\s+/g, ' ').slice(0, 200)}`));
  });
}
