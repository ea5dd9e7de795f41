/** Replacements and what lies under them. */

import { familyOf, Flag, Kind, NONE } from '../lib/kinds.js';
import type { Provenance, Stratum, StratumNode } from '../lib/protocol.js';
import type { Log } from './log.js';
import type { Outline } from './outline.js';
import { tokensOf } from './requests.js';
import { summariesOf } from './rows.js';
import type { Replace } from './shadows.js';

const SHOWN = 1000;

/** Replacements that stand on the surface at the end, or all of them, in log order. */
export async function strataOf(log: Log, from: number, to: number): Promise<{ total: number; strata: Stratum[] }> {
  const { replaces } = log.outline.shadows;
  const strata = [];
  for (const replace of replaces.slice(from, to)) strata.push(await describe(log, replace));
  return { total: replaces.length, strata };
}

/** What lies under the replacement `seq`; undefined when it replaces nothing. */
export async function stratumOf(log: Log, seq: number): Promise<Stratum | undefined> {
  const replace = log.outline.shadows.replaceOf(seq);
  return replace && describe(log, replace);
}

/** What lies over the event of a row, or over the message that it is a part of. */
export function provenanceOf({ outline }: Log, row: number): Provenance {
  const message = messageOf(outline, row);
  const covers: number[] = [];
  for (let cover = outline.shadows.coverOf(outline.seqOf(message ?? row)); cover; cover = outline.shadows.coverOf(cover.seq)) covers.push(cover.seq);
  return { ...(message !== undefined && { part: { seq: outline.seqOf(message), type: outline.typeNames.nameOf(outline.types.at(message)) } }), covers };
}

/** The row of the message that a log-only event is a part of: chunks and summaries come before it, calls after it. */
function messageOf({ kinds, flags, stepOf, length }: Outline, row: number): number | undefined {
  const kind = kinds.at(row);
  if (kind === Kind.compactSummary) {
    for (let at = row + 1; at < length && kinds.at(at) !== Kind.compactEnd; at++) if ((flags.at(at) & Flag.replace) !== 0) return at;
    return undefined;
  }
  if (kind !== Kind.chunk && kind !== Kind.toolCall) return undefined;
  const step = stepOf.at(row);
  const direction = kind === Kind.chunk ? 1 : -1;
  for (let at = row + direction; step !== NONE && at >= 0 && at < length && stepOf.at(at) === step; at += direction) if (kinds.at(at) === Kind.assistant) return at;
  return undefined;
}

async function describe(log: Log, { seq, start, end, count }: Replace): Promise<Stratum> {
  const { outline } = log;
  const session = log.live;
  const surface = session.at(seq - 1).surface.nodes.map((node) => node.seq);
  const first = surface.indexOf(start);
  const shadowedSeqs = surface.slice(first, surface.indexOf(end, first) + 1);
  const shown = shadowedSeqs.slice(0, SHOWN);
  const summaries = await summariesOf(log, [...shown, seq]);
  const event = session.events[seq];
  const covered = new Set(shadowedSeqs);
  const cover = outline.shadows.coverOf(seq);
  return {
    seq,
    row: seq,
    start,
    end,
    count,
    shadowed: shown.map((node, index): StratumNode => ({
      seq: node,
      type: outline.typeNames.nameOf(outline.types.at(node)),
      family: familyOf(outline.kinds.at(node)),
      summary: summaries[index] ?? '',
      tokens: tokensOf(log, [node]),
      nested: outline.shadows.replaceOf(node) !== undefined,
    })),
    sources: (event?.sourceEventSeqs ?? []).filter((source) => !covered.has(source)).slice(0, SHOWN),
    tokensBefore: tokensOf(log, shadowedSeqs),
    tokensAfter: tokensOf(log, [seq]),
    ...(cover && { coveredBy: cover.seq }),
    kind: outline.kinds.at(seq) === Kind.toolResult ? 'pruned' : isSummary(log, seq) ? 'summary' : 'other',
    summary: summaries[shown.length] ?? '',
    time: outline.times.at(seq),
  };
}

/** A summary is written between `compact/start` and `compact/end`, right behind its `compact/summary`. */
function isSummary({ outline }: Log, seq: number): boolean {
  for (let row = seq - 1; row >= Math.max(0, seq - 8); row--) {
    const kind = outline.kinds.at(row);
    if (kind === Kind.compactSummary || kind === Kind.compactStart) return true;
    if (kind === Kind.compactEnd || kind === NONE) return false;
  }
  return false;
}
