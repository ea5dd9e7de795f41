/** What the page may ask of its worker. Every method here is one request, and answers with plain data. */

import { init, PalimpsestError } from 'palimpsest';
import type {
  Comparison, ConversationItem, Filters, Finding, HeaderFacts, Hit, LogFacts, MessageText, ModelState, Notice, Numbers,
  Provenance, Redaction, RequestDiff, Row, SalvageFacts, SearchQuery, Secrets, Source, StripBins, Stratum, TakeForm,
} from '../lib/protocol.js';
import { check } from './check.js';
import { compare } from './compare.js';
import { conversationOf, itemsOf, placeInConversation } from './conversation.js';
import { Follower } from './follow.js';
import { foreignFormat, foreignHeader, headerFacts } from './foreign.js';
import { Log } from './log.js';
import { numbersOf } from './numbers.js';
import { readInto, storage } from './open.js';
import { diffOf, messagesOf, modelAt, requestText } from './requests.js';
import { repairOf, salvageOf } from './salvage.js';
import { describeRows, rowsAt } from './rows.js';
import { hitsOf, search } from './search.js';
import { provenanceOf, strataOf, stratumOf } from './strata.js';
import { stripOf } from './strip.js';
import { secretsIn, take } from './take.js';

/** Progress is told at most this often, in milliseconds. */
const TELL = 60;

export class Desk {
  readonly #logs = new Map<number, Log>();
  readonly #running = new Map<string, AbortController>();
  readonly #tell: (notice: Notice) => void;

  constructor(tell: (notice: Notice) => void) {
    this.#tell = tell;
  }

  // ------------------------------------------------------------------------------------------------- opening

  /** Opens a source as log `id`; resolves when all of it is read, or when reading was stopped. */
  async open(id: number, source: Source): Promise<LogFacts> {
    const log = new Log(id, source.name);
    this.#logs.set(id, log);
    const signal = this.#start(`open ${id}`);
    let told = 0;
    try {
      await readInto(log, source, {
        signal,
        progress: (stage, read, total) => {
          const now = performance.now();
          if (now - told < TELL && read !== total) return;
          told = now;
          this.#tell({ notice: 'progress', progress: { log: id, stage, read, ...(total !== undefined && { total }), rows: log.outline.length, visible: log.visible.length } });
        },
      });
    } catch (error) {
      // Closing stops what runs, so that it must be known before whether somebody else has.
      const { aborted } = signal;
      this.close(id);
      // What was read of a log of ours is shown; one that is being converted, or fetched, has nothing to show yet.
      if (aborted) throw new Error('Reading was stopped before there was anything to show. Open it again to read all of it.', { cause: error });
      throw error;
    } finally {
      this.#running.delete(`open ${id}`);
    }
    this.#check(log);
    if (source.kind === 'stored') this.#follow(log, source.id);
    return log.facts();
  }

  /** Stops what was begun under this name: `open 3`, `search 7`. */
  stop(name: string): void {
    this.#running.get(name)?.abort();
  }

  close(id: number): void {
    this.stop(`open ${id}`);
    this.stop(`follow ${id}`);
    this.stop(`check ${id}`);
    this.#logs.get(id)?.free();
    this.#logs.delete(id);
  }

  /** The header of a source, from its first bytes. */
  async headerOf(source: Source): Promise<HeaderFacts | undefined> {
    const log = new Log(-1, source.name);
    const head = source.kind === 'file' ? source.file.slice(0, 1 << 16) : source.kind === 'url' ? await (await fetch(source.url)).blob().then((blob) => blob.slice(0, 1 << 16)) : undefined;
    if (!head) return (await this.stored()).find((header) => header.id === (source.kind === 'stored' ? source.id : ''));
    const foreign = await foreignFormat(head, source.name);
    if (foreign) return foreignHeader(head, source.name, foreign);
    const bytes = new Uint8Array(await head.arrayBuffer());
    const end = bytes.indexOf(0x0a);
    log.takeHeader(end < 0 ? bytes : bytes.subarray(0, end), 0);
    return log.header;
  }

  /** Sessions in the browser's own storage, newest first. */
  async stored(): Promise<HeaderFacts[]> {
    await init();
    const { sessions } = await storage().list();
    return sessions.map(headerFacts).reverse();
  }

  /** Removes a session from the browser's own storage, for good. */
  async forget(id: string): Promise<void> {
    await init();
    await storage().delete(id);
  }

  // ------------------------------------------------------------------------------------------------ timeline

  rows(id: number, from: number, to: number): Promise<Row[]> {
    return rowsAt(this.#log(id), from, to);
  }

  /** Rows by number, shown or not. */
  someRows(id: number, rows: readonly number[]): Promise<Row[]> {
    return describeRows(this.#log(id), rows);
  }

  filter(id: number, filters: Filters): number {
    const { visible } = this.#log(id);
    visible.filter(filters);
    return visible.length;
  }

  fold(id: number, row: number, open: boolean): number {
    const { visible } = this.#log(id);
    visible.fold(row, open);
    return visible.length;
  }

  foldAll(id: number, what: 'turns' | 'steps' | 'chunks', open: boolean): number {
    const { visible } = this.#log(id);
    visible.foldAll(what, open);
    return visible.length;
  }

  /** Where a row is shown; with `reveal` what hides it is opened. */
  place(id: number, row: number, reveal: boolean): { index: number; length: number; filtered: boolean } {
    const { visible } = this.#log(id);
    if (reveal) visible.reveal(row);
    return { index: visible.indexOf(row), length: visible.length, filtered: visible.filtered };
  }

  /** The row of a seq; -1 when there is none. */
  rowOf(id: number, seq: number): number {
    return this.#log(id).outline.rowOf(seq);
  }

  /** The seq that leads to a row, and to no other; undefined where none does. */
  seqOf(id: number, row: number): number | undefined {
    const { outline } = this.#log(id);
    const seq = outline.seqOf(row);
    return outline.rowOf(seq) === row ? seq : undefined;
  }

  strip(id: number, from: number, to: number, bins: number, axis: 'events' | 'time'): StripBins {
    return stripOf(this.#log(id), from, to, bins, axis);
  }

  /** An event as it is stored. */
  line(id: number, row: number): Promise<string> {
    return this.#log(id).line(row);
  }

  // ------------------------------------------------------------------------------- conversation, model, strata

  conversationLength(id: number): number {
    return itemsOf(this.#log(id)).length;
  }

  conversation(id: number, from: number, to: number): Promise<ConversationItem[]> {
    return conversationOf(this.#log(id), from, to);
  }

  /** The item that a row is part of: what begins something belongs to what follows, all else to what is before it. */
  conversationPlace(id: number, row: number): { place: number; row: number } {
    return placeInConversation(this.#log(id), row);
  }

  /** The surface after an event, or the request of the step that was open then. */
  model(id: number, seq: number, what: 'surface' | 'request'): ModelState {
    return modelAt(this.#log(id), seq, what);
  }

  messages(id: number, seqs: readonly number[]): MessageText[] {
    return messagesOf(this.#log(id), seqs);
  }

  request(id: number, seq: number): string {
    return requestText(this.#log(id), seq);
  }

  requestDiff(id: number, step: number): RequestDiff {
    return diffOf(this.#log(id), step);
  }

  /** The nearest step in a direction: the index of the step, and the seq of its start; undefined at the ends. */
  stepNear(id: number, seq: number, direction: 1 | -1): { index: number; seq: number } | undefined {
    const { steps } = this.#log(id).outline;
    const at = steps.row.lastAtMost(seq);
    const index = direction === 1 ? at + 1 : steps.row.at(at) === seq ? at - 1 : at;
    return index < 0 || index >= steps.row.length ? undefined : { index, seq: steps.row.at(index) };
  }

  strata(id: number, from: number, to: number): Promise<{ total: number; strata: Stratum[] }> {
    return strataOf(this.#log(id), from, to);
  }

  stratum(id: number, seq: number): Promise<Stratum | undefined> {
    return stratumOf(this.#log(id), seq);
  }

  provenance(id: number, row: number): Provenance {
    return provenanceOf(this.#log(id), row);
  }

  // ------------------------------------------------------------------------------------ numbers, findings, forks

  numbers(id: number): Numbers {
    return numbersOf(this.#log(id));
  }

  findings(id: number): Promise<readonly Finding[]> {
    const log = this.#log(id);
    // A live log has grown since.
    if (log.store.size !== log.checkedBytes) this.#check(log);
    return log.findings;
  }

  compare(left: number, right: number): Promise<Comparison> {
    return compare(this.#log(left), this.#log(right));
  }

  // ------------------------------------------------------------------------------------------------- search

  /** Resolves when the search is over; matches are told as they are found. */
  async search(id: number, searchId: number, query: SearchQuery): Promise<void> {
    const signal = this.#start(`search ${searchId}`);
    try {
      await search(this.#log(id), searchId, query, signal, (progress) => { this.#tell({ notice: 'search', progress }); });
    } finally {
      this.#running.delete(`search ${searchId}`);
    }
  }

  hits(id: number, query: SearchQuery, rows: readonly number[]): Promise<Hit[]> {
    return hitsOf(this.#log(id), query, rows);
  }

  // --------------------------------------------------------------------------------------------- taking away

  take(id: number, form: TakeForm, redaction?: Redaction): Promise<Blob> {
    return take(this.#log(id), form, redaction);
  }

  secrets(id: number, redaction: Redaction): Promise<Secrets> {
    return secretsIn(this.#log(id), redaction);
  }

  salvage(id: number): Promise<SalvageFacts> {
    return salvageOf(this.#log(id));
  }

  repair(id: number): Promise<Blob> {
    return repairOf(this.#log(id));
  }

  // -------------------------------------------------------------------------------------------------- parts

  #log(id: number): Log {
    const log = this.#logs.get(id);
    if (!log) throw new PalimpsestError('DISPOSED', 'The log was closed; open it again.');
    return log;
  }

  #start(name: string): AbortSignal {
    this.stop(name);
    const controller = new AbortController();
    this.#running.set(name, controller);
    return controller.signal;
  }

  #check(log: Log): void {
    log.checkedBytes = log.store.size;
    log.findings = check(log, this.#start(`check ${log.id}`));
    void log.findings.then(({ length }) => { this.#tell({ notice: 'checked', log: log.id, findings: length }); }, () => undefined);
  }

  #follow(log: Log, session: string): void {
    const signal = this.#start(`follow ${log.id}`);
    void new Follower(log, session, signal).run(
      () => { this.#tell({ notice: 'grown', facts: log.facts() }); },
      (message) => { this.#tell({ notice: 'follow-failed', log: log.id, message }); },
    );
  }
}
