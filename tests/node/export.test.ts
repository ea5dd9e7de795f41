/** What a session looks like elsewhere: its own log again, pages, provider bodies. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Session, SessionReader } from 'palimpsest';
import { htmlParts, markdownParts, toHtml, toMarkdown, toMessages } from 'palimpsest/export';
import { messagesRequest } from 'palimpsest/anthropic';
import { bytesSource, importLog } from 'palimpsest/import';
import { chatRequest } from 'palimpsest/openai';
import { conversation } from '../support/conversations.js';
import { marked } from '../support/marked.js';
import { Dice } from '../support/random.js';
import { decode, randomAgentSession, runTurn, text } from '../support/sessions.js';

describe('JSONL', () => {
  it('imported is the same session, for 60 random ones', async () => {
    for (let seed = 0; seed < 60; seed++) {
      const session = randomAgentSession(new Dice(seed));
      const bytes = Buffer.concat([session.headerLine(), session.jsonl()]);
      const { format, sessions } = await importLog(bytesSource(bytes));
      assert.equal(format, 'palimpsest');
      assert.equal(sessions.length, 1);
      const { session: again } = sessions[0]!;
      assert.ok(Buffer.concat([again!.headerLine(), again!.jsonl()]).equals(bytes), `seed ${seed}`);
      session.free();
      again!.free();
    }
  });

  it('read again is the same session, for 200 random ones', () => {
    for (let seed = 0; seed < 200; seed++) {
      const dice = new Dice(seed);
      const session = dice.chance(0.5) ? randomAgentSession(dice) : conversation(dice, true);
      const bytes = Buffer.concat([session.headerLine(), session.jsonl()]);
      const reader = new SessionReader('again');
      for (let from = 0; from < bytes.length; ) {
        const size = 1 + dice.below(4000);
        reader.push(bytes.subarray(from, from + size));
        from += size;
      }
      const { session: again } = reader.finish();
      assert.deepEqual(again.header, session.header);
      assert.equal(again.seq, session.seq);
      for (let seq = 0; seq < session.seq; seq++) assert.deepEqual(again.events[seq], session.events[seq]);
      assert.deepEqual(again.deriveMessages(), session.deriveMessages());
      assert.ok(Buffer.concat([again.headerLine(), again.jsonl()]).equals(bytes));
      session.free();
      again.free();
    }
  });
});

const MARKS = ['USER', 'MODEL', 'SYSTEM', 'THOUGHT', 'ANSWER', 'TOOL', '2512292042121000001', 'RESULT', 'aborted'];

describe('pages', () => {
  it('hold all that was said, and nothing that a page would obey', () => {
    const session = marked();
    const [markdown, html] = [toMarkdown(session), toHtml(session)];
    for (const mark of MARKS) for (const page of [markdown, html]) assert.ok(page.includes(mark), mark);
    assert.doesNotMatch(html, /<script|<img src=x|onerror=alert\(1\)>|"><script/);
    assert.match(html, /src="data:image\/png;base64,iVBORw0KGgo="/);
    assert.doesNotMatch(html, /data:image\/svg/);
    assert.match(html, /<meta http-equiv="Content-Security-Policy" content="default-src 'none';/);
    assert.doesNotMatch(html, /(?:src|href)="(?!#|data:image\/(?:png|jpeg|gif|webp);base64,)/);
  });

  it('keep code in fences that its own ticks cannot close', () => {
    const page = toMarkdown(marked());
    assert.match(page, /`````\nRESULT ```` more ticks\n`````/);
  });

  it('show the log with what was shadowed, or the surface alone', () => {
    const session = new Session('s');
    runTurn(session, 1);
    const [first, last] = [session.surface.nodes[0]!.seq, session.surface.nodes.at(-1)!.seq];
    session.append('user/message', { content: text('SUMMARY'), source: { kind: 'user' } }, { surfaceOp: { op: 'replace', start: first, end: last }, sourceEventSeqs: [first, last] });
    assert.match(toMarkdown(session), /question 1[\s\S]*answer 1[\s\S]*SUMMARY/);
    assert.match(toMarkdown(session), /shadowed/);
    const surface = toMarkdown(session, { what: 'surface' });
    assert.doesNotMatch(surface, /question|answer/);
    assert.match(surface, /SUMMARY/);
    assert.doesNotMatch(toMarkdown(session, { at: session.seq - 2 }), /SUMMARY|shadowed/);
  });

  it('leave out what is not wanted, and say how much they have cut', () => {
    const session = marked();
    assert.doesNotMatch(toMarkdown(session, { reasoning: false }), /THOUGHT/);
    assert.doesNotMatch(toHtml(session, { tools: false }), /RESULT|TOOL/);
    assert.match(toMarkdown(session, { maxResult: 6 }), /RESULT\n`+\n\n\*\[16 characters more\]\*/);
  });

  it('come in pieces, for 60 sessions with everything that a log may hold', () => {
    for (let seed = 0; seed < 60; seed++) {
      const session = conversation(new Dice(seed), true);
      assert.equal([...htmlParts(session)].join(''), toHtml(session));
      assert.equal([...markdownParts(session)].join(''), toMarkdown(session));
      session.free();
    }
  });
});

describe('messages', () => {
  it('are the history with its header, as the log has it', () => {
    const session = marked();
    const { body, report } = toMessages(session);
    assert.deepEqual(report, []);
    assert.deepEqual(body.messages, session.deriveMessages());
    assert.equal((body as { system?: string }).system, 'SYSTEM </pre>');
    assert.deepEqual(toMessages(session, { at: 1 }).body, { messages: session.at(1).messages() });
  });

  it('are the bodies that the converters give, with a report', () => {
    for (let seed = 0; seed < 60; seed++) {
      const session = conversation(new Dice(seed), true);
      const request = session.at(session.seq - 1).request();
      assert.deepEqual(toMessages(session, { as: 'openai' }), (({ body, report }) => ({ body, report }))(chatRequest(request)));
      assert.deepEqual(toMessages(session, { as: 'anthropic' }), (({ body, report }) => ({ body, report }))(messagesRequest(request)));
      session.free();
    }
  });

  it('name a model that the log does not name', () => {
    const session = new Session('s');
    runTurn(session, 1);
    assert.equal((toMessages(session, { as: 'openai' }).body as { model: string }).model, 'unknown');
    assert.equal((toMessages(session, { as: 'anthropic', model: 'm-9' }).body as { model: string }).model, 'm-9');
    assert.ok(decode(session.jsonl()).length > 0);
  });
});
