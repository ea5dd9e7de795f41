// Store, scopes and persistence as a program sees them. Compiled, never run.
import { FlushError, type Session, type SessionEvent, SessionForkError, type SessionForkErrorCode, type SessionScope, SessionStore } from 'palimpsest';
import { attach, jsonl } from 'palimpsest/jsonl';
import { memory } from 'palimpsest/memory';
import type { PersistenceAdapter, SaveState, StorageBackend } from 'palimpsest/persistence';
import { type Equal, expectType, typeOf } from './expect.js';

const store = new SessionStore({
  onError: (error, { feed, session }) => {
    typeOf(error).is<unknown>();
    typeOf(session).is<Session>();
    console.error(feed, error);
  },
});

// Listeners are typed by the name of the signal.
const stop = store.on('session/event', (session, event) => {
  typeOf(session).is<Session>();
  typeOf(event).is<SessionEvent>();
});
stop();
store.on('session/bytes', (_session, firstSeq, count, bytes) => {
  typeOf(firstSeq).is<number>();
  typeOf(count).is<number>();
  typeOf(bytes).is<Uint8Array>();
});
store.on('session/flush', async (session) => fetch(`/flushed/${session.id}`).then(() => undefined));
// @ts-expect-error no such signal
store.on('session/closed', stop);

// A scope has the verbs of a store, and is not made by hand.
const scope: SessionScope = store.scope('agent');
const child: Session = scope.fork(store.create('a', { meta: { cwd: '/project' } }), undefined, 'b');
expectType<Equal<ReturnType<typeof scope.enter>, () => void>>();
await scope.flush(child);

// One line attaches a storage.
const adapter: PersistenceAdapter = attach(store, jsonl({ root: '/tmp/sessions' }));
attach(scope, memory(), { flushWindow: 50 });
const backend: StorageBackend = memory();
attach(store, backend);
adapter.on('state', (id, state) => {
  typeOf(state).is<SaveState>();
  if (state.status === 'failing') console.error(id, state.error.code, state.durableSeq);
  // @ts-expect-error there is an error only while it fails
  else console.error(state.error);
});
const loaded: Session = await adapter.load('a', { cwd: null, scope });
const { sessions, broken } = await adapter.list();
export const listed = [sessions[0]?.createdAt, broken[0]?.error.code, loaded.id];

try {
  store.fork('nobody');
} catch (error) {
  if (error instanceof SessionForkError) typeOf(error.code).is<SessionForkErrorCode>();
  if (error instanceof FlushError) typeOf(error.errors).is<readonly unknown[]>();
}
