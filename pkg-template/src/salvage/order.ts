/**
 * In which order do records come whose file is out of order? Their seqs say it, as far as no two records claim the same ones.
 *
 * Where runs of seqs are claimed twice there were two writers, each of whose records stand in the file in its own order:
 * such a run stays as it is in the file, and comes where its first seq comes.
 */

/** A record, as far as it matters here. */
export interface Claim {
  readonly seq: number;
  readonly text: string;
}

/** The order in which to take the records. */
export interface Order {
  /** Indices of all records. */
  readonly indices: readonly number[];
  /** How many records stand behind others whose seqs are higher, and the first of them in the file. */
  readonly late: number;
  readonly firstLate: number;
}

/** As many seqs in a row that are claimed twice were written by two; fewer are wrong. */
const CONTESTED_RUN = 8;

/** Most ascending sequences in which the records of a contested run may stand in the file and tell of writers. */
const MOST_CHAINS = 32;

/**
 * The order of records by their seqs, in O(n log n).
 * @param claims in file order
 * @param tolerated how many records with higher seqs may stand before one without saying anything
 * @param isTaken whether another record has this one's seq already
 * @returns undefined where the records are in order, by this measure, and what is missing between them is missing
 */
export function orderBySeq(claims: readonly Claim[], tolerated: number, isTaken: (claim: Claim) => boolean): Order | undefined {
  const bySeq = claims.map((_, index) => index).sort((a, b) => claims[a]!.seq - claims[b]!.seq || a - b);
  const { rank, contested, copy } = groups(claims, bySeq, isTaken);
  const higher = higherBefore(rank, copy);
  let [late, firstLate, disorder] = [0, -1, false];
  for (let index = 0; index < claims.length; index++) {
    if (contested[rank[index]!] !== -1 || higher[index] === 0) continue;
    late++;
    if (firstLate < 0) firstLate = index;
    if (higher[index]! > tolerated) disorder = true;
  }
  const runs = runsIn(rank, contested);
  const ordered = runs.filter((run) => chains(run.map((index) => claims[index]!.seq)) <= MOST_CHAINS);
  if (!disorder && ordered.length === runs.length) return undefined;
  const inFileOrder = new Map(ordered.map((run) => [contested[rank[run[0]!]!]!, run]));
  const indices: number[] = [];
  for (const index of bySeq) {
    const run = contested[rank[index]!]!;
    const members = run === -1 ? undefined : inFileOrder.get(run);
    if (members === undefined) indices.push(index);
    else for (const member of members.splice(0)) indices.push(member);
  }
  return { indices, late: Math.max(late, 1), firstLate: Math.max(firstLate, 0) };
}

/**
 * Whether records that stand before a header are of the log that it begins: they say nothing else under the same seqs as
 * those behind it, and do not leave out seqs between these and themselves, as the tail of another log would.
 */
export function areOneLog(before: readonly Claim[], behind: readonly Claim[]): boolean {
  const texts = new Map(before.map(({ seq, text }) => [seq, text]));
  const lowest = before.reduce((least, { seq }) => Math.min(least, seq), Infinity);
  const highest = behind.reduce((most, { seq }) => Math.max(most, seq), -1);
  return behind.length === 0 || (lowest <= highest + 1 && behind.every(({ seq, text }) => (texts.get(seq) ?? text) === text));
}

interface Groups {
  /** Of each record: the rank of its seq among the seqs. */
  readonly rank: Int32Array;
  /** Of each rank: the first rank of the run of contested seqs that it is in, or -1. */
  readonly contested: Int32Array;
  /** Of each record: whether another one says the same. */
  readonly copy: Uint8Array;
}

function groups(claims: readonly Claim[], bySeq: readonly number[], isTaken: (claim: Claim) => boolean): Groups {
  const rank = new Int32Array(claims.length);
  const copy = new Uint8Array(claims.length);
  const seqs: number[] = [];
  const twice: boolean[] = [];
  for (let at = 0; at < bySeq.length; ) {
    const { seq } = claims[bySeq[at]!]!;
    const texts = new Set<string>();
    let taken = false;
    for (; at < bySeq.length && claims[bySeq[at]!]!.seq === seq; at++) {
      const index = bySeq[at]!;
      const claim = claims[index]!;
      rank[index] = seqs.length;
      if (texts.has(claim.text)) copy[index] = 1;
      else taken ||= isTaken(claim);
      texts.add(claim.text);
    }
    seqs.push(seq);
    twice.push(taken || texts.size > 1);
  }
  const contested = new Int32Array(seqs.length).fill(-1);
  for (let from = 0; from < seqs.length; ) {
    let to = from;
    while (twice[to] === true && (to === from || seqs[to] === seqs[to - 1]! + 1)) to++;
    if (to - from >= CONTESTED_RUN) contested.fill(from, from, to);
    from = Math.max(to, from + 1);
  }
  return { rank, contested, copy };
}

/** Of each record: how many with higher seqs stand before it, not counting copies. */
function higherBefore(rank: Int32Array, copy: Uint8Array): Int32Array {
  // A binary indexed tree over the ranks, from the highest one down.
  const size = rank.length;
  const tree = new Int32Array(size + 1);
  const higher = new Int32Array(size);
  for (let index = 0; index < size; index++) {
    if (copy[index] === 1) continue;
    const at = size - rank[index]!;
    for (let node = at - 1; node > 0; node -= node & -node) higher[index]! += tree[node]!;
    for (let node = at; node <= size; node += node & -node) tree[node]!++;
  }
  return higher;
}

/** The records of each contested run, in file order. */
function runsIn(rank: Int32Array, contested: Int32Array): number[][] {
  const runs = new Map<number, number[]>();
  for (let index = 0; index < rank.length; index++) {
    const run = contested[rank[index]!]!;
    if (run === -1) continue;
    const members = runs.get(run);
    if (members === undefined) runs.set(run, [index]);
    else members.push(index);
  }
  return [...runs.values()];
}

/** The fewest ascending sequences of which the seqs can be made up. */
function chains(seqs: readonly number[]): number {
  // The last seq of each sequence, the highest one first.
  const lasts: number[] = [];
  for (const seq of seqs) {
    let [low, high] = [0, lasts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (lasts[middle]! < seq) high = middle;
      else low = middle + 1;
    }
    lasts[low] = seq;
  }
  return lasts.length;
}
