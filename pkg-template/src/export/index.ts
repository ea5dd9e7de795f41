/**
 * `palimpsest/export`: a session in the forms in which people and other programs read it.
 *
 * JSONL, the log's own form, is `session.headerLine()` followed by `session.jsonl()`. The map: `markdown.ts`, `html.ts`
 * pages, both made of a `transcript.ts`; `messages.ts` the history as JSON.
 */

export { htmlParts, toHtml } from './html.js';
export { markdownParts, toMarkdown } from './markdown.js';
export { type ExportedMessages, type MessagesForm, type MessagesOptions, toMessages } from './messages.js';
export type { TranscriptOptions } from './transcript.js';
