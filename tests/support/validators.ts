/**
 * What providers refuse, as far as they document it. Each validator returns what it finds, nothing for a request that
 * would be taken. They know nothing of how the requests were made.
 */

import type { MessageCreateParamsBase } from '@anthropic-ai/sdk/resources/messages';
import { type ModelMessage, modelMessageSchema } from 'ai';
import type { ChatCompletionCreateParamsBase } from 'openai/resources/chat/completions';
import type { ResponseCreateParamsBase } from 'openai/resources/responses/responses';

const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

class Findings {
  readonly list: string[] = [];

  need(holds: boolean, what: string): void {
    if (!holds) this.list.push(what);
  }
}

/** A body that is not well-formed Unicode is invalid JSON for servers that are strict. */
function texts(value: unknown, found: Findings, path = 'body'): void {
  if (typeof value === 'string') {
    found.need(!/\p{Surrogate}/u.test(value), `${path}: half a surrogate pair`);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, child] of Object.entries(value)) {
      found.need(!/\p{Surrogate}/u.test(key), `${path}: half a surrogate pair in a key`);
      texts(child, found, `${path}.${key}`);
    }
  }
}

/** Content that is a text or parts: neither it nor any text part may be empty. */
function content(value: unknown, allowed: readonly string[], found: Findings, path: string): void {
  if (typeof value === 'string') {
    found.need(value !== '', `${path}: empty text`);
  } else if (Array.isArray(value)) {
    found.need(value.length > 0, `${path}: no part`);
    for (const part of value as { type: string; text?: string }[]) {
      found.need(allowed.includes(part.type), `${path}: a part of type ${part.type}`);
      if (part.type.endsWith('text')) found.need(typeof part.text === 'string' && part.text !== '', `${path}: empty text part`);
    }
  } else {
    found.need(false, `${path}: neither text nor parts`);
  }
}

function tools(names: readonly string[], found: Findings): void {
  found.need(new Set(names).size === names.length, 'two tools of one name');
  for (const name of names) found.need(NAME.test(name), `tool name ${name}`);
}

/** Rules of chat completions. */
export function chatFaults(body: ChatCompletionCreateParamsBase): string[] {
  const found = new Findings();
  texts(body, found);
  const ids = new Set<string>();
  let open: string[] = [];
  found.need(body.messages.some(({ role }) => role !== 'system'), 'nothing but system messages');
  body.messages.forEach((message, at) => {
    const path = `messages[${at}]`;
    if (message.role === 'tool') {
      found.need(open.includes(message.tool_call_id), `${path}: a tool message without its call before it`);
      open = open.filter((id) => id !== message.tool_call_id);
      content(message.content, ['text'], found, path);
      return;
    }
    found.need(open.length === 0, `${path}: calls ${open.join()} were not answered`);
    open = [];
    if (message.role === 'assistant') {
      const calls = message.tool_calls ?? [];
      if (message.tool_calls) found.need(calls.length > 0, `${path}: an empty list of calls`);
      if (message.content === null || message.content === undefined) found.need(calls.length > 0, `${path}: neither content nor calls`);
      else content(message.content, ['text'], found, path);
      for (const call of calls) {
        found.need(call.id.length > 0 && call.id.length <= 40 && !ids.has(call.id), `${path}: call id ${call.id}`);
        ids.add(call.id);
        open.push(call.id);
        found.need(call.type === 'function' && NAME.test(call.function.name), `${path}: call name`);
        found.need(call.type === 'function' && call.function.arguments.trim() !== '', `${path}: call arguments`);
      }
    } else {
      content(message.content, message.role === 'user' ? ['text', 'image_url'] : ['text'], found, path);
    }
  });
  found.need(open.length === 0, `calls ${open.join()} were not answered`);
  tools((body.tools ?? []).map((tool) => (tool.type === 'function' ? tool.function.name : tool.custom.name)), found);
  return found.list;
}

/** Rules of the responses API. */
export function responsesFaults(body: ResponseCreateParamsBase): string[] {
  const found = new Findings();
  texts(body, found);
  const input = Array.isArray(body.input) ? body.input : [];
  found.need(input.length > 0, 'no input');
  const ids = new Set<string>();
  let open: string[] = [];
  input.forEach((item, at) => {
    const path = `input[${at}]`;
    const next = input[at + 1];
    if (item.type === 'function_call') {
      found.need(item.call_id.length > 0 && item.call_id.length <= 64 && !ids.has(item.call_id), `${path}: call id ${item.call_id}`);
      found.need(NAME.test(item.name) && item.arguments.trim() !== '', `${path}: name or arguments`);
      ids.add(item.call_id);
      open.push(item.call_id);
    } else if (item.type === 'function_call_output') {
      found.need(open.includes(item.call_id), `${path}: no function call for this output`);
      open = open.filter((id) => id !== item.call_id);
      content(item.output, ['input_text', 'input_image'], found, path);
    } else if (item.type === 'reasoning') {
      found.need(next?.type === 'function_call' || next?.type === 'reasoning' || (next !== undefined && 'role' in next && next.role === 'assistant'), `${path}: reasoning without its following item`);
      found.need(item.id !== '', `${path}: reasoning without an id`);
    } else if ('role' in item && 'content' in item) {
      if (item.role !== 'assistant') found.need(open.length === 0, `${path}: no output for the calls ${open.join()}`);
      content(item.content, item.role === 'user' ? ['input_text', 'input_image'] : [], found, path);
    } else {
      found.need(false, `${path}: an item of another type`);
    }
  });
  found.need(open.length === 0, `no output for the calls ${open.join()}`);
  tools((body.tools ?? []).flatMap((tool) => (tool.type === 'function' ? tool.name : [])), found);
  return found.list;
}

/** Rules of Anthropic's messages. */
export function anthropicFaults(body: MessageCreateParamsBase): string[] {
  const found = new Findings();
  texts(body, found);
  found.need(body.max_tokens > 0, 'no max_tokens');
  found.need(body.messages.length > 0, 'no message');
  const ids = new Set<string>();
  let open: string[] = [];
  body.messages.forEach(({ role, content: blocks }, at) => {
    const path = `messages[${at}]`;
    found.need(role === (at % 2 === 0 ? 'user' : 'assistant'), `${path}: roles do not alternate from the user on`);
    if (typeof blocks === 'string' || blocks.length === 0) {
      found.need(typeof blocks === 'string' && blocks.trim() !== '', `${path}: no content`);
      return;
    }
    const results = blocks.flatMap((block) => (block.type === 'tool_result' ? block.tool_use_id : []));
    found.need(results.length === new Set(results).size && [...results].sort().join() === [...open].sort().join(), `${path}: results ${results.join()} for calls ${open.join()}`);
    found.need(blocks.slice(0, results.length).every(({ type }) => type === 'tool_result'), `${path}: results do not stand first`);
    open = [];
    for (const block of blocks) {
      if (block.type === 'text') {
        found.need(block.text.trim() !== '', `${path}: blank text`);
      } else if (block.type === 'tool_use') {
        found.need(role === 'assistant' && NAME.test(block.id) && !ids.has(block.id), `${path}: tool_use id ${block.id}`);
        found.need(NAME.test(block.name), `${path}: tool_use name ${block.name}`);
        found.need(typeof block.input === 'object' && block.input !== null && !Array.isArray(block.input), `${path}: input is not an object`);
        ids.add(block.id);
        open.push(block.id);
      } else if (block.type === 'tool_result') {
        const inner = Array.isArray(block.content) ? block.content : [];
        for (const part of inner) if (part.type === 'text') found.need(part.text.trim() !== '', `${path}: blank text in a result`);
        if (block.content !== undefined) found.need(inner.length > 0, `${path}: empty list in a result`);
        if (block.is_error) found.need(inner.length > 0 && inner.every(({ type }) => type === 'text'), `${path}: an error with other content than text`);
        found.need(role === 'user', `${path}: a result of the assistant's`);
      } else if (block.type === 'image') {
        found.need(role === 'user', `${path}: an image of the assistant's`);
      } else {
        found.need(block.type === 'thinking' || block.type === 'redacted_thinking', `${path}: a block of type ${block.type}`);
        if (block.type === 'thinking') found.need(role === 'assistant' && block.signature !== '', `${path}: unsigned thinking`);
      }
    }
    const last = blocks.at(-1);
    found.need(last?.type !== 'thinking' && last?.type !== 'redacted_thinking', `${path}: thinking stands last`);
    if (at === body.messages.length - 1 && role === 'assistant' && last?.type === 'text') found.need(last.text.trimEnd() === last.text, `${path}: blanks at the end of the last message`);
  });
  found.need(open.length === 0, `no results for the calls ${open.join()}`);
  tools((body.tools ?? []).flatMap((tool) => ('input_schema' in tool ? tool.name : [])), found);
  for (const tool of body.tools ?? []) if ('input_schema' in tool) found.need((tool.input_schema.type as string) === 'object', `tool ${tool.name}: its schema is not an object's`);
  return found.list;
}

/** Messages that the AI SDK's schema has taken; a history repeats most of them. */
const parsed = new Set<string>();

function isModelMessage(message: ModelMessage): boolean {
  const text = JSON.stringify(message);
  if (parsed.has(text)) return true;
  if (!modelMessageSchema.safeParse(message).success) return false;
  parsed.add(text);
  return true;
}

/** Rules of the AI SDK: its own schema, and a result for every call in the message behind it. */
export function modelMessageFaults(messages: readonly ModelMessage[]): string[] {
  const found = new Findings();
  texts(messages, found);
  const ids = new Set<string>();
  let open: string[] = [];
  messages.forEach((message, at) => {
    const path = `messages[${at}]`;
    found.need(isModelMessage(message), `${path}: not a ModelMessage`);
    if (message.role === 'tool') {
      for (const part of message.content) {
        found.need(part.type === 'tool-result' && open.includes(part.toolCallId), `${path}: a result without its call before it`);
        if (part.type === 'tool-result') open = open.filter((id) => id !== part.toolCallId);
      }
    } else {
      found.need(open.length === 0, `${path}: tool results are missing for ${open.join()}`);
      if (typeof message.content === 'string') {
        found.need(message.content !== '', `${path}: empty text`);
      } else {
        found.need(message.content.length > 0, `${path}: no content`);
        for (const part of message.content) {
          if (part.type === 'text') found.need(part.text !== '', `${path}: empty text`);
          if (part.type !== 'tool-call') continue;
          found.need(!ids.has(part.toolCallId) && part.toolCallId !== '' && part.toolName !== '', `${path}: call id ${part.toolCallId}`);
          found.need(typeof part.input === 'object' && part.input !== null && !Array.isArray(part.input), `${path}: input is not an object`);
          ids.add(part.toolCallId);
          open.push(part.toolCallId);
        }
      }
    }
  });
  found.need(open.length === 0, `tool results are missing for ${open.join()}`);
  found.need(messages.some(({ role }) => role !== 'system'), 'no message');
  return found.list;
}
