/** Every operation of a scripted life fails, each in its turn and in every way. */

import { PalimpsestError } from '../../errors.js';
import type { Session } from '../../session.js';
import { equal, fail, ok } from '../check.js';
import type { ConformanceCase, Setup, StorageUnderTest, Verdict } from '../entry.js';
import { openTurn, place, runTurn, say, stored, whole } from '../sessions.js';

interface Mode {
  readonly title: string;
  readonly verdict: Exclude<Verdict, 'run'>;
  /** Everything that follows fails as well, until the caller has been told. */
  readonly lasting: boolean;
}

const MODES: readonly Mode[] = [
  { title: 'before it happens', verdict: 'before', lasting: false },
  { title: 'after it happened', verdict: 'after', lasting: false },
  { title: 'before it happens, and so do all that follow', verdict: 'before', lasting: true },
  { title: 'after it happened, and so do all that follow', verdict: 'after', lasting: true },
];

/** One life with a fault at the operation `at`; gives the number of operations. */
async function live(storage: StorageUnderTest, at: number, { verdict, lasting }: Mode): Promise<number> {
  let count = 0;
  let told = false;
  let failed = '';
  const backend = (): ReturnType<NonNullable<StorageUnderTest['openFaulty']>> => {
    if (!storage.openFaulty) return fail('the storage has no openFaulty: say in `lacks` why');
    return storage.openFaulty((operation) => {
      const index = count++;
      if (lasting ? index < at || told : index !== at) return 'run';
      failed ||= operation;
      return verdict;
    });
  };
  const where = (): string => `operation ${at} (${failed})`;
  let acknowledged = '';

  /** Runs a step; when it fails, looks at what is stored and tries again. */
  const step = async <T>(session: Session | undefined, run: () => Promise<T>): Promise<T> => {
    for (let attempt = 0; ; attempt++) {
      try {
        const result = await run();
        const now = (await stored(storage, 'a')) ?? '';
        ok(now.startsWith(acknowledged), `${where()}: what was acknowledged is lost`);
        if (session) equal(now, whole(session), `${where()}: what is stored after an acknowledgement`);
        acknowledged = now;
        return result;
      } catch (error) {
        if (!(error instanceof PalimpsestError) || attempt > 1) throw new Error(`${where()}, attempt ${attempt}: ${String(error)}`, { cause: error });
        told = true;
        const now = (await stored(storage, 'a')) ?? '';
        ok(now.startsWith(acknowledged), `${where()}: what was acknowledged is lost by a failure`);
        if (session) ok(whole(session).startsWith(now), `${where()}: what was not acknowledged is there in part`);
      }
    }
  };

  const first = await place(storage, { backend: await backend() });
  const session = first.store.create('a');
  runTurn(session, 1);
  await step(session, () => first.store.flush(session));
  openTurn(session, 2);
  await step(session, () => first.adapter.close());

  const second = await place(storage, { backend: await backend() });
  const repaired = await step(undefined, () => second.adapter.load('a'));
  equal(acknowledged, whole(repaired), `${where()}: the repair`);
  runTurn(repaired, 3);
  await step(repaired, () => second.store.flush(repaired));
  say(repaired, 'the end');
  await step(repaired, () => second.adapter.close());

  equal(await stored(storage, 'a'), whole(repaired), `${where()}: the log in the end`);
  equal(repaired.seq, 18, `${where()}: the events in the end`);
  return count;
}

export const faultCases: readonly ConformanceCase[] = MODES.map((mode) => ({
  name: `every operation fails once, ${mode.title}: nothing acknowledged is lost, and trying again completes`,
  needs: ['faults'],
  run: async (setup: Setup) => {
    const count = await live(await setup(), Infinity, mode);
    ok(count > 0, 'the storage has not asked about any operation');
    for (let at = 0; at < count; at++) await live(await setup(), at, mode);
  },
}));
