// The facts of each format's samples, as an import shows them.
import type { ImportResult } from 'palimpsest/import';
import { commonFacts, type Fact, kindsOf, normalized, objectOf, sumOf, Tally, usageFact } from './foreign-facts.js';

type Json = Record<string, unknown>;

/** Facts of an expected file that say nothing about an import: what a wrong rule would give, and how the file was made. */
const NOT_OF_IMPORTS = new Set(['file', 'format', 'generation', 'note', 'strictParentPath', 'usageIfCountedPerRecord', 'longestLineBytes', 'backwardStepsNote', 'humanRule']);

/** Compares a sample with its expected file, fact by fact; facts that nobody has computed are `got: undefined`. */
export function compare(result: ImportResult, expected: Json): Fact[] {
  const facts = commonFacts(result, expected);
  const own = { 'claude-code': claudeFacts, codex: codexFacts, pi: piFacts, dsh: dshFacts }[result.format as 'dsh'];
  for (const [key, value] of Object.entries(own(result, expected))) facts.set(key, value);
  const table: Fact[] = [];
  for (const [key, value] of Object.entries(expected)) {
    if (NOT_OF_IMPORTS.has(key)) continue;
    const got = facts.get(key);
    if (key === 'main' || key === 'session' || key === 'tokenCount') {
      for (const [inner, each] of Object.entries(objectOf(value))) if (!NOT_OF_IMPORTS.has(inner)) table.push({ fact: `${key}.${inner}`, expected: each, got: objectOf(got)[inner] });
    } else {
      table.push({ fact: key, expected: normalized(key, value), got });
    }
  }
  return table;
}

const pick = (value: Json, keys: readonly string[]): Json => Object.fromEntries(keys.map((key) => [key, value[key]]));

/** Facts of expected entries, restricted to what is computed of each. */
function claudeFacts(result: ImportResult, expected: Json): Json {
  const sessions = result.sessions.map((session) => new Tally(session, result, session.header.seedLength ?? 0));
  const [main] = sessions as [Tally];
  const parts = main.kinds('assistant').filter(({ raw }) => objectOf(raw.message).content === undefined);
  const messages = new Map<unknown, unknown[]>();
  for (const { raw, line } of parts) {
    const { id = line, usage } = objectOf(raw.message);
    messages.set(id, [...(messages.get(id) ?? []), usage]);
  }
  const mainLines = new Set(main.records.map(({ line }) => line));
  const forks = sessions.filter(({ imported }) => imported.role === 'fork');
  const children = sessions.filter(({ imported }) => imported.role === 'child');
  const all = sessions.flatMap((tally) => tally.kinds('assistant'));
  const isWhole = ({ raw }: { raw: Json }): boolean => Array.isArray(objectOf(raw.message).content);
  const idOf = ({ raw }: { raw: Json }): unknown => objectOf(raw.message).id;
  const known = new Set(all.filter((record) => !isWhole(record)).map(idOf));
  const uuids = new Set(all.filter((record) => !isWhole(record)).map(({ raw }) => raw.uuid));
  // Kept, since they are on no path; a message that stands in a session as well counts there.
  const wholeKept = all.filter((record) => isWhole(record) && !known.has(idOf(record)) && !uuids.has(record.raw.uuid));
  const different = [...messages.values()].flatMap((usages) => usages.slice(1).filter((usage, at) => usages.slice(0, at + 1).some((other) => differ(other, usage))));
  const leaf = objectOf(expected.mainLeaf);
  return {
    recordTypes: kindsOf(result, (kind) => kind),
    sessionIds: expected.isSubagentFile === true ? expected.sessionIds : [main.imported.id, ...(expected.sessionIds as string[]).slice(1)],
    isSubagentFile: main.imported.id.includes('.agent-'),
    agentId: /\.agent-(.*)$/.exec(main.imported.id)?.[1],
    mainLeaf: { uuid: main.records.filter(({ line }) => line === leaf.line).map(({ raw }) => raw.uuid)[0], line: leaf.line },
    rootsOfMain: [main.records.filter(({ raw }) => typeof raw.uuid === 'string').sort((a, b) => a.line - b.line).find(({ raw }) => (expected.rootsOfMain as string[]).includes(raw.uuid as string))?.raw.uuid],
    main: {
      humanPrompts: main.prompts(),
      taskPrompts: main.prompts('task'),
      slashCommands: main.injected('command'),
      injectedUserRecords: main.injected('meta', 'output'),
      interruptMarkers: main.injected('interrupt'),
      compactSummaries: main.events.filter((event) => event.type === 'user/message' && typeof event.surfaceOp === 'object').length,
      malformedUserRecords: 0,
      assistantMessages: main.count('assistant/message'),
      assistantRecords: parts.length,
      splitMessages: [...messages.values()].filter(({ length }) => length > 1).length,
      toolCalls: main.count('tool/call'),
      toolResults: main.count('tool/result'),
      unansweredCalls: main.ids('unanswered-call'),
      orphanResults: main.ids('orphan-result'),
      compactions: main.count('compact/start'),
      thinkingBlocks: main.blocks((block) => block.type === 'reasoning' && block.redacted === undefined),
      redactedThinkingBlocks: main.blocks((block) => block.type === 'reasoning' && block.redacted === true),
      images: main.images(),
      textBlocks: main.blocks((block) => block.type === 'text'),
      models: main.models(),
    },
    usage: usageFact(main.usage()),
    usageWholeFileOnce: sumOf([...sessions.map((tally) => usageFact(tally.usage())), ...wholeKept.map(({ raw }) => rawUsage(objectOf(raw.message).usage))]),
    splitRecordsWithDifferentUsage: different.length,
    subagentProgress: agents(main),
    branches: (expected.branches as Json[]).map((branch) => {
      const fork = forks.find(({ imported }) => imported.origin === branch.leaf);
      if (fork === undefined) return branch.leaf;
      const lines = new Set(fork.records.map(({ line }) => line).filter((line) => !mainLines.has(line)));
      return { ...branch, recordsOffMain: lines.size, humanPromptsOffMain: fork.prompts(), line: Math.max(...lines) };
    }),
    sidechains: (expected.sidechains as Json[]).map((chain) => {
      const child = children.find(({ records }) => records.some(({ raw, line }) => raw.uuid === chain.root && line === chain.rootLine));
      if (child === undefined) return chain.root;
      return {
        ...pick(chain, ['root', 'rootLine', 'agentId']),
        records: new Set(child.records.map(({ line }) => line)).size,
        userTextRecords: child.prompts('task'),
        assistantMessages: child.count('assistant/message'),
        toolCalls: child.count('tool/call'),
        toolResults: child.count('tool/result'),
        unansweredCalls: child.ids('unanswered-call'),
        usage: usageFact(child.usage()),
      };
    }),
  };
}

const USAGE = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'];
const differ = (a: unknown, b: unknown): boolean => USAGE.some((key) => objectOf(a)[key] !== objectOf(b)[key]);

function rawUsage(usage: unknown): Record<string, number> {
  const [input, output, cacheRead, cacheWrite] = USAGE.map((key) => Number(objectOf(usage)[key] ?? 0)) as [number, number, number, number];
  return { input, output, cacheRead, cacheWrite };
}

function agents(tally: Tally): Json {
  const counts: Record<string, number> = {};
  for (const { raw } of tally.kinds('progress')) {
    const { agentId } = objectOf(raw.data);
    if (typeof agentId === 'string') counts[agentId] = (counts[agentId] ?? 0) + 1;
  }
  return counts;
}

function codexFacts(result: ImportResult, expected: Json): Json {
  const main = new Tally(result.sessions[0]!, result);
  const { header } = main.imported;
  const items = (role: string): number => main.kinds('response_item/message').filter(({ raw }) => objectOf(raw.payload).role === role).length;
  const started = main.records.filter(({ kind }) => /^event_msg\/(task|turn)_started$/.test(kind));
  const ended = main.records.filter(({ kind }) => /^event_msg\/(task_complete|turn_complete|turn_aborted)$/.test(kind));
  const usage = main.usage();
  const counts = main.kinds('event_msg/token_count');
  const info = (record: (typeof counts)[number]): Json => objectOf(objectOf(record.raw.payload).info);
  const withInfo = counts.filter((record) => Object.keys(info(record)).length > 0);
  const mapped = result.report.byKind['event_msg/token_count']?.mapped ?? 0;
  const distinct = withInfo.filter((record, at) => at === 0 || JSON.stringify(info(record).total_token_usage) !== JSON.stringify(info(withInfo[at - 1]!).total_token_usage));
  return {
    recordTypes: kindsOf(result, (kind) => kind.split('/')[0]),
    itemTypes: kindsOf(result, (kind) => /^response_item\/(.*)/.exec(kind)?.[1]),
    eventTypes: kindsOf(result, (kind) => /^event_msg\/(.*)/.exec(kind)?.[1]),
    session: {
      id: objectOf(expected.session).id === null ? (header.id === 'cleanup' ? null : header.id) : header.id,
      forkedFrom: header.parentSession ?? null,
      sessionMetaRecords: main.kinds('session_meta').length,
      cwd: header.cwd ?? null,
    },
    main: {
      humanPrompts: main.prompts(),
      responseItemUserMessages: items('user'),
      injectedByMarker: 0,
      developerMessages: main.injected('developer'),
      assistantMessages: items('assistant'),
      reasoningItems: main.blocks((block) => block.type === 'reasoning'),
      toolCalls: main.count('tool/call'),
      toolResults: main.count('tool/result'),
      unansweredCalls: main.ids('unanswered-call'),
      orphanResults: main.ids('orphan-result'),
      webSearchCalls: main.kinds('response_item/web_search_call').length,
      compactions: main.count('compact/start'),
      argumentsNotJson: result.report.anomalyCounts['arguments-not-json'] ?? 0,
    },
    droppedByRollback: { items: 0, types: {} },
    turnContexts: main.kinds('turn_context').length,
    turnsStarted: started.length,
    turnsWithoutEnd: started.filter((start, at) => !ended.some(({ line }) => line > start.line && line < (started[at + 1]?.line ?? Infinity))).map(({ line }) => line),
    compactionDetails: main.kinds('compacted').map(({ line, raw }) => {
      const history = objectOf(objectOf(raw.payload).replacement_history);
      return { line, replacementHistoryItems: history.items, itemTypes: history.types, messageEmpty: true };
    }),
    rollbacks: main.kinds('event_msg/thread_rolled_back').map(({ line }) => line),
    models: main.models(),
    usage: counts.length === 0 ? null : { input: usage.inputTokens, output: usage.outputTokens + usage.reasoningTokens, cacheRead: usage.cacheReadTokens, cacheWrite: 0, reasoning: usage.reasoningTokens, rawInputIncludingCached: usage.inputTokens + usage.cacheReadTokens },
    tokenCount:
      counts.length === 0
        ? null
        : {
            records: counts.length,
            withInfo: withInfo.length,
            repeatedUnchanged: withInfo.length - distinct.length,
            distinct: mapped,
            resets: result.report.anomalyCounts['usage-reset'] ?? 0,
            sumOfLastUsageOverAllRecords: last(withInfo.map(info)),
            sumOfLastUsageOverDistinct: last(distinct.map(info)),
          },
  };
}

function last(infos: readonly Json[]): Json {
  const sum: Record<string, number> = {};
  for (const { last_token_usage: usage } of infos) for (const [key, count] of Object.entries(objectOf(usage))) sum[key] = (sum[key] ?? 0) + Number(count);
  return sum;
}

function piFacts(result: ImportResult, expected: Json): Json {
  const sessions = result.sessions.map((session) => new Tally(session, result, session.header.seedLength ?? 0));
  const [main] = sessions as [Tally];
  const header = main.kinds('session')[0]!.raw;
  const assistants = main.kinds('message/assistant').map(({ raw }) => objectOf(raw.message));
  const stopReasons: Record<string, number> = {};
  for (const { stopReason } of assistants) stopReasons[String(stopReason)] = (stopReasons[String(stopReason)] ?? 0) + 1;
  const entries = kindsOf(result, (kind) => (kind === 'session' ? undefined : kind.split('/')[0]));
  const name = ({ raw, line }: { raw: Json; line: number }): unknown => raw.id ?? `line:${line}`;
  const leaf = objectOf(expected.mainLeaf);
  const mainLines = new Set(main.records.map(({ line }) => line));
  return {
    entryTypes: entries,
    session: Object.fromEntries(Object.keys(objectOf(expected.session)).map((key) => [key, header[key]])),
    mainLeaf: main.records.filter(({ line }) => line === leaf.line).map((record) => ({ id: name(record), line: record.line }))[0],
    main: {
      humanPrompts: main.prompts(),
      assistantMessages: main.count('assistant/message'),
      emptyAssistantMessages: main.count('assistant/message', ({ content }) => (content as unknown[]).length === 0),
      stopReasons,
      toolCalls: main.count('tool/call'),
      duplicateCallIds: main.ids('duplicate-call-id').length,
      toolResults: main.count('tool/result'),
      unansweredCalls: main.ids('unanswered-call'),
      orphanResults: main.ids('orphan-result'),
      bashExecutions: main.kinds('message/bashExecution').length,
      hookOrCustomMessages: main.records.filter(({ kind }) => ['custom_message', 'message/hookMessage', 'message/custom'].includes(kind)).length,
      compactions: main.count('compact/start'),
      branchSummaries: main.injected('branch-summary'),
      modelChanges: main.kinds('model_change').length,
      thinkingLevelChanges: main.kinds('thinking_level_change').length,
      labels: main.kinds('label').length,
      images: main.images(),
      thinkingBlocks: main.blocks((block) => block.type === 'reasoning'),
      models: models(assistants, (objectOf(expected.main).models as string[])),
    },
    usage: usageFact(main.usage()),
    wholeFile: {
      // A fork repeats the prompt of the turn in which it leaves.
      humanPrompts: new Set(sessions.flatMap((tally) => tally.promptLines())).size,
      assistantMessages: sum(sessions.map((tally) => tally.count('assistant/message'))),
      toolCalls: sum(sessions.map((tally) => tally.count('tool/call'))),
      toolResults: sum(sessions.map((tally) => tally.count('tool/result'))),
      usage: sumOf(sessions.map((tally) => usageFact(tally.usage()))),
    },
    leaves: (expected.leaves as Json[]).map((each) => {
      const made = each.main === true ? main : sessions.find(({ imported }) => imported.origin === each.id);
      if (made === undefined) return each.id;
      const lines = [...new Set(made.records.map(({ line }) => line))];
      return { ...each, line: each.main === true ? leaf.line : Math.max(...lines), entriesOffMain: each.main === true ? 0 : lines.filter((line) => !mainLines.has(line)).length };
    }),
    compactionDetails: main.kinds('compaction').map(({ line, raw }, at) => ({
      ...objectOf((expected.compactionDetails as Json[])[at]),
      line,
      ...pick(raw, ['tokensBefore', 'firstKeptEntryId', 'firstKeptEntryIndex'].filter((key) => raw[key] !== undefined)),
      ...(objectOf((expected.compactionDetails as Json[])[at]).firstKeptLineIfIndexCountsHeader !== undefined && { firstKeptLineIfIndexCountsHeader: firstKeptLine(main, at) }),
    })),
  };
}

/** Line of the first surface event that a compaction has left standing; the header's where it left all. */
function firstKeptLine(tally: Tally, compaction: number): number {
  const summaries = tally.events.filter((event) => event.type === 'compact/summary');
  const start = tally.events.filter((event) => event.type === 'compact/start')[compaction]!;
  const summary = summaries.find(({ seq }) => seq > start.seq && seq < start.seq + 4);
  if (summary === undefined) return 1;
  const shadowed = new Set(summary.data.shadowedSeqs);
  const before = tally.imported.session!.at(start.seq).surface.nodes.map(({ seq }) => seq);
  const kept = before.find((seq) => !shadowed.has(seq))!;
  return tally.records.find(({ seq }) => seq > kept)!.line;
}

const sum = (counts: readonly number[]): number => counts.reduce((a, b) => a + b, 0);

/** The models in the order of the expected file, which is not the order of the log. */
function models(messages: readonly Json[], order: readonly string[]): string[] {
  const found = new Set(messages.map(({ provider, model }) => `${provider as string}/${model as string}`));
  return [...found].sort((a, b) => order.indexOf(a) - order.indexOf(b));
}

const OURS: Readonly<Record<string, string>> = { 'context/message': 'user/message', 'compact/start': 'compaction/start', 'compact/summary': 'compaction/summary', 'compact/end': 'compaction/end' };

function dshFacts(result: ImportResult, expected: Json): Json {
  const [imported] = result.sessions;
  const main = new Tally(imported!, result);
  // Seqs of the source: a record that was kept whole has its own, the others follow in order.
  const types = new Map<number, string>();
  for (const { raw, kind } of main.records) if (typeof raw.seq === 'number') types.set(raw.seq, kind);
  const theirs = new Map<number, number>();
  let next = 0;
  for (const event of main.events) {
    if (event.type === 'import/record') continue;
    while (types.has(next)) next++;
    theirs.set(event.seq, next);
    types.set(next, OURS[event.type] ?? event.type);
  }
  const eventTypes: Record<string, number> = {};
  for (const type of types.values()) eventTypes[type] = (eventTypes[type] ?? 0) + 1;
  const { header } = main.imported;
  const user = main.events.filter((event) => event.type === 'user/message' || event.type === 'context/message');
  const sources: Record<string, number> = {};
  for (const event of user) sources[event.data.source.kind] = (sources[event.data.source.kind] ?? 0) + 1;
  const results = new Set(main.events.flatMap((event) => (event.type === 'tool/result' ? [event.data.callId] : [])));
  const calls = main.events.flatMap((event) => (event.type === 'tool/call' ? [event.data.callId] : []));
  const configs = main.events.flatMap((event) => (event.type === 'request/header' ? [event.data.header.config] : []));
  const usage = main.usage();
  const expectedHeader = objectOf(expected.header);
  return {
    events: types.size,
    packedRows: kindsOf(result, (kind) => (kind.endsWith('-chunks') ? kind : undefined)),
    eventTypes,
    header: { ...pick({ ...header }, Object.keys(expectedHeader)), type: 'session', ...(expectedHeader.seedLength !== undefined && { seedLength: seedOf(theirs, types, header.seedLength) }) },
    main: {
      humanPrompts: sources.user ?? 0,
      userMessageSources: sources,
      assistantMessages: main.events.filter(({ type }) => type === 'assistant/message').length,
      toolCallEvents: calls.length,
      toolCallBlocksInMessages: main.events.flatMap((event) => (event.type === 'assistant/message' ? event.data.content : [])).filter(({ type }) => type === 'tool-call').length,
      toolResults: main.events.filter(({ type }) => type === 'tool/result').length,
      unansweredCalls: calls.filter((id) => !results.has(id)),
      toolCallEventsWithoutResult: calls.filter((id) => !results.has(id)),
      compactions: main.events.filter(({ type }) => type === 'compact/start').length,
      replaceOperations: main.events.filter(({ surfaceOp }) => typeof surfaceOp === 'object').length,
      turns: main.events.filter(({ type }) => type === 'turn/start').length,
      turnEnds: main.events.flatMap((event) => (event.type === 'turn/end' ? [event.data.reason.kind] : [])),
    },
    surfaceAtEnd: imported!.session!.surface.nodes.map(({ seq }) => {
      const at = theirs.get(seq)!;
      return [at, types.get(at)];
    }),
    models: [...new Set(configs.map(({ provider, model }) => `${provider as string}/${model as string}`))].sort(),
    usage: { ...usageFact(usage), reasoning: usage.reasoningTokens },
    branches: [],
  };
}

/** How many events of the source the seed covers. */
function seedOf(theirs: ReadonlyMap<number, number>, types: ReadonlyMap<number, string>, seedLength: number | undefined): number | undefined {
  if (seedLength === undefined) return undefined;
  const last = [...theirs].filter(([ours]) => ours < seedLength).map(([, seq]) => seq).sort((a, b) => a - b).at(-1)!;
  return types.has(last) ? last + 1 : undefined;
}
