// The page of www/, built and then served below some path by a server that knows nothing of it.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { after, before, suite, test } from 'node:test';
import { SessionStore } from 'palimpsest';
import type { Session, SessionEvent } from 'palimpsest';
import type { Browser, Page } from 'playwright-core';
import * as vite from 'vite';
import { launchChromium, launchFirefox, serve } from '../support/browser.js';
import type { StaticServer } from '../support/browser.js';

const WWW = join(process.cwd(), 'www');
const SITE = join(process.cwd(), 'target/www');
const VECTORS = join(process.cwd(), 'tests/fixtures/vectors');
const SCREENSHOTS = join(process.cwd(), 'target/screenshots');
const EXAMPLE = '#log=example.jsonl';
const LAST_ANSWER = 'README.md says in three lines what slug() does, and all 3 tests still pass.';
const FIRST_ANSWER = 'Fixed: slug() now lowers the title before it puts dashes, and all tests pass.';

suite('the page in Chromium', () => {
  let browser: Browser;
  let server: StaticServer;
  let made: string;
  before(async () => {
    await vite.build({ root: WWW, logLevel: 'error', build: { outDir: SITE, emptyOutDir: true } });
    made = await mkdtemp(join(tmpdir(), 'palimpsest-page-'));
    [browser, server] = await Promise.all([launchChromium(), serve({ '/some/where/': SITE, '/some/where/logs/': VECTORS, '/some/where/made/': made })]);
    await mkdir(SCREENSHOTS, { recursive: true });
  });
  after(() => Promise.all([browser.close(), server[Symbol.asyncDispose](), rm(made, { recursive: true })]));

  const address = (hash = ''): string => `${server.url}/some/where/${hash}`;

  /** Opens the page, lets `look` look at it, and sees that nothing went wrong behind the scenes. */
  async function visit(hash: string, look: (page: Page) => Promise<void>, options: Parameters<Browser['newPage']>[0] = {}): Promise<void> {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
    const problems: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('request', (request) => {
      if (!request.url().startsWith(server.url)) problems.push(`asks for ${request.url()}`);
    });
    try {
      await page.goto(address(hash));
      await look(page);
    } finally {
      await page.close();
    }
    assert.deepEqual(problems, []);
  }

  test('opens the example and shows what the model sees at its end', () => visit(EXAMPLE, async (page) => {
    await page.getByRole('heading', { name: 'What the model sees after event 253, the last' }).waitFor();
    const facts = page.getByRole('region', { name: 'About this log' });
    assert.match(await facts.innerText(), /slug-example[\s\S]*254 events, 3 turns, 43\.7 kB[\s\S]*\/home\/ada\/slug/);
    assert.equal(await page.locator('#integrity').innerText(), 'Whole: every line is complete, and no turn is open.');
    assert.equal(await countOf(page), '15 messages');
    assert.equal(await page.locator('.message').count(), 15);
    assert.match(await page.locator('.message').first().innerText(), /in place of events 1 to 111, 11 sources[\s\S]*<compacted-summary>/);
    assert.match(await page.locator('.message').last().innerText(), new RegExp(`assistant[\\s\\S]*#251[\\s\\S]*${escape(LAST_ANSWER)}`));
    assert.equal(await page.title(), 'example.jsonl · palimpsest');
  }));

  test('shows the messages and the request header as of any event', () => visit(EXAMPLE, async (page) => {
    await ready(page);
    assert.equal(await page.getByText(FIRST_ANSWER).count(), 0, 'the compaction has replaced it');
    await page.getByRole('listbox', { name: 'Events' }).press('Home');
    await page.getByRole('option', { name: '1 user/message' }).first().waitFor();
    assert.equal(await countOf(page), '0 messages');

    await page.getByRole('option', { name: /^1 replaced user\/message|^1 user\/message/ }).click();
    await page.getByRole('heading', { name: 'after event 1' }).waitFor();
    assert.deepEqual(await page.locator('.message .text').allInnerTexts(), ['The tests of slug.js fail. Please fix it.']);
    await page.getByText('Request header in force').click();
    await page.getByText('No request header was logged up to here.').waitFor();

    await go(page, 113);
    assert.equal(await countOf(page), '10 messages');
    assert.match(await page.locator('.message').last().innerText(), new RegExp(escape(FIRST_ANSWER)));
    assert.deepEqual(await page.locator('.tools code').allInnerTexts(), ['read_file', 'edit_file', 'run_tests']);
    assert.match(await page.locator('.header-view').innerText(), /"maxTokens": 1024[\s\S]*You are a coding agent\.\nWork in small steps/);

    await go(page, 190);
    assert.deepEqual(await page.locator('.tools code').allInnerTexts(), ['read_file', 'edit_file', 'run_tests', 'write_file']);
    assert.match(await page.locator('.header-view').innerText(), /"maxTokens": 2048/);
    assert.equal(await page.locator('.row[aria-selected=true]').getAttribute('data-seq'), '190');
  }));

  test('takes quick clicks on one place as clicks, and a drag as a selection of text', () => visit(EXAMPLE, async (page) => {
    await ready(page);
    await page.getByRole('listbox').press('Home');
    const box = await page.locator('.row[data-seq="29"] .summary').boundingBox();
    assert.ok(box);
    const { x, y } = box;
    await page.mouse.dblclick(x + 20, y + 8);
    await page.getByRole('heading', { name: 'after event 29' }).waitFor();
    await page.mouse.move(x + 2, y + 60);
    await page.mouse.down();
    await page.mouse.move(x + 90, y + 60, { steps: 4 });
    await page.mouse.up();
    assert.notEqual(await page.evaluate(() => getSelection()?.toString()), '');
    await page.getByRole('heading', { name: 'after event 29' }).waitFor();
    await page.mouse.click(x + 20, y + 34);
    await page.mouse.click(x + 20, y + 60);
    await page.getByRole('heading', { name: 'after event 31' }).waitFor();
  }));

  test('goes through the events by keyboard, chunks only when asked for', () => visit(EXAMPLE, async (page) => {
    await ready(page);
    const chosen = async (): Promise<number> => Number(await page.locator('.row[aria-selected=true]').getAttribute('data-seq'));
    const press = async (...keys: string[]): Promise<number> => {
      for (const key of keys) await page.keyboard.press(key);
      return chosen();
    };
    assert.equal(await press('k', 'k'), 251, 'without a focus');
    assert.equal(await press('j'), 252);
    await page.getByRole('listbox', { name: 'Events' }).focus();
    assert.equal(await press('ArrowUp', 'ArrowUp'), 232, 'the chunks are folded');
    assert.equal(await page.getByRole('listbox').getAttribute('aria-activedescendant'), 'event-232');
    await page.getByLabel('184 stream chunks').check();
    assert.equal(await chosen(), 232);
    await page.getByRole('listbox', { name: 'Events' }).focus();
    assert.equal(await press('ArrowDown'), 233);
    assert.equal(await press('Home'), 0);
    assert.equal(await press('End', 'PageUp', 'PageDown'), 253);
    await page.waitForURL(/#log=example\.jsonl&seq=253$/);
  }));

  test('opens at the event that a link names, even a folded chunk', () => visit(`${EXAMPLE}&seq=60`, async (page) => {
    await page.getByRole('heading', { name: 'What the model sees after event 60' }).waitFor();
    assert.equal(await page.locator('.row[aria-selected=true]').getAttribute('data-seq'), '60');
    assert.equal(await countOf(page), '5 messages');
  }));

  test('opens a picked file, and says that it is torn and open', () => visit('', async (page) => {
    await page.getByRole('heading', { name: 'Drop a session log here' }).waitFor();
    const bytes = await readFile(join(WWW, 'public/example.jsonl'));
    await page.getByLabel('Open a log file').setInputFiles({ name: 'cut.jsonl', mimeType: '', buffer: bytes.subarray(0, indexOfSeq(bytes, 163) + 20) });
    await page.getByRole('heading', { name: 'after event 162, the last' }).waitFor();
    assert.equal(await page.locator('#integrity').innerText(), 'The last line is torn: its 20 bytes were never acknowledged and are left out. The last turn is open: a load would close it by tool/result, step/end, turn/end.');
    assert.equal(await page.locator('#name').innerText(), 'cut.jsonl');
  }));

  test('opens a dropped file', () => visit(EXAMPLE, async (page) => {
    await ready(page);
    await drop(page, '1.jsonl', await readFile(join(VECTORS, '1.jsonl')));
    await page.getByRole('heading', { name: 'after event 115, the last' }).waitFor();
    assert.match(await page.getByRole('region', { name: 'About this log' }).innerText(), /vec-1\b[\s\S]*116 events/);
    const { messages } = (JSON.parse(await readFile(join(VECTORS, '1.expected.json'), 'utf8')) as { prefixes: { messages: unknown[] }[] }).prefixes.at(-1) ?? { messages: [] };
    assert.equal(await page.locator('.message:not(.prefix)').count(), messages.length);
    assert.equal(page.url(), address(), 'a file has no link');
  }));

  test('shows the right number of messages after each event of some vectors', async (context) => {
    let events = 0;
    for (const n of [0, 1, 6, 12, 21]) {
      const expected = JSON.parse(await readFile(join(VECTORS, `${n}.expected.json`), 'utf8')) as { prefixes: { n: number; messages: unknown[] }[] };
      await visit(`#log=logs/${n}.jsonl`, async (page) => {
        await ready(page);
        const chunks = page.locator('#chunks');
        if (await chunks.count() > 0) await chunks.check();
        const found = await page.evaluate(async (count) => {
          const shown: number[] = [];
          const list = document.querySelector('.rows');
          const press = (key: string): void => { list?.dispatchEvent(new KeyboardEvent('keydown', { key })); };
          press('Home');
          for (let seq = 0; seq < count; seq++) {
            if (document.querySelector(`.row[data-seq="${seq}"]`)?.getAttribute('aria-selected') !== 'true') throw new Error(`event ${seq} is not chosen`);
            while (document.querySelector<HTMLElement>('.message-list > .more')?.hidden === false) document.querySelector<HTMLElement>('.message-list > .more')?.click();
            shown.push(document.querySelectorAll('.message:not(.prefix)').length);
            press('ArrowDown');
          }
          return Promise.resolve(shown);
        }, Math.max(...expected.prefixes.map((prefix) => prefix.n)));
        events += found.length;
        const prefixes = expected.prefixes.filter((prefix) => prefix.n > 0);
        assert.deepEqual(prefixes.map((prefix) => found[prefix.n - 1]), prefixes.map(({ messages }) => messages.length), `vector ${n}`);
      });
    }
    context.diagnostic(`${events} events`);
  });

  test('says what is wrong with a damaged log, and where', () => visit('', async (page) => {
    const bytes = await readFile(join(VECTORS, '1.jsonl'));
    const broken = Buffer.concat([bytes.subarray(0, indexOfSeq(bytes, 4) - 4), bytes.subarray(indexOfSeq(bytes, 4))]);
    await page.getByLabel('Open a log file').setInputFiles({ name: 'broken.jsonl', mimeType: '', buffer: broken });
    const alert = page.getByRole('alert');
    await alert.waitFor();
    assert.match(await alert.innerText(), /This log cannot be opened\s+broken\.jsonl\s+CORRUPT_LOG broken\.jsonl, seq 3, line 5, byte 594: /);
    await page.screenshot({ path: join(SCREENSHOTS, 'damaged-light-1280.png') });
    for (const [name, text, code] of [
      ['empty.jsonl', '', 'INVALID_HEADER'],
      ['other.jsonl', '{"type":"session","version":7,"id":"x","createdAt":1}\n', 'UNSUPPORTED_VERSION'],
      ['photo.png', '\x89PNG\r\n\x1a\n\0\0\0', 'INVALID_HEADER'],
    ] as const) {
      await page.getByLabel('Open a log file').setInputFiles({ name, mimeType: '', buffer: Buffer.from(text, 'latin1') });
      await alert.filter({ hasText: name }).waitFor();
      assert.match(await alert.innerText(), new RegExp(`${code} `), name);
    }
    await page.getByRole('link', { name: 'Example', exact: true }).click();
    await ready(page);
    assert.equal(await alert.count(), 0);
  }));

  test('refuses links to other sites, and names a link that is gone', async () => {
    await visit('#log=https://example.com/log.jsonl', async (page) => {
      assert.match(await page.getByRole('alert').innerText(), /is on another site/);
    });
    await visit('#log=data:text/plain,x', async (page) => {
      assert.match(await page.getByRole('alert').innerText(), /is on another site/);
    });
    const page = await browser.newPage();
    await page.goto(address('#log=none.jsonl'));
    assert.match(await page.getByRole('alert').innerText(), /none\.jsonl cannot be fetched: 404/);
    await page.close();
  });

  test('shows hostile content as text and runs none of it', () => visit('', async (page) => {
    const attack = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script><b>bold</b>';
    const session = hostile(attack);
    await pick(page, session);
    await page.getByRole('heading', { name: `after event ${session.seq - 1}, the last` }).waitFor();
    await page.getByText('as it is stored').click();
    await page.getByText('Request header in force').click();
    await page.getByLabel('1 stream chunk').check();
    for (const seq of session.events.keys()) {
      await go(page, seq);
      assert.equal(await page.locator('main img:not([role]), main script, main b, main iframe, main svg').count(), 0);
    }
    assert.equal(await page.locator('.message .text').first().innerText(), attack);
    assert.ok((await page.getByRole('region', { name: 'About this log' }).innerText()).includes(attack), 'the id of the session');
    assert.ok((await page.getByRole('listbox').innerText()).includes(`x/${attack}`), 'an event type');
    assert.match(await page.title(), /^hostile\.jsonl/);
  }));

  test('shows numbers, escapes and deep nesting as they are stored', () => visit('', async (page) => {
    const header = '{"type":"session","version":0,"id":"exact","createdAt":1}\n';
    const lines = [
      '{"type":"x/exact","seq":0,"time":2,"data":{"n":9007199254740993,"b":1,"a":"\\ud83d\\u0000","__proto__":{"c":[]}}}\n',
      `{"type":"x/deep","seq":1,"time":2,"data":${'['.repeat(3000)}${']'.repeat(3000)}}\n`,
      '{"type":"x/odd","seq":2,"time":1e300,"data":null}\n',
    ];
    await page.getByLabel('Open a log file').setInputFiles({ name: 'exact.jsonl', mimeType: '', buffer: Buffer.from(header + lines.join('')) });
    await page.getByRole('heading', { name: 'the last' }).waitFor();
    await page.getByText('as it is stored').click();
    await go(page, 0);
    const stored = await page.locator('.fold[open] .code').innerText();
    assert.equal(stored.replace(/\n */g, '').replaceAll('": ', '":'), lines[0]?.trimEnd());
    await go(page, 1);
    assert.match(await page.locator('.fold[open] .code').innerText(), /x\/deep[\s\S]*\[\n +\[\n/);
  }));

  test('stays quick on 100,000 events and on a message of 12 million characters', async (context) => {
    const session = large(100_000);
    await writeFile(join(made, 'large.jsonl'), bytesOf(session));
    const start = performance.now();
    await visit('#log=made/large.jsonl', async (page) => {
      await page.getByRole('heading', { name: 'after event 100002, the last' }).waitFor();
      context.diagnostic(`opened in ${Math.round(performance.now() - start)} ms`);
      assert.match(await page.locator('.message').last().innerText(), /Show 100,000 of 11,998,000 more characters/);
      await page.getByLabel('99,998 stream chunks').check();
      await page.getByRole('listbox').focus();
      const delays = await page.evaluate(async () => {
        const list = document.querySelector('.rows');
        const found: number[] = [];
        for (const key of ['Home', 'PageDown', 'ArrowDown', 'End', 'PageUp', 'Home', 'End']) {
          const before = performance.now();
          list?.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
          await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
          found.push(performance.now() - before);
        }
        return found;
      });
      context.diagnostic(`slowest key: ${Math.round(Math.max(...delays))} ms`);
      assert.ok(Math.max(...delays) < 1_000);
      assert.ok(await page.locator('.row').count() < 100, 'only the rows in sight exist');
      assert.equal(await page.locator('.row').last().getAttribute('data-seq'), '100002');
    });
  });

  test('names all its controls and can be read in both themes', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await visit(EXAMPLE, async (page) => {
        await ready(page);
        await page.getByText('as it is stored').click();
        await page.getByText('Request header in force').click();
        const unnamed = await page.locator('button, input, a, summary, progress, [role=listbox], [role=region], [tabindex]').evaluateAll((controls) =>
          controls.filter((control) => !(control.getAttribute('aria-label') ?? control.getAttribute('aria-labelledby') ?? (control as HTMLInputElement).labels?.[0]?.textContent ?? control.textContent)).map((control) => control.outerHTML));
        assert.deepEqual(unnamed, []);
        assert.equal(await page.locator('h1').count(), 1);
        assert.equal(await page.locator('html').getAttribute('lang'), 'en');
        assert.deepEqual(await page.evaluate(lowContrast), [], colorScheme);
      }, { colorScheme });
    }
  });

  test('reaches every control by Tab, with the focus visible', () => visit(EXAMPLE, async (page) => {
    await ready(page);
    const reached: string[] = [];
    for (let n = 0; n < 9; n++) {
      await page.keyboard.press('Tab');
      reached.push(await page.evaluate(() => {
        const at = document.activeElement;
        const ring = at?.id === 'file' ? at.previousElementSibling : at;
        const name = at?.id === '' ? (at.getAttribute('class') ?? at.textContent) : String(at?.id);
        return ring && getComputedStyle(ring).outlineStyle === 'solid' ? name : `${name} without a ring`;
      }));
    }
    assert.deepEqual(reached.slice(0, 5), ['file', 'example', '16 event types', 'chunks', 'rows']);
    assert.deepEqual(reached.filter((name) => name.endsWith('ring')), []);
  }));

  for (const [width, height] of [[390, 844], [1280, 800], [2560, 1440]] as const) {
    for (const colorScheme of ['light', 'dark'] as const) {
      test(`fits ${width} pixels, ${colorScheme}`, () => visit(`${EXAMPLE}&seq=190`, async (page) => {
        await ready(page);
        if (width === 1280) await page.getByText('Request header in force').click();
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.equal(overflow, 0);
        await page.screenshot({ path: join(SCREENSHOTS, `example-${colorScheme}-${width}.png`), fullPage: true });
        await page.goto(address());
        await page.reload();
        await page.getByRole('heading', { name: 'Drop a session log here' }).waitFor();
        await page.screenshot({ path: join(SCREENSHOTS, `welcome-${colorScheme}-${width}.png`) });
      }, { viewport: { width, height }, colorScheme }));
    }
  }

  test('opens the example in Firefox', async () => {
    const firefox = await launchFirefox();
    try {
      const page = await firefox.newPage();
      await page.goto(address(EXAMPLE));
      await page.waitForSelector('.message');
      const last = await page.$$eval('.message', (messages) => messages.at(-1)?.textContent ?? '');
      assert.ok(last.includes(LAST_ANSWER), last);
    } finally {
      await firefox.close();
    }
  });
});

async function ready(page: Page): Promise<void> {
  await page.getByRole('heading', { name: 'What the model sees after event' }).waitFor();
}

function countOf(page: Page): Promise<string> {
  return page.locator('.model .pane-head .quiet').innerText();
}

/** Chooses an event in sight or not, as a reader would who knows its number. */
async function go(page: Page, seq: number): Promise<void> {
  await page.getByRole('listbox').press('Home');
  for (let n = 0; n < 500 && (await page.locator(`.row[data-seq="${seq}"]`).count()) === 0; n++) await page.getByRole('listbox').press('PageDown');
  await page.locator(`.row[data-seq="${seq}"]`).click();
  await page.getByRole('heading', { name: new RegExp(`after event ${seq}(,|$)`) }).waitFor();
}

function pick(page: Page, session: Session): Promise<void> {
  return page.getByLabel('Open a log file').setInputFiles({ name: 'hostile.jsonl', mimeType: '', buffer: bytesOf(session) });
}

function bytesOf(session: Session): Buffer {
  return Buffer.concat([session.headerLine(), session.jsonl()]);
}

async function drop(page: Page, name: string, bytes: Uint8Array): Promise<void> {
  const transfer = await page.evaluateHandle(([file, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([Uint8Array.from(atob(text), (char) => char.charCodeAt(0))], file));
    return data;
  }, [name, Buffer.from(bytes).toString('base64')] as const);
  await page.dispatchEvent('body', 'dragover', { dataTransfer: transfer });
  await page.dispatchEvent('body', 'drop', { dataTransfer: transfer });
}

/** Every place where a log can hold a text, holding `attack`. */
function hostile(attack: string): Session {
  const session = new SessionStore().create(attack, { meta: { cwd: `/${attack}` } });
  const text = { type: 'text', text: attack } as const;
  const widened = (type: string, data: unknown): SessionEvent => session.append(type as 'turn/start', data as never);
  session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } });
  session.append('user/message', { content: [text], source: { kind: 'user' } }, { surfaceOp: 'append' });
  session.append('step/start', { turn: 1, step: 1 });
  session.recordRequestHeader({ config: { model: attack, [attack]: attack }, system: attack, tools: [{ name: attack, description: attack, parameters: { [attack]: attack } }], messagePrefix: [{ role: 'user', content: [text] }] });
  const chunk = session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', index: 0, text: attack } });
  const odd = [null, 7, attack, [attack], { type: attack, [attack]: attack }, { type: 'text', text: { a: attack } }, { type: 'tool-result', content: attack }] as never[];
  session.append('assistant/message', { turn: 1, step: 1, content: [{ type: 'reasoning', text: attack }, { type: 'tool-call', id: attack, name: attack, arguments: attack }, ...odd] }, { surfaceOp: 'append', sourceEventSeqs: [chunk.seq] });
  const called = session.append('tool/call', { turn: 1, step: 1, callId: attack, name: attack, arguments: attack });
  session.append('tool/result', { turn: 1, step: 1, callId: attack, content: [text], isError: true }, { surfaceOp: 'append', sourceEventSeqs: [called.seq] });
  session.append('context/message', { content: [text], source: { kind: attack } as never }, { surfaceOp: 'append' });
  widened(`x/${attack}`, { [attack]: attack, ['__proto__']: attack });
  widened('constructor', null);
  widened('turn/end', attack);
  return session;
}

function large(chunks: number): Session {
  const session = new SessionStore().create('large');
  session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } });
  session.append('user/message', { content: [{ type: 'text', text: 'Count.' }], source: { kind: 'user' } }, { surfaceOp: 'append' });
  session.append('step/start', { turn: 1, step: 1 });
  for (let n = 2; n < chunks; n++) session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', index: 0, text: ` ${n}` } });
  session.append('assistant/message', { turn: 1, step: 1, content: [{ type: 'text', text: 'long '.repeat(2_400_000) }] }, { surfaceOp: 'append' });
  session.append('step/end', { turn: 1, step: 1 });
  return session;
}

/** Byte offset of the line of event `seq`. */
function indexOfSeq(log: Buffer, seq: number): number {
  return log.lastIndexOf('\n', log.indexOf(`"seq":${seq},`)) + 1;
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

/** Runs in the page: texts whose contrast with what is behind them is below that of WCAG AA. */
function lowContrast(): string[] {
  const channels = (color: string): number[] => (color.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = (color: string): number => {
    const [r = 0, g = 0, b = 0] = channels(color).map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element: Element | null): string => {
    const color = element ? getComputedStyle(element).backgroundColor : 'rgb(255, 255, 255)';
    return channels(color)[3] === 0 ? behind(element?.parentElement ?? null) : color;
  };
  return [...document.querySelectorAll('body *')].flatMap((element) => {
    const text = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.textContent?.trim()).join('');
    if (text === '' || !element.checkVisibility()) return [];
    const [one, other] = [luminance(getComputedStyle(element).color), luminance(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    return contrast < 4.5 ? [`${contrast.toFixed(2)}: ${element.className} ${text.slice(0, 40)}`] : [];
  });
}
