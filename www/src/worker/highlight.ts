/** The worker that colours code: a grammar can be slow on a text made for it, and here nobody waits for it. */

import hljs from 'highlight.js/lib/common';

addEventListener('message', ({ data }: MessageEvent<{ id: number; code: string; language: string }>) => {
  const { id, code, language } = data;
  let html: string | undefined;
  try {
    html = hljs.getLanguage(language) ? hljs.highlight(code, { language, ignoreIllegals: true }).value : undefined;
  } catch {
    html = undefined;
  }
  postMessage({ id, html });
});
