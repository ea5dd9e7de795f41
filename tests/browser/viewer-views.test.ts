// Each view of the viewer, on the example sessions: what it says, not only that it is there.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { SessionReader, type Session } from 'palimpsest';
import { estimateTokens } from 'palimpsest/compaction';
import type { Page } from 'playwright-core';
import { EXAMPLES, goTo, isOpen, pick, show, texts, Viewer } from '../support/viewer.js';

const LONG = '#log=examples/long.jsonl';
const CODING = '#log=examples/coding.jsonl';

suite('the views', () => {
  let viewer: Viewer;
  let long: Session;
  before(async () => {
    viewer = await Viewer.open();
    long = await load('long');
  });
  after(() => viewer[Symbol.asyncDispose]());

  suite('timeline', () => {
    test('is an outline whose turns, steps and chunks fold', () => viewer.visit(`${LONG}&seq=0`, async (page) => {
      await page.locator('.row[data-seq="0"].chosen').waitFor();
      const chunks = long.events.filter((event) => event.type === 'assistant/chunk' && event.seq < 16).length;
      assert.match(await row(page, 16), new RegExp(`assistant/message.*I measure before anything else.*${chunks} chunks`, 's'));
      assert.equal(await page.locator('.row[data-seq="10"]').count(), 0, 'chunks are folded');
      await page.getByRole('button', { name: 'Open assistant/message 16' }).click();
      await page.locator('.row[data-seq="10"]').waitFor();
      assert.match(await row(page, 10), /block-end/);
      await page.getByRole('button', { name: 'Close turn/start 0' }).click();
      await page.locator('.row[data-seq="10"]').waitFor({ state: 'detached' });
      const end = long.events.find((event) => event.type === 'turn/end')!.seq;
      assert.match(await row(page, 0), new RegExp(`${end} inside`));
      await page.getByRole('button', { name: 'Open all' }).click();
      await page.locator('.row[data-seq="16"]').waitFor();
      await page.getByRole('button', { name: 'Close turns' }).click();
      await page.locator('.row[data-seq="16"]').waitFor({ state: 'detached' });
      const starts = long.events.filter((event) => event.type === 'turn/start').map(({ seq }) => String(seq));
      assert.deepEqual(await page.locator('.row').evaluateAll((rows) => rows.map((found) => found.getAttribute('data-seq'))), starts);
    }));

    test('is walked by keyboard alone', () => viewer.visit(`${LONG}&seq=20`, async (page) => {
      await page.locator('.row.chosen[data-seq="20"]').waitFor();
      const leadTo = async (seq: number, ...keys: string[]): Promise<void> => {
        for (const key of keys) await page.keyboard.press(key);
        await page.locator(`.row.chosen[data-seq="${seq}"]`).waitFor();
      };
      await leadTo(33, 'j'); // without a focus, past the folded chunks
      await leadTo(20, 'k');
      await page.getByRole('tree', { name: 'Events' }).focus();
      await leadTo(39, 'ArrowLeft', 'ArrowDown'); // the step is closed
      await leadTo(33, 'k', 'ArrowRight', 'ArrowDown'); // and open again
      assert.equal(await page.getByRole('tree').getAttribute('aria-activedescendant'), 'row-33');
      await leadTo(0, 'Home');
      await leadTo(363, 'End');
      await leadTo(0, 'Home');
      await page.keyboard.press('PageDown');
      await page.waitForFunction(() => Number(document.querySelector('.row.chosen')?.getAttribute('data-seq')) > 20);
      await page.keyboard.press(']');
      await page.waitForFunction(() => document.querySelector('.row.chosen .type')?.textContent.includes('step/start'));
      await page.keyboard.press('Enter');
      assert.equal(await page.evaluate(() => document.activeElement?.id), 'detail');
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys' }).waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.keyboard.press('/');
      await page.waitForFunction(() => document.activeElement?.id === 'search-text');
    }));

    test('is filtered by family, type, tool, errors and words', () => viewer.visit(LONG, async (page) => {
      await isOpen(page);
      const rows = async (): Promise<string[]> => {
        // So few that all are in sight.
        await page.waitForFunction(() => {
          const shown = Number(/^\d+/.exec(document.querySelector('.shown-count')?.textContent ?? '')?.[0]);
          return document.querySelectorAll('.row:not(.waiting)').length === shown;
        });
        return (await texts(page, '.row .type')).map((type) => type.trim());
      };
      await page.getByRole('button', { name: 'Errors 3' }).click();
      const wrong = await rows();
      assert.deepEqual(wrong.filter((type) => !/^(turn|step)\/start$/.test(type)), ['tool/result', 'tool/result', 'turn/end']);
      await page.getByRole('button', { name: 'Clear' }).click();
      await page.getByLabel('Event type').selectOption('compact/summary');
      assert.equal((await rows()).filter((type) => type === 'compact/summary').length, 2);
      await page.getByLabel('Event type').selectOption('');
      await page.getByLabel('Tool', { exact: true }).selectOption('grep');
      assert.match(await page.locator('.row .summary').allInnerTexts().then((all) => all.filter((text) => text.startsWith('grep')).join('\n')), /grep {"pattern":"sort/);
      await page.getByRole('button', { name: 'Clear' }).click();
      await page.getByLabel('Only rows with these words').fill('Equal scores keep');
      await page.keyboard.press('Enter');
      await page.locator('.row[data-seq="188"]').waitFor();
      assert.deepEqual((await rows()).filter((type) => !type.endsWith("start")), ['assistant/message']);
    }));

    test('shows an event with its provenance, both ways, and as it is stored', () => viewer.visit(`${LONG}&seq=55`, async (page) => {
      const detail = page.locator('#detail');
      await detail.getByText('Shadowed: it is inside').waitFor();
      assert.match(await detail.innerText(), /inside\s+#149\s*, which is inside\s+#318/);
      await detail.getByText('As it is stored').click();
      assert.match(await detail.locator('.stored .code').innerText(), /"seq": 55,[\s\S]*"text": "Start with 1\."/);
      await detail.getByRole('button', { name: 'Go to event 318' }).click();
      await detail.getByText('It replaced 29 messages').waitFor();
      await detail.getByText('The model sees this now.').waitFor();
    }));

    test('says of an event that is only logged what lies over the message that it is a part of', () => viewer.visit(`${LONG}&seq=10`, async (page) => {
      const provenance = page.locator('#detail .provenance');
      const said = async (seq: number, wanted: RegExp): Promise<void> => {
        await goTo(page, seq);
        await page.locator('#detail h2', { hasText: `#${seq}` }).waitFor();
        assert.match((await provenance.allInnerTexts()).join(' ').replace(/\s+/g, ' '), wanted);
      };
      await said(10, /^A part of assistant\/message #16, which is inside #149, which is inside #318/);
      const call = long.events.find(({ type, seq }) => type === 'tool/call' && seq > 16)!.seq;
      await said(call, /^A part of assistant\/message #16, which is inside #149, which is inside #318/);
      await said(148, /^A part of user\/message #149, which is inside #318/);
      await said(360, /^A part of assistant\/message #361 ?, over which nothing lies\.$/);
      await said(0, /^$/);
      await goTo(page, 10);
      await provenance.getByRole('button', { name: 'Strata' }).click();
      await page.locator('.chosen-stratum .stratum[data-under="149"]').waitFor();
      await goTo(page, 10);
      await show(page, 'Strata');
      await page.locator('#inside', { hasText: 'A part of assistant/message #16' }).waitFor();
    }));

    test('has a strip that zooms, moves and leads to its events', () => viewer.visit(`${LONG}&seq=0`, async (page) => {
      const strip = page.getByRole('img', { name: 'The log as a strip: events 0 to 363' });
      await strip.waitFor();
      await page.getByRole('button', { name: 'Zoom in' }).click();
      await page.getByRole('img', { name: 'events 91 to 272' }).waitFor();
      await page.getByRole('img', { name: /as a strip/ }).press('ArrowRight');
      await page.getByRole('img', { name: 'events 137 to 318' }).waitFor();
      await page.getByRole('img', { name: /as a strip/ }).click({ position: { x: 5, y: 30 } });
      await page.locator('.row.chosen').waitFor();
      const seq = Number(await page.locator('.row.chosen').getAttribute('data-seq'));
      assert.ok(seq >= 137 && seq < 145, String(seq));
      await page.getByRole('button', { name: 'by time' }).click();
      await page.getByRole('button', { name: 'Zoom out' }).click();
      await page.getByRole('img', { name: 'events 0 to 363' }).waitFor();
      // By time the pause between two turns is wide: its middle belongs to the turn before.
      const canvas = page.getByRole('img', { name: /as a strip/ });
      const { width } = (await canvas.boundingBox())!;
      const [ended, started] = [long.events[53]!.time, long.events[54]!.time];
      const [start, end] = [long.events[0]!.time, long.events.at(-1)!.time];
      await page.locator('canvas[data-painted="time 0 364"]').waitFor();
      await canvas.click({ position: { x: width * (((ended + started) / 2 - start) / (end - start)), y: 30 } });
      await page.locator('.row.chosen[data-seq="53"]').waitFor();
      const painted = await page.locator('canvas').evaluate((canvas: HTMLCanvasElement) => new Set(canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height).data).size);
      assert.ok(painted > 8, 'colours');
    }));
  });

  test('conversation: markdown, code, calls beside their results, diffs of edits, images, folded reasoning', () => viewer.visit(`${CODING}&view=conversation&seq=1`, async (page) => {
    const message = (seq: number): ReturnType<Page['locator']> => page.locator(`.said-message[data-seq="${seq}"]`);
    await message(1).locator('strong', { hasText: '€ 1,204.46' }).waitFor();
    await message(1).locator('pre .hljs-number').first().waitFor();
    const coding = await load('coding');
    const seqOf = (word: string): number => coding.events.find((event) => event.type === 'assistant/message' && JSON.stringify(event.data).includes(word))!.seq;
    const first = seqOf('I read how the total');
    assert.equal(await message(first).locator('.reasoning .text').isVisible(), false);
    await message(first).getByText('Reasoning').click();
    await message(first).getByText('differs from the rounded sum').waitFor();
    assert.match(await message(first).innerText(), /read_file\s+path: src\/total\.js[\s\S]*Result[\s\S]*export function total/);
    const edit = seqOf('It fails as it should');
    await scrollTo(page, edit);
    await message(edit).locator('.diff-line.minus').first().waitFor();
    assert.match(await message(edit).locator('.diff').first().innerText(), /return Math\.round\(sum \* \(1 \+ rate\) \* 100\) \/ 100/);
    assert.ok(await message(edit).locator('.diff-line.plus').count() > 0);
    const table = seqOf('in binary');
    await scrollTo(page, table);
    assert.equal(await message(table).locator('table td').first().innerText(), '0.335 × 100');
    const image = seqOf('march.png');
    await scrollTo(page, image);
    const picture = message(image).locator('img.picture');
    await picture.waitFor();
    assert.ok(await picture.evaluate((img: HTMLImageElement) => img.decode().then(() => img.naturalWidth)) === 16);
    assert.match(await page.locator('.pane-head').innerText(), /17 messages/);
  }));

  test('conversation: is walked by j and k, by steps and by numbers', () => viewer.visit(`${LONG}&view=conversation&seq=1`, async (page) => {
    const isAt = (seq: number): Promise<void> => page.locator(`.said-message.chosen[data-seq="${seq}"]`).waitFor();
    const said = long.events.filter(({ type, surfaceOp }) => surfaceOp === 'append' && type !== 'tool/result').map(({ seq }) => seq);
    await isAt(said[0]!);
    for (const seq of said.slice(1, 5)) {
      await page.keyboard.press('j');
      await isAt(seq);
    }
    await page.keyboard.press('k');
    await isAt(said[3]!);
    await page.waitForURL((url) => url.hash.includes(`seq=${said[3]}&`));
    await goTo(page, 333);
    await page.locator('.said-message[data-seq="340"]').or(page.locator('.said-message[data-seq="346"]')).first().waitFor();
    await page.keyboard.press('[');
    await page.waitForURL((url) => /seq=3[0-3]\d&view=conversation/.test(url.hash));
    await goTo(page, said[0]!);
    await isAt(said[0]!);
  }));

  test('conversation: shows what was shadowed as it was said, and where a summary was laid', () => viewer.visit(`${LONG}&view=conversation&seq=149`, async (page) => {
    await page.locator('.seam[data-seq="149"]', { hasText: 'was laid over 20 messages' }).waitFor();
    await page.locator('.said-message[data-seq="151"]', { hasText: 'now inside #318' }).waitFor();
    await page.locator('.seam[data-seq="149"]').getByRole('button', { name: 'What lies under it' }).click();
    await page.locator('.chosen-stratum .stratum').waitFor();
  }));

  suite('model view', () => {
    test('shows the exact request of a step, and gives it as JSON', () => viewer.visit(`${LONG}&view=model&seq=200`, async (page) => {
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await page.getByRole('heading', { name: 'The request of turn 5, step 1' }).waitFor();
      const request = long.at(200).request();
      assert.match(await page.locator('#model-facts').innerText(), new RegExp(`as of event 200, ${request.messages.length} messages, .*1 replacement`));
      await page.getByRole('button', { name: 'Copy the request as JSON' }).click();
      await page.getByText('Copied').waitFor();
      assert.deepEqual(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())), JSON.parse(JSON.stringify(request)));
      await page.getByRole('tab', { name: 'System, tools, config' }).click();
      assert.match(await page.locator('.header-view').innerText(), /The stemming must stay as it is\.[\s\S]*4 tools[\s\S]*read_file[\s\S]*"contextWindow": 4000/);
    }));

    test('gives way to another log while it scrolls', () => viewer.visit(`${LONG}&view=model&seq=148`, async (page) => {
      await page.evaluate(() => {
        let down = 0;
        const scroll = (): void => {
          const list = document.querySelector('.virtual');
          if (list) list.scrollTop = down++ % 2 === 0 ? 40 : 0;
          requestAnimationFrame(scroll);
        };
        scroll();
      });
      for (const name of ['coding', 'long', 'coding', 'long', 'coding', 'long', 'coding', 'long']) {
        await page.evaluate((hash) => { location.hash = hash; }, `#log=examples/${name}.jsonl&view=model`);
        await page.locator('#name', { hasText: `${name}.jsonl` }).waitFor();
        await page.locator('.model .virtual-item').first().waitFor();
      }
    }));

    test('is moved by the scrubber to the surface at any event', () => viewer.visit(`${LONG}&view=model&seq=148`, async (page) => {
      await page.locator('#model-head[data-seq="148"]').waitFor();
      const shown = async (seq: number): Promise<string> => {
        await page.locator('#scrub').fill(String(seq));
        await page.locator(`#model-head[data-seq="${seq}"]`).waitFor();
        return page.locator('#model-facts').innerText();
      };
      for (const seq of [2, 53, 148, 149, 241, 318, 363]) {
        const { step } = JSON.parse(JSON.stringify(long.events[seq]!.data)) as { step?: number };
        const open = step !== undefined && long.events[seq]!.type !== 'step/end';
        const wanted = open ? long.at(seq).request().messages.length : long.at(seq).messages().length;
        assert.match(await shown(seq), new RegExp(`\\b${wanted} messages?\\b`), `event ${seq}`);
      }
      // What came last is in sight; what stands at the head is a key away.
      await page.locator('.message[data-seq="361"]').waitFor();
      await page.getByRole('list', { name: 'Messages that the model sees' }).press('Home');
      await page.locator('.message[data-seq="318"]', { hasText: 'compacted-summary' }).waitFor();
      await page.keyboard.press('k');
      await page.locator('#model-head[data-seq="362"]').waitFor();
      await page.keyboard.press('j');
      await page.locator('#model-head[data-seq="363"]').waitFor();
      await page.getByRole('button', { name: 'Previous step' }).click();
      await page.getByRole('heading', { name: 'The request of turn 8, step 3' }).waitFor();
      await page.getByRole('button', { name: 'Surface after this event' }).click();
      await page.locator('#model-head[data-what="surface"]').waitFor();
    }));

    test('says where the prefix cache breaks, and why', () => viewer.visit(`${LONG}&view=model&seq=200`, async (page) => {
      const change = page.getByRole('tab', { name: 'Change from the request before' });
      await change.click();
      await page.locator('#divergence', { hasText: 'The prefix cache breaks at system prompt' }).waitFor();
      await page.locator('.request-diff .diff-line.plus').first().waitFor();
      assert.match(await page.locator('.request-diff .diff').first().innerText(), /\+\s*The stemming must stay as it is\./);
      assert.doesNotMatch(await page.locator('.request-diff .diff').first().innerText(), /-\s*Measure/);
      assert.match(await page.locator('#cache-counts').innerText(), /^0 from the cache \(0 %\)/);
      const first = long.events.find((event) => event.type === 'step/start' && event.seq > 149)!.seq;
      await page.locator('#scrub').fill(String(first));
      await page.locator('#divergence', { hasText: 'message 1' }).waitFor();
      assert.match(await page.locator('#divergence').innerText(), /Event 149 replaced 20 messages, events 1 to \d+\./);
      await page.getByRole('tab', { name: 'Messages' }).click();
      await page.getByRole('note').getByText("The provider's prefix cache breaks here").waitFor();
      await change.click();
      const grown = long.events.find((event) => event.type === 'step/start' && event.seq > first)!.seq;
      await page.locator('#scrub').fill(String(grown));
      await page.getByText('The request only grew').waitFor();
      const tools = long.events.find((event) => event.type === 'request/header-delta' && event.seq > 318)!.seq;
      await page.locator('#scrub').fill(String(tools));
      await page.locator('#divergence', { hasText: 'The tools changed' }).waitFor();
      await page.getByText('Tools changed', { exact: true }).waitFor();
    }));
  });

  test('strata: what lies under each layer opens in place, nested; what it saved; provenance both ways', () => viewer.visit(`${LONG}&view=strata&seq=55`, async (page) => {
    await page.locator('#inside', { hasText: '#149' }).waitFor();
    assert.match(await page.locator('#inside').innerText(), /inside\s+#149, which is inside\s+#318/);
    assert.match(await page.locator('#strata-facts').innerText(), /^4 replacements, 1 of them seen by the model now, about [\d,]+ tokens saved/);
    const top = page.locator('.layer.top');
    await top.locator('summary').first().click();
    const under = long.events[318]!.sourceEventSeqs!.filter((seq) => long.events[seq]!.type !== 'compact/summary');
    const before = under.reduce((sum, seq) => sum + estimateTokens(long.deriveEventMessage(long.events[seq]!)!), 0);
    assert.match(await top.locator('.stratum-facts').first().innerText(), new RegExp(`Compacted ${under.length} messages \\(events 149 to \\d+\\),\\s+about ${before.toLocaleString('en')} → \\d+ tokens`));
    await top.getByRole('button', { name: 'Open event 149' }).click();
    const nested = top.locator('.stratum[data-under="149"]');
    await nested.waitFor();
    await nested.getByRole('button', { name: 'Open event 55' }).click();
    await nested.locator('.stratum-text', { hasText: 'Start with 1.' }).waitFor();
    await page.locator('.layer', { hasText: 'Shortened' }).first().locator('summary').click();
    assert.match(await page.locator('.layer', { hasText: 'Shortened' }).first().innerText(), /Shortened 1 message \(event \d+\)/);
  }));

  test('forks: the family, and two branches aligned on what they share', () => viewer.visit(`${LONG}&view=forks`, async (page) => {
    await page.locator('.family li', { hasText: 'search-rewrite-second-look' }).waitFor();
    assert.deepEqual((await texts(page, '.family-name')).map((name) => name.trim()), ['search-rewrite', 'search-rewrite-other-way', 'search-rewrite-second-look']);
    assert.match(await page.locator('.family').innerText(), /from search-rewrite, sharing 191 events/);
    await page.locator('.family li', { hasText: 'other-way' }).getByRole('button', { name: 'Beside this one' }).click();
    await page.locator('#shared').waitFor();
    assert.match(await page.locator('#shared').innerText(), /Both begin with the same 191 events: 19 messages/);
    const branch = (name: string): ReturnType<Page['locator']> => page.getByRole('region', { name: `Branch ${name}` });
    await branch('search-rewrite-other-way').getByText('would an index of all prefixes be simpler?').waitFor();
    await branch('search-rewrite').first().getByText('And 3?').waitFor();
    await page.waitForURL(/beside=log%3Dexamples\/long-other-way\.jsonl/);
    await page.locator('.family li', { hasText: 'second-look' }).getByRole('button', { name: 'Open' }).click();
    await page.locator('#about', { hasText: '393 events' }).waitFor();
  }));

  test('numbers: tokens, cached share, context against the window, tools; a fork pays for its own part alone', async () => {
    const own = usageOf(long, 0);
    await viewer.visit(`${LONG}&view=numbers`, async (page) => {
      await page.locator('#totals').waitFor();
      const tiles = await page.locator('#totals').innerText();
      assert.match(tiles, new RegExp(`${own.read.toLocaleString('en')}\\s+tokens`));
      assert.match(tiles, new RegExp(`${Math.round((own.cached / own.read) * 100)} %`));
      assert.equal(await page.getByLabel('Size of the context window in tokens').inputValue(), '4000');
      await page.locator('.chart canvas').nth(2).waitFor();
      const table = await page.locator('.tool-numbers table').innerText();
      assert.match(table, /run_tests\s+7\s+1\s+0/);
      assert.match(table, /6\.9 s/);
      assert.equal(await page.locator('#inherited').count(), 0);
      // By keyboard each point says what it is, and leads to its step.
      const chart = page.getByRole('img', { name: 'Context size in tokens by step' });
      await chart.focus();
      await page.keyboard.press('End');
      const steps = long.events.filter(({ type }) => type === 'step/start');
      await page.getByText(`step ${steps.length}, context `).waitFor();
      for (let n = 1; n < steps.length; n++) await page.keyboard.press('ArrowLeft');
      const first = long.events.find((event) => event.type === 'assistant/message');
      assert.ok(first?.type === 'assistant/message' && first.data.usage);
      const { inputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = first.data.usage;
      await page.getByText(`step 1, context ${(inputTokens + cacheReadTokens + cacheWriteTokens).toLocaleString('en')}, window 4,000`).waitFor();
      await page.keyboard.press('Enter');
      await page.locator(`#model-head[data-seq="${steps[0]!.seq}"]`).waitFor();
    });
    const fork = await load('long-second-look');
    const late = usageOf(fork, fork.header.seedLength!);
    await viewer.visit('#log=examples/long-second-look.jsonl&view=numbers', async (page) => {
      await page.locator('#inherited', { hasText: `The first 24 steps` }).waitFor();
      assert.match(await page.locator('#totals').innerText(), new RegExp(`${late.read.toLocaleString('en')}\\s+tokens`));
    });
  });

  test('take away: each form, without secrets when asked, after a preview', () => viewer.visit('', async (page) => {
    const bytes = await readFile(join(EXAMPLES, 'long.jsonl'), 'utf8');
    const key = `sk-proj-${'Ab3'.repeat(14)}`;
    const leaky = bytes.replace('Start with 1.', `Start with 1. My key is ${key}, write to ada@example.org about Project Nightjar.`);
    await pick(page, 'leaky.jsonl', Buffer.from(leaky));
    await isOpen(page);
    await show(page, 'Take away');
    const taken = async (form: string): Promise<string> => {
      await page.getByRole('radio', { name: form }).check();
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save' }).click()]);
      return readFile(await download.path(), 'utf8');
    };
    assert.equal(await taken('The log JSONL'), leaky);
    await page.getByRole('radio', { name: 'A part of the log' }).check();
    await page.getByLabel('First event').fill('54');
    await page.getByLabel('Last event').fill('56');
    assert.deepEqual((await taken('A part of the log')).trimEnd().split('\n').map((line) => (JSON.parse(line) as { seq?: number }).seq), [undefined, 54, 55, 56]);
    await page.getByRole('radio', { name: 'The request at an event' }).check();
    await page.getByRole('spinbutton', { name: 'Event' }).fill('200');
    assert.deepEqual(JSON.parse(await taken('The request at an event')), JSON.parse(JSON.stringify(long.at(200).request())));
    assert.match(await taken('A transcript'), /Then 2, please\. And do not touch the stemming\./);
    assert.match(await taken('A page'), /^<!doctype html>[\s\S]*Content-Security-Policy[\s\S]*Then 2, please/);

    await page.getByLabel('Take secrets out first').check();
    await page.getByLabel('Own words, one a line').fill('Nightjar');
    await page.getByLabel('Own regular expressions, one a line').fill('412\\.\\d ms');
    await page.getByRole('radio', { name: 'The log JSONL' }).check();
    await page.getByRole('button', { name: 'Preview' }).click();
    const out = page.locator('#taken-out');
    await out.waitFor();
    assert.match(await out.innerText(), /secrets? taken out[\s\S]*api-key 1[\s\S]*#55/);
    assert.match(await page.locator('#preview').innerText(), /"type":"session"/);
    const redacted = await taken('The log JSONL');
    assert.ok(!redacted.includes(key) && !redacted.includes('ada@example.org') && !redacted.includes('Nightjar') && !redacted.includes('412.3 ms'));
    assert.equal(redacted.split('\n').length, leaky.split('\n').length);
    assert.ok(!(await taken('A page')).includes(key));
    await page.getByLabel('Own regular expressions, one a line').fill('(');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('alert').getByText('is no regular expression').waitFor();
  }));
});

async function load(name: string): Promise<Session> {
  const reader = new SessionReader(name);
  reader.push(await readFile(join(EXAMPLES, `${name}.jsonl`)));
  return reader.finish().session;
}

async function row(page: Page, seq: number): Promise<string> {
  const found = page.locator(`.row[data-seq="${seq}"]`);
  await found.waitFor();
  return found.innerText();
}

/** Scrolls the conversation until a message is there. */
async function scrollTo(page: Page, seq: number): Promise<void> {
  const list = page.getByRole('list', { name: 'Conversation' });
  await list.evaluate((element) => { element.scrollTop = 0; });
  for (let n = 0; n < 40 && (await page.locator(`.said-message[data-seq="${seq}"]`).count()) === 0; n++) {
    await list.evaluate((element) => { element.scrollTop += 400; });
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  }
  await page.locator(`.said-message[data-seq="${seq}"]`).scrollIntoViewIfNeeded();
}

function usageOf(session: Session, from: number): { read: number; cached: number } {
  const total = { read: 0, cached: 0 };
  for (const event of session.events) {
    if (event.seq < from || event.type !== 'assistant/message' || !event.data.usage) continue;
    const { inputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = event.data.usage;
    total.read += inputTokens + cacheReadTokens + cacheWriteTokens;
    total.cached += cacheReadTokens;
  }
  return total;
}
