// In the page: what a tab does while others do the same.
import { FlushError, PalimpsestError, type Session, type SessionEvent, SessionStore } from 'palimpsest/inline';
import { attach, indexeddb } from 'palimpsest/indexeddb';
import type { PersistenceAdapter } from 'palimpsest/persistence';
import { ok, pause, say, until } from './check.js';

export interface Where {
  readonly name: string;
  readonly id: string;
}

/** What came of an attempt to write: the events, or why there are none, and after how long. */
export interface Attempt {
  readonly wrote?: { readonly first: number; readonly words: string; readonly count: number };
  readonly refused?: string;
  readonly after?: number;
}

interface Place {
  readonly store: SessionStore;
  readonly adapter: PersistenceAdapter;
}

function place(name: string): Place {
  const store = new SessionStore({ onError: () => undefined });
  return { store, adapter: attach(store, indexeddb(name)) };
}

function codeOf(error: unknown): string {
  if (error instanceof FlushError) return codeOf(error.errors[0]);
  return error instanceof PalimpsestError ? error.code : String(error);
}

function wordsOf(event: SessionEvent): string {
  const [block] = (event as SessionEvent<'user/message'>).data.content;
  return block?.type === 'text' ? (block as { text: string }).text : '';
}

/** Text that no compression makes shorter. */
function noise(length: number): string {
  let text = '';
  while (text.length < length) text += String.fromCharCode(...crypto.getRandomValues(new Uint8Array(10_000)).map((byte) => 0x40 + (byte & 0x3f)));
  return text;
}

const followed: Promise<number[]>[] = [];
const stop = new AbortController();
/** The last event of each session that is known to be stored. */
const heard = new Map<string, number>();
let filling: (Place & { readonly session: Session }) | undefined;

export const tabs = {
  create: async ({ name, id }: Where): Promise<void> => {
    const { store, adapter } = place(name);
    say(store.create(id), 'created');
    await adapter.close();
  },

  /** As browsers without Web Locks. */
  withoutLocks: (): void => {
    Object.defineProperty(navigator, 'locks', { value: undefined });
  },

  /** Loads the session at a time that others try as well, and writes to it when it may. */
  attempt: async ({ name, id, words, count, at }: Where & { words: string; count: number; at: number }): Promise<Attempt> => {
    const { store, adapter } = place(name);
    let session: Session | undefined;
    await adapter.list();
    await pause(at - Date.now());
    const start = performance.now();
    try {
      session = await adapter.load(id);
      await pause(at + 15 - Date.now());
      const first = session.seq;
      for (let n = 0; n < count; n++) say(session, words);
      await store.flush(session);
      return { wrote: { first, words, count } };
    } catch (error) {
      return { refused: codeOf(error), after: performance.now() - start };
    } finally {
      if (session) store.detach(session);
      await adapter.close();
    }
  },

  /** Begins to follow, on what is heard alone. */
  follow: ({ name, id }: Where): void => {
    const { adapter } = place(name);
    const seqs: number[] = [];
    followed.push(
      (async () => {
        for await (const { seq } of adapter.follow(id, { interval: 60_000, signal: stop.signal })) seqs.push(seq);
        await adapter.close();
        return seqs;
      })(),
    );
  },

  /** The seqs that each follower has got, once there has been time for the last ones. */
  followed: async (): Promise<number[][]> => {
    await pause(300);
    stop.abort();
    return Promise.all(followed);
  },

  words: async ({ name, id }: Where): Promise<string[]> => {
    const { adapter } = place(name);
    const { session } = await adapter.read(id);
    const words = session.events.map(wordsOf);
    session.free();
    await adapter.close();
    return words;
  },

  /** Appends and flushes until the tab ends; says what is acknowledged. */
  write: async ({ name, id, count }: Where & { count: number }): Promise<void> => {
    const channel = new BroadcastChannel('acknowledged');
    const { store, adapter } = place(name);
    const session = await adapter.load(id);
    void (async () => {
      for (;;) {
        for (let n = 0; n < count; n++) say(session, `event ${session.seq}`);
        await store.flush(session);
        channel.postMessage({ id, seq: session.seq - 1 });
      }
    })();
  },

  listen: (): void => {
    new BroadcastChannel('acknowledged').onmessage = ({ data }) => {
      const { id, seq } = data as { id: string; seq: number };
      heard.set(id, seq);
    };
  },

  heard: async ({ id }: Where): Promise<number> => {
    await until(() => heard.has(id), 'an acknowledgement');
    return heard.get(id) ?? -1;
  },

  /** Takes over a session whose writer is gone: how many events are there, whether each is what it was, and how long it took. */
  takeOver: async ({ name, id }: Where): Promise<{ events: number; whole: boolean; waited: number }> => {
    const { store, adapter } = place(name);
    const start = performance.now();
    for (;;) {
      try {
        const session = await adapter.load(id);
        const events = session.seq;
        const whole = session.events.every((event, seq) => seq === 0 || wordsOf(event) === `event ${seq}`);
        const waited = performance.now() - start;
        say(session, `event ${session.seq}`);
        store.detach(session);
        await adapter.close();
        return { events, whole, waited };
      } catch (error) {
        // The browser may take a moment to bury a tab.
        if (codeOf(error) !== 'SESSION_LOCKED' || performance.now() - start > 5000) throw error;
        await pause(10);
      }
    }
  },

  /** Writes until there is no space: what is durable then, and what is not. */
  fill: async ({ name, id }: Where): Promise<{ durable: number; pending: number; message: string }> => {
    const { store, adapter } = place(name);
    const session = store.create(id);
    filling = { store, adapter, session };
    for (let n = 0; n < 100; n++) {
      say(session, noise(500_000));
      try {
        await store.flush(session);
      } catch (error) {
        const state = adapter.state(id);
        ok(codeOf(error) === 'STORAGE_FAILED' && state?.status === 'failing', `filled: ${String(error)}`);
        return { durable: state.durableSeq + 1, pending: session.seq, message: state.error.message };
      }
    }
    throw new Error('never full');
  },

  /** Tries again what did not fit. */
  refill: async ({ name, id }: Where): Promise<{ stored: number; live: number }> => {
    ok(filling !== undefined, 'nothing was filled');
    const { adapter, session } = filling;
    await adapter.flush();
    const stored = (await tabs.words({ name, id })).length;
    await adapter.close();
    return { stored, live: session.seq };
  },
};
