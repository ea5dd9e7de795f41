/**
 * A session as one page that needs nothing else: no script, nothing from elsewhere, and a policy in it that says so.
 * Whatever comes out of the log is escaped.
 */

import { needSession, type Session } from '../session.js';
import { argumentsText, type Entry, type Part, sizeText, timeText, transcript, type TranscriptOptions } from './transcript.js';

/** A session as one self-contained HTML page. */
export function toHtml(session: Session, options: TranscriptOptions = {}): string {
  return [...htmlParts(session, options)].join('');
}

/** {@link toHtml} in pieces, for sessions that are longer than a string may be. */
export function* htmlParts(session: Session, options: TranscriptOptions = {}): Generator<string> {
  needSession(session);
  const { header } = session;
  const title = escaped(options.title ?? header.id);
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${title}</h1>
<dl>
<dt>Session</dt><dd>${escaped(header.id)}</dd>
<dt>Created</dt><dd>${time(header.createdAt)}</dd>
<dt>Events</dt><dd>${session.seq}${options.at === undefined ? '' : `, shown as of event ${options.at}`}</dd>
`;
  if (header.cwd !== undefined) yield `<dt>Working directory</dt><dd>${escaped(header.cwd)}</dd>\n`;
  if (header.parentSession !== undefined) yield `<dt>Forked from</dt><dd>${escaped(header.parentSession)}, with its first ${header.seedLength ?? 0} events</dd>\n`;
  yield '</dl>\n</header>\n<main>\n';
  for (const entry of transcript(session, options)) yield entryHtml(entry);
  yield '</main>\n</body>\n</html>\n';
}

const SPEAKERS = { user: 'User', assistant: 'Assistant', tool: 'Result', context: 'Context', steering: 'Steering' } as const;

function entryHtml(entry: Entry): string {
  switch (entry.kind) {
    case 'turn':
      return `<h2 id="turn-${entry.seq}">Turn ${entry.turn}</h2>\n`;
    case 'turn-end':
      return entry.reason === 'completed' ? '' : `<p class="note">The turn ended: ${escaped(entry.reason)}</p>\n`;
    case 'compaction':
      return `<p class="note">Compaction: ${entry.shadowed} messages before this point were replaced by a summary</p>\n`;
    case 'header':
      return `<p class="note">Model: ${escaped(entry.model ?? 'not named')}</p>\n${entry.system === undefined || entry.system === '' ? '' : details('System prompt', entry.system, false)}`;
    case 'message': {
      const name = entry.speaker === 'tool' ? ` of <code>${escaped(entry.toolName ?? entry.callId ?? '')}</code>` : '';
      const marks = [entry.isError ? 'error' : '', entry.shadowed ? 'shadowed' : ''].filter((mark) => mark !== '');
      const classes = ['message', entry.speaker, ...marks].join(' ');
      const head = `<p class="who"><b>${SPEAKERS[entry.speaker]}</b>${name}${marks.map((mark) => ` <em>${mark}</em>`).join('')} <a href="#e${entry.seq}">${entry.seq}</a> ${time(entry.time)}</p>`;
      return `<article id="e${entry.seq}" class="${classes}">\n${head}\n${entry.parts.map((part) => partHtml(part, entry.speaker === 'tool')).join('')}</article>\n`;
    }
  }
}

/** Longest result that is shown unfolded. */
const SHORT = 400;

function partHtml(part: Part, isResult: boolean): string {
  switch (part.kind) {
    case 'text':
      if (isResult) return details(sizeText(part.text.length), part.text, part.text.length <= SHORT);
      return `<div class="text">${escaped(part.text)}</div>\n`;
    case 'reasoning':
      return part.text === '' ? '' : details('Reasoning', part.text, false);
    case 'call':
      return `<p class="call">Calls <code>${escaped(part.name)}</code></p>\n<pre>${escaped(argumentsText(part.arguments))}</pre>\n`;
    case 'image':
      if (IMAGE.test(part.mimeType) && BASE64.test(part.data)) return `<img alt="image in the log" src="data:${part.mimeType};base64,${part.data}">\n`;
      return `<p class="note">[image, ${escaped(part.mimeType)}, not shown]</p>\n`;
    case 'other':
      return details(part.type === '' ? 'a block without a type' : part.type, part.json, false);
    case 'cut':
      return `<p class="note">${sizeText(part.chars)} more</p>\n`;
  }
}

const IMAGE = /^image\/(?:png|jpeg|gif|webp)$/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

function details(summary: string, text: string, open: boolean): string {
  return `<details${open ? ' open' : ''}><summary>${escaped(summary)}</summary><pre>${escaped(text)}</pre></details>\n`;
}

function time(at: number): string {
  const text = escaped(timeText(at));
  return text.endsWith('Z') ? `<time datetime="${text}">${text.replace('T', ' ').slice(0, -1)}</time>` : text;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;', '\0': '\ufffd' };

/** Text as the content of an element or a quoted attribute. */
function escaped(text: string): string {
  return text.replace(/[&<>"'\0]/g, (char) => ENTITIES[char]!);
}

const STYLE = `
:root { color-scheme: light dark; --text: light-dark(#1b1f24, #e6e8eb); --dim: light-dark(#57606a, #9aa4af); --back: light-dark(#fff, #14171a); --panel: light-dark(#f4f5f7, #1d2125); --line: light-dark(#d5d9de, #343a41); --user: light-dark(#0b5cad, #6cb2ff); --assistant: light-dark(#1a7f4b, #5fd39a); --tool: light-dark(#8a5a00, #e0b050); --error: light-dark(#b42318, #ff8a80); }
body { margin: 0 auto; max-width: 56rem; padding: 1.5rem 1rem 4rem; background: var(--back); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; } h2 { margin: 2.5rem 0 1rem; padding-top: .75rem; border-top: 1px solid var(--line); font-size: 1.1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
.message { margin: 1rem 0; padding-left: .8rem; border-left: 3px solid var(--line); }
.user { border-color: var(--user); } .assistant { border-color: var(--assistant); } .tool { border-color: var(--tool); } .error { border-color: var(--error); }
.shadowed { opacity: .65; } .who { margin: 0 0 .25rem; color: var(--dim); font-size: .85rem; } .who b { color: var(--text); } .who a { color: inherit; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; } .note { color: var(--dim); font-style: italic; } .call { margin: .5rem 0 .25rem; }
pre { margin: .35rem 0; padding: .6rem .8rem; background: var(--panel); border: 1px solid var(--line); border-radius: 4px; white-space: pre-wrap; overflow-wrap: anywhere; font: .85rem/1.45 ui-monospace, monospace; }
summary { color: var(--dim); cursor: pointer; } img { max-width: 100%; }
`;
