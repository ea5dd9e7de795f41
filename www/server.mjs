// A static server on this machine only, for the built page and one log.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';

const HOST = '127.0.0.1';
const TRIES = 50;

const CONTENT_TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.jsonl': 'application/x-ndjson',
  '.svg': 'image/svg+xml',
  // A browser compiles a stream only when it has exactly this type.
  '.wasm': 'application/wasm',
};

/**
 * Serves `folder`, and single files by their paths (`{ '/log.jsonl': file }`), at `port` or the next free one.
 * @returns `{ url, close }`; the URL has no slash at its end
 */
export async function serve({ folder, files = {}, port }) {
  const locate = (path) => {
    if (Object.hasOwn(files, path)) return files[path];
    const file = normalize(join(folder, path.endsWith('/') ? `${path}index.html` : path));
    return file.startsWith(normalize(folder + sep)) ? file : undefined;
  };
  const server = createServer((request, response) => {
    answer(request, response, locate).catch(() => {
      if (response.headersSent) response.destroy();
      else response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found\n');
    });
  });
  const used = await listen(server, port);
  return {
    url: `http://${HOST}:${used}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(request, response, locate) {
  // A page elsewhere can point a name of its own at this address, and would then read logs: only our own names are served.
  if (!/^(127\.0\.0\.1|localhost)(:\d+)?$/.test(request.headers.host ?? '')) return response.writeHead(421).end();
  if (request.method !== 'GET' && request.method !== 'HEAD') return response.writeHead(405, { allow: 'GET, HEAD' }).end();
  const file = locate(decodeURIComponent(new URL(request.url, `http://${HOST}`).pathname));
  const found = file === undefined ? undefined : await stat(file);
  if (!found?.isFile()) throw new Error('not a file');
  response.writeHead(200, {
    'content-type': CONTENT_TYPES[extname(file)] ?? 'application/octet-stream',
    'content-length': found.size,
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  });
  if (request.method === 'HEAD') return response.end();
  // A log may grow while it is read: no more than was promised.
  await pipeline(found.size > 0 ? createReadStream(file, { end: found.size - 1 }) : [], response);
}

async function listen(server, port) {
  for (let tried = port; ; tried++) {
    try {
      await new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(tried, HOST, () => {
          server.off('error', reject);
          resolve();
        });
      });
      return server.address().port;
    } catch (error) {
      if (error.code !== 'EADDRINUSE' || tried === 65535 || tried - port >= TRIES) throw error;
    }
  }
}
