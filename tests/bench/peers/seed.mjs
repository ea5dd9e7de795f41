// The seed design (seed-session.mjs), in our vocabulary, which is the documents' own.
import { parse } from './dsh.mjs';
import { SeedSession } from './seed-session.mjs';

export const name = 'seed';
export { headerLine, line, payload } from './palimpsest.mjs';

export const create = () => new SeedSession('bench');
export const free = () => {};
export const length = (session) => session.seq;
export const append = (session, { type, data, intent }) => session.append(type, data, intent);

// Not shared with dsh.mjs: a call site that sees two classes would slow both down.
export function write(session, payloads) {
  let bytes = 0;
  for (let i = 0; i < payloads.length; i++) {
    const { type, data, intent } = payloads[i];
    bytes += JSON.stringify(session.append(type, data, intent)).length + 1;
  }
  return bytes;
}

export function open(chunks) {
  const { header, events } = parse(chunks);
  return new SeedSession(header.id, events);
}

export const derive = (session) => session.deriveMessages();

export async function forking(chunks) {
  const session = open(chunks);
  return { fork: () => session.fork('child'), drop: () => {}, close: () => {} };
}
