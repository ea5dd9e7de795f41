// The site of www/: built, served below some path by a server that knows nothing of it, and right about what the model saw.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { launchFirefox } from '../support/browser.js';
import { EXAMPLES, goTo, isOpen, pick, show, texts, Viewer } from '../support/viewer.js';

const VECTORS = join(process.cwd(), 'tests/fixtures/vectors');
const SITE = join(process.cwd(), 'target/viewer');
const LAST_ANSWER = 'README.md says in three lines what slug() does, and all 3 tests still pass.';

suite('the site', () => {
  let viewer: Viewer;
  before(async () => { viewer = await Viewer.open({ 'logs/': VECTORS }); });
  after(() => viewer[Symbol.asyncDispose]());

  test('is one folder of relative links, whose policy allows no inline script and no other site', async () => {
    const html = await readFile(join(SITE, 'index.html'), 'utf8');
    const policy = /Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1] ?? '';
    assert.match(policy, /default-src 'none'; script-src 'self' 'wasm-unsafe-eval';/);
    assert.match(policy, /require-trusted-types-for 'script'/);
    assert.doesNotMatch(policy, /unsafe-inline|'unsafe-eval'|https?:|\*/);
    assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/i);
    assert.deepEqual([...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link).filter((link) => !link?.startsWith('./')), []);
    const files = await readdir(SITE, { recursive: true });
    for (const name of ['coding', 'long', 'long-other-way', 'long-second-look']) assert.ok(files.includes(join('examples', `${name}.jsonl`)), name);
  });

  test('carries examples that their script writes again, byte for byte', async () => {
    const folder = join(viewer.made, 'examples');
    await promisify(execFile)(process.execPath, [join(process.cwd(), 'www/scripts/make-examples.mjs'), folder]);
    for (const name of await readdir(folder)) assert.ok((await readFile(join(folder, name))).equals(await readFile(join(EXAMPLES, name))), `${name}: run node www/scripts/make-examples.mjs`);
  });

  test('runs no script that a page is given inline', async () => {
    const page = await viewer.browser.newPage();
    await page.goto(viewer.address());
    await page.getByRole('heading', { name: 'What did the model see' }).waitFor();
    const ran = await page.evaluate(() => {
      const script = document.createElement('script');
      try {
        script.text = 'document.title = "ran"';
      } catch {
        // Trusted types refuse the text before the policy refuses the script.
      }
      document.body.append(script);
      return document.title;
    });
    assert.equal(ran, 'palimpsest');
    await page.close();
  });

  test('opens the link that npm start prints, at its end', () => viewer.visit('#log=example.jsonl', async (page) => {
    await isOpen(page);
    assert.equal(await page.locator('#about').innerText(), '254 events, 3 turns, 43.7 kB');
    assert.equal(await page.title(), 'example.jsonl · palimpsest');
    await page.locator('.row.chosen[data-seq="253"]').waitFor();
    await show(page, 'Conversation');
    await page.getByText(LAST_ANSWER).waitFor();
  }));

  test('keeps session, seq and view in the address, and opens there again', () => viewer.visit('#log=examples/long.jsonl', async (page) => {
    await isOpen(page);
    await goTo(page, 100);
    await show(page, 'Model view');
    await page.waitForURL(/#log=examples\/long\.jsonl&seq=100&view=model$/);
    await page.reload();
    await page.locator('#model-head[data-seq="100"]').waitFor();
    await page.evaluate(() => { location.hash = '#log=examples/coding.jsonl&seq=3&view=conversation'; });
    await page.getByText('Invoice 2026-117 is off by one cent').waitFor();
    assert.equal(await page.locator('#name').innerText(), 'coding.jsonl');
  }));

  test('shows the right messages after each event of some vectors', async (context) => {
    let events = 0;
    for (const n of [0, 1, 6, 12, 21]) {
      const { prefixes } = JSON.parse(await readFile(join(VECTORS, `${n}.expected.json`), 'utf8')) as { prefixes: { n: number; messages: unknown[]; header: { messagePrefix?: unknown[] } | null }[] };
      const wanted = prefixes.filter((prefix) => prefix.n > 0);
      await viewer.visit(`#log=logs/${n}.jsonl&view=model&seq=0`, async (page) => {
        await page.locator('#model-head').waitFor();
        const found = await page.evaluate(async (seqs) => {
          const scrubber = document.querySelector<HTMLInputElement>('#scrub');
          const surface = (): void => [...document.querySelectorAll<HTMLElement>('.toggle button')].find((button) => button.textContent.includes('Surface'))?.click();
          const shown: number[] = [];
          for (const seq of seqs) {
            if (!scrubber) throw new Error('no scrubber');
            scrubber.value = String(seq);
            scrubber.dispatchEvent(new Event('input', { bubbles: true }));
            for (let tries = 0; ; tries++) {
              surface();
              await new Promise((resolve) => requestAnimationFrame(resolve));
              const head = document.querySelector<HTMLElement>('#model-head');
              if (head?.dataset.seq === String(seq) && head.dataset.what === 'surface') break;
              if (tries > 600) throw new Error(`event ${seq} is not shown`);
            }
            shown.push(Number(/(\d+) messages?/.exec(document.querySelector('#model-facts')?.textContent ?? '')?.[1]));
          }
          return shown;
        }, wanted.map((prefix) => prefix.n - 1));
        events += found.length;
        assert.deepEqual(found, wanted.map(({ messages, header }) => messages.length + (header?.messagePrefix?.length ?? 0)), `vector ${n}`);
      });
    }
    context.diagnostic(`${events} events`);
  });

  test('says what cannot be opened, and what to do', async () => {
    for (const [link, message] of [['https://example.com/log.jsonl', /is on another site[\s\S]*download the file and drop it here/], ['data:text/plain,x', /is on another site/]] as const) {
      await viewer.visit(`#log=${link}`, async (page) => { assert.match(await page.getByRole('alert').innerText(), message); });
    }
    const page = await viewer.browser.newPage();
    await page.goto(viewer.address('#log=none.jsonl'));
    assert.match(await page.getByRole('alert').innerText(), /none\.jsonl cannot be fetched: 404[\s\S]*Check the address/);
    await page.getByRole('button', { name: 'All logs at hand' }).click();
    await page.getByRole('heading', { name: 'What did the model see' }).waitFor();
    await page.close();
  });

  test('opens what is no log as what it is: nothing', () => viewer.visit('', async (page) => {
    for (const [name, text, code] of [['empty.jsonl', '', 'INVALID_HEADER'], ['other.jsonl', '{"type":"session","version":7,"id":"x","createdAt":1}\n', 'UNSUPPORTED_VERSION'], ['photo.png', '\x89PNG\r\n\x1a\n\0\0\0', 'INVALID_HEADER']] as const) {
      await pick(page, name, Buffer.from(text, 'latin1'));
      await page.getByText(name).first().waitFor();
      if (name !== 'other.jsonl') await page.getByRole('button', { name: 'damaged' }).click();
      await page.locator('#integrity, [role=alert]', { hasText: code }).first().waitFor();
    }
  }));

  test('opens the examples in Firefox, and shows what the model saw', async () => {
    const firefox = await launchFirefox();
    try {
      const page = await firefox.newPage();
      await page.setViewport({ width: 1280, height: 800 });
      await page.goto(viewer.address('#log=examples/long.jsonl&view=model&seq=200'));
      await page.waitForSelector('.message[data-seq="151"]');
      const shown = await page.$eval('#model-head', (head) => head.textContent);
      assert.match(shown, /The request of turn 5, step 1/);
      await page.goto(viewer.address('#log=examples/coding.jsonl&view=conversation&seq=1'));
      await page.waitForSelector('.said-message[data-seq="1"] strong');
      assert.equal(await page.$eval('.said-message[data-seq="1"] strong', (strong) => strong.textContent), '€ 1,204.46');
      await page.goto(viewer.address('#log=examples/coding.jsonl&view=timeline&seq=60'));
      await page.waitForSelector('.row.chosen[data-seq="60"]');
    } finally {
      await firefox.close();
    }
  });

  test('lists the examples, and opens one by a click', () => viewer.visit('', async (page) => {
    const names = await texts(page, '.entry bdi');
    assert.deepEqual(names, ['coding.jsonl', 'long.jsonl', 'long-other-way.jsonl', 'long-second-look.jsonl', 'example.jsonl']);
    await page.getByRole('button', { name: /^long\.jsonl/ }).click();
    await isOpen(page);
    assert.equal(await page.locator('#about').innerText(), '364 events, 8 turns, 86.9 kB');
  }));
});
