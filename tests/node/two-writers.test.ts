// Two processes on one storage: one writes, the other is refused at once; readers see each event once.
import assert from 'node:assert/strict';
import { readFile, readdir, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PalimpsestError, SessionStore } from 'palimpsest';
import { type PersistenceAdapter, attach } from 'palimpsest/persistence';
import { KINDS, endOf, openStorage, startWriter } from '../support/processes.js';
import { refusal, runTurn, say } from '../support/sessions.js';
import { temporary } from '../support/storage.js';

function open(kind: string, root: string): { store: SessionStore; adapter: PersistenceAdapter } {
  const store = new SessionStore();
  return { store, adapter: attach(store, openStorage(kind, root)) };
}

/** Stores a session `a` of six events. */
async function prepare(kind: string, root: string): Promise<void> {
  const { store, adapter } = open(kind, root);
  runTurn(store.create('a'));
  await adapter.close();
}

/** Where the locks are. */
const locksOf = (kind: string, root: string): string => join(root, kind === 'jsonl' ? '.writers' : 'sessions.db.writers');

for (const kind of KINDS) {
  suite(`two processes on one storage: ${kind}`, () => {
    test('the second is refused at once and told who holds the session; a killed holder frees it', async (context) => {
      const root = await temporary(context);
      await prepare(kind, root);
      const before = Date.now();
      const holder = startWriter(kind, root, 'hold', 'a');
      assert.deepEqual(await holder.next(), { held: 6 });
      const { store, adapter } = open(kind, root);
      const start = performance.now();
      await assert.rejects(adapter.load('a'), (error: unknown) => {
        assert.ok(error instanceof PalimpsestError);
        refusal('SESSION_LOCKED', new RegExp(`process ${holder.child.pid} on ${hostname()}, since \\d{4}-`))(error);
        const { pid, host, since } = error.cause as { pid: number; host: string; since: number };
        assert.deepEqual([pid, host], [holder.child.pid, hostname()]);
        assert.ok(since >= before && since <= Date.now());
        return true;
      });
      assert.ok(performance.now() - start < 5000, 'it waited');
      await assert.rejects(adapter.delete('a'), refusal('SESSION_LOCKED'));
      const rival = store.create('a');
      say(rival, 'mine');
      await assert.rejects(store.flush(rival), /SESSION_LOCKED|is being written by/);
      store.detach(rival);
      const read = await adapter.read('a');
      assert.equal(read.session.seq, 6, 'readers are not refused');

      await holder.kill();
      const session = await adapter.load('a');
      say(session, 'mine now');
      await adapter.close();
    });

    test('a lock that is left behind never blocks, whatever is in it', async (context) => {
      const root = await temporary(context);
      await prepare(kind, root);
      const locks = locksOf(kind, root);
      for (const content of ['', 'garbage', '{"writer":"x"}', '{"writer":"gone","pid":1,"host":"elsewhere","since":1,"machine":"m"}']) {
        const holder = startWriter(kind, root, 'hold', 'a');
        await holder.next();
        await holder.kill();
        const names = await readdir(locks);
        const lock = names.find((name) => name.endsWith('.lock')) ?? assert.fail('no lock');
        for (const name of names.filter((each) => each.endsWith('.writer'))) await writeFile(join(locks, name), content || '\n');
        await writeFile(join(locks, lock), content);
        const { adapter } = open(kind, root);
        await adapter.load('a');
        await adapter.close();
        assert.deepEqual((await readdir(locks)).filter((name) => name.endsWith('.lock')), [], content);
      }
    });

    test('a holder on another machine counts while it gives signs of life', async (context) => {
      const root = await temporary(context);
      await prepare(kind, root);
      const holder = startWriter(kind, root, 'hold', 'a');
      await holder.next();
      const locks = locksOf(kind, root);
      const [file] = (await readdir(locks)).filter((name) => name.endsWith('.writer'));
      const path = join(locks, file ?? '');
      const presence = JSON.parse(await readFile(path, 'utf8')) as object;
      await writeFile(path, JSON.stringify({ ...presence, machine: 'another', host: 'another', pid: 7 }));
      await holder.kill();
      const { adapter } = open(kind, root);
      await assert.rejects(adapter.load('a'), refusal('SESSION_LOCKED', /process 7 on another/));
      const old = Date.now() / 1000 - 120;
      await utimes(path, old, old);
      await adapter.load('a');
      await adapter.close();
    });

    test('50 races of two processes: no sequence is forked, and followers see each event once', async (context) => {
      const root = await temporary(context);
      const RUNS = 50;
      const ROUNDS = 4;
      const writers = ['x', 'y'].map((name) => startWriter(kind, root, 'race', name, ROUNDS));
      for (const writer of writers) await writer.next();
      const total = 2 * ROUNDS * 3;
      const { adapter } = open(kind, root);
      const follow = async (id: string): Promise<number[]> => {
        const seqs: number[] = [];
        // The session may not be stored yet.
        while (!(await adapter.list()).sessions.some((header) => header.id === id)) await sleep(2);
        for await (const { seq } of adapter.follow(id, { interval: 100 })) if (seqs.push(seq) >= total) break;
        return seqs;
      };
      const followed: number[][] = [];
      for (let run = 0; run < RUNS; run++) {
        for (const { child } of writers) child.stdin?.write(`race-${run}\n`);
        const following = follow(`race-${run}`);
        for (const writer of writers) while ((await writer.next())?.finished === undefined) assert.equal(writer.child.exitCode, null);
        followed.push(await following);
      }
      for (const { child } of writers) child.stdin?.end();
      const reports = (await Promise.all(writers.map(endOf))).flat() as { id?: string; first?: number; refused?: string }[];

      const expected = Array.from({ length: total }, (_, i) => i);
      for (let run = 0; run < RUNS; run++) {
        const id = `race-${run}`;
        assert.deepEqual(followed[run], expected, `what was followed of ${id}`);
        const { session } = await adapter.read(id);
        assert.equal(session.seq, total, id);
        const firsts = reports.filter((report) => report.id === id).map(({ first }) => first);
        assert.deepEqual(firsts.sort((a = 0, b = 0) => a - b), expected.filter((seq) => seq % 3 === 0), `each acknowledged batch of ${id} has its own place`);
        session.free();
      }
      await adapter.close();
      const refused = reports.flatMap((report) => report.refused ?? []);
      const count = (code: string): number => refused.filter((each) => each === code).length;
      context.diagnostic(`${kind}: ${RUNS} runs, ${count('SESSION_LOCKED')} refused as locked, ${count('SESSION_COLLISION')} as another's, ${count('WRITE_CONFLICT')} at the last line of defence`);
      assert.equal(refused.length, count('SESSION_LOCKED') + count('SESSION_COLLISION') + count('WRITE_CONFLICT'), refused.join());
    });

    test('8 processes write sessions of their own, and none is refused', async (context) => {
      const root = await temporary(context);
      const writers = Array.from({ length: 8 }, (_, i) => startWriter(kind, root, 'many', `w${i}`, 200));
      for (const reports of await Promise.all(writers.map(endOf))) assert.deepEqual(reports, [{ done: 200 }]);
      const { adapter } = open(kind, root);
      assert.equal((await adapter.list()).sessions.length, 8);
      await adapter.close();
    });

    test('a follower in another process sees each event once, across the seam', async (context) => {
      const root = await temporary(context);
      const { store, adapter } = open(kind, root);
      const session = store.create('a');
      for (let i = 0; i < 300; i++) say(session, `${i}`);
      await adapter.flush();
      const followers = [1, 2].map(() => startWriter(kind, root, 'follow', 'a', 900));
      for (let i = 300; i < 900; i++) {
        say(session, `${i}`);
        if (i % 5 === 0) await adapter.flush();
      }
      await adapter.flush();
      for (const [report] of await Promise.all(followers.map(endOf))) assert.deepEqual(report, { followed: Array.from({ length: 900 }, (_, i) => i) });
      await adapter.close();
    });
  });
}
