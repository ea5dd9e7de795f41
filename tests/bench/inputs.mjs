// The logs that are measured, in no implementation's vocabulary: adapters (peers/*.mjs) turn an item into their event.
//
// An item is one event: { kind, seq, time, … } with kind one of
//   turn-start, step-start, step-end, turn-end { turn, step }
//   chunk { turn, step, text }
//   user { content, replace? }  assistant { turn, step, content, usage, sources }  tool { turn, step, callId, content, meta? }
// `replace` is { start, end, keptFrom, sources }: a compaction over the surface nodes `sources`.
import { Random } from './random.mjs';

const START = 1_700_000_000_000;
/** Events of one turn: 4 marks, 177 chunks (89%) and 19 messages. */
const TURN = 200;
const ROUNDS = 9;
/** A compacted log replaces all but the last whole turns that hold RETAIN nodes, whenever it has COMPACT_AT. */
const COMPACT_AT = 600;
const RETAIN = 100;

/** Texts of four kinds, cut from pools that are made once. */
class Texts {
  constructor(random) {
    this.random = random;
    this.pools = {
      ascii: pool(random, () => `${word(random)}${random.next() < 0.1 ? '. ' : ' '}`),
      escapes: pool(random, () => random.pick(['\t', '\n', '"', '\\', '\r\n', ' ', ' ']) + word(random)),
      wide: pool(random, () => (random.next() < 0.05 ? random.pick(['🙂', '🚀', '👩‍💻', '𠮷']) : String.fromCharCode(random.int(0x4e00, 0x9fa5)))),
    };
  }

  /** About `bytes` of UTF-8 of one kind. */
  text(kind, bytes) {
    const units = kind === 'wide' ? Math.max(1, Math.round(bytes / 3)) : bytes;
    const { [kind]: source } = this.pools;
    let from = this.random.int(0, source.length - units);
    let to = from + units;
    if (low(source, from)) from++;
    if (low(source, to)) to--;
    return source.slice(from, to);
  }

  any(bytes) {
    const share = this.random.next();
    return this.text(share < 0.5 ? 'ascii' : share < 0.8 ? 'escapes' : 'wide', bytes);
  }

  /** A tool's structured result of about `bytes` of JSON. */
  structured(bytes) {
    const rows = [];
    for (let size = 0; size < bytes; size += 150) {
      rows.push({
        path: `src/${word(this.random)}/${word(this.random)}.ts`,
        line: this.random.int(1, 4000),
        score: Math.round(this.random.next() * 1e6) / 1e6,
        matched: this.random.next() < 0.5,
        tags: [word(this.random), word(this.random)],
        owner: null,
        range: { start: this.random.int(0, 1e6), end: this.random.int(0, 1e6) },
      });
    }
    return { rows, total: rows.length };
  }
}

function pool(random, piece) {
  let text = '';
  while (text.length < 1 << 16) text += piece();
  return text;
}

function word(random) {
  let text = '';
  for (let length = random.int(2, 9); length > 0; length--) text += String.fromCharCode(random.int(97, 122));
  return text;
}

const low = (text, at) => (text.charCodeAt(at) & 0xfc00) === 0xdc00;

/** 0.5 to 20 KB, mostly small. */
const messageSize = (random) => Math.round(500 * 40 ** (random.next() ** 9));

const block = (text) => ({ type: 'text', text });

/** A session of `count` events (whole turns), 89% of them chunks; with `compacted`, its surface stays below 700 nodes. */
export function* log(count, { compacted = false, seed = 1 } = {}) {
  if (count % TURN !== 0) throw new Error(`a log holds whole turns of ${TURN} events`);
  const random = new Random(seed);
  const texts = new Texts(random);
  let seq = 0;
  /** Seqs on the surface, and where its turns start. */
  let surface = [];
  let starts = [];
  const item = (kind, fields) => ({ kind, seq, time: START + 7 * seq++, ...fields });
  for (let turn = 1; seq < count; turn++) {
    const [first, step] = [seq, 1];
    yield item('turn-start', { turn });
    yield item('step-start', { turn, step });
    if (compacted && surface.length >= COMPACT_AT) {
      const cut = starts.findLast((start) => surface.length - start >= RETAIN);
      const sources = surface.slice(0, cut);
      const replace = { start: sources[0], end: sources.at(-1), keptFrom: surface[cut], sources };
      surface = [seq, ...surface.slice(cut)];
      starts = starts.filter((start) => start >= cut).map((start) => start - cut + 1);
      yield item('user', { content: [block(`<compacted-summary>${texts.text('ascii', 2000)}</compacted-summary>`)], replace });
    }
    starts.push(surface.length);
    surface.push(seq);
    yield item('user', { content: [block(texts.any(messageSize(random)))] });
    for (let round = 0; round < ROUNDS; round++) {
      const callId = `call-${turn}-${round}`;
      const sources = [];
      // Two for the messages of each round that is still to come, two for the ends.
      const chunksEnd = first + TURN - 2 - 2 * (ROUNDS - round);
      const share = Math.round((chunksEnd - seq) / (ROUNDS - round));
      for (let i = 0; i < share; i++) {
        sources.push(seq);
        yield item('chunk', { turn, step, text: texts.any(random.int(10, 60)) });
      }
      const args = JSON.stringify({ path: word(random), text: texts.text('escapes', 40) });
      surface.push(seq);
      yield item('assistant', {
        turn, step, sources,
        content: [block(texts.any(messageSize(random))), { type: 'tool-call', id: callId, name: 'search', arguments: args }],
        usage: { inputTokens: random.int(100, 90000), outputTokens: random.int(1, 4000) },
      });
      surface.push(seq);
      const structured = random.next() < 0.3;
      yield item('tool', {
        turn, step, callId,
        content: [block(structured ? 'found' : texts.any(messageSize(random)))],
        ...(structured && { meta: texts.structured(messageSize(random)) }),
      });
    }
    yield item('step-end', { turn, step });
    yield item('turn-end', { turn });
  }
}

function series(count, seed, fields) {
  const random = new Random(seed);
  const texts = new Texts(random);
  // Through JSON, so that no string is a slice or a rope that the first to read it would have to flatten.
  return Array.from({ length: count }, (_, seq) => JSON.parse(JSON.stringify({ seq, time: START + seq, turn: 1, step: 1, ...fields(texts, random, seq) })));
}

/** Chunk events with payloads of about 100 bytes, each in a line of its own of 150 to 200. */
export const chunks = (count) => series(count, 2, (texts, random) => ({ kind: 'chunk', text: texts.any(random.int(10, 60)) }));

/** Tool results with 4 KB of text: prose, code, and a fifth of them CJK with emoji. */
export const textResults = (count) => series(count, 3, (texts, _, seq) => ({ kind: 'tool', callId: `call-${seq}`, content: [block(texts.any(4096))] }));

/** Tool results with 4 KB of structured data. */
export const structuredResults = (count) =>
  series(count, 4, (texts, _, seq) => ({ kind: 'tool', callId: `call-${seq}`, content: [block('found')], meta: texts.structured(4096) }));

/** User messages of about 100 bytes. */
export const userMessages = (count, seed = 5) => series(count, seed, (texts, random) => ({ kind: 'user', content: [block(texts.any(random.int(50, 150)))] }));
