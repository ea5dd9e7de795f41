// The vocabulary as a program sees it: intents, narrowing, ids. Compiled, never run.
import {
  CallId,
  type ContentBlock,
  type IntentArguments,
  type Message,
  type Session,
  type SessionEvent,
  type SessionEventType,
  SessionId,
  type StreamChunk,
  type SurfaceEvent,
  type SurfaceEventType,
  type SurfaceOp,
  isSurfaceEligibleType,
  isSurfaceEvent,
} from 'palimpsest';
import { type Equal, expectType, typeOf } from './expect.js';

declare const session: Session;
declare const event: SessionEvent;

const text = { content: [{ type: 'text', text: 'hi' }], source: { kind: 'user' } } as const;
const append = { surfaceOp: 'append' } as const;

// A surface type needs an intent, a log-only type refuses one.
session.append('user/message', text, append);
session.append('user/message', text, { surfaceOp: { op: 'replace', start: 0, end: 3 }, sourceEventSeqs: [0, 3] });
// @ts-expect-error the intent is missing
session.append('user/message', text);
// @ts-expect-error the intent lacks its surfaceOp
session.append('user/message', text, { sourceEventSeqs: [1] });
session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } });
// @ts-expect-error a log-only event takes no intent
session.append('turn/start', { turn: 1, trigger: { kind: 'message', source: { kind: 'user' } } }, append);
expectType<Equal<IntentArguments<'step/end'>, []>>();

// A literal type that nobody has declared is a typo.
// @ts-expect-error no such type
session.append('turn/begin', { turn: 1 });
// @ts-expect-error a payload of another type
session.append('step/start', { turn: 1 });
// @ts-expect-error an unknown kind of source
session.append('user/message', { content: [], source: { kind: 'nobody' } }, append);

// Who copies raw events widens the type; the check is then made at run time.
session.append(event.type, event.data);
if (isSurfaceEvent(event)) session.append(event.type, event.data, { surfaceOp: event.surfaceOp });

// `append` gives back the event of the type that went in.
const returned = session.append('step/end', { turn: 1, step: 1 });
typeOf(returned).is<SessionEvent<'step/end'>>();
typeOf(returned.data.turn).is<number>();

// Events are told apart by their type.
if (event.type === 'tool/call') {
  typeOf(event.data.arguments).is<string>();
  typeOf(event.surfaceOp).is<undefined>();
} else if (event.type === 'assistant/message') {
  const { content, usage } = event.data;
  typeOf(content).is<readonly ContentBlock[]>();
  typeOf(usage?.inputTokens).is<number | undefined>();
  typeOf(event.surfaceOp).is<SurfaceOp>();
}
expectType<Equal<SurfaceEvent['type'], SurfaceEventType>>();
expectType<
  Equal<SurfaceEventType, 'user/message' | 'assistant/message' | 'tool/result' | 'context/message' | 'steering/message'>
>();
declare const someType: string;
if (isSurfaceEligibleType(someType)) typeOf(someType).is<SurfaceEventType>();

// So are blocks, chunks, reasons and triggers.
export function describe(block: ContentBlock, chunk: StreamChunk, end: SessionEvent<'turn/end'>): string {
  if (chunk.type === 'finish' && chunk.reason.kind === 'error') return chunk.reason.failure.message;
  if (end.data.reason.kind === 'error') return `${end.data.reason.step}: ${end.data.reason.message}`;
  if (block.type === 'tool-call') return block.arguments;
  if (block.type === 'tool-result') return block.content.map((inner) => inner.type).join();
  return block.type === 'text' || block.type === 'reasoning' ? block.text : '';
}

// What is logged cannot be changed.
// @ts-expect-error events are read-only
event.seq = 3;
// @ts-expect-error so are their payloads
if (event.type === 'user/message') event.data.content = [];
// @ts-expect-error and the log itself
session.events.length = 0;

// A string is an id; an id of one kind is not an id of another.
const id: SessionId = 'plain';
expectType<Equal<ReturnType<typeof SessionId>, SessionId>>();
const call: CallId = CallId('call-1');
// @ts-expect-error a call id where a session id is wanted
const wrong: SessionId = call;
export const ids = [id, wrong, SessionId('made')];

export const messages: readonly Message[] = session.deriveMessages();
export const types: SessionEventType = 'request/header';
