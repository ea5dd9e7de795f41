/** Files that are out of order as a whole: what the seqs say counts, and every line of the file is accounted for. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Session } from 'palimpsest';
import { checkLog } from 'palimpsest/invariants';
import { repaired, salvage, type Salvaged } from 'palimpsest/salvage';
import { other } from '../support/damage.js';
import { Dice } from '../support/random.js';
import { decode, runTurn } from '../support/sessions.js';

type Lines = readonly string[];

const header = '{"type":"session","version":0,"id":"plain","createdAt":1}\n';
const atSeq = (line: string, seq: number | string): string => line.replace(/"seq":\d+/, `"seq":${seq}`);
const bytesOf = (head: string, lines: Lines): Uint8Array => Buffer.from(head + lines.map((line) => `${line}\n`).join(''));
const linesOf = (session: Session): string[] => decode(session.jsonl()).split('\n').slice(0, -1);
const errors = ({ findings }: Salvaged): string[] => findings.filter(({ severity }) => severity === 'error').map(({ code }) => code);

/** The lines of a log of six events a turn. */
function turns(count: number): string[] {
  const session = new Session('plain');
  for (let turn = 1; turn <= count; turn++) runTurn(session, turn);
  const lines = linesOf(session);
  session.free();
  return lines;
}

function shuffled<T>(items: readonly T[], dice: Dice): T[] {
  const mixed = [...items];
  for (let at = mixed.length - 1; at > 0; at--) {
    const to = dice.below(at + 1);
    [mixed[at], mixed[to]] = [mixed[to]!, mixed[at]!];
  }
  return mixed;
}

/** Every `size` lines as one piece. */
function pieces(lines: Lines, size: number): string[][] {
  return Array.from({ length: Math.ceil(lines.length / size) }, (_, index) => lines.slice(index * size, (index + 1) * size));
}

/** Each record that is in a session, and each text that was kept, once for each time that it stood in the file. */
function accounted(salvaged: Salvaged): string[] {
  const shared = repaired(salvaged).map((log) => log.shared);
  const found = salvaged.sessions.flatMap((session, index) => linesOf(session).slice(shared[index]).filter((line) => !line.startsWith('{"type":"repair/note"')));
  return [...found, ...salvaged.kept.map(({ text }) => text)];
}

/** Salvages, and sees to it that every line is in exactly one place: a session, the copies, the kept texts or the lost ranges. */
async function salvageAll(lines: Lines, label: string, head = header): Promise<Salvaged> {
  const salvaged = await salvage(bytesOf(head, lines), { name: 'log.jsonl' });
  assert.equal(salvaged.records + salvaged.kept.length + salvaged.lost.length, lines.length, `${label}: lines that are accounted for`);
  const found = accounted(salvaged);
  assert.equal(found.length, salvaged.records - salvaged.copies + salvaged.kept.length, `${label}: records in sessions`);
  // A record may have been given another seq, or be the payload of another; what it says is there.
  const essence = (line: string): string => line.slice(line.indexOf('"data":'));
  const texts = new Set(found.map(essence));
  for (const line of lines) if (line.startsWith('{') && line.includes('"data":')) assert.ok(texts.has(essence(line)) || found.some((one) => one.includes(line)), `${label}: lost ${line}`);
  for (const finding of checkLog(salvaged.sessions[0]!)) assert.ok(!finding.code.startsWith('SEQ_'), `${label}: ${finding.message}`);
  for (const session of salvaged.sessions) assert.deepEqual(linesOf(session).map((line) => Number(/"seq":(\d+)/.exec(line)![1])), [...Array(session.seq).keys()], label);
  return salvaged;
}

function free({ sessions }: Salvaged): void {
  for (const session of sessions) session.free();
}

/** Orders of a file's lines that say nothing about the log. */
const ORDERS: Readonly<Record<string, (lines: string[], dice: Dice) => string[]>> = {
  'the lines are reversed': (lines) => lines.reverse(),
  'the lines are shuffled': shuffled,
  'the second half stands before the first': (lines) => [...lines.slice(lines.length / 2), ...lines.slice(0, lines.length / 2)],
  'pieces of 300 lines are shuffled': (lines, dice) => shuffled(pieces(lines, 300), dice).flat(),
  'the pieces of two disks are one behind the other': (lines) => [0, 1].flatMap((disk) => pieces(lines, 64).filter((_, index) => index % 2 === disk).flat()),
  'one line stands 600 lines too early, and one as many too late': (lines) => [...lines.slice(700, 701), ...lines.slice(0, 20), ...lines.slice(21, 650), ...lines.slice(20, 21), ...lines.slice(650, 700), ...lines.slice(701)],
  'every third line is moved five back': (lines) => {
    for (let at = 6; at < lines.length; at += 3) lines.splice(at - 5, 0, ...lines.splice(at, 1));
    return lines;
  },
};

describe('where the order alone is damaged, whatever its extent, the log is whole again', () => {
  const lines = turns(200);
  for (const [name, order] of Object.entries(ORDERS)) {
    it(name, async () => {
      for (let seed = 0; seed < 4; seed++) {
        const salvaged = await salvageAll(order([...lines], new Dice(seed)), name);
        assert.deepEqual(salvaged.sessions.map(linesOf), [lines]);
        assert.deepEqual([...new Set(errors(salvaged))], ['OUT_OF_ORDER']);
        free(salvaged);
      }
    });
  }

  it('the lines are sorted as texts, and the header is among them', async () => {
    const sorted = [header.trimEnd(), ...lines].sort();
    assert.ok(sorted.indexOf(header.trimEnd()) > 16);
    const salvaged = await salvage(bytesOf('', sorted));
    assert.deepEqual(salvaged.sessions.map((session) => [session.id, ...linesOf(session)]), [['plain', ...lines]]);
    free(salvaged);
  });

  it('one finding says how many lines stand too late, and where the first of them is', async () => {
    const salvaged = await salvageAll([...lines.slice(600), ...lines.slice(0, 600)], 'halves');
    assert.deepEqual(salvaged.findings.map(({ code, line, seq, message }) => [code, line, seq, message]), [['OUT_OF_ORDER', 602, 0, '600 records, of which this is the first, stand behind others whose seqs are higher']]);
    free(salvaged);
  });

  it('40 lines of 1 MB each are reversed', async () => {
    const large = lines.slice(0, 42).map((line) => line.replace('"data":{', `"data":{"large":"${'x'.repeat(1 << 20)}",`));
    const salvaged = await salvage(bytesOf(header, [...large].reverse()));
    assert.equal(salvaged.sessions.length, 1);
    assert.ok(decode(salvaged.sessions[0]!.jsonl()) === `${large.join('\n')}\n`);
    free(salvaged);
  });

  it('20,000 lines in any order', async () => {
    const many = turns(3334);
    for (const name of ['the lines are reversed', 'the lines are shuffled']) {
      const salvaged = await salvage(bytesOf(header, ORDERS[name]!([...many], new Dice(1))));
      assert.equal(salvaged.sessions.length, 1);
      assert.equal(decode(salvaged.sessions[0]!.jsonl()), `${many.join('\n')}\n`);
      free(salvaged);
    }
  });

  it('with records that are missing, that come twice, or whose seq is wrong, the others are in their places', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const dice = new Dice(seed);
      const missing = new Set(Array.from({ length: 20 }, () => 1 + dice.below(lines.length - 2)));
      const left = lines.filter((_, seq) => !missing.has(seq));
      const strays = [atSeq(other(lines[5]!, 'far'), 2 ** 31), atSeq(other(lines[5]!, 'huge'), 2 ** 53), atSeq(other(lines[5]!, 'negative'), -1), other(lines[dice.below(1000)]!, 'taken')];
      const salvaged = await salvageAll(shuffled([...left, ...left.slice(0, 30), ...strays], dice), `seed ${seed}`);
      assert.equal(salvaged.sessions.length, 1, `seed ${seed}`);
      const found = linesOf(salvaged.sessions[0]!);
      assert.equal(found.length, lines.length);
      const wrong = found.filter((line, seq) => line !== lines[seq] && !line.startsWith('{"type":"repair/note"'));
      assert.ok(wrong.every((line) => line.includes('"taken"')), `seed ${seed}: ${wrong.join()}`);
      free(salvaged);
    }
  });

  it('lines between them that cannot be read stand in place of what is missing', async () => {
    const damaged = shuffled(lines.map((line, seq) => (seq % 2 === 1 ? `garbage ${seq}` : line)), new Dice(1));
    const salvaged = await salvageAll(damaged, 'garbage');
    assert.deepEqual(linesOf(salvaged.sessions[0]!).filter((line) => line.includes('"reason":"unreadable"')).length, lines.length / 2 - 1);
    assert.ok(!errors(salvaged).includes('SEQ_GAP'));
    free(salvaged);
  });
});

describe('a record whose seq is another one\'s already', () => {
  const lines = turns(100);

  it('is set aside where nothing goes on with it', async () => {
    for (let seed = 0; seed < 40; seed++) {
      const dice = new Dice(seed);
      const at = 20 + dice.below(lines.length - 30);
      const stray = other(lines[dice.below(at - 1)]!, 'stray');
      const salvaged = await salvageAll([...lines.slice(0, at), stray, ...lines.slice(at)], `seed ${seed}`);
      assert.deepEqual(salvaged.sessions.map(linesOf), [lines], `seed ${seed}`);
      assert.deepEqual([salvaged.kept.map(({ text, line }) => [text, line]), errors(salvaged)], [[[stray, at + 2]], ['SEQ_IMPLAUSIBLE']], `seed ${seed}`);
      assert.match(salvaged.findings[0]!.message, new RegExp(`, and ${at} was due; no other record goes on from it$`));
      free(salvaged);
    }
  });

  it('300 of them are set aside, however far they are from each other', async () => {
    for (const seqOf of [(at: number) => at >> 1, (at: number) => (at * 7) % at]) {
      const many = turns(600);
      const damaged = many.flatMap((line, at) => (at % 12 === 7 && at > 20 ? [atSeq(other(line, `stray ${at}`), seqOf(at)), line] : [line]));
      const salvaged = await salvageAll(damaged, 'strays');
      assert.deepEqual(salvaged.sessions.map(linesOf), [many]);
      assert.deepEqual([...new Set(errors(salvaged))], ['SEQ_IMPLAUSIBLE']);
      free(salvaged);
    }
  });

  it('several of them beside each other are set aside, too', async () => {
    for (const seqs of [[10, 100, 200], [200, 100, 10], [50, 55, 60], [50, 50, 50]]) {
      const strays = seqs.map((seq, index) => atSeq(other(lines[1]!, `stray ${index}`), seq));
      const salvaged = await salvageAll([...lines.slice(0, 300), ...strays, ...lines.slice(300)], seqs.join());
      assert.deepEqual(salvaged.sessions.map(linesOf), [lines], seqs.join());
      assert.deepEqual(salvaged.kept.map(({ text }) => text).sort(), [...strays].sort());
      free(salvaged);
    }
  });

  it('is a second writer\'s where it is the last of the file, or where others go on with it', async () => {
    for (const more of [1, 2, 5]) {
      const theirs = lines.slice(300, 300 + more).map((line) => other(line, 'theirs'));
      const last = await salvageAll([...lines, ...theirs], 'last');
      const between = await salvageAll([...lines.slice(0, 400), ...theirs, ...lines.slice(400)], 'between');
      for (const [salvaged, forks] of [[last, 1], [between, more === 1 ? 0 : 1]] as const) {
        assert.deepEqual(salvaged.sessions.map((session) => linesOf(session).slice(300, 300 + more)), forks === 0 ? [lines.slice(300, 300 + more)] : [lines.slice(300, 300 + more), theirs]);
        assert.deepEqual(linesOf(salvaged.sessions[0]!), lines);
        free(salvaged);
      }
    }
  });
});

describe('damage that is no disorder comes out as such', () => {
  const lines = turns(300);
  const half = lines.length / 2;
  const theirs = lines.slice(half).map((line) => other(line, 'theirs'));
  const sessions = async (damaged: Lines, label: string): Promise<[string[][], Salvaged]> => {
    const salvaged = await salvageAll(damaged, label);
    const found = salvaged.sessions.map(linesOf);
    free(salvaged);
    return [found, salvaged];
  };

  it('the second half was written twice, by two: two sessions', async () => {
    const [found] = await sessions([...lines, ...theirs], 'twice');
    assert.deepEqual(found, [lines, [...lines.slice(0, half), ...theirs]]);
  });

  it('the second half was written twice, and its halves stand the wrong way round: two sessions', async () => {
    const [found] = await sessions([...lines.slice(half / 2, half), ...lines.slice(0, half / 2), ...lines.slice(half), ...theirs], 'twice, moved');
    assert.deepEqual(found, [lines, [...lines.slice(0, half), ...theirs]]);
  });

  it('the file stands behind itself: one session, and the copies are counted', async () => {
    const [found, { copies }] = await sessions([...lines, ...lines], 'behind itself');
    assert.deepEqual([found, copies], [[lines], lines.length]);
  });

  it('the first line, or the first 500, are missing: a gap', async () => {
    for (const missing of [1, 500]) {
      const [found, salvaged] = await sessions(lines.slice(missing), `${missing} missing`);
      assert.deepEqual(found.map((one) => one.slice(missing)), [lines.slice(missing)]);
      assert.equal(errors(salvaged).filter((code) => code === 'SEQ_GAP').length, 1);
      assert.ok(!errors(salvaged).includes('OUT_OF_ORDER'));
    }
  });

  it('the headers of two logs are missing but for the second: two logs', async () => {
    const first = turns(20).map((line) => other(line, 'first'));
    const salvaged = await salvage(bytesOf('', [...first, header.trimEnd(), ...lines]), { name: 'lost.jsonl' });
    assert.deepEqual(salvaged.sessions.map((session) => [session.id, ...linesOf(session)]), [['lost', ...first], ['plain', ...lines]]);
    assert.deepEqual(errors(salvaged), ['MISSING_HEADER', 'SECOND_HEADER']);
    free(salvaged);
    const tail = lines.slice(900, 1000).map((line) => other(line, 'tail'));
    const cut = await salvage(bytesOf('', [...tail, header.trimEnd(), ...lines.slice(0, 300)]), { name: 'lost.jsonl' });
    assert.deepEqual(cut.sessions.map((session) => [session.id, ...linesOf(session).filter((line) => !line.startsWith('{"type":"repair/note"'))]), [['lost', ...tail], ['plain', ...lines.slice(0, 300)]]);
    free(cut);
  });

  it('a seq that is none is kept apart', async () => {
    for (const seq of ['-1', '1.5', '1e3', String(2 ** 32), String(2 ** 53), '"7"', 'null']) {
      const stray = atSeq(other(lines[7]!, 'stray'), seq);
      const [found, { kept }] = await sessions([...lines.slice(0, 90), stray, ...lines.slice(90)], seq);
      assert.deepEqual([found, kept.map(({ text }) => text)], [[lines], [stray]], seq);
    }
  });
});

/** What may happen to a file's lines, one after the other. */
const HARMS: readonly ((lines: string[], dice: Dice) => string[])[] = [
  ...Object.values(ORDERS),
  (lines, dice) => lines.filter(() => !dice.chance(0.1)),
  (lines) => lines.filter((_, at) => at % 2 === 0),
  (lines, dice) => [...lines, ...lines.slice(dice.below(lines.length))],
  (lines, dice) => [...lines, ...lines.slice(dice.below(lines.length)).map((line) => other(line, 'again'))],
  (lines, dice) => pieces(lines, 1 + dice.below(300)).flatMap((piece) => (dice.chance(0.5) ? [...piece, ...piece.map((line) => other(line, 'theirs'))] : piece)),
  (lines, dice) => lines.map((line, at) => (dice.chance(0.05) ? atSeq(other(line, `wrong ${at}`), dice.pick([dice.below(lines.length), 2 ** 31, 2 ** 53, -3, at + 40])) : line)),
  (lines, dice) => lines.map((line, at) => (dice.chance(0.1) ? `garbage ${at}` : line)),
  (lines, dice) => lines.map((line, at) => atSeq(other(line, `any ${at}`), dice.below(lines.length))),
];

describe('no line is lost silently', () => {
  it('150 logs with one to three harms', async () => {
    const whole = turns(120);
    for (let seed = 0; seed < 150; seed++) {
      const dice = new Dice(seed);
      let lines = [...whole];
      const names: number[] = [];
      for (let count = 1 + dice.below(3); count > 0; count--) {
        names.push(dice.below(HARMS.length));
        lines = HARMS[names.at(-1)!]!(lines, dice);
      }
      free(await salvageAll(lines, `seed ${seed}, harms ${names.join()}`));
    }
  });
});
