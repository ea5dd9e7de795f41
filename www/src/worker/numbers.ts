/** What the log cost and how long its tools took. */

import { field } from '../lib/describe.js';
import { NONE } from '../lib/kinds.js';
import type { Numbers, StepNumbers, ToolNumbers, UsageFacts } from '../lib/protocol.js';
import type { Log } from './log.js';

/** More points than pixels say nothing more. */
const POINTS = 2000;

export function numbersOf(log: Log): Numbers {
  const { steps } = log.outline;
  const seed = log.header?.seedLength ?? 0;
  const totals = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
  const inherited = { ...totals };
  let inheritedSteps = 0;
  let peakContext = 0;
  for (let step = 0; step < steps.row.length; step++) {
    const old = steps.row.at(step) < seed;
    if (old) inheritedSteps++;
    for (const part of Object.keys(totals) as (keyof UsageFacts)[]) {
      totals[part] += steps[part].at(step);
      if (old) inherited[part] += steps[part].at(step);
    }
    peakContext = Math.max(peakContext, steps.input.at(step) + steps.cacheRead.at(step) + steps.cacheWrite.at(step));
  }
  const window = windowOf(log);
  return { steps: seriesOf(log), tools: toolsOf(log), totals, inherited, inheritedSteps, peakContext, ...(window !== undefined && { window }) };
}

/** In a bin of several steps, the largest of each. */
function seriesOf({ outline: { steps } }: Log): StepNumbers {
  const total = steps.row.length;
  const perBin = Math.max(1, Math.ceil(total / POINTS));
  const bins = Math.ceil(total / perBin);
  const make = (): Float64Array => new Float64Array(bins);
  const series = { x: make(), seq: make(), input: make(), cacheRead: make(), cacheWrite: make(), output: make(), context: make() };
  for (let step = 0; step < total; step++) {
    const bin = Math.floor(step / perBin);
    const context = steps.input.at(step) + steps.cacheRead.at(step) + steps.cacheWrite.at(step);
    if (step % perBin === 0) series.seq[bin] = steps.row.at(step);
    series.x[bin] = bin * perBin + 1;
    if (context < series.context[bin]! && step % perBin !== 0) continue;
    series.context[bin] = context;
    for (const part of ['input', 'cacheRead', 'cacheWrite', 'output'] as const) series[part][bin] = steps[part].at(step);
  }
  return { steps: total, perBin, ...series };
}

function toolsOf({ outline }: Log): ToolNumbers[] {
  const { calls } = outline;
  const byTool = new Map<number, { durations: number[]; calls: number; failed: number; open: number; longest: number; longestSeq: number }>();
  for (let call = 0; call < calls.row.length; call++) {
    const tool = calls.tool.at(call);
    let found = byTool.get(tool);
    if (!found) byTool.set(tool, (found = { durations: [], calls: 0, failed: 0, open: 0, longest: -1, longestSeq: 0 }));
    found.calls++;
    const result = calls.result.at(call);
    if (result === NONE) {
      found.open++;
      continue;
    }
    found.failed += calls.failed.at(call);
    const took = Math.max(0, outline.times.at(result) - outline.times.at(calls.row.at(call)));
    found.durations.push(took);
    if (took > found.longest) [found.longest, found.longestSeq] = [took, outline.seqOf(result)];
  }
  const tools = [...byTool].map(([tool, { durations, ...rest }]) => {
    durations.sort((a, b) => a - b);
    const at = (share: number): number => durations[Math.min(durations.length - 1, Math.floor(durations.length * share))] ?? 0;
    return { name: outline.toolNames.nameOf(tool), ...rest, longest: Math.max(0, rest.longest), median: at(0.5), p95: at(0.95) };
  });
  return tools.sort((a, b) => b.calls - a.calls);
}

/** Programs name the window of their model in its config, each in its own way. */
function windowOf(log: Log): number | undefined {
  const config = log.session?.requestHeader()?.config;
  for (const key of ['contextWindow', 'context_window', 'maxContextTokens', 'contextLength']) {
    const value = field(config, key);
    if (typeof value === 'number' && value > 0) return value;
  }
  return undefined;
}
