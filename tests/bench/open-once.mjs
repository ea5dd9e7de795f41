// node open-once.mjs NAME FILE: opens FILE to derived messages and prints { peak, elapsed, messages }. NAME is a
// contestant, or `filed` for ours with its bytes left in the file.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import process from 'node:process';
import { openFile } from 'palimpsest/jsonl';
import { timed } from './measure.mjs';

const [name, path] = process.argv.slice(2);
const adapter = await import({ ours: './peers/palimpsest.mjs', filed: './peers/palimpsest.mjs', peer: './peers/dsh.mjs', seed: './peers/seed.mjs' }[name]);

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

let session;
let messages;
let elapsed;
if (name === 'filed') {
  const start = performance.now();
  ({ session } = await openFile(path));
  messages = session.deriveMessages();
  elapsed = performance.now() - start;
} else {
  const file = openSync(path);
  const { size } = fstatSync(file);
  elapsed = timed(() => {
    session = adapter.open(read(file), size);
    messages = adapter.derive(session);
    return messages;
  });
  closeSync(file);
}
console.log(JSON.stringify({ peak: peak(), elapsed, messages: messages.length, seq: session.seq }));
