// Writes public/example.jsonl, the log that the page has built in: node www/demo/record.mjs
// The clock of the recording is even, so that the same script gives the same bytes.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { Session, SessionStore } from 'palimpsest';
import { compact, runTurn } from './agent.mjs';
import { createProject, toolsFor } from './project.mjs';
import { DOCUMENT, FIX, FIX_SUMMARY, HEADER, SPACES, WRITER_HEADER } from './script.mjs';

const START = Date.UTC(2026, 6, 14, 9, 30);
const MS_PER_EVENT = { 'assistant/chunk': 24, 'tool/result': 310, 'user/message': 6_500 };

export async function recordExample() {
  const directory = await mkdtemp(join(tmpdir(), 'palimpsest-example-'));
  try {
    await createProject(directory);
    const tools = toolsFor(directory);
    const session = new SessionStore().create('example');
    await runTurn(session, 1, FIX, { header: HEADER, tools });
    const endOfFix = session.surface.nodes.at(-1).seq;
    await runTurn(session, 2, SPACES, { header: HEADER, tools });
    await runTurn(session, 3, DOCUMENT, { header: WRITER_HEADER, tools, prepare: () => compact(session, 3, endOfFix, FIX_SUMMARY) });
    return bytesOf(withEvenClock(session));
  } finally {
    await rm(directory, { recursive: true });
  }
}

function withEvenClock(session) {
  let time = START;
  const events = session.events.map((event) => ({ ...event, time: (time += MS_PER_EVENT[event.type] ?? 2) }));
  return new Session('slug-example', events, { version: 0, id: 'slug-example', createdAt: START, cwd: '/home/ada/slug' });
}

function bytesOf(session) {
  return Buffer.concat([session.headerLine(), session.jsonl()]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = fileURLToPath(new URL('../public/example.jsonl', import.meta.url));
  const bytes = await recordExample();
  await writeFile(file, bytes);
  console.log(`${file}: ${bytes.length} bytes`);
}
