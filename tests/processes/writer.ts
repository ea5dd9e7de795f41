// A process that writes sessions, for tests that kill it or run two of them. It does what its command says and reports on
// its standard output, one JSON value a line.
import process from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { PalimpsestError, SessionStore } from 'palimpsest';
import { attach } from 'palimpsest/persistence';
import { openStorage } from '../support/processes.js';
import { openTurn, say } from '../support/sessions.js';

const [kind, where, command, ...rest] = process.argv.slice(2) as [string, string, string, ...string[]];
const report = (value: unknown): boolean => process.stdout.write(`${JSON.stringify(value)}\n`);
const store = new SessionStore();
const adapter = attach(store, openStorage(kind, where));

const commands: Record<string, () => Promise<void>> = {
  /** Loads or creates a session, and appends and flushes until it is killed. Reports each seq that is durable. */
  async append() {
    const [id = 'a'] = rest;
    const isStored = (await adapter.list()).sessions.some((header) => header.id === id);
    const session = isStored ? await adapter.load(id) : store.create(id);
    report({ loaded: session.seq });
    for (let turn = session.seq; ; turn++) {
      openTurn(session, turn);
      for (let i = turn % 5; i > 0; i--) say(session, 'x'.repeat((turn * 997 + i * 131) % 3000));
      if (turn % 3 === 0) session.append('turn/end', { turn, reason: { kind: 'completed' } });
      await store.flush(session);
      report({ durable: session.seq - 1 });
    }
  },

  /** Loads a session and keeps it. */
  async hold() {
    const session = await adapter.load(rest[0] ?? 'a');
    report({ held: session.seq });
    await sleep(600_000);
  },

  /** Races for each session that it is told of: loads or creates it if it can, appends, lets go, so many times. */
  async race() {
    const [name = '', rounds = '1'] = rest;
    report({ ready: name });
    for await (const id of createInterface({ input: process.stdin })) {
      for (let done = 0; done < Number(rounds); ) {
        try {
          const isStored = (await adapter.list()).sessions.some((header) => header.id === id);
          const session = isStored ? await adapter.load(id) : store.create(id);
          for (let i = 0; i < 3; i++) say(session, `${name} ${done} ${i}`);
          await store.flush(session).finally(() => {
            store.detach(session);
          });
          report({ id, name, first: session.seq - 3 });
          done++;
          await sleep(Math.random() * 3);
        } catch (error) {
          const cause = (error as { errors?: unknown[] }).errors?.[0] ?? error;
          if (!(cause instanceof PalimpsestError)) throw error;
          report({ refused: cause.code });
          await sleep(Math.random() * 3);
        }
      }
      report({ finished: id });
    }
    await adapter.close();
  },

  /** Follows a session until so many events have come. */
  async follow() {
    const [id = 'a', count = '0'] = rest;
    const seqs: number[] = [];
    for await (const event of adapter.follow(id)) if (seqs.push(event.seq) >= Number(count)) break;
    report({ followed: seqs });
    await adapter.close();
  },

  /** As one of several writers on one storage, each with sessions of its own. */
  async many() {
    const [name = 'w', appends = '0'] = rest;
    const session = store.create(name);
    for (let i = 0; i < Number(appends); i++) {
      say(session, `${i}`);
      await store.flush(session);
    }
    await adapter.close();
    report({ done: session.seq });
  },
};

await commands[command]?.();
process.exit(0);
