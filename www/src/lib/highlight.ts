/** Code in colours, made by a worker that is started when the first code is shown. */

import url from '../worker/highlight.ts?worker&url';
import { workerUrl } from './trusted.js';

const LONGEST = 40_000;
const waiting = new Map<number, (html: string | undefined) => void>();
let worker: Worker | undefined;
let asked = 0;

/** Nodes of the code in colours; undefined where there are none for it. */
export async function highlight(code: string, language: string): Promise<DocumentFragment | undefined> {
  if (code.length > LONGEST || language === '') return undefined;
  if (!worker) {
    worker = new Worker(workerUrl(url), { type: 'module', name: 'highlight' });
    worker.addEventListener('message', ({ data }: MessageEvent<{ id: number; html: string | undefined }>) => {
      waiting.get(data.id)?.(data.html);
      waiting.delete(data.id);
    });
  }
  const id = ++asked;
  const html = await new Promise<string | undefined>((resolve) => {
    waiting.set(id, resolve);
    worker?.postMessage({ id, code, language });
  });
  if (html === undefined) return undefined;
  const { clean } = await import('./markdown.js');
  return clean(html);
}

const LANGUAGES: Readonly<Record<string, string>> = {
  js: 'javascript', mjs: 'javascript', cjs: 'javascript', jsx: 'javascript', ts: 'typescript', tsx: 'typescript', json: 'json', py: 'python',
  rs: 'rust', go: 'go', java: 'java', rb: 'ruby', php: 'php', c: 'c', h: 'c', cpp: 'cpp', hpp: 'cpp', cs: 'csharp', sh: 'bash', bash: 'bash',
  css: 'css', scss: 'scss', html: 'xml', xml: 'xml', svg: 'xml', md: 'markdown', yml: 'yaml', yaml: 'yaml', toml: 'ini', ini: 'ini', sql: 'sql',
};

/** The language of a file by its name. */
export function languageOf(path: string): string {
  const ending = /\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? '';
  return Object.hasOwn(LANGUAGES, ending) ? LANGUAGES[ending]! : '';
}
