/** The way back: what a provider's request says, as messages, to be compared with those that it was made from. */

import type { MessageCreateParamsBase } from '@anthropic-ai/sdk/resources/messages';
import type { ModelMessage } from 'ai';
import type { ChatCompletionCreateParamsBase } from 'openai/resources/chat/completions';
import type { ResponseCreateParamsBase } from 'openai/resources/responses/responses';
import type { ContentBlock, Message } from 'palimpsest';
import type { Aliases, Notice } from 'palimpsest/openai';

/** A message of the comparison: calls carry parsed arguments where the format does, results stand alone. */
type Loose = Record<string, unknown> & { type: string };
interface Plain {
  role: string;
  content: Loose[];
}

const image = (url: string): Loose => ({ type: 'image', mimeType: url.slice('data:'.length, url.indexOf(';')), data: url.slice(url.indexOf(',') + 1) });
const repaired = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd');
const asText = (text: string): Loose => ({ type: 'text', text });

class Back {
  readonly messages: Plain[] = [];
  constructor(readonly aliases: Aliases) {}

  call(id: string, name: string, input: unknown): Loose {
    return { type: 'tool-call', id: this.aliases.calls.get(id) ?? id, name: this.aliases.tools.get(name) ?? name, arguments: input };
  }

  result(id: string, content: Loose[], isError: boolean): void {
    this.messages.push({ role: 'user', content: [{ type: 'tool-result', toolCallId: this.aliases.calls.get(id) ?? id, content, isError }] });
  }

  add(role: string, content: Loose[]): void {
    if (content.length > 0) this.messages.push({ role, content });
  }
}

type Parts = string | readonly { type: string; text?: string; image_url?: unknown }[] | null | undefined;

function parts(content: Parts): Loose[] {
  if (typeof content === 'string') return [asText(content)];
  return (content ?? []).map((part) => {
    if (part.text !== undefined) return asText(part.text);
    const url = part.image_url;
    return image(typeof url === 'string' ? url : (url as { url: string }).url);
  });
}

export function fromChat({ messages }: ChatCompletionCreateParamsBase, aliases: Aliases): Plain[] {
  const back = new Back(aliases);
  for (const message of messages) {
    if (message.role === 'tool') back.result(message.tool_call_id, parts(message.content), false);
    else if (message.role === 'assistant') back.add('assistant', [...parts(message.content), ...(message.tool_calls ?? []).map((call) => (call.type === 'function' ? back.call(call.id, call.function.name, call.function.arguments) : asText('?')))]);
    else back.add(message.role, parts(message.content));
  }
  return back.messages;
}

export function fromResponses({ input }: ResponseCreateParamsBase, aliases: Aliases): Plain[] {
  const back = new Back(aliases);
  for (const item of input as Extract<typeof input, readonly unknown[]>) {
    if (item.type === 'function_call') back.add('assistant', [back.call(item.call_id, item.name, item.arguments)]);
    else if (item.type === 'function_call_output') back.result(item.call_id, parts(item.output), false);
    else if (item.type === 'reasoning') back.add('assistant', [{ type: 'reasoning', text: item.summary.map(({ text }) => text).join() }]);
    else if ('role' in item && 'content' in item) back.add(item.role, parts(item.content));
  }
  return back.messages;
}

export function fromAnthropic({ messages }: MessageCreateParamsBase, aliases: Aliases): Plain[] {
  const back = new Back(aliases);
  const block = (part: Loose): Loose => {
    const source = part.source as { media_type: string; data: string } | undefined;
    return source ? { type: 'image', mimeType: source.media_type, data: source.data } : asText(part.text as string);
  };
  for (const { role, content } of messages) {
    const plain: Loose[] = [];
    for (const part of content as Extract<typeof content, readonly unknown[]>) {
      if (part.type === 'tool_result') back.result(part.tool_use_id, ((part.content ?? []) as unknown as Loose[]).map(block), part.is_error ?? false);
      else if (part.type === 'tool_use') plain.push(back.call(part.id, part.name, part.input));
      else if (part.type === 'thinking') plain.push({ type: 'reasoning', text: part.thinking });
      else plain.push(block(part as unknown as Loose));
    }
    back.add(role, plain);
  }
  return back.messages;
}

export function fromModelMessages(messages: readonly ModelMessage[], aliases: Aliases): Plain[] {
  const back = new Back(aliases);
  for (const { role, content } of messages) {
    const plain: Loose[] = typeof content === 'string' ? [asText(content)] : [];
    for (const part of typeof content === 'string' ? [] : content) {
      if (part.type === 'tool-call') plain.push(back.call(part.toolCallId, part.toolName, part.input));
      else if (part.type === 'image') plain.push({ type: 'image', mimeType: part.mediaType, data: part.image });
      else if (part.type === 'text' || part.type === 'reasoning') plain.push({ type: part.type, text: part.text });
      else if (part.type === 'tool-result') {
        const { output } = part;
        const inner = output.type === 'content' ? (output.value as Loose[]).map((value) => (value.type === 'text' ? asText(value.text as string) : { type: 'image', mimeType: value.mediaType, data: value.data })) : [asText((output as { value: string }).value)];
        back.result(part.toolCallId, inner, output.type === 'error-text');
      }
    }
    back.add(role, plain);
  }
  return back.messages;
}

/** Notices after which the messages that come back can still be told exactly. */
const FORETOLD = new Set(['reasoning-dropped', 'error-flag-lost', 'empty-text', 'unknown-block', 'call-id-changed', 'tool-name-changed', 'messages-merged', 'empty-result', 'order-changed', 'unknown-config', 'default-max-tokens', 'schema-changed', 'empty-message', 'image-dropped', 'lone-surrogate', 'ends-with-assistant']);

/** What must come back: the messages, changed only as the report says; `undefined` where that cannot be told. */
export function foretold(messages: readonly Message[], report: readonly Notice[], system: string | undefined): Plain[] | undefined {
  // Where reasoning went because nothing followed it, the notice names the message alone.
  if (report.some(({ code, path }) => !FORETOLD.has(code) || (code === 'reasoning-dropped' && !path.includes('.content')))) return undefined;
  const notices = new Map<string, Map<string, Notice>>();
  for (const notice of report) notices.set(notice.path, (notices.get(notice.path) ?? new Map<string, Notice>()).set(notice.code, notice));
  const none = new Map<string, Notice>();
  const kept = (blocks: readonly ContentBlock[], path: string): Loose[] =>
    blocks.flatMap((block, index) => {
      const here = `${path}.content[${index}]`;
      const codes = notices.get(here) ?? none;
      if (codes.has('empty-text') || codes.has('unknown-block') || codes.has('reasoning-dropped')) return [];
      const dropped = codes.get('image-dropped');
      if (dropped) return [asText(`[An image of type ${(block as unknown as { mimeType: string }).mimeType} was left out${dropped.message.slice(dropped.message.indexOf(':'))}.]`)];
      const whole = codes.has('lone-surrogate') ? repaired : (words: string): string => words;
      if (block.type === 'reasoning') return [{ type: 'reasoning', text: whole(block.text) }];
      if (block.type === 'tool-call') return [{ ...block, arguments: whole(block.arguments) }];
      if (block.type === 'text') return [asText(whole(block.text))];
      if (block.type !== 'tool-result') return [{ ...block }];
      const content = kept(block.content, here);
      return [{ ...block, content: codes.has('empty-result') ? [asText('(no content)')] : content, isError: block.isError && !codes.has('error-flag-lost') }];
    });
  const out: Plain[] = system === undefined ? [] : [{ role: 'system', content: [asText(system)] }];
  messages.forEach(({ role, content }, index) => {
    const plain = kept(content, `messages[${index}]`);
    if (plain.length > 0) out.push({ role, content: plain });
  });
  const last = out.at(-1)?.content.at(-1);
  if (last?.type === 'text' && notices.get('messages')?.has('ends-with-assistant')) last.text = (last.text as string).trimEnd();
  return out;
}

/** One form for what formats write differently: neighbours of a role in one message, results alone, arguments parsed. */
export function normal(messages: readonly Plain[], { textFirst = false, parse }: { textFirst?: boolean; parse: boolean }): Plain[] {
  const out: Plain[] = [];
  for (const { role, content } of messages) {
    for (const block of content) {
      const result = block.type === 'tool-result';
      const last = out.at(-1);
      const value = parse && block.type === 'tool-call' && typeof block.arguments === 'string' ? { ...block, arguments: JSON.parse(block.arguments, (_, inner: unknown) => (typeof inner === 'string' ? repaired(inner) : inner)) as unknown } : block;
      if (!result && last?.role === role && last.content[0]?.type !== 'tool-result') last.content.push(value);
      else out.push({ role, content: [value] });
    }
  }
  if (textFirst) for (const message of out) message.content.sort((a, b) => Number(a.type === 'tool-call') - Number(b.type === 'tool-call'));
  return out;
}
