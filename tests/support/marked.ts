/** A session for the exports to pages. */

import { Session } from 'palimpsest';
import { toHtml } from 'palimpsest/export';
import { appendLoosely } from './append.js';
import { say, text } from './sessions.js';

/** A session whose every text is a mark of its own, hostile ones among them. */
export function marked(): Session {
  const session = new Session('<img src=x onerror=alert(1)>', [], { version: 0, id: '<img src=x onerror=alert(1)>', createdAt: 0, cwd: '/a"b' });
  session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } });
  say(session, 'USER & <script>alert(1)</script>');
  session.recordRequestHeader({ config: { model: 'MODEL' }, system: 'SYSTEM </pre>' });
  session.append('step/start', { turn: 1, step: 1 });
  appendLoosely(session, 'assistant/message', { turn: 1, step: 1, content: [
    { type: 'reasoning', text: 'THOUGHT' },
    { type: 'text', text: 'ANSWER ``` with ticks' },
    { type: 'tool-call', id: 'c1', name: 'TOOL', arguments: '{"id":2512292042121000001}' },
    { type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo=' },
    { type: 'image', mimeType: 'image/svg+xml', data: 'PHN2Zz4=' },
    { type: 'image', mimeType: 'image/png', data: '"><script>alert(2)</script>' },
    { type: 'hologram', what: 'ODD' },
    null,
  ] }, { surfaceOp: 'append' });
  session.append('tool/call', { turn: 1, step: 1, callId: 'c1', name: 'TOOL', arguments: '{}' });
  session.append('tool/result', { turn: 1, step: 1, callId: 'c1', content: text('RESULT ```` more ticks'), isError: true }, { surfaceOp: 'append' });
  session.append('step/end', { turn: 1, step: 1 });
  session.append('turn/end', { turn: 1, reason: { kind: 'aborted' } });
  return session;
}

/** It, as a page. */
export function markedPage(): string {
  return toHtml(marked());
}
