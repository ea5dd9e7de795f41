// Several tabs on one database, and tabs that end at the wrong moment.
import assert from 'node:assert/strict';
import { type TestContext, after, before, suite, test } from 'node:test';
import type { Attempt, Where } from '../support/indexeddb/tabs.js';
import { Dice } from '../support/random.js';
import { BROWSERS, type Tab, type TabBrowser, openBrowser } from '../support/tabs.js';

const ROUNDS = 50;
const ENDS = 10;

// Both browsers at the same time: each mostly waits for its disk.
suite('tabs on one database', { concurrency: BROWSERS.length }, () => {
  for (const name of BROWSERS) {
    suite(`tabs of ${name}`, { concurrency: 1 }, () => {
      let browser: TabBrowser;
      before(async () => {
        browser = await openBrowser(name);
      });
      after(() => browser[Symbol.asyncDispose]());

      async function opened(count: number): Promise<Tab[]> {
        return Promise.all(Array.from({ length: count }, () => browser.open()));
      }

      /** All tabs want to write at the same moment, again and again. */
      async function rounds(context: TestContext, tabs: readonly Tab[], where: Where, refusal: string): Promise<void> {
        const [first] = tabs;
        assert.ok(first);
        await first.run('create', where);
        const expected = ['created'];
        let refused = 0;
        let slowest = 0;
        for (let round = 0; round < ROUNDS; round++) {
          if (round % 20 === 0) await Promise.all(tabs.map((tab) => tab.run('follow', where)));
          const at = Date.now() + 40;
          const attempts = await Promise.all(tabs.map((tab, index) => tab.run<Attempt>('attempt', { ...where, words: `round ${round} tab ${index}`, count: 3, at })));
          for (const { refused: code, after = 0 } of attempts) {
            if (code === undefined) continue;
            assert.equal(code, refusal, `round ${round}`);
            refused++;
            slowest = Math.max(slowest, after);
          }
          const written = attempts.flatMap(({ wrote }) => (wrote ? [wrote] : [])).sort((a, b) => a.first - b.first);
          assert.ok(written.length > 0, `round ${round}: nobody could write`);
          for (const { first: seq, words, count } of written) {
            assert.equal(seq, expected.length, `round ${round}`);
            for (let n = 0; n < count; n++) expected.push(words);
          }
        }
        assert.deepEqual(await first.run('words', where), expected);
        assert.ok(refused > 0, 'no two tabs have met');
        let followers = 0;
        const all = expected.map((_, seq) => seq);
        for (const seqs of await Promise.all(tabs.map((tab) => tab.run<number[][]>('followed')))) {
          for (const each of seqs) assert.deepEqual(each, all, `follower ${followers++}`);
        }
        context.diagnostic(
          `${name}: ${tabs.length} tabs, ${ROUNDS} rounds, ${expected.length} events, 0 forked; ${refused} times ${refusal}, after ${Math.ceil(slowest)} ms at most; ${followers} followers saw each event once`,
        );
        await Promise.all(tabs.map((tab) => tab.close()));
      }

      // First, since a browser remembers for a while how much space there is.
      test(`a site of ${name} that may store no more${name === 'Firefox' ? ' (skipped: only Chromium has a limit that a test can set)' : ''}`, { skip: name === 'Firefox' }, async (context) => {
        const tab = await browser.open();
        await tab.limit?.(8_000_000);
        const where = { name: 'full', id: 'a' };
        const { durable, pending, message } = await tab.run<{ durable: number; pending: number; message: string }>('fill', where);
        assert.match(message, /no more space/);
        assert.equal((await tab.run<string[]>('words', where)).length, durable);
        await tab.limit?.();
        assert.deepEqual(await tab.run('refill', where), { stored: pending, live: pending });
        context.diagnostic(`full after ${durable} events; ${pending - durable} more stored once there was space`);
        await tab.close();
      });

      for (const count of [2, 3]) {
        test(`${count} tabs of ${name} never fork a session, and all see each event once and in order`, async (context) => {
          await rounds(context, await opened(count), { name: `tabs-${count}`, id: 'a' }, 'SESSION_LOCKED');
        });
      }

      test(`tabs of ${name} without Web Locks never fork a session either`, async (context) => {
        const tabs = await opened(2);
        for (const tab of tabs) await tab.run('withoutLocks');
        await rounds(context, tabs, { name: 'no-locks', id: 'a' }, 'WRITE_CONFLICT');
      });

      test(`a tab of ${name} that ends in mid-transaction has lost nothing that it was told is stored`, async (context) => {
        const random = new Dice(7);
        const witness = await browser.open();
        await witness.run('listen');
        let lost = 0;
        let told = 0;
        let further = 0;
        let waited = 0;
        for (let end = 0; end < ENDS; end++) {
          const where = { name: 'ends', id: `a${end}` };
          await witness.run('create', where);
          const tab = await browser.open();
          await tab.run('write', { ...where, count: 50 + random.below(300) });
          await witness.run('heard', where);
          await new Promise((resolve) => setTimeout(resolve, random.below(150)));
          await (end % 2 === 0 ? tab.crash() : tab.close());
          const acknowledged = await witness.run<number>('heard', where);
          const found = await witness.run<{ events: number; whole: boolean; waited: number }>('takeOver', where);
          assert.ok(found.whole, `end ${end}: an event is not what it was`);
          told += acknowledged + 1;
          lost += Math.max(0, acknowledged + 1 - found.events);
          if (found.events > acknowledged + 1) further++;
          waited = Math.max(waited, found.waited);
        }
        context.diagnostic(`${name}: ${ENDS} tabs ended, ${lost} of ${told} acknowledged events lost, ${further} times more was stored than told; free after ${Math.ceil(waited)} ms at most`);
        assert.equal(lost, 0);
        await witness.close();
      });
    });
  }
});
