// Tabs of real browsers, whichever library drives them, on a page that runs functions by name.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import * as esbuild from 'esbuild';
import type { BrowserContext, Page } from 'playwright-core';
import { launchChromiumIn, launchFirefox, serve } from './browser.js';

interface Answer {
  readonly value?: unknown;
  readonly error?: string;
}

interface Call {
  readonly name: string;
  readonly argument: unknown;
}

/** What both drivers have. */
interface DrivenPage {
  goto(url: string): Promise<unknown>;
  evaluate(run: (call: Call) => Promise<Answer>, call: Call): Promise<Answer>;
  close(): Promise<unknown>;
}

interface Driver {
  newPage(): Promise<DrivenPage>;
  close(): Promise<unknown>;
  /** Ends a tab without a goodbye, where the driver can. */
  crash(page: DrivenPage): Promise<unknown>;
  /** Limits what a site may store, where the driver can; without a limit again by undefined. */
  limit?(page: DrivenPage, origin: string, bytes: number | undefined): Promise<void>;
}

export interface Tab {
  /** Runs one of the page's functions. */
  run<T>(name: string, argument?: unknown): Promise<T>;
  close(): Promise<unknown>;
  crash(): Promise<unknown>;
  limit: ((bytes?: number) => Promise<void>) | undefined;
}

/** A browser whose tabs share one storage, on a disk. */
export interface TabBrowser extends AsyncDisposable {
  open(): Promise<Tab>;
}

export const BROWSERS = ['Chromium', 'Firefox'] as const;

/** A browser for the page of tests/support/indexeddb/, bundled from the built package. */
export async function openBrowser(name: (typeof BROWSERS)[number]): Promise<TabBrowser> {
  const root = await mkdtemp(join(tmpdir(), 'palimpsest-tabs-'));
  const site = join(root, 'site');
  await bundle(site);
  const [server, driver] = await Promise.all([serve({ '/': site }), name === 'Chromium' ? driveChromium(join(root, 'profile')) : driveFirefox()]);
  return {
    open: async () => tabOf(driver, await driver.newPage(), server.url),
    [Symbol.asyncDispose]: async () => {
      await driver.close();
      await server[Symbol.asyncDispose]();
      await rm(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

async function bundle(site: string): Promise<void> {
  await esbuild.build({
    entryPoints: [join(process.cwd(), 'target/tests/support/indexeddb/page.js')],
    outfile: join(site, 'page.js'),
    bundle: true,
    format: 'esm',
    platform: 'browser',
    logLevel: 'silent',
  });
  await writeFile(join(site, 'index.html'), '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>');
}

async function driveChromium(folder: string): Promise<Driver> {
  const context: BrowserContext = await launchChromiumIn(folder);
  return {
    newPage: () => context.newPage(),
    close: () => context.close(),
    crash: async (page) => {
      const session = await context.newCDPSession(page as Page);
      // Nobody is left to answer.
      void session.send('Page.crash').catch(() => undefined);
      await new Promise((resolve) => (page as Page).once('crash', resolve));
      await page.close();
    },
    limit: async (page, origin, quotaSize) => {
      const session = await context.newCDPSession(page as Page);
      await session.send('Storage.overrideQuotaForOrigin', { origin, ...(quotaSize !== undefined && { quotaSize }) });
    },
  };
}

async function driveFirefox(): Promise<Driver> {
  // All tabs of a test are at work, though only one is in front: the timers of the others are slow by default.
  const firefox = await launchFirefox({ 'dom.min_background_timeout_value': 4, 'dom.min_background_timeout_value_without_budget_throttling': 4 });
  return { newPage: () => firefox.newPage(), close: () => firefox.close(), crash: (page) => page.close() };
}

// It runs in the page, and knows nothing of this file.
const inPage = (call: Call): Promise<Answer> => (globalThis as unknown as { call(call: Call): Promise<Answer> }).call(call);

async function tabOf(driver: Driver, page: DrivenPage, url: string): Promise<Tab> {
  await page.goto(url);
  return {
    run: async <T>(name: string, argument?: unknown) => {
      const { value, error } = await page.evaluate(inPage, { name, argument: argument ?? null });
      if (error !== undefined) throw new Error(`in the page: ${error}`);
      return value as T;
    },
    close: () => page.close(),
    crash: () => driver.crash(page),
    limit: driver.limit && ((bytes) => driver.limit?.(page, url, bytes) ?? Promise.resolve()),
  };
}
