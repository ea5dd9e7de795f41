// A log of a million events: opened, scrolled to its end and back, searched, scrubbed. What it took is printed; only bounds
// that a slow machine keeps as well are asserted.
import assert from 'node:assert/strict';
import { createWriteStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { launchChromiumIn } from '../support/browser.js';
import { Viewer } from '../support/viewer.js';
import type { BrowserContext, Page } from 'playwright-core';

const EVENTS = 1_000_000;
const STEPS_PER_TURN = 4;
const CHUNKS = 12;
const NEEDLE = 'the golden needle';

suite('a million events', () => {
  let viewer: Viewer;
  let context: BrowserContext;
  let file: string;
  let size: number;
  let rows: number;
  before(async () => {
    viewer = await Viewer.open();
    file = join(viewer.made, 'million.jsonl');
    rows = await writeLog(file);
    ({ size } = await stat(file));
    context = await launchChromiumIn(join(viewer.made, 'profile'));
  });
  after(async () => {
    await context.close();
    await viewer[Symbol.asyncDispose]();
  });

  test('opens, scrolls, is searched and scrubbed', async (t) => {
    const page = await context.newPage();
    page.setDefaultTimeout(120_000);
    await page.setViewportSize({ width: 1280, height: 800 });
    const problems: string[] = [];
    page.on('pageerror', (error) => problems.push(error.message));
    await page.goto(viewer.address());
    const memory = await memoryOf(context, page);
    const before = await memory();
    t.diagnostic(`${rows.toLocaleString('en')} events, ${mega(size)}`);

    await page.evaluate(() => {
      const times: { start?: number; rows?: number } = ((globalThis as { times?: object }).times = {});
      document.querySelector('#file')?.addEventListener('change', () => { times.start = performance.now(); }, true);
      const look = new MutationObserver(() => {
        if (document.querySelector('.row .summary') === null) return;
        times.rows = performance.now();
        look.disconnect();
      });
      look.observe(document.body, { subtree: true, childList: true });
    });
    await page.locator('#file').setInputFiles(file);
    await page.locator('#about', { hasText: `${rows.toLocaleString('en')} events` }).waitFor();
    const times = await page.evaluate(() => {
      const { start = 0, rows: first = 0 } = (globalThis as { times?: { start?: number; rows?: number } }).times ?? {};
      return { first: first - start, all: performance.now() - start };
    });
    t.diagnostic(`first rows after ${Math.round(times.first)} ms, all indexed and opened after ${Math.round(times.all)} ms`);
    assert.ok(times.first < times.all / 2, 'rows are there while the rest is read');

    const tree = page.getByRole('tree', { name: 'Events' });
    await tree.focus();
    const delays: number[] = [];
    const move = async (key: string): Promise<void> => { delays.push(...await keyDelays(page, [key])); };
    await move('End');
    await page.locator(`.row.chosen[data-seq="${rows - 1}"]`).waitFor();
    await move('Home');
    await page.locator('.row.chosen[data-seq="0"]').waitFor();
    delays.push(...await keyDelays(page, Array.from({ length: 40 }, (_, n) => (n % 5 === 4 ? 'PageDown' : 'ArrowDown'))));
    const scrolled = await wheel(page);
    t.diagnostic(`worst of ${delays.length} keys: ${Math.round(Math.max(...delays))} ms; worst frame of ${scrolled.frames} while scrolling: ${Math.round(scrolled.worst)} ms`);
    // By the scroll bar, to the very end and back: every row can be reached, and no element is taller than browsers allow.
    assert.ok(await tree.evaluate((element) => element.scrollHeight) < 16_000_000);
    await tree.evaluate((element) => { element.scrollTop = element.scrollHeight; });
    await page.locator(`.row[data-seq="${rows - 1}"]`).waitFor();
    await tree.evaluate((element) => { element.scrollTop = element.scrollHeight / 2; });
    await page.waitForFunction((half) => [...document.querySelectorAll<HTMLElement>('.row[data-seq]')].some(({ dataset }) => Math.abs(Number(dataset.seq) - half) < 40_000), rows / 2);
    await tree.evaluate((element) => { element.scrollTop = 0; });
    await page.locator('.row[data-seq="0"]').waitFor();
    assert.ok(await page.locator('.row').count() < 120, 'only the rows in sight exist');

    await page.keyboard.press('/');
    const search = performance.now();
    await page.locator('#search-text').fill(NEEDLE);
    await page.keyboard.press('Enter');
    await page.locator('#search-status', { hasText: /^3 matches in 3 events$/ }).waitFor();
    t.diagnostic(`searched in ${Math.round(performance.now() - search)} ms`);
    await page.getByRole('listbox', { name: /Matches/ }).focus();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.locator('.row.chosen', { hasText: NEEDLE }).waitFor();

    await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: 'Model view' }).click();
    await page.locator('#model-head').waitFor();
    const scrubs: number[] = [];
    for (const share of [0.02, 0.5, 0.98, 0.25, 0.75]) scrubs.push(await scrub(page, Math.floor((rows - 1) * share)));
    t.diagnostic(`scrubbed to five places, the slowest in ${Math.round(Math.max(...scrubs))} ms`);
    await page.locator('.message').first().waitFor();

    const peak = await memory();
    t.diagnostic(`memory of the page: ${mega(before.now)} before, at most ${mega(peak.most)}, ${mega(peak.most - before.now)} more, ${((peak.most - before.now) / size).toFixed(2)} of the file`);
    assert.ok(peak.most - before.now < size * 4, 'memory stays bounded');
    assert.deepEqual(problems, []);
    await page.close();
  });
});

/** How long the page takes from each key to the frame after it. */
function keyDelays(page: Page, keys: readonly string[]): Promise<number[]> {
  return page.evaluate(async (pressed) => {
    const list = document.querySelector('[role=tree]');
    const found: number[] = [];
    for (const key of pressed) {
      const start = performance.now();
      list?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      found.push(performance.now() - start);
    }
    return found;
  }, keys);
}

/** Scrolls for a while as a wheel does, and looks at the frames. */
function wheel(page: Page): Promise<{ frames: number; worst: number }> {
  return page.evaluate(async () => {
    const list = document.querySelector('[role=tree]');
    let worst = 0;
    let last = performance.now();
    for (let n = 0; n < 120; n++) {
      list?.scrollBy(0, n < 80 ? 240 : -360);
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      worst = Math.max(worst, now - last);
      last = now;
    }
    return { frames: 120, worst };
  });
}

/** Moves the scrubber; how long until the model's view of that event is there. */
async function scrub(page: Page, seq: number): Promise<number> {
  const start = performance.now();
  await page.locator('#scrub').fill(String(seq));
  await page.locator(`#model-head[data-seq="${seq}"]`).waitFor();
  return performance.now() - start;
}

/** Resident memory of the page's process, now and at its peak. */
async function memoryOf(context: BrowserContext, page: Page): Promise<() => Promise<{ now: number; most: number }>> {
  const session = await context.newCDPSession(page);
  await session.detach();
  const browser = context.browser();
  const cdp = browser ? await browser.newBrowserCDPSession() : await context.newCDPSession(page);
  return async () => {
    const { processInfo } = await cdp.send('SystemInfo.getProcessInfo');
    let [now, most] = [0, 0];
    for (const { type, id } of processInfo) {
      if (type !== 'renderer') continue;
      const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => '');
      now = Math.max(now, Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024);
      most = Math.max(most, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024);
    }
    return { now, most };
  };
}

function mega(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

/** Writes a log as an agent would have written it, with a compaction now and then; how many events it has. */
async function writeLog(path: string): Promise<number> {
  const out = createWriteStream(path);
  let seq = 0;
  let lines: string[] = ['{"type":"session","version":0,"id":"million","createdAt":1760000000000,"cwd":"/home/ada/project"}\n'];
  let surface: number[] = [];
  const add = (type: string, data: object, rest = ''): number => {
    lines.push(`{"type":"${type}","seq":${seq},"time":${1_760_000_000_000 + seq * 40},"data":${JSON.stringify(data)}${rest}}\n`);
    return seq++;
  };
  const said = (type: string, data: object, rest = ''): number => {
    const at = add(type, data, `${rest},"surfaceOp":"append"`);
    surface.push(at);
    return at;
  };
  const words = 'The change is small, and the tests say that nothing else has moved. ';
  for (let turn = 1; seq < EVENTS; turn++) {
    add('turn/start', { turn, trigger: { kind: 'message', source: { kind: 'user' } } });
    if (turn % 500 === 0 && surface.length > 200) {
      const shadowed = surface.slice(0, -1);
      add('compact/start', { turn });
      const [start, end] = [shadowed[0]!, shadowed[shadowed.length - 1]!];
      const summary = add('compact/summary', { summary: [{ type: 'text', text: `What was done until turn ${turn}.` }], shadowedRange: { start, end }, shadowedSeqs: shadowed, shadowedTokenCount: 90_000, model: 'swift-mini' });
      const over = add('user/message', { content: [{ type: 'text', text: `<compacted-summary>\nWhat was done until turn ${turn}.\n</compacted-summary>` }], source: { kind: 'plugin', plugin: 'compact' } }, `,"sourceEventSeqs":${JSON.stringify([...shadowed, summary])},"surfaceOp":{"op":"replace","start":${start},"end":${end}}`);
      add('compact/end', { turn });
      surface = [over, surface[surface.length - 1]!];
    }
    said('user/message', { content: [{ type: 'text', text: `Request ${turn}: ${words.repeat(3)}${turn % 4000 === 3999 ? NEEDLE : ''}` }], source: { kind: 'user' } });
    for (let step = 1; step <= STEPS_PER_TURN; step++) {
      const at = { turn, step };
      add('step/start', at);
      if (turn === 1 && step === 1) add('request/header', { header: { config: { model: 'swift-2', contextWindow: 200_000 }, system: 'You are a coding agent.', tools: [{ name: 'read_file', parameters: { type: 'object' } }] }, reason: 'initial' });
      const chunks = Array.from({ length: CHUNKS }, (_, n) => add('assistant/chunk', { ...at, chunk: { type: 'text-delta', index: 0, text: `piece ${n} of an answer that streams in, as answers do. ` } }));
      const last = step === STEPS_PER_TURN;
      const id = `call_${turn}_${step}`;
      said('assistant/message', { ...at, content: [{ type: 'text', text: words.repeat(4) }, ...(last ? [] : [{ type: 'tool-call', id, name: 'read_file', arguments: `{"path":"src/file-${turn % 97}.ts"}` }])], usage: { inputTokens: 120, cacheReadTokens: 9000 + (turn % 50) * 900, cacheWriteTokens: 400, outputTokens: 180 } }, `,"sourceEventSeqs":${JSON.stringify(chunks)}`);
      if (!last) {
        const call = add('tool/call', { ...at, callId: id, name: 'read_file', arguments: `{"path":"src/file-${turn % 97}.ts"}` });
        said('tool/result', { ...at, callId: id, content: [{ type: 'text', text: `export const value = ${turn};\n`.repeat(40) }], isError: turn % 211 === 0 }, `,"sourceEventSeqs":[${call}]`);
      }
      add('step/end', at);
    }
    add('turn/end', { turn, reason: { kind: 'completed' } });
    if (lines.length > 4000) {
      if (!out.write(lines.join(''))) await once(out, 'drain');
      lines = [];
    }
  }
  out.end(lines.join(''));
  await once(out, 'finish');
  return seq;
}
