/**
 * The records of a source as a table: where each stands and how it hangs on others. This is all that an import keeps of
 * a file between its two passes; about fifty bytes a record, and the ids.
 */

import { decode, isObject, parse, type Raw } from './json.js';
import { chunksOf, LineSplitter, StretchReader } from './lines.js';
import type { Report } from './report.js';
import type { ImportSource } from './types.js';
import type { JsonValue } from '../ids.js';

type Column = Float64Array | Int32Array | Uint32Array | Uint8Array;

/** No record. */
export const NONE = -1;

/** Record states: what has been made of a record so far. */
const UNSEEN = 0;
const KEPT = 1;
const MAPPED = 2;

/** A record as it is read again. */
export interface SourceRecord {
  readonly index: number;
  readonly kind: string;
  readonly line: number;
  /** The object; an empty one for a line that is no record. */
  readonly value: Raw;
  /** What the line holds, parsed where it is JSON. */
  readonly raw: JsonValue;
  /** Bytes of the line. */
  readonly size: number;
  readonly broken: boolean;
}

/** Told each record of the first pass. */
export type RecordTaker = (index: number, value: Raw, line: number) => string;

/** All records of one source. */
export class RecordTable {
  readonly source: ImportSource;
  length = 0;
  #offset = new Float64Array(1024);
  #size = new Uint32Array(1024);
  #line = new Uint32Array(1024);
  #kind = new Uint32Array(1024);
  #state = new Uint8Array(1024);
  #broken = new Uint8Array(1024);
  readonly #kinds: string[] = [];
  readonly #kindIds = new Map<string, number>();

  constructor(source: ImportSource) {
    this.source = source;
  }

  kind(index: number): string {
    return this.#kinds[this.#kind[index]!]!;
  }

  line(index: number): number {
    return this.#line[index]!;
  }

  byte(index: number): number {
    return this.#offset[index]!;
  }

  isBroken(index: number): boolean {
    return this.#broken[index] === 1;
  }

  /** Notes what has become of a record; the best of it counts, since a record may stand in several sessions. */
  account(index: number, mapped: boolean): void {
    this.#state[index] = Math.max(this.#state[index]!, mapped ? MAPPED : KEPT);
  }

  isUnseen(index: number): boolean {
    return this.#state[index] === UNSEEN;
  }

  /** Tells the report what has become of each record. */
  report(report: Report): void {
    for (let index = 0; index < this.length; index++) {
      if (this.isBroken(index)) report.broken();
      else report.record(this.kind(index), this.#state[index] === MAPPED);
    }
  }

  /**
   * Reads the source once.
   * @param take says the kind of each record, a line that is a JSON object
   * @param progress told the bytes of each chunk
   */
  async scan(report: Report, progress: (bytes: number) => void, take: RecordTaker, chunks: AsyncIterable<Uint8Array> = chunksOf(this.source)): Promise<void> {
    const splitter = new LineSplitter(this.source.name, (bytes, line, byte) => this.#take(bytes, line, byte, report, take));
    for await (const chunk of chunks) {
      splitter.push(chunk);
      progress(chunk.length);
    }
    splitter.finish();
  }

  #take(bytes: Uint8Array, line: number, byte: number, report: Report, take: RecordTaker): void {
    if (isBlank(bytes)) {
      report.blankLine();
      return;
    }
    const { text, value } = this.#parse(bytes, line, byte, report);
    if (isObject(value)) {
      const index = this.#add(byte, bytes.length, line, false);
      this.#setKind(index, take(index, value, line));
      return;
    }
    const index = this.#add(byte, bytes.length, line, true);
    if (value === undefined) {
      this.#setKind(index, 'not-json');
      report.anomaly('not-json', `line ${line} is not JSON: ${JSON.stringify(text.slice(0, 60))}`, { line, byte });
    } else {
      this.#setKind(index, 'not-an-object');
      report.anomaly('not-an-object', `line ${line} is JSON, but no object`, { line, byte });
    }
  }

  #parse(bytes: Uint8Array, line: number, byte: number, report: Report): { text: string; value: JsonValue | undefined } {
    const { text, valid } = decode(bytes);
    if (!valid) report.anomaly('not-utf-8', `line ${line} holds bytes that are not UTF-8; they became U+FFFD`, { line, byte });
    return { text, value: parse(line === 1 ? text.replace(/^\ufeff/, '') : text) };
  }

  #add(byte: number, size: number, line: number, broken: boolean): number {
    const index = this.length++;
    if (index === this.#offset.length) {
      this.#offset = grown(this.#offset, Float64Array);
      this.#size = grown(this.#size, Uint32Array);
      this.#line = grown(this.#line, Uint32Array);
      this.#kind = grown(this.#kind, Uint32Array);
      this.#state = grown(this.#state, Uint8Array);
      this.#broken = grown(this.#broken, Uint8Array);
    }
    this.#offset[index] = byte;
    this.#size[index] = size;
    this.#line[index] = line;
    this.#broken[index] = broken ? 1 : 0;
    return index;
  }

  #setKind(index: number, name: string): void {
    const short = name.slice(0, 100);
    let id = this.#kindIds.get(short);
    if (id === undefined) {
      id = this.#kinds.push(short) - 1;
      this.#kindIds.set(short, id);
    }
    this.#kind[index] = id;
  }

  /** Reads records again, from where they stand. */
  reader(): (index: number) => Promise<SourceRecord> {
    const stretches = new StretchReader(this.source);
    return async (index) => {
      const { text } = decode(await stretches.read(this.#offset[index]!, this.#size[index]!));
      const line = this.#line[index]!;
      const value = parse(line === 1 ? text.replace(/^\ufeff/, '') : text);
      const broken = this.isBroken(index);
      return { index, kind: this.kind(index), line, value: !broken && isObject(value) ? value : {}, raw: value ?? text, size: this.#size[index]!, broken };
    };
  }

  /** Bytes of a record. */
  size(index: number): number {
    return this.#size[index]!;
  }
}

function isBlank(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  return true;
}

function grown<T extends Column>(column: T, Type: new (length: number) => T): T {
  const larger = new Type(column.length * 2);
  larger.set(column);
  return larger;
}

/** A growing list of whole numbers. */
export class Integers {
  #items = new Int32Array(1024);
  length = 0;

  /** The number at `index`; {@link NONE} where none was set. */
  at(index: number): number {
    return index < this.length ? this.#items[index]! : NONE;
  }

  set(index: number, value: number): void {
    while (index >= this.#items.length) this.#items = grown(this.#items, Int32Array);
    while (this.length <= index) this.#items[this.length++] = NONE;
    this.#items[index] = value;
  }
}
