// Real browsers and the pages they open. `node tests/run.mjs --only browser` finds the browsers and
// names them in the environment; nothing that these browsers load leaves this machine.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize, sep } from 'node:path';
import process from 'node:process';
import { pipeline } from 'node:stream/promises';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import type { Browser as FirefoxBrowser } from 'puppeteer-core';

const CHROMIUM_FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.jsonl': 'application/x-ndjson',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  // A browser compiles a stream only when it has exactly this type.
  '.wasm': 'application/wasm',
};

export function launchChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: browserFrom('PALIMPSEST_CHROMIUM'), args: CHROMIUM_FLAGS });
}

/** Chromium with its data in a folder: what `launchChromium` stores is kept in memory alone. */
export function launchChromiumIn(folder: string): Promise<BrowserContext> {
  return chromium.launchPersistentContext(folder, { executablePath: browserFrom('PALIMPSEST_CHROMIUM'), args: CHROMIUM_FLAGS });
}

/** Playwright drives only its own Firefox; Puppeteer drives the one that is installed. */
export function launchFirefox(extraPrefsFirefox: Readonly<Record<string, unknown>> = {}): Promise<FirefoxBrowser> {
  return puppeteer.launch({ browser: 'firefox', executablePath: browserFrom('PALIMPSEST_FIREFOX'), headless: true, extraPrefsFirefox });
}

function browserFrom(variable: string): string {
  const path = process.env[variable];
  if (!path) throw new Error(`${variable} is not set: run \`node tests/run.mjs --only browser\`, or set it to a browser's path`);
  return path;
}

export interface StaticServer extends AsyncDisposable {
  /** Without a slash at the end. */
  readonly url: string;
}

/** Serves folders on 127.0.0.1, each under its URL prefix: `{ '/': app, '/palimpsest/': pkg }`. */
export async function serve(folders: Readonly<Record<string, string>>): Promise<StaticServer> {
  const prefixes = Object.keys(folders).sort((a, b) => b.length - a.length);
  const locate = (path: string): string | undefined => {
    const prefix = prefixes.find((candidate) => path.startsWith(candidate));
    const folder = prefix === undefined ? undefined : folders[prefix];
    if (prefix === undefined || folder === undefined) return undefined;
    const file = normalize(join(folder, path.slice(prefix.length) || 'index.html'));
    return file.startsWith(normalize(folder + sep)) ? file : undefined;
  };

  async function answer(url: string, response: ServerResponse): Promise<void> {
    const file = locate(decodeURIComponent(new URL(url, 'http://127.0.0.1').pathname));
    if (file === undefined || !(await stat(file)).isFile()) throw new Error('not a file');
    response.writeHead(200, { 'content-type': CONTENT_TYPES[extname(file)] ?? 'application/octet-stream', 'cache-control': 'no-store' });
    await pipeline(createReadStream(file), response);
  }

  const server = createServer((request, response) => {
    answer(request.url ?? '/', response).catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(404).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
