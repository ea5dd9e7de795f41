/** The bytes of a log, where the browser keeps them: a large file of the person's disk stays there until a part of it is read. */

/** A file of the disk was changed or removed since it was opened; browsers read it no more. */
export class FileChangedError extends Error {
  readonly code = 'FILE_CHANGED';

  constructor(cause: unknown) {
    super('The file cannot be read any more: it was changed, moved or removed since it was opened. Open it again.', { cause });
  }
}

export class ByteStore {
  #parts: Blob[] = [];
  #whole: Blob | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  append(part: Blob | Uint8Array<ArrayBuffer>): void {
    const blob = part instanceof Blob ? part : new Blob([part]);
    this.#parts.push(blob);
    this.#size += blob.size;
    this.#whole = undefined;
  }

  /** Everything so far. A blob of blobs copies nothing. */
  blob(): Blob {
    if (this.#whole === undefined) {
      this.#whole = this.#parts.length === 1 ? this.#parts[0]! : new Blob(this.#parts);
      this.#parts = [this.#whole];
    }
    return this.#whole;
  }

  /** @throws (rejects) FileChangedError */
  async read(from: number, to: number): Promise<Uint8Array<ArrayBuffer>> {
    try {
      return new Uint8Array(await this.blob().slice(from, to).arrayBuffer());
    } catch (cause) {
      throw new FileChangedError(cause);
    }
  }
}
