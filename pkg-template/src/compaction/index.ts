/**
 * `palimpsest/compaction`: shorter histories over the same log.
 *
 * A compaction lays a summary over a region of the surface; pruning lays shortened results over long ones. Neither
 * changes what was logged, and neither separates a call from its result.
 *
 * The map: `compact.ts` compaction; `prune.ts` pruning; `region.ts` where the surface may be cut; `frame.ts` the framed
 * summary and the summarizer's request; `estimate.ts` tokens; `turn.ts` the turn in which it happens.
 */

export { type Compaction, compactIfNeeded, type CompactIfNeededOptions, type CompactionOptions, compactRegion, type Summarizer } from './compact.js';
export { type EstimateOptions, estimateTokens } from './estimate.js';
export { frameSummary, INSTRUCTIONS, summaryOf, type SummaryRequest } from './frame.js';
export { type Pruned, type PruneOptions, pruneToolResults } from './prune.js';
