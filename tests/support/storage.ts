// Storage that is watched, held up or broken on purpose.
import { mkdtemp, rm } from 'node:fs/promises';
import * as nodeFs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext } from 'node:test';
import type { JsonlFile, JsonlFs } from 'palimpsest/jsonl';
import type { EventBatch, StorageBackend, StoredPosition, Timers } from 'palimpsest/persistence';

/** A directory that goes with the test. */
export async function temporary(context: TestContext): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'palimpsest-'));
  context.after(() => rm(root, { recursive: true, force: true }));
  return root;
}

/** Timers that run when the test says so. */
export class ManualTimers implements Timers {
  readonly waiting = new Map<object, { readonly callback: () => void; readonly ms: number }>();

  setTimeout(callback: () => void, ms: number): object {
    const timer = {};
    this.waiting.set(timer, { callback, ms });
    return timer;
  }

  clearTimeout(timer: unknown): void {
    this.waiting.delete(timer as object);
  }

  /** Runs all that wait; gives their times. */
  fire(): number[] {
    const due = [...this.waiting.values()];
    this.waiting.clear();
    for (const { callback } of due) callback();
    return due.map(({ ms }) => ms);
  }
}

/** A backend in front of another one: notes every write, and can hold it up or refuse it. It has no locks. */
export class WatchedBackend implements StorageBackend {
  /** `id first+count`, with `repair` or `retry` where it is one. */
  readonly writes: string[] = [];
  /** Awaited before each write. */
  before: (batch: EventBatch) => Promise<void> | void = () => undefined;
  /** Most writes that ran at the same time, by session and over all. */
  readonly most = { session: 0, all: 0 };
  closed = 0;
  readonly loadStored: StorageBackend['loadStored'];
  readonly list: StorageBackend['list'];
  readonly #running: string[] = [];

  constructor(readonly inner: StorageBackend) {
    this.loadStored = inner.loadStored.bind(inner);
    this.list = inner.list.bind(inner);
  }

  appendBatch(batch: EventBatch): Promise<StoredPosition> {
    return this.#write(batch, '', () => this.inner.appendBatch(batch));
  }

  commitRepair(batch: EventBatch): Promise<StoredPosition> {
    return this.#write(batch, ' repair', () => this.inner.commitRepair(batch));
  }

  async close(): Promise<void> {
    this.closed++;
    await this.inner.close?.();
  }

  async #write(batch: EventBatch, note: string, run: () => Promise<StoredPosition>): Promise<StoredPosition> {
    this.writes.push(`${batch.id} ${batch.position?.seq ?? 0}+${batch.count}${note}${batch.retry ? ' retry' : ''}`);
    this.#running.push(batch.id);
    this.most.all = Math.max(this.most.all, this.#running.length);
    this.most.session = Math.max(this.most.session, this.#running.filter((id) => id === batch.id).length);
    try {
      await this.before(batch);
      return await run();
    } finally {
      this.#running.splice(this.#running.indexOf(batch.id), 1);
    }
  }
}

/** One file operation that is about to happen. */
export interface Operation {
  /** Counted from 0. */
  readonly index: number;
  readonly name: string;
  readonly path: string;
  /** Does it; tests may do it and then fail. */
  readonly run: () => Promise<unknown>;
  /** Does half of it, where it can be halved. */
  readonly half?: () => Promise<unknown>;
}

/** `node:fs/promises` with every operation counted, and handed to `intercept` first. */
export class WatchedFs implements JsonlFs {
  readonly log: string[] = [];
  /** As `log`, without what locks do. */
  readonly steps: string[] = [];
  bytesRead = 0;
  openFiles = 0;
  mostOpenFiles = 0;

  constructor(readonly intercept: (operation: Operation) => Promise<unknown> = ({ run }) => run()) {}

  async #do<T>(name: string, path: string, run: () => Promise<T>, half?: () => Promise<unknown>): Promise<T> {
    const index = this.log.push(name) - 1;
    if (!path.includes('.writers')) this.steps.push(name);
    return (await this.intercept({ index, name, path, run, ...(half && { half }) })) as T;
  }

  async open(path: string, flags: 'r' | 'r+' | 'wx'): Promise<JsonlFile> {
    let file: nodeFs.FileHandle | undefined;
    try {
      await this.#do(`open ${flags}`, path, async () => (file = await nodeFs.open(path, flags)));
    } catch (error) {
      await file?.close();
      throw error;
    }
    return this.#file(path, file as unknown as nodeFs.FileHandle);
  }

  #file(path: string, file: nodeFs.FileHandle): JsonlFile {
    this.mostOpenFiles = Math.max(this.mostOpenFiles, ++this.openFiles);
    return {
      stat: () => this.#do('stat', path, () => file.stat()),
      read: async (...where) => {
        const result = await this.#do('read', path, () => file.read(...where));
        this.bytesRead += result.bytesRead;
        return result;
      },
      write: (buffer, offset, length, position) => {
        const write = (count: number) => (): Promise<{ bytesWritten: number }> => file.write(buffer, offset, count, position);
        return this.#do('write', path, write(length), write(Math.ceil(length / 2)));
      },
      truncate: (length) => this.#do('truncate', path, () => file.truncate(length)),
      sync: () => this.#do('sync', path, () => file.sync()),
      close: async () => {
        // The handle is always given back, whatever the test makes of it.
        await this.#do('close', path, () => file.close()).finally(() => file.close().finally(() => this.openFiles--));
      },
    };
  }

  mkdir(path: string, options: { recursive: true }): Promise<unknown> {
    return this.#do('mkdir', path, () => nodeFs.mkdir(path, options));
  }

  readdir(path: string): Promise<string[]> {
    return this.#do('readdir', path, () => nodeFs.readdir(path));
  }

  link(from: string, to: string): Promise<void> {
    return this.#do('link', to, () => nodeFs.link(from, to));
  }

  rename(from: string, to: string): Promise<void> {
    return this.#do('rename', to, () => nodeFs.rename(from, to));
  }

  unlink(path: string): Promise<void> {
    return this.#do('unlink', path, () => nodeFs.unlink(path));
  }
}

/** An error as the system gives it. */
export function systemError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: injected`), { code });
}
