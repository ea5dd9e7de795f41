// Logs that were made to do harm: they show themselves, and do nothing.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { SessionStore, type Session, type SessionEvent } from 'palimpsest';
import type { Page } from 'playwright-core';
import { goTo, isOpen, pick, show, texts, Viewer } from '../support/viewer.js';

const ATTACK = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script><b>bold</b>';
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" onload="document.title='owned'"><script>document.title='owned'</script></svg>`;
const MARKDOWN = [
  '[a link](javascript:document.title="owned") and [another](data:text/html,<script>document.title="owned"</script>) and [one](https://example.com/)',
  '![an image](https://example.com/track.png) ![svg](data:image/svg+xml;base64,' + Buffer.from(SVG).toString('base64') + ')',
  ATTACK,
  `<style>body{display:none}</style><iframe srcdoc="${ATTACK}"></iframe><form action="https://example.com"><input></form>`,
  '```html\n' + ATTACK + '\n```',
  '<a href="x" onclick="document.title=1">click</a>',
].join('\n\n');
/** The views, each with what is there once it has its answer. */
const VIEWS: Readonly<Record<string, string>> = {
  Timeline: '.row .summary',
  Conversation: '.said-message, .seam',
  'Model view': '#model-head, .notice',
  Strata: '#inside, .strata-body p, .notice',
  Forks: '.family',
  Numbers: '.tool-numbers',
  Search: '#search-text',
  Integrity: '#finding-count',
  'Take away': '.take-body',
  'Try it': '.try',
};

suite('hostile logs', () => {
  let viewer: Viewer;
  before(async () => { viewer = await Viewer.open(); });
  after(() => viewer[Symbol.asyncDispose]());

  test('script in texts, markdown, images, tool names, ids and names of fields', () => viewer.visit('', async (page) => {
    const session = hostile();
    await pick(page, `<b>${'x'.repeat(40)}.jsonl`, bytesOf(session));
    await isOpen(page);
    for (const [view, there] of Object.entries(VIEWS)) {
      await show(page, view);
      await page.locator(there).first().waitFor({ state: 'attached' });
      assert.deepEqual(await harm(page), [], view);
    }
    await show(page, 'Conversation');
    await page.locator('.said-message .markdown').first().waitFor();
    const said = (await texts(page, '.said-message')).join('\n');
    assert.ok(said.includes(ATTACK), 'it is shown as it is written');
    const links = await page.locator('.markdown a').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
    assert.deepEqual(links.slice(0, 3), [null, null, 'https://example.com/']);
    assert.deepEqual(links.filter((href) => href !== null && !href.startsWith('https://example.com')), []);
    assert.match(said, /\[image: an image\]/);
    assert.equal(await page.locator('.markdown img, .said-message img').count(), 0, 'no image but raster data');
    assert.ok(said.includes('<svg xmlns='), 'an SVG image is text');
    await show(page, 'Timeline');
    for (const seq of session.events.keys()) {
      await goTo(page, seq);
      await page.locator('#detail h2', { hasText: `#${seq}` }).waitFor();
      await page.locator('#detail details').evaluateAll((folds: HTMLDetailsElement[]) => { for (const fold of folds) fold.open = true; });
      assert.deepEqual(await harm(page), [], `event ${seq}`);
    }
    await show(page, 'Model view');
    await page.getByRole('tab', { name: 'System, tools, config' }).click();
    assert.ok((await page.locator('.header-view').innerText()).includes(ATTACK));
    assert.deepEqual(await harm(page), []);
  }));

  test('names of prototypes are names like any other', () => viewer.visit('', async (page) => {
    const header = '{"type":"session","version":0,"id":"__proto__","createdAt":1}\n';
    const lines = [
      '{"type":"__proto__","seq":0,"time":2,"data":{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}}}}\n',
      '{"type":"constructor","seq":1,"time":2,"data":null}\n',
      '{"type":"hasOwnProperty","seq":2,"time":1e300,"data":{"toString":1,"n":9007199254740993,"a":"\\ud83d\\u0000"}}\n',
    ];
    await pick(page, 'proto.jsonl', Buffer.from(header + lines.join('')));
    await isOpen(page);
    assert.deepEqual((await texts(page, '.row .type')).map((type) => type.trim()), ['__proto__', 'constructor', 'hasOwnProperty']);
    assert.equal(await page.evaluate(() => ({} as { polluted?: string }).polluted), undefined);
    await page.locator('#detail .stored .code').waitFor();
    assert.equal((await page.locator('#detail .stored .code').innerText()).replace(/\n */g, '').replaceAll('": ', '":'), lines[2]?.trimEnd(), 'numbers and escapes as they are stored');
    for (const type of ['__proto__', 'constructor']) {
      await page.getByLabel('Event type').selectOption(type);
      await page.locator('.shown-count', { hasText: '1 shown' }).waitFor();
    }
    await show(page, 'Search');
    await page.locator('#search-text').fill('yes');
    await page.locator('#search-status', { hasText: '2 matches in 1 event' }).waitFor();
  }));

  test('a line of 12 million characters, and 3,000 nested arrays', () => viewer.visit('', async (page) => {
    const session = new SessionStore().create('large');
    session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } });
    session.append('user/message', { content: [{ type: 'text', text: 'long '.repeat(2_400_000) }], source: { kind: 'user' } }, { surfaceOp: 'append' });
    const widened = (type: string, data: unknown): SessionEvent => session.append(type as 'turn/start', data as never);
    widened('x/deep', JSON.parse('['.repeat(3000) + ']'.repeat(3000)));
    session.append('context/message', { content: [JSON.parse(`{"type":"x/deep","a":${'['.repeat(3000)}${']'.repeat(3000)}}`) as never], source: { kind: 'user' } }, { surfaceOp: 'append' });
    session.append('turn/end', { turn: 1, reason: { kind: 'completed' } });
    await pick(page, 'large.jsonl', bytesOf(session));
    await isOpen(page);
    await page.locator('.row[data-seq="1"]', { hasText: 'long long' }).waitFor();
    await goTo(page, 1);
    await page.locator('#detail').getByText('Show 100,000 of 11,998,000 more characters').first().waitFor();
    await goTo(page, 2);
    await page.locator('#detail .stored .code').getByText('[').first().waitFor();
    await show(page, 'Conversation');
    await page.locator('.said-message[data-seq="3"]').waitFor({ state: 'attached' });
    await show(page, 'Model view');
    await goTo(page, 4);
    await page.locator('.message[data-seq="3"]').waitFor({ state: 'attached' });
    await show(page, 'Search');
    await page.locator('#search-text').fill('long long');
    await page.locator('#search-status', { hasText: /^1,200,000 matches in 1 event$/ }).waitFor();
    await show(page, 'Integrity');
    await page.locator('#finding-count').waitFor();
  }));

  test('fields that are missing or of another kind', () => viewer.visit('', async (page) => {
    const odd = ['null', '7', '"x"', '[]', '{}', '{"content":7}', '{"content":[null,7,"x",[],{},{"type":7},{"type":"text"},{"type":"text","text":{}},{"type":"tool-call"},{"type":"tool-result","content":9}]}', '{"turn":"x","step":-1,"callId":{},"name":[],"arguments":5}', '{"turn":1e308,"usage":{"inputTokens":-5,"outputTokens":"x"}}', '{"header":7,"reason":[]}'];
    const types = ['turn/start', 'step/start', 'user/message', 'assistant/message', 'assistant/chunk', 'tool/call', 'tool/result', 'request/header', 'request/header-delta', 'compact/summary', 'compact/end', 'turn/end', 'todo/write'];
    const lines = types.flatMap((type) => odd.map((data) => ({ type, data }))).map(({ type, data }, seq) => `{"type":"${type}","seq":${seq},"time":${seq % 3 === 0 ? '-1' : '5'},"data":${data}${seq % 2 === 0 ? ',"surfaceOp":{"op":"replace","start":"a","end":{}}' : ''}}\n`);
    await pick(page, 'odd.jsonl', Buffer.from(`{"type":"session","version":0,"id":"odd","createdAt":1}\nnull\n"text"\n{}\n${lines.join('')}\u0000\u0000\n{"type":"x","seq":1e99,"time":0,"data":0}\n`));
    await isOpen(page);
    for (const [view, there] of Object.entries(VIEWS)) {
      await show(page, view);
      await page.locator(there).first().waitFor({ state: 'attached' });
    }
    await show(page, 'Timeline');
    await page.getByRole('tree').focus();
    await page.keyboard.press('Home');
    for (let n = 0; n < 30; n++) await page.keyboard.press('j');
    await page.locator('.row.chosen').waitFor();
    assert.equal(await page.locator('#detail .bad-text').count(), 0);
  }));
});

/** What a log has managed to do to the page. */
function harm(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    if (document.title.includes('owned')) found.push('the title');
    for (const element of document.querySelectorAll('#app script, #app iframe, #app object, #app embed, #app style, #app link, #app base, #app svg, #app b, #app form[action]')) found.push(element.outerHTML.slice(0, 100));
    for (const element of document.querySelectorAll('#app *')) for (const { name, value } of element.attributes) if (/^on/i.test(name) || /^\s*javascript:/i.test(value)) found.push(`${element.tagName} ${name}`);
    for (const image of document.querySelectorAll<HTMLImageElement>('#app img')) if (!/^data:image\/(png|jpeg|gif|webp)/.test(image.src)) found.push(image.src);
    return found;
  });
}

function bytesOf(session: Session): Buffer {
  return Buffer.concat([session.headerLine(), session.jsonl()]);
}

/** Every place where a log can hold a text, holding an attack. */
function hostile(): Session {
  const session = new SessionStore().create(ATTACK, { meta: { cwd: `/${ATTACK}` } });
  const text = { type: 'text', text: ATTACK } as const;
  const widened = (type: string, data: unknown): SessionEvent => session.append(type as 'turn/start', data as never);
  session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } });
  session.append('user/message', { content: [{ type: 'text', text: MARKDOWN }, { type: 'image', mediaType: 'image/svg+xml', data: Buffer.from(SVG).toString('base64') } as never, { type: 'image', url: `data:image/svg+xml,${SVG}` } as never, { type: 'image', image_url: { url: 'https://example.com/x.png' } } as never], source: { kind: 'user' } }, { surfaceOp: 'append' });
  session.append('step/start', { turn: 1, step: 1 });
  session.recordRequestHeader({ config: { model: ATTACK, [ATTACK]: ATTACK }, system: ATTACK, tools: [{ name: ATTACK, description: ATTACK, parameters: { [ATTACK]: ATTACK } }], messagePrefix: [{ role: 'user', content: [text] }] });
  const chunk = session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', index: 0, text: ATTACK } });
  const odd = [null, 7, ATTACK, [ATTACK], { type: ATTACK, [ATTACK]: ATTACK }, { type: 'text', text: { a: ATTACK } }, { type: 'tool-result', content: ATTACK }] as never[];
  session.append('assistant/message', { turn: 1, step: 1, content: [{ type: 'reasoning', text: ATTACK }, { type: 'tool-call', id: ATTACK, name: ATTACK, arguments: JSON.stringify({ path: ATTACK, old_string: ATTACK, new_string: SVG }) }, { type: 'tool-call', id: 'x', name: ATTACK, arguments: ATTACK }, ...odd] }, { surfaceOp: 'append', sourceEventSeqs: [chunk.seq] });
  const called = session.append('tool/call', { turn: 1, step: 1, callId: ATTACK, name: ATTACK, arguments: ATTACK });
  session.append('tool/result', { turn: 1, step: 1, callId: ATTACK, content: [text, { type: 'text', text: SVG }], isError: true, error: { name: ATTACK, code: ATTACK } }, { surfaceOp: 'append', sourceEventSeqs: [called.seq] });
  session.append('context/message', { content: [text], source: { kind: ATTACK } as never }, { surfaceOp: 'append' });
  widened(`x/${ATTACK}`, { [ATTACK]: ATTACK, ['__proto__']: ATTACK });
  session.append('step/end', { turn: 1, step: 1 });
  widened('turn/end', { turn: 1, reason: { kind: ATTACK, message: ATTACK } });
  return session;
}
