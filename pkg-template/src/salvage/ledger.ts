/** What becomes of the records and the bytes of a file: what is counted, said, kept and lost. */

import type { Branch, Place } from './branch.js';
import { FAULTS, type FaultCode, type KeptText, type LostRange } from './finding.js';
import { Findings } from './findings.js';
import type { Entry } from './entry.js';
import type { Settled, Waiting } from './waiting.js';
import type { Placed, Writers } from './writers.js';

/** Most bytes of text that are kept beside the log. */
const MOST_KEPT = 64 << 20;

const encoder = new TextEncoder();

export class Ledger {
  readonly found: Findings;
  readonly kept: KeptText[] = [];
  readonly lost: LostRange[] = [];
  records = 0;
  copies = 0;
  readonly #writers: Writers;
  readonly #waiting: Waiting;
  #keptLength = 0;
  #lastTime = -Infinity;

  constructor(writers: Writers, waiting: Waiting, knownTypes: Iterable<string> | undefined) {
    this.#writers = writers;
    this.#waiting = waiting;
    this.found = new Findings(knownTypes);
  }

  /** Records that have their places now, or have none. */
  settle(settled: readonly Settled[]): void {
    const early = settled.filter((one) => one.early === true);
    if (early[0] !== undefined) {
      const { entry, placed } = early[0];
      this.found.fault('OUT_OF_ORDER', 'error', entry, { seq: placed!.seq, branch: placed!.branch, message: early.length === 1 ? FAULTS.OUT_OF_ORDER : `${early.length} records stand before others whose seqs are lower`, action: early.length === 1 ? 'it was put in its place' : 'they were put in their places' });
    }
    for (const { entry, placed, due } of settled) {
      const { text, envelope, fault, late } = entry;
      if (late !== undefined) this.found.fault('OUT_OF_ORDER', 'error', entry, { ...(placed && { seq: placed.seq, branch: placed.branch }), message: `${late === 1 ? 'the record stands' : `${late} records, of which this is the first, stand`} behind others whose seqs are higher`, action: 'the records were put in the order of their seqs' });
      if (placed !== undefined) {
        this.records++;
        this.#report(placed, entry);
        if (fault !== undefined) {
          const action = fault.code === 'BAD_UTF8' ? 'U+FFFD stands in their place' : 'null stands in its place';
          this.found.fault(fault.code, 'error', { line: entry.line, byte: entry.byte + fault.at }, { seq: placed.seq, branch: placed.branch, action });
        }
        this.look(text, envelope, entry, placed.seq, placed.branch);
      } else if (due !== undefined) {
        this.found.fault('SEQ_IMPLAUSIBLE', 'error', entry, { message: `${FAULTS.SEQ_IMPLAUSIBLE}: ${envelope.seq}, and ${due} was due; no other record ${envelope.seq < due ? 'goes on from' : 'leads to'} it`, action: this.keep(text, entry) });
      } else {
        this.found.fault('FORKED_SEQUENCE', 'error', entry, { message: 'the sequence is forked more often than branches are told apart', action: this.keep(text, entry) });
      }
    }
  }

  #report(placed: Placed, entry: Entry): void {
    const { branch, gap, code, action } = placed;
    const { seq } = entry.envelope;
    const about = { seq: placed.seq, branch };
    if (placed.copyOf !== undefined) {
      this.copies++;
      this.found.rule('SEQ_REPEATED', 'error', entry, { ...about, message: `a copy, byte for byte, of event ${seq}`, action: 'it was kept once' });
      return;
    }
    if (placed.forked === true) {
      const length = branch.seedLength;
      this.found.fault('FORKED_SEQUENCE', 'error', entry, { ...about, message: `${FAULTS.FORKED_SEQUENCE}: seq ${seq} is there already, and says something else`, action: `one of the two became a session of its own, which shares the first ${length} events` });
    }
    if (placed.jumped === true) this.found.fault('SEQ_IMPLAUSIBLE', 'error', entry, { ...about, message: `${FAULTS.SEQ_IMPLAUSIBLE}: ${seq}, and ${seq - gap!.missing} was due`, action: `it was counted anew, as seq ${placed.seq}, and all that follow it` });
    // What could not be read has its own finding.
    else if (gap !== undefined && gap.missing > gap.unreadable) this.found.rule('SEQ_GAP', 'error', entry, { ...about, message: gap.missing === 1 ? `event ${placed.seq - 1} is missing before this one` : `${gap.missing} events are missing before this one, from seq ${placed.seq - gap.missing} on`, action: 'a repair/note stands in place of what is missing, so that no seq has changed' });
    if (code !== undefined) this.found.rule(code, 'error', entry, { ...about, message: 'a load refuses the record for this', action: action ?? 'it could not be kept' });
    if (code !== undefined && action === undefined) this.lose(entry, entry.byte + entry.length, 'UNPARSABLE_LINE', entry.text.slice(0, 200));
  }

  /** What there is to say about an event that is in. */
  look(text: string, { type, time }: { type: string; time: number }, piece: Place, seq: number, branch: Branch): void {
    if (branch === this.#writers.branches[0]) {
      if (time < this.#lastTime) this.found.count('TIME_BACKWARD', piece, seq);
      this.#lastTime = time;
    }
    this.found.event(type, text, piece, seq);
  }

  /** Bytes, up to `to`, of which nothing could be read. */
  lose({ line, byte }: Place, to: number, code: FaultCode, beginning: string): void {
    this.lost.push({ from: byte, to, line, code });
    this.#waiting.hole({ line, byte, bytes: to - byte, excerpt: beginning });
  }

  /** Keeps JSON that has no place in a log. */
  keep(text: string, { line, byte }: Place): string {
    this.#keptLength += text.length;
    if (this.#keptLength > MOST_KEPT) {
      this.lost.push({ from: byte, to: byte + encoder.encode(text).length, line, code: 'NOT_AN_EVENT' });
      return 'it was left out';
    }
    this.kept.push({ line, byte, text });
    return 'its text was kept apart';
  }
}
