// lines.mjs for browsers, where there is no Buffer. Each line is decoded alone, as there.

export function* lines(chunks) {
  const decoder = new TextDecoder();
  let rest = new Uint8Array(0);
  for (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      const line = chunk.subarray(from, end);
      yield decoder.decode(rest.length === 0 ? line : join(rest, line));
      if (rest.length > 0) rest = rest.subarray(rest.length);
      from = end + 1;
    }
    rest = join(rest, chunk.subarray(from));
  }
}

const CHUNK = 1 << 20;

/** The log's JSONL in one implementation's vocabulary, in chunks of 1 MiB. */
export function jsonl(peer, items) {
  const encoder = new TextEncoder();
  const chunks = [];
  let rest = encoder.encode(peer.headerLine());
  let text = '';
  const spill = () => {
    rest = join(rest, encoder.encode(text));
    text = '';
    let from = 0;
    for (; rest.length - from >= CHUNK; from += CHUNK) chunks.push(rest.slice(from, from + CHUNK));
    rest = rest.slice(from);
  };
  for (const item of items) {
    text += peer.line(item);
    if (text.length > CHUNK) spill();
  }
  spill();
  if (rest.length > 0) chunks.push(rest);
  return chunks;
}

function join(a, b) {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
