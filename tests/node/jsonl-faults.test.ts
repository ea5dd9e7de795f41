// Every file operation of a scripted life fails once, in every way that we know. What was acknowledged is there, what was
// not is there whole or absent, and trying again completes it.
import assert from 'node:assert/strict';
import { appendFile, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, suite, test } from 'node:test';
import { PalimpsestError, type Session, SessionStore } from 'palimpsest';
import { attach, jsonl } from 'palimpsest/jsonl';
import type { PersistenceAdapter } from 'palimpsest/persistence';
import { endTurn, openTurn, runTurn, say } from '../support/sessions.js';
import { whole } from '../support/setting.js';
import { ManualTimers, type Operation, WatchedFs, systemError, temporary } from '../support/storage.js';

/** How operation `at` fails. A broken disk refuses everything until the caller has been told. */
const MODES = {
  'before it happens': { happens: false, breaks: false, short: false },
  'after it happened': { happens: true, breaks: false, short: false },
  'and so do all that follow': { happens: false, breaks: true, short: false },
  'after it happened, and so do all that follow': { happens: true, breaks: true, short: false },
  'half done': { happens: false, breaks: false, short: true },
  'half done, and so do all that follow': { happens: false, breaks: true, short: true },
} as const;

class FailingFs extends WatchedFs {
  failed = '';
  told = false;

  constructor(at: number, readonly mode: (typeof MODES)[keyof typeof MODES], linkless: boolean) {
    super(async ({ index, name, run, half }: Operation) => {
      if (linkless && name === 'link') throw systemError('EPERM');
      const fails = mode.breaks ? index >= at && !this.told : index === at;
      if (!fails) return run();
      this.failed ||= name;
      if (mode.happens) await run();
      if (mode.short) await half?.();
      throw systemError(name === 'write' ? 'ENOSPC' : 'EIO');
    });
  }
}

interface Life {
  readonly root: string;
  readonly fs: WatchedFs;
  readonly path: string;
  /** Runs a step; when it fails, looks at what is stored and tries again. */
  readonly step: <T>(session: () => Session | undefined, run: () => Promise<T>) => Promise<T>;
}

/** Writes, crashes, repairs, continues. Gives the session as it should be stored. */
async function live({ root, fs, path, step }: Life): Promise<Session> {
  const begin = (): { store: SessionStore; adapter: PersistenceAdapter } => {
    const store = new SessionStore();
    return { store, adapter: attach(store, jsonl({ root, fs }), { timers: new ManualTimers() }) };
  };
  const first = begin();
  const session = first.store.create('a');
  runTurn(session, 1);
  await step(() => session, () => first.store.flush(session));
  openTurn(session, 2);
  await step(() => session, () => first.adapter.close());
  await appendFile(path, '{"type":"assist');

  const second = begin();
  const repaired = await step(() => undefined, () => second.adapter.load('a'));
  openTurn(repaired, 3);
  await step(() => repaired, () => second.store.flush(repaired));
  endTurn(repaired, 3);
  await step(() => repaired, () => second.adapter.close());
  await appendFile(path, '{"type":"turn/st');

  const third = begin();
  const last = await step(() => undefined, () => third.adapter.load('a'));
  say(last, 'the end');
  await step(() => last, () => third.adapter.close());
  return last;
}

/** What a reader without faults finds. */
async function look(root: string, linkless: boolean): Promise<string | undefined> {
  // Without links a name is reserved by an empty file before the log takes its place.
  if (linkless && (await readFile(join(root, '_no-cwd/a.jsonl')).catch(() => undefined))?.length === 0) return undefined;
  const adapter = attach(new SessionStore(), jsonl(root));
  try {
    return whole((await adapter.read('a')).session);
  } catch (error) {
    assert.ok(error instanceof PalimpsestError && error.code === 'SESSION_NOT_FOUND', String(error));
    return undefined;
  }
}

async function lifeWithFault(context: TestContext, at: number, mode: (typeof MODES)[keyof typeof MODES], linkless: boolean): Promise<FailingFs> {
  const root = await temporary(context);
  const fs = new FailingFs(at, mode, linkless);
  const path = join(root, '_no-cwd/a.jsonl');
  let acknowledged = '';
  const step: Life['step'] = async (session, run) => {
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await run();
        acknowledged = (await look(root, linkless)) ?? '';
        const now = session();
        if (now) assert.equal(acknowledged, whole(now), 'what was acknowledged is there');
        return result;
      } catch (error) {
        if (error instanceof assert.AssertionError || attempt > 1) throw error;
        assert.ok(error instanceof PalimpsestError, String(error));
        fs.told = true;
        const found = (await look(root, linkless)) ?? '';
        assert.ok(found.startsWith(acknowledged), 'what was acknowledged stays');
        const now = session();
        if (now) assert.ok(whole(now).startsWith(found), 'what was not is there whole or absent');
      }
    }
  };
  const last = await live({ root, fs, path, step });
  assert.equal(await readFile(path, 'utf8'), whole(last), `operation ${at} (${fs.failed})`);
  assert.equal(last.seq, 18);
  assert.equal(fs.openFiles, 0, 'every handle is given back');
  // The half-made file of a first write that could not be taken away is all that may be left.
  const left = (await readdir(join(root, '_no-cwd'))).filter((name) => name !== 'a.jsonl');
  assert.ok(left.every((name) => /^\.[\w-]+\.tmp$/.test(name)), left.join());
  return fs;
}

for (const linkless of [false, true]) {
  suite(`jsonl: every operation fails once${linkless ? ', without hard links' : ''}`, { concurrency: 4 }, () => {
    for (const [title, mode] of Object.entries(MODES)) {
      test(title, async (context) => {
        const { log } = await lifeWithFault(context, Infinity, mode, linkless);
        const failed = new Set<string>();
        for (let at = 0; at < log.length; at++) failed.add((await lifeWithFault(context, at, mode, linkless)).failed);
        context.diagnostic(`${log.length} operations: ${[...failed].filter(Boolean).sort().join(', ')}`);
        const wanted = ['open r', 'open r+', 'open wx', 'mkdir', 'write', 'sync', 'truncate', 'stat', 'read', linkless ? 'rename' : 'link'];
        assert.deepEqual(wanted.filter((name) => !failed.has(name)), []);
      });
    }
  });
}
