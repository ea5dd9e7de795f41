/** Seqs of the source and ours. */

/** A run of seqs that are shifted alike. */
interface Run {
  readonly from: number;
  to: number;
  readonly shift: number;
}

/** Which event of ours a seq of the source has become. */
export class SeqMap {
  readonly #runs: Run[] = [];

  /** Notes that their event `seq` is ours `own`. Events that waited come later than their seq; runs stay sorted by it. */
  set(seq: number | undefined, own: number): void {
    if (seq === undefined) return;
    const last = this.#runs.at(-1);
    if (last !== undefined && seq === last.to + 1 && own - seq === last.shift) {
      last.to = seq;
      return;
    }
    let at = this.#runs.length;
    while (at > 0 && this.#runs[at - 1]!.from > seq) at--;
    this.#runs.splice(at, 0, { from: seq, to: seq, shift: own - seq });
  }

  /** Our seq of their event; `undefined` for one that is not in the log. */
  get(seq: number): number | undefined {
    if (!Number.isSafeInteger(seq)) return undefined;
    let low = 0;
    let high = this.#runs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#runs[middle]!.from <= seq) low = middle + 1;
      else high = middle;
    }
    const run = this.#runs[low - 1];
    return run !== undefined && seq <= run.to ? seq + run.shift : undefined;
  }
}
