/** Markdown of a log, which is hostile, as nodes that can do nothing. Loaded when the first message is shown. */

import DOMPurify from 'dompurify';
import { Marked } from 'marked';

const marked = new Marked({
  gfm: true,
  breaks: true,
  async: false,
  // HTML in a message is text: it is shown, and not taken out.
  tokenizer: { html: () => undefined, tag: () => undefined },
  renderer: { image: ({ text, href }) => `<em>[image: ${escape(text || href)}]</em>` },
});

// A link of a log is shown with where it leads, and only opened outside of this page.
DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName === 'A') {
    node.setAttribute('rel', 'noopener noreferrer');
    node.setAttribute('target', '_blank');
    node.setAttribute('title', node.getAttribute('href') ?? '');
  }
});

const ALLOWED = {
  ALLOWED_TAGS: ['p', 'br', 'strong', 'em', 'del', 'code', 'pre', 'ul', 'ol', 'li', 'blockquote', 'a', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'hr'],
  ALLOWED_ATTR: ['href', 'title', 'start', 'align', 'class'],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
};

/** Nodes of a markdown text. Images are left out: nothing is fetched for a log. */
export function markdown(text: string): DocumentFragment {
  return clean(marked.parse(text) as string);
}

function escape(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

/** Nodes of HTML that a highlighter has made. */
export function clean(html: string): DocumentFragment {
  return DOMPurify.sanitize(html, { ...ALLOWED, ALLOWED_TAGS: [...ALLOWED.ALLOWED_TAGS, 'span'], RETURN_DOM_FRAGMENT: true });
}
