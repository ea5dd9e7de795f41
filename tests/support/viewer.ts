// The built viewer in a browser: opened, looked at, and found without problems behind the scenes.
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import type { Browser, Page } from 'playwright-core';
import * as vite from 'vite';
import { launchChromium, serve, type StaticServer } from './browser.js';

const WWW = join(process.cwd(), 'www');
const SITE = join(process.cwd(), 'target/viewer');

/** Where screenshots go. */
export const SCREENSHOTS = join(process.cwd(), 'target/screenshots');

/** Sessions that the site carries. */
export const EXAMPLES = join(WWW, 'public/examples');

/** How a page is opened: its size, its theme. */
export type Options = NonNullable<Parameters<Browser['newPage']>[0]>;

/** The site below some path of a server that knows nothing of it, and a browser. */
export class Viewer implements AsyncDisposable {
  readonly #browser: Browser;
  readonly #server: StaticServer;
  /** A folder that is served at `made/`. */
  readonly made: string;

  private constructor(browser: Browser, server: StaticServer, made: string) {
    this.#browser = browser;
    this.#server = server;
    this.made = made;
  }

  /** @param folders further folders to serve, by their paths below the site */
  static async open(folders: Readonly<Record<string, string>> = {}): Promise<Viewer> {
    await vite.build({ root: WWW, logLevel: 'error', build: { outDir: SITE, emptyOutDir: true } });
    const made = await mkdtemp(join(tmpdir(), 'palimpsest-viewer-'));
    const below = Object.fromEntries(Object.entries(folders).map(([path, folder]) => [`/some/where/${path}`, folder]));
    const [browser, server] = await Promise.all([
      launchChromium(),
      serve({ '/some/where/': SITE, '/some/where/made/': made, ...below }),
      mkdir(SCREENSHOTS, { recursive: true }),
    ]);
    return new Viewer(browser, server, made);
  }

  get browser(): Browser {
    return this.#browser;
  }

  address(hash = ''): string {
    return `${this.#server.url}/some/where/${hash}`;
  }

  /** Opens the page, lets `look` look at it, and sees that it asked nobody else for anything and reported no problem. */
  async visit(hash: string, look: (page: Page) => Promise<void>, options: Options = {}): Promise<void> {
    const page = await this.#browser.newPage({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', timezoneId: 'UTC', ...options });
    page.setDefaultTimeout(15_000);
    const problems: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
    });
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('request', (request) => {
      if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(this.#server.url)) problems.push(`asks for ${request.url()}`);
    });
    try {
      await page.goto(this.address(hash));
      await look(page);
    } finally {
      await page.close();
    }
    assert.deepEqual(problems, []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#browser.close(), this.#server[Symbol.asyncDispose](), rm(this.made, { recursive: true, force: true })]);
  }
}

/** Waits until a log is read to its end. */
export async function isOpen(page: Page): Promise<void> {
  await page.locator('#about').waitFor({ state: 'attached' });
}

/** Gives files to the page's picker. */
export async function pick(page: Page, name: string, bytes: Uint8Array): Promise<void> {
  await page.locator('#file').setInputFiles({ name, mimeType: '', buffer: Buffer.from(bytes) });
}

/** Changes to a view by its tab. */
export async function show(page: Page, view: string): Promise<void> {
  await page.getByRole('navigation', { name: 'Views' }).getByRole('button', { name: view }).click();
}

/** Chooses an event by its number. */
export async function goTo(page: Page, seq: number): Promise<void> {
  await page.keyboard.press('g');
  await page.getByLabel('Number of the event').fill(String(seq));
  await page.getByRole('button', { name: 'Go', exact: true }).click();
}

/** The texts of all that a locator finds. */
export async function texts(page: Page, selector: string): Promise<string[]> {
  return page.locator(selector).allInnerTexts();
}
