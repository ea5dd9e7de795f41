/** Is the request that goes out the one that the log reconstructs? */

import type { EpochHeader } from '../events.js';
import { canonicalHeader } from '../header.js';
import type { Session } from '../session.js';
import type { ModelRequest } from '../view.js';
import { InvariantError, RULES } from './finding.js';

/**
 * Makes sure that a model call carries exactly what the log says that it carries. Call it in an open step, after the
 * header was recorded and before the request is sent.
 * @param session the session that the request was made from
 * @param request what is about to be sent, in the form of `session.at(seq).request()`
 * @param seq the event as of which the request was made; the last one when absent
 * @throws InvariantError with the rule `REQUEST_MISMATCH`, naming the first difference by its path
 */
export function checkRequest(session: Session, request: ModelRequest, seq = session.seq - 1): void {
  const difference = requestDifference(session, request, seq);
  if (difference === undefined) return;
  const finding = { code: 'REQUEST_MISMATCH', severity: 'error', seq, related: [], message: `${RULES.REQUEST_MISMATCH}: ${difference}` } as const;
  throw new InvariantError(finding, session.id);
}

/** The first difference between a request and what the log reconstructs, in words; `undefined` where there is none. */
export function requestDifference(session: Session, request: ModelRequest, seq = session.seq - 1): string | undefined {
  const logged = whole(session.at(seq).request());
  const sent = whole(request);
  for (const key of ['config', 'system', 'messages'] as const) {
    const difference = compare(sent[key], logged[key], key);
    if (difference !== undefined) return difference;
  }
  // Two schemas are equal when JSON.stringify says so.
  return compare(sent.tools, logged.tools, 'tools') ?? (JSON.stringify(sent.tools) === JSON.stringify(logged.tools) ? undefined : 'tools: the keys of a schema stand in another order');
}

/** A request with its header in canonical form and its prefix, if it is given apart, in front. */
function whole({ messages, ...header }: ModelRequest): Partial<EpochHeader> & Pick<ModelRequest, 'messages'> {
  const { messagePrefix = [], ...rest } = header;
  const { config, ...canonical } = canonicalHeader({ ...rest, config: rest.config ?? {} });
  return { ...canonical, ...(rest.config && { config }), messages: [...messagePrefix, ...messages] };
}

/** The first difference below `path`. Members that are `undefined` count as absent, as in JSON; key order does not count. */
function compare(sent: unknown, logged: unknown, path: string): string | undefined {
  if (Object.is(sent, logged)) return undefined;
  if (typeof sent === 'object' && typeof logged === 'object' && sent !== null && logged !== null && Array.isArray(sent) === Array.isArray(logged)) {
    const [ours, theirs] = [sent as Record<string, unknown>, logged as Record<string, unknown>];
    for (const key of new Set([...Object.keys(theirs), ...Object.keys(ours)])) {
      const difference = compare(ours[key], theirs[key], Array.isArray(sent) ? `${path}[${key}]` : `${path}.${key}`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }
  return `${path}: the request holds ${shown(sent)}, the log ${shown(logged)}`;
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
