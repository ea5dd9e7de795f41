/** Lines of a source, as bytes: a line is decoded only once it is whole, so no character is cut. */

import { PalimpsestError } from '../errors.js';
import type { ImportSource } from './types.js';

/** Bytes that are read at once. */
const CHUNK = 1 << 20;

/** The longest line that is read: its text and what is parsed from it must fit into memory together. */
export const MAX_LINE = 256 * 1024 * 1024;

/** Takes a line: its bytes, good only until it returns; its number, from 1; its offset; whether it had a line end. */
export type LineTaker = (bytes: Uint8Array, line: number, byte: number, ended: boolean) => void;

/** Cuts chunks into lines. */
export class LineSplitter {
  readonly #name: string;
  readonly #take: LineTaker;
  #parts: Uint8Array[] = [];
  #waiting = 0;
  #line = 1;
  #start = 0;

  constructor(name: string, take: LineTaker) {
    this.#name = name;
    this.#take = take;
  }

  /** The next chunk; it is copied where a line goes on behind it. */
  push(chunk: Uint8Array): void {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
      this.#emit(chunk.subarray(from, end), true);
      from = end + 1;
    }
    if (from === chunk.length) return;
    this.#parts.push(chunk.slice(from));
    this.#waiting += chunk.length - from;
    if (this.#waiting > MAX_LINE) {
      throw new PalimpsestError('CORRUPT_LOG', `${this.#name}, line ${this.#line}: the line is longer than ${MAX_LINE / 1048576} MiB; split the file or cut the line out, then import again`, {
        path: this.#name,
        line: this.#line,
        byte: this.#start,
      });
    }
  }

  /** The source has ended. */
  finish(): void {
    if (this.#waiting > 0) this.#emit(new Uint8Array(0), false);
  }

  #emit(tail: Uint8Array, ended: boolean): void {
    const length = this.#waiting + tail.length;
    let bytes = tail;
    if (this.#waiting > 0) {
      bytes = new Uint8Array(length);
      let at = 0;
      for (const part of this.#parts) {
        bytes.set(part, at);
        at += part.length;
      }
      bytes.set(tail, at);
      this.#parts = [];
      this.#waiting = 0;
    }
    this.#take(bytes, this.#line, this.#start, ended);
    this.#line++;
    this.#start += length + 1;
  }
}

/** The chunks of a source. */
export async function* chunksOf(source: ImportSource, from = 0): AsyncGenerator<Uint8Array> {
  for (let offset = from; offset < source.size; ) {
    const chunk = await source.read(offset, Math.min(CHUNK, source.size - offset));
    if (chunk.length === 0) throw new PalimpsestError('STORAGE_FAILED', `${source.name}: it ends at byte ${offset}, and ${source.size} were announced; import it again when nobody writes to it`, { path: source.name, byte: offset });
    yield chunk;
    offset += chunk.length;
  }
}

/** Reads stretches of a source that mostly follow each other. */
export class StretchReader {
  readonly #source: ImportSource;
  #window = new Uint8Array(0);
  #from = 0;

  constructor(source: ImportSource) {
    this.#source = source;
  }

  /** Bytes `offset .. offset + length`; good until the next call. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const at = offset - this.#from;
    if (at >= 0 && at + length <= this.#window.length) return this.#window.subarray(at, at + length);
    this.#window = new Uint8Array(0);
    const wanted = Math.min(Math.max(length, CHUNK), this.#source.size - offset);
    let got = await this.#source.read(offset, wanted);
    if (got.length < length) got = await this.#rest(got, offset, length);
    this.#window = got as Uint8Array<ArrayBuffer>;
    this.#from = offset;
    return got.subarray(0, length);
  }

  async #rest(first: Uint8Array, offset: number, length: number): Promise<Uint8Array> {
    const whole = new Uint8Array(length);
    whole.set(first);
    for (let at = first.length; at < length; ) {
      const more = await this.#source.read(offset + at, length - at);
      if (more.length === 0) throw new PalimpsestError('STORAGE_FAILED', `${this.#source.name}: it became shorter while it was read; import it again when nobody writes to it`, { path: this.#source.name, byte: offset + at });
      whole.set(more, at);
      at += more.length;
    }
    return whole;
  }
}
