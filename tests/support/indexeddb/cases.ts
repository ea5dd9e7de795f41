// In the page: what a database of a browser may do to its user, beyond what the conformance suite asks of any storage.
import { SessionStore } from 'palimpsest/inline';
import { attach, indexeddb } from 'palimpsest/indexeddb';
import { memory } from 'palimpsest/memory';
import type { PersistenceAdapter } from 'palimpsest/persistence';
import type { Verdict } from 'palimpsest/testing';
import { deepEqual, equal, ok, patched, rawOpen, refused, say, settledWithin, text, until, watched } from './check.js';
import { alias } from './faulty.js';

interface Place {
  readonly store: SessionStore;
  readonly adapter: PersistenceAdapter;
  readonly reported: unknown[];
}

let made = 0;
const fresh = (): string => `case-${made++}`;

function place(backend = indexeddb(fresh())): Place {
  const reported: unknown[] = [];
  const store = new SessionStore({ onError: (error) => reported.push(error) });
  return { store, adapter: attach(store, backend, { flushWindow: 20 }), reported };
}

/** A place whose operations of some name get a verdict, as often as said. */
function faulty(name: string, operation: string, verdict: Verdict, times: () => boolean): Place {
  return place(indexeddb(alias(name, (what) => (what === operation && times() ? verdict : 'run'))));
}

async function stored(name: string, id: string): Promise<string> {
  const { adapter } = place(indexeddb(name));
  const bytes = await adapter.export(id);
  await adapter.close();
  return text(bytes);
}

function countEvents(database: IDBDatabase): Promise<number> {
  return new Promise((resolve) => {
    const request = database.transaction('events').objectStore('events').count();
    request.onsuccess = () => resolve(request.result);
  });
}

const quota = (): DOMException => new DOMException('no more', 'QuotaExceededError');

export const cases: Readonly<Record<string, () => Promise<void>>> = {
  'a full storage is reported, keeps all that was stored, and the next flush completes': async () => {
    const name = fresh();
    const { store, adapter, reported } = place(indexeddb(name));
    const [old, session] = [store.create('old'), store.create('a')];
    say(old, 'kept');
    say(session, 'first');
    await adapter.flush();
    await patched(IDBObjectStore.prototype, 'put', () => { throw quota(); }, async () => {
      say(session, 'second');
      // Nobody asks for this write, so that only the report tells of it.
      await until(() => reported.length > 0, 'a report');
      const state = adapter.state('a');
      ok(state?.status === 'failing' && state.durableSeq === 0, `the state: ${JSON.stringify(state)}`);
      equal(state.error.code, 'STORAGE_FAILED', 'the code');
      ok(state.error.message.includes('no more space'), state.error.message);
      say(session, 'third');
      await refused(store.flush(session), 'STORAGE_FAILED', 'flushing');
      ok(text(await place(indexeddb(name)).adapter.export('old')).includes('kept'), 'the other session');
    });
    await adapter.flush();
    equal(adapter.state('a')?.status, 'durable', 'the state');
    equal(await stored(name, 'a'), text(session.headerLine()) + text(session.jsonl()), 'what is stored');
    equal(reported.length, 1, 'reports');
    await adapter.close();
  },

  'a read that is aborted is tried once more, and no oftener': async () => {
    const name = fresh();
    const writer = place(indexeddb(name));
    say(writer.store.create('a'), 'hi');
    await writer.adapter.close();
    let left = 1;
    const once = faulty(name, 'getAll', 'after', () => left-- > 0);
    equal((await once.adapter.load('a')).seq, 1, 'the events');
    await once.adapter.close();
    let asked = 0;
    const always = faulty(name, 'getAll', 'after', () => ++asked > 0);
    await refused(always.adapter.read('a'), 'STORAGE_FAILED', 'reading');
    equal(asked, 2, 'attempts');
    await always.adapter.close();
  },

  'a dead connection is opened again once, and then fails loudly': async () => {
    const name = fresh();
    let left = 0;
    const { store, adapter } = faulty(name, 'transaction', 'before', () => left-- > 0);
    const session = store.create('a');
    say(session, 'one');
    await adapter.flush();
    left = 1;
    say(session, 'two');
    await adapter.flush();
    left = 100;
    say(session, 'three');
    await refused(store.flush(session), 'STORAGE_FAILED', 'flushing');
    equal(left, 98, 'refused transactions');
    left = 0;
    await adapter.close();
    equal(await stored(name, 'a'), text(session.headerLine()) + text(session.jsonl()), 'what is stored');
  },

  'a connection that the browser closes is opened again': async () => {
    const name = fresh();
    const opened: IDBDatabase[] = [];
    await watched(IDBDatabase.prototype, 'transaction', (database: IDBDatabase) => {
      if (database.name === name && !opened.includes(database)) opened.push(database);
    }, async () => {
      const { store, adapter } = place(indexeddb(name));
      const session = store.create('a');
      say(session, 'one');
      await adapter.flush();
      opened[0]?.close();
      opened[0]?.dispatchEvent(new Event('close'));
      say(session, 'two');
      await adapter.flush();
      await adapter.close();
    });
    equal(opened.length, 2, 'connections');
    equal((await stored(name, 'a')).split('\n').length, 4, 'lines');
  },

  'an upgrade elsewhere goes on at once, and this page says that it is too old': async () => {
    const name = fresh();
    const { store, adapter } = place(indexeddb(name));
    const session = store.create('a');
    say(session, 'one');
    await adapter.flush();
    const upgraded = await settledWithin(1000, rawOpen(name, 2), 'the upgrade');
    say(session, 'two');
    const error = await refused(store.flush(session), 'UNSUPPORTED_VERSION', 'flushing');
    ok(error.message.includes('reload'), error.message);
    await refused(adapter.read('a'), 'UNSUPPORTED_VERSION', 'reading');
    equal(await countEvents(upgraded), 1, 'stored events');
    upgraded.close();
  },

  'a write under way ends before an upgrade elsewhere begins': async () => {
    const name = fresh();
    const { store } = place(indexeddb(name));
    const session = store.create('a');
    for (let i = 0; i < 2000; i++) say(session, `${i}`);
    const flushed = store.flush(session);
    await until(async () => (await indexedDB.databases()).some((each) => each.name === name && each.version === 1), 'the database');
    const upgraded = await settledWithin(10_000, rawOpen(name, 2), 'the upgrade');
    const outcome = await flushed.then(() => 2000, () => 0);
    equal(await countEvents(upgraded), outcome, 'stored events, all or none');
    upgraded.close();
  },

  'what a tab that ended in mid-transaction left is no part of a session, and stands in nobody\'s way': async () => {
    const name = fresh();
    const first = place(indexeddb(name));
    say(first.store.create('a'), 'one');
    say(first.store.create('b'), 'one');
    await first.adapter.close();
    // Events without the record that counts them; and a session that is gone, but not its events.
    const database = await rawOpen(name, 1);
    const left = database.transaction(['sessions', 'events'], 'readwrite');
    const [a, b] = ['["a",null]', '["b",null]'] as const;
    for (const seq of [1, 2, 3]) left.objectStore('events').add('{"type":"left"}', [a, seq]);
    left.objectStore('sessions').delete(b);
    await new Promise((resolve) => (left.oncomplete = resolve));
    const { store, adapter } = place(indexeddb(name));
    const session = await adapter.load('a');
    equal(session.seq, 1, 'events that are there');
    say(session, 'two');
    say(store.create('b'), 'anew');
    await adapter.close();
    equal(await countEvents(database), 3, 'events in the database');
    database.close();
    ok(/"one".*\n.*"two"[^\n]*\n$/.test(await stored(name, 'a')), 'the session holds what was appended to it');
    ok(/"anew"[^\n]*\n$/.test(await stored(name, 'b')), 'a session of the same name begins anew');
  },

  'a deleted database is not taken for one that has everything': async () => {
    const name = fresh();
    const { store, adapter } = place(indexeddb(name));
    const session = store.create('a');
    say(session, 'one');
    await adapter.flush();
    await settledWithin(1000, new Promise((resolve) => (indexedDB.deleteDatabase(name).onsuccess = resolve)), 'the deletion');
    say(session, 'two');
    await refused(store.flush(session), 'WRITE_CONFLICT', 'flushing');
    equal(session.seq, 2, 'the events in memory');
  },

  'a blocked upgrade settles within its bound, and completes when the way is free': async () => {
    const name = fresh();
    const old = await rawOpen(name, 1, () => undefined);
    const open = indexedDB.open.bind(indexedDB);
    let blocked = 0;
    // As the next layout would: version 1 is the older one then.
    await patched(IDBFactory.prototype, 'open', (what: string) => {
      const request = open(what, 2);
      request.addEventListener('blocked', () => blocked++);
      return request;
    }, async () => {
      const { adapter, store } = place(indexeddb({ name, openTimeout: 300 }));
      const error = await settledWithin(2000, refused(adapter.read('a'), 'STORAGE_FAILED', 'reading'), 'the blocked open');
      ok(error.message.includes('300 ms') && error.message.includes('close other tabs'), error.message);
      equal(blocked, 1, 'blocked events');
      await refused(adapter.list(), 'STORAGE_FAILED', 'listing');
      equal(blocked, 1, 'a second call does not queue a second request');
      old.close();
      say(store.create('a'), 'hi');
      await settledWithin(2000, adapter.flush(), 'the flush');
      await adapter.close();
    });
  },

  'a tab that hears of no block, behind a blocked one, settles as well': async () => {
    const name = fresh();
    const old = await rawOpen(name, 1, () => undefined);
    const deletion = new Promise((resolve) => (indexedDB.deleteDatabase(name).onsuccess = resolve));
    const { adapter, store } = place(indexeddb({ name, openTimeout: 300 }));
    await settledWithin(2000, refused(adapter.list(), 'STORAGE_FAILED', 'listing'), 'the open behind it');
    old.close();
    await settledWithin(2000, deletion, 'the deletion');
    say(store.create('a'), 'hi');
    await settledWithin(2000, adapter.flush(), 'the flush');
    await adapter.close();
  },

  'a database of something else is refused, and not touched': async () => {
    const name = fresh();
    const other = await rawOpen(name, 1, (database) => database.createObjectStore('theirs'));
    const { adapter } = place(indexeddb(name));
    const error = await refused(adapter.list(), 'UNSUPPORTED_VERSION', 'listing');
    ok(error.message.includes('another name'), error.message);
    deepEqual([...other.objectStoreNames], ['theirs'], 'stores');
    other.close();
  },

  'a page without storage is told so, and can go on in memory': async () => {
    const failing: (readonly [string, PropertyDescriptor])[] = [
      ['is undefined', { value: undefined }],
      ['may not be touched', { get: () => { throw new DOMException('denied', 'SecurityError'); } }],
      ['refuses to open', { value: { open: () => { throw new DOMException('private', 'InvalidStateError'); } } }],
    ];
    for (const [how, descriptor] of failing) {
      const own = Object.getOwnPropertyDescriptor(globalThis, 'indexedDB');
      Object.defineProperty(globalThis, 'indexedDB', { ...descriptor, configurable: true });
      try {
        const { adapter, store } = place();
        const session = store.create('a');
        say(session, 'hi');
        const error = await refused(store.flush(session), 'STORAGE_FAILED', `flushing where indexedDB ${how}`);
        ok(error.message.includes('memory()'), error.message);
        equal(adapter.state('a')?.status, 'failing', 'the state');
        const instead = attach(store, memory());
        await instead.flush();
        equal(instead.state('a')?.status, 'durable', 'the state in memory');
      } finally {
        if (own) Object.defineProperty(globalThis, 'indexedDB', own);
        else Reflect.deleteProperty(globalThis, 'indexedDB');
      }
    }
  },

  'space can be asked for and estimated': async () => {
    const backend = indexeddb(fresh());
    const { usage, quota: most } = await backend.estimate();
    ok(usage !== undefined && most !== undefined && usage <= most, `the estimate: ${usage} of ${most}`);
    await patched(navigator.storage, 'persist', async () => true, async () => {
      equal(await backend.persist(), true, 'persist()');
    });
  },

  'a fork of a long session copies no event': async () => {
    const name = fresh();
    const { store, adapter } = place(indexeddb(name));
    const session = store.create('a');
    for (let turn = 1; turn <= 500; turn++) {
      session.append('turn/start', { turn, trigger: { kind: 'message', source: { kind: 'user' } } });
      say(session, `question ${turn}`);
      session.append('turn/end', { turn, reason: { kind: 'completed' } });
    }
    await adapter.flush();
    let added = 0;
    await watched(IDBObjectStore.prototype, 'add', () => added++, async () => {
      await adapter.fork('a', 1499, { childId: 'b' });
    });
    equal(added, 1, 'records');
    equal((await stored(name, 'b')).split('\n').length, 1502, 'lines of the child');
    await adapter.close();
  },
};
