// An agent's loop on a session: whatever happens becomes one event at the moment it happens.
import { isToolPairingBalanced } from 'palimpsest';

const USER = { kind: 'user' };
const text = (value) => ({ type: 'text', text: value });
const tokens = (value) => Math.ceil(JSON.stringify(value).length / 4);

/** Runs one turn of the script: a prompt, then one step for each answer of the model. */
export async function runTurn(session, turn, { prompt, context, answers }, { header, tools = {}, prepare } = {}) {
  session.append('turn/start', { turn, trigger: { kind: 'message', source: USER } });
  prepare?.();
  session.append('user/message', { content: [text(prompt)], source: USER }, { surfaceOp: 'append' });
  if (context) session.append('context/message', { content: [text(context)], source: { kind: 'plugin', plugin: 'workspace' } }, { surfaceOp: 'append' });
  for (const [index, answer] of answers.entries()) {
    const at = { turn, step: index + 1 };
    session.append('step/start', at);
    if (header) session.recordRequestHeader(header);
    if (answer.todos) session.append('todo/write', { todos: answer.todos });
    for (const call of streamAnswer(session, at, answer)) await runTool(session, at, call, tools);
    session.append('step/end', at);
  }
  return session.append('turn/end', { turn, reason: { kind: 'completed' } });
}

/** The answer as a model streams it, chunk by chunk, and then whole; returns the calls in it. */
function streamAnswer(session, at, answer) {
  const blocks = [
    ...(answer.reasoning ? [{ type: 'reasoning', text: answer.reasoning }] : []),
    ...(answer.text ? [text(answer.text)] : []),
    ...(answer.calls ?? []).map(([name, args], index) => ({
      type: 'tool-call', id: `call-${at.turn}-${at.step}-${index + 1}`, name, arguments: JSON.stringify(args),
    })),
  ];
  const calls = blocks.filter((block) => block.type === 'tool-call');
  // The step is open: this is the request that a real model would be sent now.
  const usage = { inputTokens: tokens(session.at(session.seq - 1).request()), outputTokens: tokens(blocks) };
  const chunks = [
    ...blocks.flatMap(chunksOf),
    { type: 'usage', usage },
    { type: 'finish', reason: { kind: calls.length > 0 ? 'tool-calls' : 'stop' } },
  ];
  const sourceEventSeqs = chunks.map((chunk) => session.append('assistant/chunk', { ...at, chunk }).seq);
  session.append('assistant/message', { ...at, content: blocks, usage }, { surfaceOp: 'append', sourceEventSeqs });
  return calls;
}

function chunksOf(block, index) {
  const deltas = block.type === 'tool-call'
    ? pieces(block.arguments, /.{1,16}/gsu).map((argumentsDelta, n) => ({ type: 'tool-call-delta', index, id: block.id, ...(n === 0 && { name: block.name }), argumentsDelta }))
    : pieces(block.text, /\S+\s*/gu).map((delta) => ({ type: `${block.type}-delta`, index, text: delta }));
  return [{ type: 'block-start', index, blockType: block.type }, ...deltas, { type: 'block-end', index, block }];
}

function pieces(value, pattern) {
  return value.match(pattern) ?? [];
}

async function runTool(session, at, { id, name, arguments: args }, tools) {
  const called = session.append('tool/call', { ...at, callId: id, name, arguments: args });
  let outcome;
  try {
    outcome = { content: [text(await tools[name](JSON.parse(args)))], isError: false };
  } catch (error) {
    outcome = { content: [text(error.message)], isError: true, error: { name: error.name, code: 'tool-failed' } };
  }
  session.append('tool/result', { ...at, callId: id, ...outcome }, { surfaceOp: 'append', sourceEventSeqs: [called.seq] });
}

/** Lays a summary over the surface from its head through node `end`. Nothing is deleted: what it covers stays in the log. */
export function compact(session, turn, end, summary) {
  const { nodes } = session.surface;
  const last = nodes.findIndex((node) => node.seq === end);
  const shadowed = nodes.slice(0, last + 1).map((node) => node.seq);
  // A call must not lose its result to the other side of the cut.
  if (!isToolPairingBalanced(nodes, session.events, nodes[last + 1]?.seq ?? null)) throw new Error(`the cut after ${end} splits a tool call from its result`);
  session.append('compact/start', { turn });
  const logged = session.append('compact/summary', {
    summary: [text(summary)],
    shadowedRange: { start: shadowed[0], end },
    shadowedSeqs: shadowed,
    shadowedTokenCount: tokens(shadowed.map((seq) => session.deriveEventMessage(session.events[seq]))),
    model: 'scripted-1',
  });
  const replacement = session.append(
    'user/message',
    { content: [text(`<compacted-summary>\n${summary}\n</compacted-summary>`)], source: { kind: 'plugin', plugin: 'compact' } },
    { surfaceOp: { op: 'replace', start: shadowed[0], end }, sourceEventSeqs: [...shadowed, logged.seq] },
  );
  session.append('compact/end', { turn });
  return { shadowed, replacement };
}

/** About how many tokens a model would read. */
export function estimate(messages) {
  return tokens(messages);
}
