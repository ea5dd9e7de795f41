/**
 * A model that follows a script, behind a real endpoint: chat completions over HTTP, streamed as server-sent events. It
 * reads a file and calculates at once, calculates again on what it got, and answers.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ChatCompletionCreateParams } from 'openai/resources/chat/completions';

/** A running server. */
export interface ScriptedServer {
  /** What to give to a client as its base URL. */
  readonly url: string;
  /** Every body that was received. */
  readonly requests: ChatCompletionCreateParams[];
  close(): Promise<void>;
}

type Answer = { readonly text: string } | { readonly calls: readonly (readonly [name: string, input: object])[] };

const USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };

/** What the model says to a history. */
function answerTo({ messages, tools }: ChatCompletionCreateParams): Answer {
  if (!tools) return { text: 'The user asks for readings and sums; all were answered.' };
  const since = messages.slice(messages.map(({ role }) => role).lastIndexOf('user'));
  const results = since.filter(({ role }) => role === 'tool').length;
  if (results === 0) return { calls: [['read_file', { path: 'package.json' }], ['calculate', { expression: '(2 + 3) * 4' }]] };
  if (results === 2) return { calls: [['calculate', { expression: '20 / 8 - 1' }]] };
  return { text: 'The file names a workspace, and the sum is 1.5. 😀 Is there anything else?' };
}

let counter = 0;

/** Deltas of an answer in small pieces. */
function* deltas(answer: Answer): Generator<object> {
  if ('text' in answer) {
    for (const piece of answer.text.match(/.{1,6}/gsu) ?? []) yield { content: piece };
    return;
  }
  // Ids are unique over restarts, as a provider's are.
  const ids = answer.calls.map(() => `call_${Date.now().toString(36)}_${++counter}`);
  for (const [index, [name]] of answer.calls.entries()) yield { tool_calls: [{ index, id: ids[index], type: 'function', function: { name, arguments: '' } }] };
  for (const [index, [, input]] of answer.calls.entries()) {
    for (const piece of JSON.stringify(input).match(/.{1,5}/gs) ?? []) yield { tool_calls: [{ index, function: { arguments: piece } }] };
  }
}

/** Starts the server on a free port. */
export async function serve(): Promise<ScriptedServer> {
  const requests: ChatCompletionCreateParams[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as ChatCompletionCreateParams;
      requests.push(body);
      const answer = answerTo(body);
      const common = { id: 'scripted', created: 0, model: body.model };
      const finish_reason = 'calls' in answer ? 'tool_calls' : 'stop';
      if (!body.stream) {
        const message = { role: 'assistant', content: 'text' in answer ? answer.text : null };
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ ...common, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage: USAGE }));
        return;
      }
      response.setHeader('content-type', 'text/event-stream');
      const send = (choices: object[], more: object = {}): unknown => response.write(`data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices, ...more })}\n\n`);
      for (const delta of deltas(answer)) send([{ index: 0, delta, finish_reason: null }]);
      send([{ index: 0, delta: {}, finish_reason }]);
      send([], { usage: USAGE });
      response.end('data: [DONE]\n\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
