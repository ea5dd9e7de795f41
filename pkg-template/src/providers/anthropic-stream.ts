/** Answers of Anthropic's messages, streamed and whole. */

import type { ContentBlock, Message, RawContentBlockDelta, RawMessageStreamEvent, StopReason } from '@anthropic-ai/sdk/resources/messages';
import { textOf } from '../depth.js';
import type { FinishReason, StreamChunk, Usage } from '../events.js';
import { type Aliases, type Answer, type ChunkReader, Report, count, finishOf, nameOf, reading } from './notice.js';
import { signedBlock } from './signed.js';

const FINISH: Readonly<Record<StopReason, FinishReason>> = {
  end_turn: { kind: 'stop' },
  stop_sequence: { kind: 'stop' },
  max_tokens: { kind: 'max-tokens' },
  model_context_window_exceeded: { kind: 'max-tokens' },
  tool_use: { kind: 'tool-calls' },
  pause_turn: { kind: 'stop' },
  refusal: { kind: 'content-filter' },
};

type Counts = Readonly<Partial<Record<'input_tokens' | 'output_tokens' | 'cache_read_input_tokens' | 'cache_creation_input_tokens', number | null>>> & {
  readonly output_tokens_details?: { readonly thinking_tokens?: number } | null;
};

function usageOf(counts: Counts): Usage {
  const thinking = count(counts.output_tokens_details?.thinking_tokens);
  const read = count(counts.cache_read_input_tokens);
  const written = count(counts.cache_creation_input_tokens);
  return {
    inputTokens: count(counts.input_tokens),
    outputTokens: count(count(counts.output_tokens) - thinking),
    ...(read > 0 && { cacheReadTokens: read }),
    ...(written > 0 && { cacheWriteTokens: written }),
    ...(thinking > 0 && { reasoningTokens: thinking }),
  };
}

/** A block that is not finished before its stop event has come. */
interface Open {
  readonly block: ContentBlock;
  thinking: string;
  signature: string;
  anyInput: boolean;
}

/** Reads one streamed message. */
export class MessagesReader implements ChunkReader<RawMessageStreamEvent> {
  readonly #report = new Report();
  readonly #aliases: Aliases | undefined;
  readonly #open = new Map<number, Open>();
  #model: string | undefined;
  #counts: Counts = {};

  /**
   * @param aliases from the request's conversion, so that tools come back under their own names
   * @param model the model that was asked, where it goes by another name than the answer's; thinking is signed for it
   */
  constructor(aliases?: Aliases, model?: string) {
    this.#aliases = aliases;
    this.#model = model;
  }

  get report(): Answer['report'] {
    return this.#report.notices;
  }

  push(event: RawMessageStreamEvent): StreamChunk[] {
    return reading('the event', event, () => this.#read(event));
  }

  #read(event: RawMessageStreamEvent): StreamChunk[] {
    switch (event.type) {
      case 'message_start':
        this.#model ??= nameOf(event.message.model);
        this.#count(event.message.usage);
        return [];
      case 'content_block_start':
        return this.#start(event.content_block, event.index);
      case 'content_block_delta':
        return this.#delta(event.delta, event.index);
      case 'content_block_stop':
        return this.#stop(event.index);
      case 'message_delta': {
        this.#count(event.usage);
        const chunks: StreamChunk[] = [{ type: 'usage', usage: usageOf(this.#counts) }];
        if (event.delta.stop_reason) chunks.push({ type: 'finish', reason: finishOf(FINISH, event.delta.stop_reason) });
        return chunks;
      }
      default:
        return [];
    }
  }

  /** Counts are cumulative; the last that is given counts. */
  #count(usage: Counts): void {
    this.#counts = { ...this.#counts, ...Object.fromEntries(Object.entries(usage).filter(([, value]: [string, unknown]) => value !== null && value !== undefined)) };
  }

  #start(block: ContentBlock, index: number): StreamChunk[] {
    this.#open.set(index, { block, thinking: '', signature: '', anyInput: false });
    switch (block.type) {
      case 'text':
        return [{ type: 'block-start', index, blockType: 'text' }, ...(block.text === '' ? [] : [{ type: 'text-delta' as const, index, text: block.text }])];
      case 'thinking':
        return [{ type: 'block-start', index, blockType: 'reasoning' }, ...this.#thought(index, textOf(block.thinking), textOf(block.signature))];
      case 'redacted_thinking':
        return [{ type: 'block-start', index, blockType: 'reasoning' }];
      case 'tool_use':
        return [
          { type: 'block-start', index, blockType: 'tool-call' },
          { type: 'tool-call-delta', index, id: this.#id(block.id), name: this.#aliases?.tools.get(block.name) ?? block.name, argumentsDelta: '' },
        ];
      default:
        this.#report.add('answer-part-dropped', `content[${index}]`, `a block of type ${JSON.stringify(block.type)} was left out`);
        return [];
    }
  }

  #id(id: string): string {
    return this.#aliases?.calls.get(id) ?? id;
  }

  #thought(index: number, text: string, signature: string): StreamChunk[] {
    const open = this.#open.get(index);
    if (open) {
      open.thinking += text;
      open.signature += signature;
    }
    return text === '' ? [] : [{ type: 'reasoning-delta', index, text }];
  }

  #delta(delta: RawContentBlockDelta, index: number): StreamChunk[] {
    const open = this.#open.get(index);
    switch (delta.type) {
      case 'text_delta':
        return [{ type: 'text-delta', index, text: delta.text }];
      case 'thinking_delta':
        return this.#thought(index, textOf(delta.thinking), '');
      case 'signature_delta':
        return this.#thought(index, '', textOf(delta.signature));
      case 'input_json_delta': {
        if (open?.block.type !== 'tool_use' || delta.partial_json === '') return [];
        open.anyInput = true;
        return [{ type: 'tool-call-delta', index, id: this.#id(open.block.id), argumentsDelta: delta.partial_json }];
      }
      default:
        this.#report.add('answer-part-dropped', `content[${index}]`, `a delta of type ${JSON.stringify(delta.type)} was left out`);
        return [];
    }
  }

  #stop(index: number): StreamChunk[] {
    const { block, thinking, signature, anyInput } = this.#open.get(index) ?? {};
    const signed = { type: 'reasoning', provider: 'anthropic', ...(this.#model !== undefined && { model: this.#model }) } as const;
    if (block?.type === 'tool_use' && !anyInput) {
      // A whole message, or a call without arguments: the input is an object already.
      return [{ type: 'tool-call-delta', index, id: this.#id(block.id), argumentsDelta: JSON.stringify(block.input ?? {}) }];
    }
    if (block?.type === 'redacted_thinking') return [{ type: 'block-end', index, block: signedBlock({ ...signed, text: '', signature: block.data, redacted: true }) }];
    if (block?.type === 'thinking' && signature) return [{ type: 'block-end', index, block: signedBlock({ ...signed, text: thinking ?? '', signature }) }];
    return [];
  }
}

/** A message that came whole. Its calls' arguments are the text of their parsed input. */
export function messagesAnswer(message: Message, aliases?: Aliases, model?: string): Answer {
  const reader = new MessagesReader(aliases, model);
  const chunks = reading('the message', message, () => {
    reader.push({ type: 'message_start', message });
    const blocks = message.content.flatMap((content_block, index) => [
      ...reader.push({ type: 'content_block_start', index, content_block }),
      ...reader.push({ type: 'content_block_stop', index }),
    ]);
    blocks.push({ type: 'usage', usage: usageOf(message.usage) });
    if (message.stop_reason) blocks.push({ type: 'finish', reason: finishOf(FINISH, message.stop_reason) });
    return blocks;
  });
  return { chunks, report: reader.report };
}
