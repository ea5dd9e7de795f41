/** A file's bytes as lines. Only byte 0x0A ends one. */

/** One line. */
export interface Line {
  /** Without its line end; good until the next line is asked for. */
  readonly bytes: Uint8Array;
  /** Counted from 1. */
  readonly number: number;
  /** Offset of its first byte. */
  readonly byte: number;
  /** Whether a line end follows. */
  readonly ended: boolean;
}

/** Cuts a stream into lines. A line that lies within a chunk is not copied. */
export class LineCutter {
  /** Bytes so far. */
  bytes = 0;
  /** Line ends so far. */
  lines = 0;
  #rest: Uint8Array[] = [];
  #restLength = 0;

  /** The lines that end in this chunk. */
  *push(chunk: Uint8Array): Generator<Line> {
    const base = this.bytes;
    this.bytes += chunk.length;
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      const part = chunk.subarray(start, end);
      const byte = base + start - this.#restLength;
      const bytes = this.#restLength === 0 ? part : this.#joined(part);
      start = end + 1;
      yield { bytes, number: ++this.lines, byte, ended: true };
    }
    if (start < chunk.length) {
      // The caller may fill its chunk anew.
      this.#rest.push(chunk.slice(start));
      this.#restLength += chunk.length - start;
    }
  }

  /** What no line end follows, if anything. */
  finish(): Line | undefined {
    if (this.#restLength === 0) return undefined;
    const byte = this.bytes - this.#restLength;
    return { bytes: this.#joined(new Uint8Array(0)), number: this.lines + 1, byte, ended: false };
  }

  #joined(last: Uint8Array): Uint8Array {
    const whole = new Uint8Array(this.#restLength + last.length);
    let at = 0;
    for (const part of [...this.#rest, last]) {
      whole.set(part, at);
      at += part.length;
    }
    this.#rest = [];
    this.#restLength = 0;
    return whole;
  }
}

/** Whether a byte is white space around a record. */
export function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === 0x0c;
}

/** Where the bytes without blanks around them begin and end. */
export function trimmed(bytes: Uint8Array): [start: number, end: number] {
  let start = 0;
  let end = bytes.length;
  while (start < end && isBlank(bytes[start]!)) start++;
  while (end > start && isBlank(bytes[end - 1]!)) end--;
  return [start, end];
}
