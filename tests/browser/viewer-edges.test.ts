// Logs at the edges of what is usual: nothing in them, words without a break, text from right to left, a turn that failed.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { SessionStore, type Session } from 'palimpsest';
import type { Locator, Page } from 'playwright-core';
import { isOpen, pick, show, Viewer } from '../support/viewer.js';

const ARABIC = 'مرحبا، كيف يمكنني مساعدتك اليوم؟ هذا نص طويل باللغة العربية لاختبار الاتجاه، وهو أطول من كل سطر في القائمة، ولذلك يُقطع في نهايته.';
const user = { kind: 'user' } as const;

suite('edges', () => {
  let viewer: Viewer;
  before(async () => { viewer = await Viewer.open(); });
  after(() => viewer[Symbol.asyncDispose]());

  const opened = async (page: Page, session: Session): Promise<void> => {
    await pick(page, `${session.id}.jsonl`, Buffer.concat([session.headerLine(), session.jsonl()]));
    await page.locator('#name', { hasText: session.id }).waitFor();
    await isOpen(page);
  };

  test('a log without an event says so in every view, and offers no strip and no filters of nothing', () => viewer.visit('', async (page) => {
    await opened(page, new SessionStore().create('empty'));
    await page.getByText('This log holds no event.').waitFor();
    assert.equal(await page.locator('.strip, .filters').count(), 0);
    for (const [view, words] of [['Conversation', 'Nothing was said in this log.'], ['Model view', 'This log holds no event yet.'], ['Strata', 'Nothing was replaced in this log'], ['Numbers', 'there are no tokens to count'], ['Integrity', 'Every line is complete']] as const) {
      await show(page, view);
      await page.getByText(words).waitFor();
    }
  }));

  test('why a turn failed stands in its row, in its details and in the conversation', () => viewer.visit('', async (page) => {
    const session = turn('failed', 'Go on.');
    session.append('turn/end', { turn: 1, reason: { kind: 'error', message: 'the provider answered 529: overloaded' } as never });
    await opened(page, session);
    await page.locator('.row.chosen .summary', { hasText: 'turn 1: error: the provider answered 529: overloaded' }).waitFor();
    await page.locator('#detail .detail-reason.bad-text', { hasText: 'error: the provider answered 529: overloaded' }).waitFor();
    assert.match(await page.locator('#detail .detail-head').innerText(), /\d\d:\d\d:\d\d, turn 1, [\d.]+ (?:bytes|kB)/);
    await show(page, 'Conversation');
    await page.locator('.seam.failed', { hasText: 'The turn ended: error: the provider answered 529: overloaded' }).waitFor();
  }));

  test('a log that loads and breaks rules is not called whole', () => viewer.visit('', async (page) => {
    const session = turn('broken', 'Call it.');
    session.append('step/start', { turn: 1, step: 1 });
    session.append('assistant/message', { turn: 1, step: 1, content: [{ type: 'tool-call', id: 'a', name: 'run', arguments: '{}' }] }, { surfaceOp: 'append' });
    session.append('step/end', { turn: 1, step: 1 });
    session.append('turn/end', { turn: 1, reason: { kind: 'completed' } });
    await opened(page, session);
    await show(page, 'Integrity');
    await page.locator('#integrity', { hasText: 'Opens. It can be loaded and gone on with, although rules are broken' }).waitFor();
    assert.match(await page.locator('.findings li').first().innerText(), /no result \(see #/);
  }));

  test('text from right to left begins at its beginning, also where it is cut; code stays as it is', () => viewer.visit('', async (page) => {
    const session = turn('arabic', `${ARABIC}\n\nIn English.\n\n\`\`\`js\nconst greeting = "${ARABIC}";\n\`\`\``);
    session.append('turn/end', { turn: 1, reason: { kind: 'completed' } });
    await opened(page, session);
    const summary = page.locator('.row[data-seq="1"] .summary bdi');
    await summary.waitFor();
    assert.ok(await summary.evaluate((node) => node.scrollWidth > node.clientWidth), 'it is longer than its place');
    assert.ok(await firstIsInside(summary), 'the first letter is in sight');
    await show(page, 'Conversation');
    const message = page.locator('.said-message .markdown');
    const [arabic, english, code] = [message.locator('p').first(), message.locator('p').last(), message.locator('pre')];
    await code.waitFor();
    const box = (await message.boundingBox())!;
    const [first, second, third] = await Promise.all([arabic, english, code].map(firstLetter));
    assert.ok(first! > box.x + box.width / 2, 'a paragraph from the right');
    assert.ok(second! < box.x + box.width / 2, 'a paragraph from the left');
    assert.ok(third! < box.x + box.width / 2, 'code from the left');
  }));

  test('words without a break stay within their place, at any width', () => viewer.visit('', async (page) => {
    const word = 'x'.repeat(900);
    const session = turn(`words`, `${word} \`${word}\`\n\n# ${word}\n\n- ${word}\n\n> ${word}`);
    session.append('step/start', { turn: 1, step: 1 });
    session.append('assistant/message', { turn: 1, step: 1, content: [{ type: 'tool-call', id: word, name: word, arguments: JSON.stringify({ path: word }) }] }, { surfaceOp: 'append' });
    const { seq } = session.append('tool/call', { turn: 1, step: 1, callId: word, name: word, arguments: '{}' });
    session.append('tool/result', { turn: 1, step: 1, callId: word, content: [{ type: 'text', text: word }], isError: true }, { surfaceOp: 'append', sourceEventSeqs: [seq] });
    await opened(page, session);
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 });
      for (const [view, there] of [['Timeline', '.row'], ['Conversation', '.said-message'], ['Model view', '.message']] as const) {
        await show(page, view);
        await page.locator(there).last().waitFor();
        const wide = await page.evaluate(() => [...document.querySelectorAll('.said-message *, .message *')].filter((node) => getComputedStyle(node).display !== 'inline' && node.getBoundingClientRect().right > innerWidth + 1).map((node) => node.outerHTML.slice(0, 80)));
        assert.deepEqual(wide, [], `${view}, ${width} pixels`);
      }
    }
  }));
});

function turn(id: string, words: string): Session {
  const session = new SessionStore().create(id);
  session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: user } });
  session.append('user/message', { content: [{ type: 'text', text: words }], source: user }, { surfaceOp: 'append' });
  return session;
}

/** Where the first letter of a text stands. */
function firstLetter(locator: Locator): Promise<number> {
  return locator.evaluate((node) => {
    const range = document.createRange();
    const text = document.createTreeWalker(node, NodeFilter.SHOW_TEXT).nextNode()!;
    range.setStart(text, 0);
    range.setEnd(text, 1);
    return range.getBoundingClientRect().left;
  });
}

async function firstIsInside(locator: Locator): Promise<boolean> {
  const [at, box] = [await firstLetter(locator), (await locator.boundingBox())!];
  return at >= box.x && at <= box.x + box.width;
}
