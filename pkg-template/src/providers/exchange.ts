/**
 * A history as exchanges: what every provider's format is written from.
 *
 * After this, each call has exactly one result and stands with it; ids are unique; no text is empty; what a format
 * cannot hold has been replaced or left out, with a notice. The converters only write down what is here.
 */

import { need, needObject } from '../arguments.js';
import { isBlock, isDeep, isRecord, quoted, textOf } from '../depth.js';
import type { ContentBlock, Message, ToolSchema } from '../events.js';
import type { JsonObject } from '../ids.js';
import type { Converted } from './notice.js';
import { Report } from './notice.js';
import { type NameRule, Names, isBroken, wellFormed, wellFormedJson } from './text.js';
import type { ModelRequest } from '../view.js';

/** A piece of content that may stand in a user's message or in a result. */
export type Part = { readonly type: 'text'; readonly text: string } | { readonly type: 'image'; readonly mimeType: string; readonly data: string };

/** A call, under the id and name that are sent. `arguments` is the model's raw text. */
export interface Call {
  readonly type: 'call';
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
  readonly path: string;
}

/** Reasoning as it is logged: `signature` and the like are still on it. */
export interface Reasoning {
  readonly type: 'reasoning';
  readonly text: string;
  readonly block: ContentBlock;
  readonly path: string;
}

/** The one answer to a call. */
export interface Result {
  readonly id: string;
  readonly name: string;
  readonly isError: boolean;
  readonly parts: readonly Part[];
  readonly path: string;
}

/** A message, with a call's results at the call. */
export type Item =
  | { readonly role: 'system'; readonly text: string; readonly path: string }
  | { readonly role: 'user'; readonly parts: readonly Part[]; readonly path: string }
  | {
      readonly role: 'assistant';
      readonly parts: readonly (Extract<Part, { type: 'text' }> | Reasoning | Call)[];
      /** In the order in which they came; those that never did stand last. */
      readonly results: readonly Result[];
      readonly path: string;
      /** Whether anything in the message differs from what the model has said. */
      readonly changed: boolean;
    };

/** What a provider takes. */
export interface Rules {
  /** Refused texts: the empty ones, or all without a visible character. */
  readonly refusedText: 'empty' | 'blank';
  readonly callId: NameRule;
  readonly toolName: NameRule;
  /** In which results an image may stand; in a user's message it always may. */
  readonly imagesInResults: 'all' | 'successes' | 'none';
  /** Types of images, all when absent. */
  readonly imageTypes?: readonly string[];
  /** Characters of base64 in one image. */
  readonly maxImage: number;
}

/** A request taken apart. */
export interface Exchange {
  readonly items: readonly Item[];
  readonly system: string | undefined;
  readonly tools: readonly ToolSchema[];
  readonly report: Report;
  /** Closes the conversion. */
  readonly converted: <Body>(body: Body) => Converted<Body>;
}

/** The text that answers a call whose result is not in the log. */
export const NO_RESULT = 'No result was recorded for this tool call.';

interface Answered {
  readonly message: number;
  answer?: { readonly block: ContentBlock & { type: 'tool-result' }; readonly path: string; readonly order: number };
}

/** Takes a request apart by the rules of a provider. @throws PalimpsestError `INVALID_ARGUMENT` where it is no request */
export function exchange(request: ModelRequest, rules: Rules): Exchange {
  return new Taking(rules).take(request);
}

class Taking {
  readonly report = new Report();
  readonly #rules: Rules;
  readonly #ids: Names;
  readonly #names: Names;
  /** By the path of the block, so that equal blocks are told apart. */
  readonly #calls = new Map<string, Answered>();
  /** The message of the call by the path of its result. */
  readonly #answers = new Map<string, string>();
  readonly #known = new Set<string>();

  constructor(rules: Rules) {
    this.#rules = rules;
    this.#ids = new Names(rules.callId);
    this.#names = new Names(rules.toolName);
  }

  take(request: ModelRequest): Exchange {
    needObject('request', request);
    const { messages, system, tools } = request;
    need(Array.isArray(messages), 'request.messages', messages, 'an array of messages');
    this.#pair(messages);
    const items: Item[] = [];
    messages.forEach((message: unknown, at) => {
      const path = `messages[${at}]`;
      if (isMessage(message)) this.#message(message, path, items);
      else this.#malformed(path, 'message');
    });
    const { report } = this;
    const toolSchemas = this.#tools(tools);
    return {
      items,
      system: this.#system(system),
      tools: toolSchemas,
      report,
      converted: (body) => ({ body, report: report.notices, aliases: { tools: this.#names.aliases, calls: this.#ids.aliases } }),
    };
  }

  /** Gives each result to the latest call of its id that has none; within one message to the first. */
  #pair(messages: readonly Message[]): void {
    const open = new Map<string, Answered[]>();
    messages.forEach((said: unknown, message) => {
      if (!isMessage(said)) return;
      const { role, content } = said;
      content.forEach((block: unknown, at) => {
        if (!isBlock(block)) return;
        const path = `messages[${message}].content[${at}]`;
        if (block.type === 'tool-call' && role === 'assistant') {
          const call: Answered = { message };
          this.#calls.set(path, call);
          const id = textOf(block.id);
          this.#known.add(id);
          const others = open.get(id);
          if (others) others.push(call);
          else open.set(id, [call]);
        } else if (block.type === 'tool-result') {
          const waiting = open.get(textOf(block.toolCallId)) ?? [];
          const latest = waiting.at(-1)?.message;
          const index = waiting.findIndex((call) => call.message === latest);
          if (index < 0) return;
          const call = waiting.splice(index, 1)[0]!;
          call.answer = { block, path, order: this.#answers.size };
          this.#answers.set(path, `messages[${call.message}]`);
        }
      });
    });
  }

  #message({ role, content }: Message, path: string, items: Item[]): void {
    if (role === 'assistant') { this.#assistant(content, path, items); return; }
    const parts: Part[] = [];
    content.forEach((block, at) => {
      const here = `${path}.content[${at}]`;
      if (!isBlock(block)) this.#malformed(here, 'block');
      else if (block.type !== 'tool-result') this.#part(block, here, parts, role !== 'system');
      else if (!this.#answers.has(here)) this.#orphan(block, here, parts);
      else if (parts.length > 0 || items.at(-1)?.path !== this.#answers.get(here)) this.report.add('result-moved', here, `the result of ${quoted(block.toolCallId)} was moved up to its call`);
    });
    if (role === 'system') {
      const text = parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n\n');
      if (text !== '') items.push({ role, text, path });
    } else if (parts.length > 0) {
      items.push({ role: 'user', parts, path });
    }
    if (parts.length === 0 && !content.some((block: unknown) => isBlock(block) && block.type === 'tool-result')) this.report.add('empty-message', path, 'a message without content was left out');
  }

  #assistant(content: readonly ContentBlock[], path: string, items: Item[]): void {
    const before = this.report.notices.length;
    const parts: (Extract<Part, { type: 'text' }> | Reasoning | Call)[] = [];
    const calls: { call: Call; answer: Answered['answer'] }[] = [];
    const strays: Part[] = [];
    content.forEach((block, at) => {
      const here = `${path}.content[${at}]`;
      if (!isBlock(block)) {
        this.#malformed(here, 'block');
      } else if (block.type === 'reasoning') {
        parts.push({ type: 'reasoning', text: wellFormed(textOf(block.text), this.report, here), block, path: here });
      } else if (block.type === 'tool-call') {
        const call = this.#call(block, here);
        parts.push(call);
        calls.push({ call, answer: this.#calls.get(here)?.answer });
      } else if (block.type === 'tool-result') {
        if (!this.#answers.has(here)) this.#orphan(block, here, strays);
      } else {
        this.#part(block, here, parts as Part[], false);
      }
    });
    const changed = this.report.notices.length > before;
    calls.sort((a, b) => (a.answer?.order ?? Infinity) - (b.answer?.order ?? Infinity) || 0);
    if (parts.length > 0) items.push({ role: 'assistant', parts, results: calls.map(({ call, answer }) => this.#result(call, answer)), path, changed });
    else if (strays.length === 0) this.report.add('empty-message', path, 'a message without content was left out');
    if (strays.length > 0) items.push({ role: 'user', parts: strays, path });
  }

  #call({ id, name, arguments: text }: ContentBlock & { type: 'tool-call' }, path: string): Call {
    const call: Call = { type: 'call', id: this.#ids.fresh(textOf(id)), name: this.#name(textOf(name), path), arguments: text, path };
    if (call.id !== id) this.report.add('call-id-changed', path, `the call id ${quoted(id)} is sent as ${JSON.stringify(call.id)}`);
    return call;
  }

  #name(name: string, path: string): string {
    const sent = this.#names.one(name);
    if (sent !== name) this.report.add('tool-name-changed', path, `the tool ${JSON.stringify(name)} is sent as ${JSON.stringify(sent)}`);
    return sent;
  }

  #result({ id, name, path }: Call, answer: Answered['answer']): Result {
    if (!answer) {
      this.report.add('no-result-recorded', path, `the call ${JSON.stringify(id)} has no result; it is answered by an error that says so`);
      return { id, name, isError: true, parts: [{ type: 'text', text: NO_RESULT }], path };
    }
    const parts: Part[] = [];
    const isError = answer.block.isError === true;
    const { imagesInResults } = this.#rules;
    const images = imagesInResults === 'all' || (imagesInResults === 'successes' && !isError);
    contentOf(answer.block).forEach((block, at) => this.#part(block, `${answer.path}.content[${at}]`, parts, images));
    return { id, name, isError, parts, path: answer.path };
  }

  #orphan(block: ContentBlock & { type: 'tool-result' }, path: string, parts: Part[]): void {
    const id = quoted(block.toolCallId);
    const second = this.#known.has(textOf(block.toolCallId));
    this.report.add(second ? 'duplicate-result' : 'orphan-result', path, `a result of the call ${id}, ${second ? 'which has another one' : 'which is not in the history'}, stands as text`);
    parts.push({ type: 'text', text: wellFormed(`[Result of tool call ${id}, ${second ? 'in addition to the one above' : 'whose call is not in this history'}:]`, this.report, path) });
    contentOf(block).forEach((inner, at) => this.#part(inner, `${path}.content[${at}]`, parts, true));
  }

  #malformed(path: string, what: string): void {
    this.report.add('malformed', path, `what stands here is no ${what} and was left out`);
  }

  #part(block: unknown, path: string, parts: Part[], images: boolean): void {
    if (!isBlock(block)) {
      this.#malformed(path, 'block');
      return;
    }
    const { type, text, data, mimeType } = block as { type: string; text?: unknown; data?: unknown; mimeType?: unknown };
    if (type === 'text' && typeof text === 'string') {
      if (this.#refuses(text)) this.report.add('empty-text', path, 'a text without a visible character was left out');
      else parts.push({ type, text: wellFormed(text, this.report, path) });
    } else if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string') {
      const why = this.#whyNot(mimeType, data, images);
      if (why === undefined) {
        parts.push({ type, data, mimeType });
        return;
      }
      this.report.add('image-dropped', path, `an image was left out: ${why}`);
      parts.push({ type: 'text', text: wellFormed(`[An image of type ${mimeType} was left out: ${why}.]`, this.report, path) });
    } else {
      this.report.add('unknown-block', path, `a block of type ${JSON.stringify(type)} was left out`);
    }
  }

  #refuses(text: string): boolean {
    return (this.#rules.refusedText === 'blank' ? text.trim() : text) === '';
  }

  #whyNot(mimeType: string, data: string, allowed: boolean): string | undefined {
    const { imageTypes, maxImage } = this.#rules;
    if (!allowed) return 'the provider takes none here';
    if (!/^[\w.+-]+\/[\w.+-]+$/.test(mimeType) || isBroken(data)) return 'its type or its data is no such thing';
    if (imageTypes?.includes(mimeType) === false) return 'the provider does not take this type';
    return data.length > maxImage ? `it has ${data.length} characters, and the provider takes ${maxImage}` : undefined;
  }

  #text(text: string, path: string): string | undefined {
    if (!this.#refuses(text)) return wellFormed(text, this.report, path);
    this.report.add('empty-text', path, 'a text without a visible character was left out');
    return undefined;
  }

  #system(system: unknown): string | undefined {
    if (typeof system === 'string') return this.#text(system, 'system');
    if (system !== undefined) this.#malformed('system', 'system prompt');
    return undefined;
  }

  #schema(parameters: unknown, path: string): JsonObject {
    if (!isRecord(parameters)) this.report.add('schema-changed', path, 'a schema that is no object became an empty one');
    else if (isDeep(parameters)) this.report.add('too-deep', path, 'a schema that is nested too deep became an empty one');
    else return wellFormedJson(parameters as JsonObject, this.report, path);
    return {};
  }

  #tools(tools: unknown): ToolSchema[] {
    if (tools !== undefined && !Array.isArray(tools)) this.#malformed('tools', 'list of tools');
    if (!Array.isArray(tools)) return [];
    const names = new Set<string>();
    return (tools as unknown[]).flatMap((tool, at) => {
      const path = `tools[${at}]`;
      if (!isTool(tool)) {
        this.#malformed(path, 'tool');
        return [];
      }
      if (names.has(tool.name)) {
        this.report.add('duplicate-tool', path, `a second tool ${JSON.stringify(tool.name)} was left out`);
        return [];
      }
      names.add(tool.name);
      const description: unknown = tool.description;
      if (description !== undefined && typeof description !== 'string') this.#malformed(`${path}.description`, 'text');
      const parameters = this.#schema(tool.parameters, path);
      const name = this.#name(tool.name, path);
      return [{ name, ...(typeof description === 'string' && { description: wellFormed(description, this.report, path) }), parameters }];
    });
  }
}

// A log of another origin may lack what the types promise.
function isMessage(value: unknown): value is Message {
  return isRecord(value) && Array.isArray(value.content);
}

function isTool(value: unknown): value is ToolSchema {
  return isRecord(value) && typeof value.name === 'string';
}

function contentOf(block: ContentBlock & { type: 'tool-result' }): readonly unknown[] {
  const content: unknown = block.content;
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? (content as readonly unknown[]) : [];
}
