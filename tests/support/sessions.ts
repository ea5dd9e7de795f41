// Small sessions to test with.
import assert from 'node:assert/strict';
import { type ContentBlock, PalimpsestError, type Session, type SessionEvent } from 'palimpsest';

export function text(words: string): readonly ContentBlock[] {
  return [{ type: 'text', text: words }];
}

export function say(session: Session, words: string): SessionEvent<'user/message'> {
  return session.append('user/message', { content: text(words), source: { kind: 'user' } }, { surfaceOp: 'append' });
}

/** Begins turn `turn` with a message, and leaves it open. Three events. */
export function openTurn(session: Session, turn: number): void {
  session.append('turn/start', { turn, trigger: { kind: 'message', source: { kind: 'user' } } });
  say(session, `question ${turn}`);
  session.append('step/start', { turn, step: 1 });
}

/** Ends the turn that `openTurn` began. Three events. */
export function endTurn(session: Session, turn: number): void {
  session.append('assistant/message', { turn, step: 1, content: text(`answer ${turn}`) }, { surfaceOp: 'append', sourceEventSeqs: [] });
  session.append('step/end', { turn, step: 1 });
  session.append('turn/end', { turn, reason: { kind: 'completed' } });
}

/** A whole turn of six events. */
export function runTurn(session: Session, turn = 1): void {
  openTurn(session, turn);
  endTurn(session, turn);
}

/** Checks for `assert.throws` and `assert.rejects`. */
export function refusal(code: PalimpsestError['code'], message?: RegExp): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof PalimpsestError, `not an error of the package: ${String(error)}`);
    assert.equal(error.code, code, error.message);
    if (message) assert.match(error.message, message);
    return true;
  };
}

export function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

export function concat(chunks: readonly Uint8Array[]): string {
  return decode(Buffer.concat(chunks));
}

export { type AgentOptions, randomAgentSession } from './agent.js';
