/** A damaged log is read as far as it can be read: what is found, what is kept, and that nothing is invented. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Session, type SessionEvent, SessionReader } from 'palimpsest';
import { inspect, repaired, salvage, type Salvaged } from 'palimpsest/salvage';
import { BREAKS, type Stored } from '../support/damage.js';
import { Dice } from '../support/random.js';
import { decode, endTurn, openTurn, randomAgentSession, runTurn, text } from '../support/sessions.js';

function storedOf(session: Session): Stored {
  return { header: decode(session.headerLine()), lines: decode(session.jsonl()).split('\n').slice(0, -1) };
}

/** A small session of three turns. */
function threeTurns(): Stored {
  const session = new Session('three');
  for (const turn of [1, 2, 3]) runTurn(session, turn);
  return storedOf(session);
}

const join = (...parts: (string | Uint8Array)[]): Uint8Array => Buffer.concat(parts.map((part) => Buffer.from(part as string)));
const ended = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');
const codesOf = ({ findings }: Salvaged): string[] => findings.map(({ code }) => code);

/** A record without what a repair may change in it: its seq, and the seqs that it names. */
function essence(line: string): string {
  const { type, time, data } = JSON.parse(line) as SessionEvent;
  return JSON.stringify([type, time, data]);
}

/** The records in repaired logs: each event that was not added, and each record that is kept inside of one. */
function recordsIn(salvaged: Salvaged): string[] {
  const found: string[] = [];
  for (const log of repaired(salvaged)) {
    const reader = new SessionReader(log.header.id);
    for (const chunk of log.chunks()) reader.push(chunk);
    const { session, tornBytes, closers } = reader.finish();
    assert.equal(tornBytes, 0);
    assert.deepEqual(closers, [], 'a repaired log has no open turn');
    const added = new Set(log.added.map(({ seq }) => seq));
    for (const line of storedOf(session).lines.slice(log.shared)) {
      const { type, seq, data } = JSON.parse(line) as { type: string; seq: number; data: { record?: unknown } };
      if (added.has(seq) || type === 'repair/note') continue;
      found.push(type === 'repair/record' ? essence(JSON.stringify(data.record)) : essence(line));
    }
    session.free();
  }
  return found;
}

/** Whether two lists of records are the same but for their order; the first that only one of them holds, if not. */
function sameRecords(found: readonly string[], expected: readonly string[], label: string): void {
  const counts = new Map<string, number>();
  for (const record of expected) counts.set(record, (counts.get(record) ?? 0) + 1);
  for (const record of found) counts.set(record, (counts.get(record) ?? 0) - 1);
  for (const [record, count] of counts) assert.equal(count, 0, `${label}: ${count > 0 ? 'lost' : 'too often'}: ${record.slice(0, 200)}`);
}

function freeAll({ sessions }: Salvaged): void {
  for (const session of sessions) session.free();
}

describe('a log without damage', () => {
  it('gives its session, no findings, and its own bytes', async () => {
    for (let seed = 0; seed < 40; seed++) {
      const session = randomAgentSession(new Dice(seed));
      const bytes = Buffer.concat([session.headerLine(), session.jsonl()]);
      const salvaged = await salvage(bytes);
      assert.deepEqual(codesOf(salvaged).filter((code) => !['UNKNOWN_TYPE', 'LONE_SURROGATE', 'TIME_BACKWARD', 'BLANK_LINE'].includes(code)), [], `seed ${seed}`);
      assert.equal(salvaged.records, session.seq);
      const [log, ...others] = repaired(salvaged);
      assert.equal(others.length, 0);
      assert.ok(Buffer.concat([...log!.chunks()]).equals(bytes), `seed ${seed}`);
      session.free();
      freeAll(salvaged);
    }
  });

  it('needs not be held: inspect finds the same in a session that was opened from it', async () => {
    const poison = (session: Session): void => {
      openTurn(session, session.seq === 0 ? 1 : 99);
      session.append('assistant/message', { turn: 1, step: 1, content: [{ type: 'tool-call', id: 'a', name: 'run', arguments: '{}' }] }, { surfaceOp: 'append' });
      session.append('user/message', { content: text('wait \ud83d'), source: { kind: 'user' } }, { surfaceOp: 'append' });
      session.append('tool/result', { turn: 1, step: 1, callId: 'a', content: text('done'), isError: false }, { surfaceOp: 'append' });
    };
    const forms: readonly ((log: string) => string)[] = [(log) => log, (log) => `\ufeff${log}`, (log) => log.replaceAll('\n', ' \r\n\n'), (log) => log.replaceAll('"time":', '"time": ')];
    let findings = 0;
    for (let seed = 0; seed < 40; seed++) {
      const made = randomAgentSession(new Dice(seed));
      if (seed % 2 === 0) poison(made);
      const bytes = Buffer.from(forms[seed % 4]!(decode(made.headerLine()) + decode(made.jsonl())));
      const reader = new SessionReader('log');
      reader.push(bytes);
      const { session } = reader.finish();
      const salvaged = await salvage(bytes);
      const found = await inspect(session, [bytes.subarray(0, 100), bytes.subarray(100)]);
      assert.deepEqual(found, salvaged.findings, `seed ${seed}`);
      findings += found.length;
      freeAll(salvaged);
      made.free();
      session.free();
    }
    assert.ok(findings > 100);
  });

  it('is the same in chunks of any size', async () => {
    const session = randomAgentSession(new Dice(3));
    const bytes = Buffer.concat([session.headerLine(), session.jsonl()]);
    for (const size of [1, 2, 3, 7, 4095, 4096, 4097, 65_535]) {
      const chunks = (function* () {
        for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
      })();
      const salvaged = await salvage(chunks);
      const [first] = salvaged.sessions;
      assert.ok(Buffer.from(first!.jsonl()).equals(Buffer.from(session.jsonl())), `chunks of ${size}`);
      freeAll(salvaged);
    }
  });
});

describe('each fault has its own code, and nothing readable is lost', () => {
  for (const [name, damage] of Object.entries(BREAKS)) {
    it(name, async () => {
      for (let seed = 0; seed < 30; seed++) {
        const dice = new Dice(seed);
        const session = randomAgentSession(dice, { turns: 1 + dice.below(4) });
        const stored = storedOf(session);
        const { bytes, readable, codes } = damage(stored, dice);
        const salvaged = await salvage(bytes, { name: 'folder/log.jsonl' });
        for (const code of codes) assert.ok(codesOf(salvaged).includes(code), `seed ${seed}: ${code} is missing in ${codesOf(salvaged).join()}`);
        for (const { line, byte, message } of salvaged.findings) assert.ok(line >= 1 && byte >= 0 && byte <= bytes.length && message !== '');
        sameRecords(recordsIn(salvaged), readable.map(essence), `seed ${seed}`);
        assert.equal(salvaged.records - salvaged.copies, readable.length, `seed ${seed}`);
        session.free();
        freeAll(salvaged);
      }
    });
  }
});

describe('several faults at once', () => {
  it('300 logs with two faults lose nothing but what a fault has destroyed', async () => {
    const names = Object.keys(BREAKS).filter((name) => !name.includes('header') && !name.includes('fresh') && !name.includes('writer') && !name.includes('tail') && !name.includes('last'));
    for (let seed = 0; seed < 300; seed++) {
      const dice = new Dice(seed);
      const session = randomAgentSession(dice, { turns: 2 });
      const { header, lines } = storedOf(session);
      const half = Math.floor(lines.length / 2);
      const first = BREAKS[dice.pick(names)]!({ header, lines: lines.slice(0, half) }, dice);
      const second = BREAKS[dice.pick(names)]!({ header: '', lines: lines.slice(half) }, dice);
      const salvaged = await salvage(join(first.bytes, second.bytes));
      sameRecords(recordsIn(salvaged), [...first.readable, ...second.readable].map(essence), `seed ${seed}`);
      session.free();
      freeAll(salvaged);
    }
  });

  it('no noise makes it throw, and every whole line of an event is kept', async () => {
    for (let seed = 0; seed < 500; seed++) {
      const dice = new Dice(seed);
      const session = randomAgentSession(dice, { turns: 1 + dice.below(3) });
      const bytes = Buffer.concat([session.headerLine(), session.jsonl()]);
      for (let noise = 1 + dice.below(5); noise > 0; noise--) {
        const at = dice.below(bytes.length);
        bytes.fill(dice.pick([0, 10, 13, 0x22, 0x7b, 0x7d, 0xe6, dice.below(256)]), at, Math.min(at + 1 + dice.below(6), bytes.length));
      }
      const cut = bytes.subarray(0, dice.chance(0.3) ? dice.below(bytes.length) : bytes.length);
      const salvaged = await salvage(cut);
      if (salvaged.sessions.length > 0) {
        const found = new Map<string, number>();
        // A record whose seq the noise has made another one may have no place, and is kept apart.
        for (const record of [...recordsIn(salvaged), ...wholeEvents(Buffer.from(salvaged.kept.map(({ text: kept }) => `${kept}\n`).join(''))).map(essence)]) found.set(record, (found.get(record) ?? 0) + 1);
        for (const line of wholeEvents(cut)) assert.ok((found.get(essence(line)) ?? 0) > 0, `seed ${seed}: lost ${line}`);
      }
      session.free();
      freeAll(salvaged);
    }
  });
});

/** Lines that are, by a reader which knows nothing of salvage, events. */
function wholeEvents(bytes: Uint8Array): string[] {
  const lines: string[] = [];
  for (let from = 0; from < bytes.length; ) {
    const end = !bytes.includes(10, from) ? bytes.length : bytes.indexOf(10, from);
    try {
      const line = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(from, end));
      const value = JSON.parse(line) as Partial<SessionEvent>;
      if (typeof value.type === 'string' && Number.isInteger(value.seq) && value.seq! >= 0 && typeof value.time === 'number' && value.data !== undefined) lines.push(line);
    } catch {
      // No event.
    }
    from = end + 1;
  }
  return lines;
}

describe('damage with a right answer of its own', () => {
  it('a file of zero bytes, or of none, gives no session and says why', async () => {
    for (const [bytes, code] of [[new Uint8Array(413), 'NUL_RUN'], [new Uint8Array(0), 'EMPTY_FILE']] as const) {
      const salvaged = await salvage(bytes);
      assert.deepEqual(salvaged.sessions, []);
      assert.ok(codesOf(salvaged).includes(code));
      assert.throws(() => repaired(salvaged), { code: 'CORRUPT_LOG' });
    }
  });

  it('every cut of the last record is a torn tail, and says how many bytes', async () => {
    const { header, lines } = threeTurns();
    const last = lines.at(-1)!;
    for (let kept = 1; kept < last.length; kept++) {
      const salvaged = await salvage(join(header, ended(lines.slice(0, -1)), last.slice(0, kept)));
      const torn = salvaged.findings.find(({ code }) => code === 'TORN_TAIL');
      assert.match(torn?.message ?? '', new RegExp(`: ${kept} bytes$`));
      assert.deepEqual(salvaged.lost.map(({ from, to }) => to - from), [kept]);
      freeAll(salvaged);
    }
  });

  it('bytes that are not UTF-8 are named, and the record stays in its place', async () => {
    const { header, lines } = threeTurns();
    const at = Buffer.from(lines[7]!).indexOf('question') + 3;
    const broken = join(Buffer.from(lines[7]!).subarray(0, at), Uint8Array.of(0xe6, 0x87), Buffer.from(lines[7]!).subarray(at));
    const before = Buffer.byteLength(header + ended(lines.slice(0, 7)));
    const salvaged = await salvage(join(header, ended(lines.slice(0, 7)), broken, '\n', ended(lines.slice(8))));
    const found = salvaged.findings.find(({ code }) => code === 'BAD_UTF8');
    assert.deepEqual([found?.line, found?.byte, found?.seq], [9, before + at, 7]);
    assert.deepEqual(salvaged.sessions[0]!.events[7]!.data, { content: text('que\ufffdstion 2'), source: { kind: 'user' } });
    freeAll(salvaged);
  });

  it('a byte-order mark at the very start, CR LF and blank lines are tolerated and mentioned', async () => {
    const { header, lines } = threeTurns();
    const salvaged = await salvage(join('\ufeff', header.replace('\n', '\r\n\r\n  \r\n'), lines.map((line) => `${line} \r\n`).join('')));
    assert.deepEqual(salvaged.findings.map(({ code, severity }) => [code, severity]), [['BYTE_ORDER_MARK', 'info'], ['CRLF', 'info'], ['BLANK_LINE', 'info']]);
    assert.equal(Buffer.concat([...repaired(salvaged)[0]!.chunks()]).toString(), header + ended(lines));
    freeAll(salvaged);
  });

  it('only 0x0A ends a line', async () => {
    const session = new Session('lines');
    session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } });
    const { header, lines } = storedOf(session);
    const raw = lines[0]!.replace('"turn":1', '"turn":1,"x":"a\u2028b\u2029c\u0085d\u000bd"'.replace('\u000b', '\\u000b'));
    const salvaged = await salvage(join(header, raw, '\n'));
    assert.equal(salvaged.records, 1);
    assert.ok(!codesOf(salvaged).some((code) => code.includes('LINE') || code.includes('STRING')));
    freeAll(salvaged);
  });

  it('a record with real line ends in a string is put together', async () => {
    const { header, lines } = threeTurns();
    const salvaged = await salvage(join(header, ended(lines.slice(0, 1)), lines[1]!.replace('question 1', 'one\n\ntwo\nthree'), '\n', ended(lines.slice(2))));
    assert.ok(codesOf(salvaged).includes('BROKEN_STRING'));
    assert.match(JSON.stringify(salvaged.sessions[0]!.events[1]!.data), /one\\n.*two\\nthree/);
    freeAll(salvaged);
  });

  it('bare NaN is no JSON: null stands in its place', async () => {
    const { header, lines } = threeTurns();
    const salvaged = await salvage(join(header, lines[0]!.replace('"turn":1', '"turn":1,"x":[NaN,-Infinity,"NaN"]'), '\n', ended(lines.slice(1))));
    assert.ok(codesOf(salvaged).includes('NON_FINITE_NUMBER'));
    assert.deepEqual((salvaged.sessions[0]!.events[0]!.data as unknown as { x: unknown }).x, [null, null, 'NaN']);
    freeAll(salvaged);
  });

  it('a missing record is filled, so that no number that names an event has changed', async () => {
    const { header, lines } = threeTurns();
    const replace = `{"type":"user/message","seq":18,"time":1,"data":{"content":[],"source":{"kind":"user"}},"sourceEventSeqs":[1,3,7],"surfaceOp":{"op":"replace","start":1,"end":7}}`;
    const salvaged = await salvage(join(header, ended([...lines.slice(0, 5), ...lines.slice(6), replace])));
    const [session] = salvaged.sessions;
    assert.deepEqual([session!.events[5]!.type, session!.events[5]!.data], ['repair/note', { reason: 'missing' }]);
    assert.deepEqual(session!.surface.nodes.map(({ seq }) => seq), [18, 9, 13, 15]);
    freeAll(salvaged);
  });

  it('a jump that is too wide to be filled is counted anew, with all that names seqs behind it', async () => {
    const { header, lines } = threeTurns();
    const far = (line: string): string => line.replace(/"seq":(\d+)/, (_, seq: string) => `"seq":${Number(seq) + 5_000_000}`);
    const summary = { type: 'compact/summary', seq: 5_000_018, time: 1, data: { summary: text('s'), shadowedRange: { start: 5_000_013, end: 5_000_015 }, shadowedSeqs: [5_000_013, 5_000_015], shadowedTokenCount: 1, model: 'm' } };
    const replace = { type: 'user/message', seq: 5_000_019, time: 1, data: { content: text('s'), source: { kind: 'user' } }, sourceEventSeqs: [5_000_013, 5_000_015, 7], surfaceOp: { op: 'replace', start: 5_000_013, end: 5_000_015 } };
    const salvaged = await salvage(join(header, ended([...lines.slice(0, 12), ...lines.slice(12).map(far), JSON.stringify(summary), JSON.stringify(replace)])));
    const [session] = salvaged.sessions;
    assert.equal(codesOf(salvaged).filter((code) => code === 'SEQ_IMPLAUSIBLE').length, 1);
    assert.deepEqual(session!.surface.nodes.map(({ seq }) => seq), [1, 3, 7, 9, 19]);
    assert.deepEqual(session!.events[19]!.sourceEventSeqs, [13, 15, 7]);
    const { shadowedRange, shadowedSeqs } = (session!.events[18] as SessionEvent<'compact/summary'>).data;
    assert.deepEqual([shadowedRange, shadowedSeqs], [{ start: 13, end: 15 }, [13, 15]]);
    freeAll(salvaged);
  });

  it('a replace whose ends are lost covers what is left of its range', async () => {
    const { header, lines } = threeTurns();
    const replace = `{"type":"user/message","seq":18,"time":1,"data":{"content":[],"source":{"kind":"user"}},"sourceEventSeqs":[1,3,7],"surfaceOp":{"op":"replace","start":1,"end":7}}`;
    const salvaged = await salvage(join(header, ended([lines[0]!, ...lines.slice(2), replace])));
    assert.deepEqual(salvaged.sessions[0]!.surface.nodes.map(({ seq }) => seq), [18, 9, 13, 15]);
    assert.ok(codesOf(salvaged).includes('INVALID_REPLACE'));
    assert.equal(recordsIn(salvaged).length, lines.length);
    freeAll(salvaged);
  });

  it('two writers that alternate are told apart by the calls that they answer', async () => {
    const session = new Session('both');
    openTurn(session, 1);
    const { header, lines } = storedOf(session);
    const line = (seq: number, type: string, data: object, surface: boolean): string => JSON.stringify({ type, seq, time: seq, data: { turn: 1, step: 1, ...data }, ...(surface && { surfaceOp: 'append' }) });
    const writer = (id: string): string[] => [
      line(3, 'assistant/message', { content: [{ type: 'tool-call', id, name: 'run', arguments: '{}' }] }, true),
      line(4, 'tool/call', { callId: id, name: 'run', arguments: '{}' }, false),
      line(5, 'tool/result', { callId: id, content: text(id), isError: false }, true),
    ];
    const [a, b] = [writer('a'), writer('b')];
    const salvaged = await salvage(join(header, ended([...lines, a[0]!, a[1]!, b[0]!, b[1]!, a[2]!, b[2]!])));
    assert.deepEqual(salvaged.sessions.map(({ events }) => JSON.stringify(events[5]!.data).includes('"callId":"a"') ? 'a' : 'b'), ['a', 'b']);
    assert.deepEqual(salvaged.sessions[1]!.header.parentSession, 'both');
    assert.equal(salvaged.sessions[1]!.header.seedLength, 3);
    freeAll(salvaged);
  });

  it('an exact copy is kept once, and counted', async () => {
    const { header, lines } = threeTurns();
    const salvaged = await salvage(join(header, ended([...lines.slice(0, 9), ...lines.slice(3, 9), ...lines.slice(9)])));
    assert.deepEqual([salvaged.sessions.length, salvaged.records, salvaged.copies], [1, lines.length + 6, 6]);
    assert.equal(codesOf(salvaged).filter((code) => code === 'SEQ_REPEATED').length, 6);
    freeAll(salvaged);
  });

  it('a record that the core refuses is kept whole, as the payload of another', async () => {
    const { header, lines } = threeTurns();
    const bad = lines[1]!.replace(/"content":\[.*?\]/, '"content":12345678901234567890');
    const salvaged = await salvage(join(header, ended([lines[0]!, bad, ...lines.slice(2)])));
    const [session] = salvaged.sessions;
    assert.ok(codesOf(salvaged).includes('INVALID_PAYLOAD'));
    assert.match(decode(session!.jsonl(1, 2)), /"type":"repair\/record".*"record":\{"type":"user\/message".*12345678901234567890/);
    freeAll(salvaged);
  });

  it('JSON that is no event is kept apart, and in the repaired log', async () => {
    const { header, lines } = threeTurns();
    const salvaged = await salvage(join(header, ended([lines[0]!, '{"foo":1}', ...lines.slice(1)])));
    assert.deepEqual(salvaged.kept.map(({ line, text: kept }) => [line, kept]), [[3, '{"foo":1}']]);
    assert.match(Buffer.concat([...repaired(salvaged)[0]!.chunks()]).toString(), /"kept":\[\{"line":3,"byte":\d+,"text":"\{\\"foo\\":1\}"\}\]/);
    freeAll(salvaged);
  });

  it('a log of another version is refused, and not converted', async () => {
    const { header, lines } = threeTurns();
    const salvaged = await salvage(join(header.replace('"version":0', '"version":7'), ended(lines)));
    assert.deepEqual([salvaged.sessions, codesOf(salvaged)], [[], ['UNSUPPORTED_VERSION']]);
    assert.throws(() => repaired(salvaged), { code: 'UNSUPPORTED_VERSION' });
  });

  it('an open turn is found, and closed in the repaired log as a load would close it', async () => {
    const session = new Session('open');
    openTurn(session, 1);
    const { header, lines } = storedOf(session);
    const salvaged = await salvage(join(header, ended(lines)));
    assert.deepEqual(codesOf(salvaged), ['TURN_OPEN_AT_END']);
    assert.deepEqual(repaired(salvaged)[0]!.added.map(({ type }) => type), ['step/end', 'turn/end']);
    freeAll(salvaged);
  });

  it('a type that is not known is mentioned once, unless it may be ignored or the program names it', async () => {
    const { header, lines } = threeTurns();
    const odd = (extra: string): Uint8Array => join(header, ended([...lines.slice(0, 5), `{"type":"model/selection","seq":5,"time":1,"data":{}${extra}}`]));
    const plain = await salvage(odd(''));
    assert.deepEqual(plain.findings.filter(({ code }) => code === 'UNKNOWN_TYPE').map(({ seq, message }) => [seq, message.includes('model/selection')]), [[5, true]]);
    const ignorable = await salvage(odd(',"ignorable":true'));
    const known = await salvage(odd(''), { knownTypes: ['model/selection'] });
    for (const salvaged of [ignorable, known]) assert.ok(!codesOf(salvaged).includes('UNKNOWN_TYPE'));
    for (const salvaged of [plain, ignorable, known]) freeAll(salvaged);
  });

  it('what poisons requests is found: half a surrogate pair, a text between a call and its result', async () => {
    const session = new Session('poison');
    openTurn(session, 1);
    session.append('assistant/message', { turn: 1, step: 1, content: [{ type: 'tool-call', id: 'a', name: 'run', arguments: '{}' }] }, { surfaceOp: 'append' });
    session.append('tool/call', { turn: 1, step: 1, callId: 'a', name: 'run', arguments: '{}' });
    session.append('user/message', { content: text('wait \ud83d'), source: { kind: 'user' } }, { surfaceOp: 'append' });
    session.append('tool/result', { turn: 1, step: 1, callId: 'a', content: text('done'), isError: false }, { surfaceOp: 'append' });
    endTurn(session, 1);
    const salvaged = await salvage(Buffer.concat([session.headerLine(), session.jsonl()]));
    assert.deepEqual(salvaged.findings.map(({ code, seq }) => [code, seq]), [['LONE_SURROGATE', 5], ['TEXT_BETWEEN_PAIR', 5]]);
    freeAll(salvaged);
  });
});

describe('reading', () => {
  it('tells of its progress, and ends when it is told to', async () => {
    const { header, lines } = threeTurns();
    const bytes = join(header, ended(lines));
    const seen: number[] = [];
    freeAll(await salvage([bytes.subarray(0, 100), bytes.subarray(100)], { onProgress: (done) => seen.push(done) }));
    assert.deepEqual(seen, [100, bytes.length]);
    const aborted = new AbortController();
    const chunks = (function* () {
      yield bytes.subarray(0, 100);
      aborted.abort(new Error('enough'));
      yield bytes.subarray(100);
    })();
    await assert.rejects(salvage(chunks, { signal: aborted.signal }), /enough/);
  });

  it('takes a web stream, and lets its source fail', async () => {
    const { header, lines } = threeTurns();
    const salvaged = await salvage(new Blob([header, ended(lines)]).stream());
    assert.equal(salvaged.records, lines.length);
    freeAll(salvaged);
    const failing = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('cable')) });
    await assert.rejects(salvage(failing), /cable/);
  });

  it('a program that does not count makes a hundred branches, and what is beyond them is kept apart', async () => {
    const { header, lines } = threeTurns();
    const stuck = Array.from({ length: 5000 }, (_, number) => `{"type":"test/note","seq":12,"time":1,"data":{"note":"${number}"}}`);
    const salvaged = await salvage(join(header, ended([...lines, ...stuck])));
    assert.equal(salvaged.sessions.length, 100);
    assert.equal(salvaged.kept.length, stuck.length - 99);
    assert.equal(salvaged.records, lines.length + 99);
    freeAll(salvaged);
    const headers = await salvage(join(header.repeat(5000), ended(lines)));
    assert.deepEqual([headers.sessions.length, headers.records], [1, lines.length]);
    freeAll(headers);
  });

  it('holds no more of a hostile line than the line: 200,000 heads of records without an end', async () => {
    const { header, lines } = threeTurns();
    const salvaged = await salvage(join(header, '{"type":"x","seq":1,'.repeat(200_000), '\n', ended(lines)));
    assert.equal(salvaged.records, lines.length);
    freeAll(salvaged);
  });
});
