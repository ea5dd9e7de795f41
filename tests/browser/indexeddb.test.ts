// IndexedDB as browsers have it: the whole conformance suite, and what only databases of browsers do.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { CASES } from 'palimpsest/testing';
import { cases } from '../support/indexeddb/cases.js';
import { BROWSERS, type Tab, type TabBrowser, openBrowser } from '../support/tabs.js';

// Both browsers at the same time: each mostly waits for its disk.
suite('IndexedDB in real browsers', { concurrency: BROWSERS.length }, () => {
  for (const name of BROWSERS) {
    suite(`IndexedDB in ${name}`, { concurrency: 1 }, () => {
      let browser: TabBrowser;
      let tab: Tab;
      let passed = 0;
      before(async () => {
        browser = await openBrowser(name);
        tab = await browser.open();
      });
      after(() => browser[Symbol.asyncDispose]());

      for (const [index, each] of CASES.entries()) {
        test(`indexeddb in ${name}: ${each.name}`, async () => {
          await tab.run('conformance', index);
          passed++;
        });
      }

      test(`indexeddb in ${name}: all cases of the suite were run`, (context) => {
        context.diagnostic(`indexeddb in ${name}: ${passed} of ${CASES.length} cases`);
        assert.equal(passed, CASES.length);
      });

      for (const each of Object.keys(cases)) test(`${each} (${name})`, () => tab.run('one', each));
    });
  }
});
