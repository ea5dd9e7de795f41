/**
 * A streamed answer becomes blocks: the one way from chunks to an `assistant/message`, for every provider.
 *
 * Tolerant of what providers do: blocks without a start or an end, deltas of several blocks in turn, several calls or
 * kinds of block under one index, a surrogate pair cut in two by the chunk edge, usage before or after the finish, a
 * stream that breaks off. What it has taken in is never lost: a delta after its block's end begins a block of its own.
 */

import { need, needObject } from './arguments.js';
import { textOf } from './depth.js';
import type { CallId, ContentBlock, FinishReason, SessionEventMap, StreamChunk, SurfaceIntent, Usage } from './events.js';

/** One block as it grows. */
interface Part {
  readonly kind: 'text' | 'reasoning' | 'tool-call';
  text: string;
  id: CallId;
  name: string;
  /** The whole block, once `block-end` has said it. */
  whole: ContentBlock | undefined;
  /** Stands for an id that never came. */
  readonly spareId: CallId;
}

/** The name of a call whose name never came: no tool has it, so that the call is answered by an error. */
const UNNAMED = 'unnamed_tool';

/** Collects the {@link StreamChunk}s of one answer. */
export class BlockAssembler {
  readonly #byIndex = new Map<number, Part[]>();
  #parts = 0;
  #mark: string | undefined;
  readonly #seqs: number[] = [];
  #usage: Usage | undefined;
  #finish: FinishReason | undefined;

  /** An assembler that has taken in these chunks. @throws PalimpsestError `INVALID_ARGUMENT` */
  static of(chunks: Iterable<StreamChunk>): BlockAssembler {
    need(typeof (chunks as Partial<Iterable<StreamChunk>> | null | undefined)?.[Symbol.iterator] === 'function', 'chunks', chunks, 'iterable');
    const assembler = new BlockAssembler();
    for (const chunk of chunks) assembler.push(chunk);
    return assembler;
  }

  /**
   * Takes in one chunk. Chunks of unknown types are passed over.
   * @param chunk the chunk, in the order of the stream
   * @param seq seq of the `assistant/chunk` event that logged it, if it was logged; see {@link BlockAssembler.intent}
   * @throws PalimpsestError `INVALID_ARGUMENT`, and nothing is taken in
   */
  push(chunk: StreamChunk, seq?: number): void {
    needObject('chunk', chunk);
    if (chunk.type === 'block-end') needObject('chunk.block', chunk.block);
    if ('index' in chunk) need(Number.isFinite(chunk.index), 'chunk.index', chunk.index, 'a number');
    need(seq === undefined || (Number.isInteger(seq) && seq >= 0), 'seq', seq, 'the seq of an event');
    if (seq !== undefined) this.#seqs.push(seq);
    switch (chunk.type) {
      case 'block-start':
        if (isKind(chunk.blockType)) this.#begin(chunk.index, chunk.blockType);
        break;
      case 'text-delta':
        this.#open(chunk.index, 'text').text += textOf(chunk.text);
        break;
      case 'reasoning-delta':
        this.#open(chunk.index, 'reasoning').text += textOf(chunk.text);
        break;
      case 'tool-call-delta': {
        const id = textOf(chunk.id);
        const part = this.#open(chunk.index, 'tool-call', id);
        if (part.id === '') part.id = id;
        if (part.name === '') part.name = textOf(chunk.name);
        part.text += textOf(chunk.argumentsDelta);
        break;
      }
      case 'block-end': {
        const { index, block } = chunk;
        const kind = isKind(block.type) ? block.type : undefined;
        const part = kind && this.#last(index, kind, block.type === 'tool-call' ? textOf(block.id) : '');
        if (part) part.whole = block;
        else this.#begin(index, kind ?? 'text').whole = block;
        break;
      }
      case 'usage':
        this.#usage = chunk.usage;
        break;
      case 'finish':
        this.#finish = chunk.reason;
        break;
      default:
    }
  }

  /**
   * The blocks so far, in the order of their indexes, and under one index in the order in which they began. A block of
   * text or reasoning that holds nothing is left out: providers refuse it in the next request. A call whose id never came
   * has one that begins with `call_`: of the seq of the first logged chunk, or else of chance, and the same at every look.
   * A call whose name never came has the name `unnamed_tool`.
   */
  get blocks(): ContentBlock[] {
    const order = [...this.#byIndex.keys()].sort((a, b) => a - b);
    return order.flatMap((index) => this.#byIndex.get(index)!.map(blockOf)).filter((block) => !isHollow(block));
  }

  /** What the call has cost; `undefined` until the stream has said so. The last word counts. */
  get usage(): Usage | undefined {
    return this.#usage;
  }

  /** Why the model stopped; `undefined` while it has not, or when the stream broke off. */
  get finish(): FinishReason | undefined {
    return this.#finish;
  }

  /** The payload of an `assistant/message`, also of a stream that broke off. */
  message(place: { readonly turn: number; readonly step: number }): SessionEventMap['assistant/message'] {
    needObject('the place', place, 'an object with turn and step');
    const { turn, step } = place;
    return { turn, step, content: this.blocks, ...(this.#usage !== undefined && { usage: this.#usage }) };
  }

  /** The third argument to log {@link BlockAssembler.message} with: it names the logged chunks, if any, as the sources. */
  get intent(): SurfaceIntent {
    return { surfaceOp: 'append', ...(this.#seqs.length > 0 && { sourceEventSeqs: [...this.#seqs] }) };
  }

  #begin(index: number, kind: Part['kind'], id: CallId = ''): Part {
    // Within one log, no two answers share a logged chunk.
    this.#mark ??= this.#seqs.length > 0 ? `${this.#seqs[0]}` : Math.random().toString(36).slice(2, 12);
    const part: Part = { kind, text: '', id, name: '', whole: undefined, spareId: `call_${this.#mark}_${this.#parts++}` };
    const parts = this.#byIndex.get(index);
    if (parts) parts.push(part);
    else this.#byIndex.set(index, [part]);
    return part;
  }

  /** The growing block of this kind at `index`; of calls the one with this id, and any one where an id is not known. */
  #last(index: number, kind: Part['kind'], id: CallId): Part | undefined {
    const fits = (part: Part): boolean => part.kind === kind && part.whole === undefined && (id === '' || part.id === '' || part.id === id);
    return this.#byIndex.get(index)?.filter(fits).pop();
  }

  #open(index: number, kind: Part['kind'], id: CallId = ''): Part {
    return this.#last(index, kind, id) ?? this.#begin(index, kind, id);
  }
}

function isKind(type: string): type is Part['kind'] {
  return type === 'text' || type === 'reasoning' || type === 'tool-call';
}

function blockOf({ kind, text, id, name, whole, spareId }: Part): ContentBlock {
  const block: ContentBlock = whole ?? (kind === 'tool-call' ? { type: kind, id, name, arguments: text } : { type: kind, text });
  if (block.type !== 'tool-call' || (isText(block.id) && isText(block.name))) return block;
  return { ...block, id: isText(block.id) ? block.id : spareId, name: isText(block.name) ? block.name : UNNAMED };
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

/** An empty text, or empty reasoning that carries nothing beside (a signature is something). */
function isHollow(block: ContentBlock): boolean {
  if (block.type !== 'text' && block.type !== 'reasoning') return false;
  return block.text === '' && Object.keys(block).length === 2;
}
