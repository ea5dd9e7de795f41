// In a page: an agent that says what the test tells it to, stored in the database that the viewer follows.
import { init, SessionStore, type Session } from 'palimpsest/inline';
import { attach, indexeddb } from 'palimpsest/indexeddb';

await init();
const store = new SessionStore();
attach(store, indexeddb(), { flushWindow: 10 });
let session: Session | undefined;

export const writer = {
  async start(id: string): Promise<void> {
    session = store.create(id);
    session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } });
    await store.flush(session);
  },
  async say(text: string): Promise<void> {
    if (!session) throw new Error('No session was started');
    session.append('user/message', { content: [{ type: 'text', text }], source: { kind: 'user' } }, { surfaceOp: 'append' });
    await store.flush(session);
  },
};

(globalThis as { writer?: typeof writer }).writer = writer;
