/** Event types that the core treats specially, by the numbers of `src/event.rs`, and what it needs of their payloads. */

import { PalimpsestError } from './errors.js';

/** The numbers; every other type is 0. */
export const KINDS: ReadonlyMap<string, number> = new Map(
  [
    'user/message',
    'assistant/message',
    'tool/result',
    'context/message',
    'steering/message',
    'turn/start',
    'turn/end',
    'step/start',
    'step/end',
    'tool/call',
    'request/header',
    'request/header-delta',
    'assistant/chunk',
    'compact/start',
    'compact/summary',
    'compact/end',
  ].map((type, index) => [type, index + 1]),
);

/** Surface types come first. */
export const LAST_SURFACE_KIND = 5;

/** Numbers that the façade itself looks at. */
export const KindNumber = { toolResult: 3, contextMessage: 4, steeringMessage: 5, turnEnd: 7, requestHeader: 11, requestHeaderDelta: 12, chunk: 13 } as const;

/**
 * Checks that a surface event can be projected to a message; the same rule as `check_payload` in `src/event.rs`.
 * @throws PalimpsestError `INVALID_PAYLOAD`
 */
export function checkPayload(kind: number, data: unknown, type: string): void {
  const refuse = (path: string, what: string): never => {
    throw new PalimpsestError('INVALID_PAYLOAD', `${path}: ${type}: ${what}`, { path });
  };
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return refuse('data', 'the payload must be an object');
  const { content, callId, source } = data as { content?: unknown; callId?: unknown; source?: { kind?: unknown } | null };
  if (!Array.isArray(content)) return refuse('data.content', 'content must be an array of blocks');
  if (kind === KindNumber.toolResult && typeof callId !== 'string') return refuse('data.callId', 'callId must be a string');
  if ((kind === KindNumber.contextMessage || kind === KindNumber.steeringMessage) && typeof source?.kind !== 'string') {
    return refuse('data.source.kind', 'source.kind must be a string');
  }
}
