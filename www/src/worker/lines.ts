/** The lines of a log, from chunks of any size. */

const NEWLINE = 0x0a;

export class LineSplitter {
  readonly #take: (line: Uint8Array, offset: number) => void;
  #held: Uint8Array[] = [];
  #heldFrom = 0;
  #at = 0;

  /** @param take is given each line that holds more than blanks, without its line end, and where it begins */
  constructor(take: (line: Uint8Array, offset: number) => void) {
    this.#take = take;
  }

  push(chunk: Uint8Array): void {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#line(chunk.subarray(from, end), this.#at + from);
      from = end + 1;
    }
    if (from < chunk.length) {
      if (this.#held.length === 0) this.#heldFrom = this.#at + from;
      this.#held.push(chunk.slice(from));
    }
    this.#at += chunk.length;
  }

  /** What stands behind the last line end. */
  get rest(): Uint8Array {
    return joined(this.#held);
  }

  #line(piece: Uint8Array, offset: number): void {
    let line = piece;
    let from = offset;
    if (this.#held.length > 0) {
      line = joined([...this.#held, piece]);
      from = this.#heldFrom;
      this.#held = [];
    }
    if (line.some(isInk)) this.#take(line, from);
  }
}

const isInk = (byte: number): boolean => byte > 0x20;

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  pieces.reduce((at, piece) => (whole.set(piece, at), at + piece.length), 0);
  return whole;
}
