/** Is the request that goes out the one that the log reconstructs? */

import { need, needObject } from '../arguments.js';
import { isDeep } from '../depth.js';
import type { EpochHeader } from '../events.js';
import { loggedHeader } from '../header.js';
import { needSession, type Session } from '../session.js';
import type { ModelRequest } from '../view.js';
import { InvariantError, RULES } from './finding.js';

/**
 * Makes sure that a model call carries exactly what the log says that it carries. Call it in an open step, after the
 * header was recorded and before the request is sent.
 * @param session the session that the request was made from
 * @param request what is about to be sent, in the form of `session.at(seq).request()`
 * @param seq the event as of which the request was made; the last one when absent
 * @throws PalimpsestError `INVALID_ARGUMENT`, `INVALID_JSON_VALUE`; InvariantError with the rule `REQUEST_MISMATCH`, naming the first difference by its path
 */
export function checkRequest(session: Session, request: ModelRequest, seq?: number): void {
  const difference = requestDifference(session, request, seq);
  if (difference === undefined) return;
  const finding = { code: 'REQUEST_MISMATCH', severity: 'error', seq: seq ?? session.seq - 1, related: [], message: `${RULES.REQUEST_MISMATCH}: ${difference}` } as const;
  throw new InvariantError(finding, session.id);
}

/**
 * The first difference between a request and what the log reconstructs, in words; `undefined` where there is none.
 * @throws PalimpsestError `INVALID_ARGUMENT`, `INVALID_JSON_VALUE`, `INVALID_SEQ`
 */
export function requestDifference(session: Session, request: ModelRequest, seq?: number): string | undefined {
  needSession(session);
  needObject('request', request);
  need(Array.isArray(request.messages), 'request.messages', request.messages, 'an array of messages');
  need(request.messagePrefix === undefined || Array.isArray(request.messagePrefix), 'request.messagePrefix', request.messagePrefix, 'an array of messages');
  const logged = whole(session.at(seq ?? session.seq - 1).request());
  const sent = whole(request);
  for (const key of ['config', 'system', 'messages'] as const) {
    const difference = compare(sent[key], logged[key], key);
    if (difference !== undefined) return difference;
  }
  // Two schemas are equal when JSON.stringify says so.
  return compare(sent.tools, logged.tools, 'tools', true);
}

/** A request with its header in canonical form and its prefix, if it is given apart, in front. */
function whole({ messages, ...header }: ModelRequest): Partial<EpochHeader> & Pick<ModelRequest, 'messages'> {
  const { messagePrefix = [], ...rest } = header;
  const { config, ...canonical } = loggedHeader({ ...rest, config: rest.config ?? {} });
  return { ...canonical, ...(rest.config && { config }), messages: [...messagePrefix, ...messages] };
}

interface Pair {
  readonly sent: unknown;
  readonly logged: unknown;
  readonly path: string;
}

/**
 * The first difference below `path`. Members that are `undefined` count as absent, as in JSON; key order counts where
 * nothing else differs, and only if it is asked for. Iterative, since values may be nested as deep as JSON goes.
 */
function compare(sent: unknown, logged: unknown, path: string, ordered = false): string | undefined {
  const waiting: Pair[] = [{ sent, logged, path }];
  let sameOrder = true;
  for (let pair = waiting.pop(); pair !== undefined; pair = waiting.pop()) {
    const [ours, theirs] = [pair.sent, pair.logged];
    if (Object.is(ours, theirs)) continue;
    if (!isNode(ours) || !isNode(theirs) || Array.isArray(ours) !== Array.isArray(theirs)) {
      return `${shortened(pair.path)}: the request holds ${shown(ours)}, the log ${shown(theirs)}`;
    }
    const keys = [...new Set([...Object.keys(theirs), ...Object.keys(ours)])];
    if (ordered) sameOrder &&= equal(present(ours), present(theirs));
    // The last one first, since the last one in is the next one out.
    for (const key of keys.reverse()) waiting.push({ sent: ours[key], logged: theirs[key], path: Array.isArray(ours) ? `${pair.path}[${key}]` : `${pair.path}.${key}` });
  }
  return sameOrder ? undefined : `${path}: the keys of a schema stand in another order`;
}

function isNode(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function present(value: Record<string, unknown>): string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
}

function equal(ours: readonly string[], theirs: readonly string[]): boolean {
  return ours.length === theirs.length && ours.every((key, at) => key === theirs[at]);
}

function shortened(path: string): string {
  return path.length > 400 ? `${path.slice(0, 200)} … ${path.slice(-200)}` : path;
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (isDeep(value)) return 'a value nested too deep to show';
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
