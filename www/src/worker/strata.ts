/** Replacements and what lies under them. */

import { familyOf, Kind, NONE } from '../lib/kinds.js';
import type { Stratum, StratumNode } from '../lib/protocol.js';
import type { Log } from './log.js';
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

/** The replacements over an event, from the one that covers it to the one on the surface. */
export function coversOf({ outline: { shadows } }: Log, seq: number): number[] {
  const covers: number[] = [];
  for (let cover = shadows.coverOf(seq); cover; cover = shadows.coverOf(cover.seq)) covers.push(cover.seq);
  return covers;
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
