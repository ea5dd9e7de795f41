// node open-once.mjs NAME FILE: opens FILE to derived messages and prints { peak, elapsed, messages }.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import process from 'node:process';
import { timed } from './measure.mjs';

const [name, path] = process.argv.slice(2);
const adapter = await import({ ours: './peers/palimpsest.mjs', peer: './peers/dsh.mjs', seed: './peers/seed.mjs' }[name]);

function* read(file) {
  const buffer = Buffer.alloc(1 << 20);
  for (let length = readSync(file, buffer); length > 0; length = readSync(file, buffer)) yield buffer.subarray(0, length);
}

/** Bytes of the process's highest resident size. `maxRSS` may begin at the parent's where a child is forked. */
function peak() {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024;
  } catch {
    return process.resourceUsage().maxRSS * 1024;
  }
}

const file = openSync(path);
const { size } = fstatSync(file);
let session;
let messages;
const elapsed = timed(() => {
  session = adapter.open(read(file), size);
  messages = adapter.derive(session);
  return messages;
});
closeSync(file);
console.log(JSON.stringify({ peak: peak(), elapsed, messages: messages.length, seq: session.seq }));
