// A program adds to the vocabulary from its own file. Compiled, never run.
import type { CallId, ContentBlock, MessageSource, Session, SessionEvent, SessionEventType, TurnEndReason, TurnTrigger } from 'palimpsest';
import { type Equal, expectType, typeOf } from './expect.js';

declare module 'palimpsest' {
  interface SessionEventMap {
    /** Log-only. Somebody must allow the call. */
    'approval/asked': { readonly callId: CallId; readonly why?: string };
  }
  interface ContentBlockMap {
    drawing: { strokes: string };
  }
  interface MessageSourceMap {
    webhook: { url: string };
  }
  interface TurnTriggerMap {
    timer: { everyMs: number };
  }
  interface TurnEndReasonMap {
    budget: { spent: number };
  }
  interface FinishReasonMap {
    refusal: object;
  }
}

declare const session: Session;
declare const event: SessionEvent;

const asked = session.append('approval/asked', { callId: 'call-1' });
typeOf(asked.data.why).is<string | undefined>();
// @ts-expect-error the payload is checked
session.append('approval/asked', { callId: 1 });
// @ts-expect-error a merged type is log-only
session.append('approval/asked', { callId: 'call-1' }, { surfaceOp: 'append' });
if (event.type === 'approval/asked') typeOf(event.data.callId).is<CallId>();
expectType<Equal<'approval/asked' extends SessionEventType ? true : false, true>>();

const drawing: ContentBlock = { type: 'drawing', strokes: '' };
const source: MessageSource = { kind: 'webhook', url: 'https://example.org' };
session.append('user/message', { content: [drawing], source }, { surfaceOp: 'append' });
export const trigger: TurnTrigger = { kind: 'timer', everyMs: 1000 };
export const reason: TurnEndReason = { kind: 'budget', spent: 3 };
session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'finish', reason: { kind: 'refusal' } } });
