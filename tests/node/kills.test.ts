// Processes that are killed while they write: what they had acknowledged is there, and the log can be used.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SessionStore } from 'palimpsest';
import { attach } from 'palimpsest/persistence';
import { KINDS, openStorage, startWriter } from '../support/processes.js';
import { random as randomFrom } from '../support/random.js';
import { whole } from '../support/setting.js';
import { temporary } from '../support/storage.js';

// A fraction of them where only one kind of storage is looked at again.
const KILLS = KINDS.length > 1 ? 320 : 60;
/** A few of one storage at the same time: starting a process takes longer than all it does. */
const LANES = 4;

interface Tally {
  kills: number;
  acknowledged: number;
  lost: number;
  unloadable: number;
  /** Kills that left an open turn, which was then closed. */
  repaired: number;
  torn: number;
}

suite('kills', { concurrency: false }, () => {
  for (const [index, kind] of KINDS.entries()) {
    const kills = Math.ceil(KILLS / KINDS.length);
    test(`${kills} kills of a writer to ${kind}: nothing acknowledged is lost, every log loads`, async (context) => {
      // Two lanes share a storage: what one leaves is there while the other writes.
      const roots = [await temporary(context), await temporary(context)];
      const tally: Tally = { kills: 0, acknowledged: 0, lost: 0, unloadable: 0, repaired: 0, torn: 0 };
      const lanes = Array.from({ length: LANES }, async (_, lane) => {
        const root = roots[lane >> 1] ?? assert.fail();
        const random = randomFrom(1000 * index + lane);
        for (let i = 0; i < kills / LANES; i++) await killOnce(kind, root, `s${lane}-${Math.floor(i / 12)}`, random, tally);
      });
      const failures = (await Promise.allSettled(lanes)).flatMap((lane) => (lane.status === 'rejected' ? [lane.reason as unknown] : []));
      context.diagnostic(`${kind}: ${tally.kills} kills, ${tally.acknowledged} events acknowledged, ${tally.lost} lost, ${tally.unloadable} logs unloadable, ${tally.repaired} turns closed, ${tally.torn} torn records dropped`);
      assert.deepEqual(failures, []);
      assert.deepEqual([tally.lost, tally.unloadable], [0, 0]);
      assert.ok(tally.kills >= kills && tally.repaired > 0);
    });
  }
});

/** Starts a writer, kills it at some moment, and looks at what it leaves. */
async function killOnce(kind: string, root: string, id: string, random: () => number, tally: Tally): Promise<void> {
  const writer = startWriter(kind, root, 'append', id);
  assert.ok(await writer.next(), 'the writer was refused');
  // After some acknowledged writes, at any moment of the next one.
  for (let writes = Math.floor(random() * 5); writes > 0; writes--) assert.ok(await writer.next());
  await sleep(random() * 6);
  await writer.kill();
  tally.kills++;
  const durable = Math.max(-1, ...writer.reports.map((report) => Number(report.durable ?? -1)));
  tally.acknowledged += Math.max(0, durable + 1 - Number(writer.reports[0]?.loaded));

  const store = new SessionStore();
  const adapter = attach(store, openStorage(kind, root));
  try {
    const isStored = (await adapter.list()).sessions.some((header) => header.id === id);
    if (!isStored) {
      tally.lost += durable + 1;
      return;
    }
    const before = await adapter.read(id).catch(() => undefined);
    if (!before) {
      tally.unloadable++;
      return;
    }
    if (before.session.seq <= durable) tally.lost += durable + 1 - before.session.seq;
    if (before.tornBytes > 0) tally.torn++;
    const session = await adapter.load(id);
    assert.ok(whole(session).startsWith(whole(before.session)), 'loading keeps all that was there');
    assert.equal(session.seq, before.session.seq + before.closers.length);
    if (before.closers.length > 0) {
      tally.repaired++;
      assert.equal(session.events.at(-1)?.type, 'turn/end');
    }
    before.session.free();
    const again = await adapter.read(id);
    assert.equal(whole(again.session), whole(session), 'what was repaired is stored');
    assert.deepEqual(again.closers, [], 'a second load has nothing to repair');
    again.session.free();
  } finally {
    await adapter.close();
  }
}
