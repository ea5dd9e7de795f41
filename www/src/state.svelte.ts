/** What the page shows: which log, which event of it, in which view. */

import { ask, onNotice, WorkerError } from './client.js';
import { readAddress, writeAddress, type Place, type ViewName } from './lib/address.js';
import { EXAMPLES, fileEntries, fileEntry, maybeLog, MOST, storedEntry, urlEntry, type Entry, type PathFile } from './lib/library.js';
import { number } from './lib/format.js';
import type { ImportFacts, LogFacts, Progress } from './lib/protocol.js';
import { Rows } from './rows.svelte.js';
import { Search } from './search.svelte.js';

/** The log that is shown. */
export class OpenLog {
  readonly id: number;
  readonly entry: Entry;
  readonly rows: Rows;
  readonly search: Search;
  progress = $state.raw<Progress>();
  facts = $state.raw<LogFacts>();
  /** Counts changes of what is in the log: live events. */
  version = $state(0);
  followError = $state('');
  /** Its file was changed on the disk: what was not read yet cannot be shown. */
  changed = $state(false);
  /** How many findings the check of the log had; undefined until it is over. */
  findings = $state<number>();

  constructor(id: number, entry: Entry) {
    this.id = id;
    this.entry = entry;
    this.rows = new Rows(id);
    this.search = new Search(id, () => this.version);
  }

  /** Rows known so far. */
  get length(): number {
    return this.facts?.rows ?? this.progress?.rows ?? 0;
  }
}

export type Theme = 'system' | 'light' | 'dark';

/** Views that show any event; a number that is asked for elsewhere leads to the timeline. */
const STAYING: ReadonlySet<ViewName> = new Set<ViewName>(['timeline', 'conversation', 'model', 'strata']);

class App {
  entries = $state.raw<readonly Entry[]>([]);
  current = $state.raw<OpenLog>();
  failure = $state.raw<{ readonly name: string; readonly code: string; readonly message: string }>();
  view = $state<ViewName>('timeline');
  /** The chosen row. */
  row = $state(0);
  /** The row that was chosen because the log has grown: nobody who looks elsewhere is moved there. */
  followed = -1;
  /** Whether the details of the chosen row are asked for on a narrow screen. */
  detail = $state(false);
  beside = $state<string>();
  /** A place of a file: its link cannot bring the file, and waits until one is opened. */
  awaited = $state.raw<Place>();
  theme = $state<Theme>('system');
  help = $state(false);
  goTo = $state(false);
  library = $state(false);
  /** Said to screen readers, and shown for a moment. */
  said = $state('');

  #logs = 0;
  #remembering: ReturnType<typeof setTimeout> | undefined;
  #saying: ReturnType<typeof setTimeout> | undefined;
  #written = '';

  start(): void {
    this.entries = EXAMPLES.map(({ file, about }) => urlEntry(file, 'example', about));
    onNotice((notice) => {
      const log = this.current;
      if (notice.notice === 'progress' && notice.progress.log === log?.id) {
        log.progress = notice.progress;
        log.rows.grow(notice.progress.visible);
      }
      if (notice.notice === 'search' && notice.progress.log === log?.id) log.search.take(notice.progress);
      if (notice.notice === 'checked' && notice.log === log?.id) log.findings = notice.findings;
      if (notice.notice === 'follow-failed' && notice.log === log?.id) log.followError = notice.message;
      if (notice.notice === 'grown' && notice.facts.log === log?.id) {
        const atEnd = this.row >= (log.facts?.rows ?? 0) - 1;
        log.facts = notice.facts;
        log.rows.reset(notice.facts.visible);
        log.version++;
        if (atEnd) this.row = this.followed = notice.facts.rows - 1;
      }
    });
    // Whoever asks for a part of a file that has changed cannot show it; why is said once, for all of them.
    addEventListener('unhandledrejection', (event) => {
      if (!(event.reason instanceof WorkerError) || event.reason.code !== 'FILE_CHANGED' || !this.current) return;
      event.preventDefault();
      this.current.changed = true;
    });
    addEventListener('hashchange', () => { if (location.hash !== this.#written) this.#follow(); });
    this.#follow();
    void this.listStored();
  }

  say(words: string): void {
    clearTimeout(this.#saying);
    this.said = words;
    this.#saying = setTimeout(() => { this.said = ''; }, 4000);
  }

  // --------------------------------------------------------------------------------------------------- opening

  /** Looks again at what the browser's storage holds. */
  async listStored(): Promise<void> {
    try {
      const stored = (await ask('stored')).map(storedEntry);
      this.entries = [...this.entries.filter(({ group }) => group !== 'stored'), ...stored];
    } catch {
      // Private windows have no storage: the page works without.
    }
  }

  /** @param isCut whether the folder holds more than these */
  addFiles(files: readonly PathFile[], isCut = false): void {
    const wanted = files.length === 1 ? files : files.filter(({ path }) => maybeLog(path));
    const added = fileEntries(wanted);
    // A folder may hold other JSON as well.
    const first = added.find(({ name }) => name.endsWith('.jsonl')) ?? added[0];
    if (!first) {
      this.failure = { name: files[0]?.path ?? 'What was dropped', code: 'NO_LOG', message: 'There is no log in it. A log is a .jsonl file.' };
      return;
    }
    const keys = new Set(added.map(({ key }) => key));
    this.entries = [...this.entries.filter(({ key }) => !keys.has(key)), ...added];
    void this.open(first, this.awaited);
    if (added.length > 1) {
      this.library = true;
      this.say(`${added.length} logs at hand${isCut ? `: of the folder's files the first ${number(MOST)} were looked at. Drop a folder inside it for the others` : ''}`);
    }
  }

  async open(entry: Entry, place: Place = {}): Promise<void> {
    if (this.current) void ask('close', this.current.id);
    const log = new OpenLog(++this.#logs, entry);
    if (!this.entries.some(({ key }) => key === entry.key)) this.entries = [...this.entries, entry];
    this.failure = undefined;
    this.awaited = undefined;
    this.current = log;
    this.row = 0;
    this.detail = false;
    if (place.view) this.view = place.view;
    else if (this.view === 'try' && entry.group !== 'stored') this.view = 'timeline';
    document.title = `${entry.name} · palimpsest`;
    try {
      const facts = await ask('open', log.id, entry.source);
      if (this.current !== log) return;
      // Whoever has chosen something while it was read stays there. The choice comes first: views look at it when all is there.
      const moved = this.row !== 0;
      if (!moved) this.row = await this.#rowOf(log, facts, place);
      log.rows.reset(facts.visible);
      log.facts = facts;
      if (facts.imported) this.#imported(entry, facts.imported);
      if (!moved) await log.rows.reveal(this.row);
      if (place.find !== undefined) void log.search.start({ text: place.find, regex: place.how?.includes('regex') === true, matchCase: place.how?.includes('case') === true, chunks: place.how?.includes('chunks') === true });
      this.remember();
    } catch (error) {
      if (this.current !== log) return;
      const { code = 'ERROR', message } = error as { code?: string; message: string };
      this.current = undefined;
      this.failure = { name: entry.name, code, message };
      document.title = 'palimpsest';
    }
  }

  /** The row that a place names, or the last one. */
  async #rowOf({ id }: OpenLog, { rows }: LogFacts, { seq, row }: Place): Promise<number> {
    const found = row ?? (seq === undefined ? undefined : await ask('rowOf', id, seq));
    if (found !== undefined && found >= 0 && found < rows) return found;
    if (found !== undefined && rows > 0) this.say(`This log has no ${seq === undefined ? `line ${row}` : `event ${seq}`}; this is its end`);
    return Math.max(0, rows - 1);
  }

  /** The other sessions of a converted file are at hand as well. */
  #imported(entry: Entry, { detail, records, kept, others, anomalyCount }: ImportFacts): void {
    const added = others.map(({ header, role, bytes }): Entry => ({ ...fileEntry(new File([bytes], `${header.id}.jsonl`), `${entry.name} › ${header.id}.jsonl`), header, about: role === 'child' ? 'A sub-agent' : 'A fork' }));
    const keys = new Set(added.map(({ key }) => key));
    this.entries = [...this.entries.filter(({ key }) => !keys.has(key)), ...added];
    this.say(`A log of ${detail}: ${records} records, ${kept} of them only kept (import/record)${anomalyCount > 0 ? `, ${anomalyCount} odd` : ''}${others.length > 0 ? `; ${others.length} more sessions in it` : ''}`);
  }

  /** Waits for the file of the log to be picked again, and leads back to where the person is. */
  async pickAgain(): Promise<void> {
    this.awaited = await this.#place();
    document.querySelector<HTMLElement>('#file')?.click();
  }

  stop(): void {
    if (this.current) void ask('stop', `open ${this.current.id}`);
  }

  close(): void {
    if (this.current) void ask('close', this.current.id);
    this.current = undefined;
    this.failure = undefined;
    this.awaited = undefined;
    this.view = 'timeline';
    document.title = 'palimpsest';
    this.remember();
  }

  entryOf(session: string): Entry | undefined {
    return this.entries.find(({ header }) => header?.id === session);
  }

  // -------------------------------------------------------------------------------------------------- choosing

  /** Chooses a row, and shows it where it is folded away. */
  async choose(row: number, view?: ViewName): Promise<void> {
    const log = this.current;
    if (!log || log.length === 0) return;
    this.followed = -1;
    this.row = Math.min(Math.max(0, row), log.length - 1);
    if (view) this.view = view;
    if (this.view === 'timeline') await log.rows.reveal(this.row);
    this.remember();
  }

  async goToSeq(seq: number, view?: ViewName): Promise<void> {
    const log = this.current;
    if (!log) return;
    const row = Number.isInteger(seq) ? await ask('rowOf', log.id, seq) : -1;
    if (row < 0) this.say(`This log has no event ${seq}`);
    else await this.choose(row, view ?? (STAYING.has(this.view) ? this.view : 'timeline'));
  }

  async #goTo({ seq, row }: Place, view?: ViewName): Promise<void> {
    if (seq !== undefined) await this.goToSeq(seq, view);
    else if (row !== undefined) await this.choose(row, view);
  }

  show(view: ViewName): void {
    this.view = view;
    this.remember();
  }

  // --------------------------------------------------------------------------------------------------- address

  /** Keeps the address a link to what is shown. Browsers refuse to have it changed for every press of a key that repeats. */
  remember(): void {
    clearTimeout(this.#remembering);
    const timer = setTimeout(() => {
      void this.#place().then((place) => {
        // What has happened meanwhile writes its own.
        if (timer !== this.#remembering) return;
        this.#written = writeAddress(place);
        history.replaceState(null, '', this.#written === '' ? location.pathname + location.search : this.#written);
      }, () => undefined);
    }, 200);
    this.#remembering = timer;
  }

  async #place(): Promise<Place> {
    const log = this.current;
    const { view, beside, row } = this;
    if (!log) return view === 'try' ? { view } : (this.awaited ?? {});
    const [, kind, value = ''] = /^(log|db|file)=(.*)$/s.exec(log.entry.key) ?? [];
    const seq = !log.facts || log.facts.rows === 0 || log.facts.numbered ? row : await ask('seqOf', log.id, row);
    const { text, regex, matchCase, chunks } = log.search.query;
    const isSearch = view === 'search' && text !== '';
    const how = (['regex', 'case', 'chunks'] as const).filter((_, at) => [regex, matchCase, chunks][at]);
    return {
      ...(kind === 'log' && { log: value }),
      ...(kind === 'db' && { db: value }),
      ...(log.facts && (seq === undefined ? { row } : { seq })),
      view,
      ...(isSearch && { find: text, ...(how.length > 0 && { how }) }),
      ...(view === 'forks' && beside !== undefined && { beside }),
    };
  }

  #follow(): void {
    const place = readAddress(location.hash);
    this.#written = location.hash;
    if (place.beside !== undefined) this.beside = place.beside;
    const key = place.log !== undefined ? `log=${place.log}` : place.db !== undefined ? `db=${place.db}` : undefined;
    if (key === undefined) {
      const named = place.seq !== undefined || place.row !== undefined;
      if (!this.current || (!named && place.view === undefined)) this.close();
      else if (named) void this.#goTo(place, place.view);
      if (!this.current && named && place.view !== 'try') this.awaited = place;
      else if (place.view) this.view = place.view;
      return;
    }
    if (this.current?.entry.key === key) {
      if (place.view) this.view = place.view;
      void this.#goTo(place, place.view ?? 'timeline');
      return;
    }
    try {
      const known = this.entries.find((entry) => entry.key === key);
      const entry = known ?? (place.log !== undefined ? urlEntry(place.log) : storedEntry({ id: place.db ?? '', createdAt: 0 }));
      this.view = place.view ?? 'timeline';
      void this.open(entry, place);
    } catch (error) {
      this.close();
      this.failure = { name: place.log ?? '', code: 'OTHER_SITE', message: error instanceof Error ? error.message : String(error) };
    }
  }
}

export const app = new App();
