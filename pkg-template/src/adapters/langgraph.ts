/**
 * LangGraph checkpoints in a session log: `palimpsest/langgraph`.
 *
 * `new PalimpsestSaver(store)` in place of another saver. Each thread is a session; a checkpoint or a task's writes are a
 * log-only event in a turn of its own, so that a thread can be forked at any of them. Nothing is ever removed from the
 * log: a deleted thread starts anew behind an event that says so.
 */

import type { RunnableConfig } from '@langchain/core/runnables';
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  type PendingWrite,
  type SerializerProtocol,
  WRITES_IDX_MAP,
  compareWritesSortKeys,
  copyCheckpoint,
  maxChannelVersion,
  writesSortKey,
} from '@langchain/langgraph-checkpoint';
import { isRecord } from '../depth.js';
import { PalimpsestError } from '../errors.js';
import type { SessionEventMap, SessionEvent } from '../events.js';
import type { SessionOwner } from '../scope.js';
import type { Session } from '../session.js';

/** A value as LangGraph's serializer wrote it: text, or bytes in base64. */
export type Serialized = { readonly type: string; readonly text: string } | { readonly type: string; readonly base64: string };

declare module '../events.js' {
  interface SessionEventMap {
    /** Log-only. LangGraph: the state of a graph after a step, with the channels that have changed; the others stand in earlier ones. */
    'langgraph/checkpoint': {
      readonly ns: string;
      readonly id: string;
      readonly parent?: string;
      readonly checkpoint: Serialized;
      readonly metadata: Serialized;
      readonly values: readonly { readonly channel: string; readonly version: number | string; readonly value: Serialized }[];
    };
    /** Log-only. LangGraph: what a task has written, not yet part of a checkpoint. */
    'langgraph/writes': {
      readonly ns: string;
      readonly id: string;
      readonly taskId: string;
      readonly taskPath: string;
      readonly writes: readonly { readonly idx: number; readonly channel: string; readonly value: Serialized }[];
    };
    /** Log-only. LangGraph: the thread was deleted; what stands before counts no more. */
    'langgraph/deleted': object;
  }
}

/** How to keep threads. */
export interface PalimpsestSaverOptions {
  readonly serde?: SerializerProtocol | undefined;
  /** The session of a thread; `langgraph-<thread>` when absent. */
  readonly sessionId?: ((thread: string) => string) | undefined;
  /** Opens a stored session, `(id) => adapter.load(id)` say; only live sessions are known when absent. One that is not stored is made anew. */
  readonly load?: ((id: string) => Promise<Session | undefined>) | undefined;
}

type Put = SessionEventMap['langgraph/checkpoint'];
type Write = SessionEventMap['langgraph/writes']['writes'][number] & { readonly taskId: string; readonly taskPath: string };
interface Saved {
  readonly put: Put;
  readonly writes: Map<string, Write>;
}

/** What a thread's log says, folded as far as it was read. */
class Thread {
  readonly namespaces = new Map<string, Map<string, Saved>>();
  /** What a channel held at each of its versions. */
  readonly #values = new Map<string, Serialized>();
  /** Writes may come before their checkpoint. */
  readonly #writes = new Map<string, Map<string, Write>>();
  #read = 0;

  constructor(readonly name: string, readonly session: Session) {}

  /** What a channel held at a version; `undefined` when it held nothing. */
  value(ns: string, channel: string, version: number | string): Serialized | undefined {
    return this.#values.get(JSON.stringify([ns, channel, version]));
  }

  /** Reads what is new. */
  fold(): this {
    for (; this.#read < this.session.seq; this.#read++) this.#event(this.session.events[this.#read]!);
    return this;
  }

  /** Takes in an event. One that no saver wrote as it stands is passed over, as any event of others is. */
  #event(event: SessionEvent): void {
    if (event.type === 'langgraph/checkpoint') {
      if (!isCheckpoint(event.data)) return;
      const { ns, id, values } = event.data;
      const saved = this.namespaces.get(ns) ?? new Map<string, Saved>();
      this.namespaces.set(ns, saved.set(id, { put: event.data, writes: this.#writesOf(event.data) }));
      for (const { channel, version, value } of values) this.#values.set(JSON.stringify([ns, channel, version]), value);
    } else if (event.type === 'langgraph/writes') {
      if (!isWrites(event.data)) return;
      const { taskId, taskPath, writes } = event.data;
      const known = this.#writesOf(event.data);
      const before = new Set(known.keys());
      for (const write of writes) {
        const key = JSON.stringify([taskId, write.idx]);
        // Only errors, interrupts and the like may be written again.
        if (write.idx < 0 || !before.has(key)) known.set(key, { ...write, taskId, taskPath });
      }
    } else if (event.type === 'langgraph/deleted') {
      this.namespaces.clear();
      this.#values.clear();
      this.#writes.clear();
    }
  }

  #writesOf({ ns, id }: { readonly ns: string; readonly id: string }): Map<string, Write> {
    const key = JSON.stringify([ns, id]);
    const known = this.#writes.get(key) ?? new Map<string, Write>();
    this.#writes.set(key, known);
    return known;
  }
}

function isCheckpoint(data: unknown): boolean {
  return isNamed(data) && isSerialized(data.checkpoint) && isSerialized(data.metadata) && Array.isArray(data.values) && (data.values as unknown[]).every((value) => isRecord(value) && isSerialized(value.value) && ['string', 'number'].includes(typeof value.version));
}

function isWrites(data: unknown): boolean {
  return isNamed(data) && typeof data.taskId === 'string' && typeof data.taskPath === 'string' && Array.isArray(data.writes) && (data.writes as unknown[]).every((write) => isRecord(write) && typeof write.idx === 'number' && isSerialized(write.value));
}

function isNamed(data: unknown): data is Readonly<Record<string, unknown>> {
  return isRecord(data) && typeof data.ns === 'string' && typeof data.id === 'string' && (data.parent === undefined || typeof data.parent === 'string');
}

function isSerialized(value: unknown): boolean {
  return isRecord(value) && typeof value.type === 'string' && typeof (value.text ?? value.base64) === 'string';
}

const SOURCE = { kind: 'plugin', plugin: 'langgraph' } as const;

/** A checkpoint saver over a store's sessions. */
export class PalimpsestSaver extends BaseCheckpointSaver {
  readonly #store: SessionOwner;
  readonly #sessionId: (thread: string) => string;
  readonly #load: PalimpsestSaverOptions['load'];
  readonly #threads = new Map<string, Promise<Thread | undefined>>();

  /**
   * @param store where the sessions live; attach a storage to it and every call resolves once its event is durable
   * @param options names of sessions, and how to open stored ones
   */
  constructor(store: SessionOwner, { serde, sessionId = (thread) => `langgraph-${thread}`, load }: PalimpsestSaverOptions = {}) {
    super(serde);
    this.#store = store;
    this.#sessionId = sessionId;
    this.#load = load;
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread_id, checkpoint_ns = '', checkpoint_id } = places(config);
    const thread = await this.#thread(thread_id);
    const saved = thread?.namespaces.get(checkpoint_ns);
    const id = checkpoint_id ?? [...(saved?.keys() ?? [])].sort().at(-1);
    const found = id === undefined ? undefined : saved?.get(id);
    return thread && found && this.#tuple(thread, found);
  }

  /** Of all threads that are live, or of one; the newest first. */
  async *list(config: RunnableConfig, { limit = Infinity, before, filter }: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = places(config);
    const until = before && places(before).checkpoint_id;
    let left = limit;
    for (const name of thread_id === undefined ? [...this.#threads.keys()] : [thread_id]) {
      const thread = await this.#thread(name);
      for (const [ns, saved] of thread?.namespaces ?? []) {
        if (checkpoint_ns !== undefined && ns !== checkpoint_ns) continue;
        for (const id of [...saved.keys()].sort().reverse()) {
          if ((checkpoint_id !== undefined && id !== checkpoint_id) || (until !== undefined && id >= until)) continue;
          const tuple = await this.#tuple(thread!, saved.get(id)!);
          const metadata = tuple.metadata as Record<string, unknown> | undefined;
          if (filter && !Object.entries(filter).every(([key, value]) => metadata?.[key] === value)) continue;
          if (left-- <= 0) return;
          yield tuple;
        }
      }
    }
  }

  async put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, newVersions: ChannelVersions): Promise<RunnableConfig> {
    const { thread_id, checkpoint_ns = '', checkpoint_id } = places(config);
    const name = needed(thread_id, 'thread_id');
    const { channel_values } = checkpoint;
    const changed = Object.entries(newVersions).filter(([channel]) => Object.hasOwn(channel_values, channel));
    const [state, meta, ...values] = await Promise.all([
      this.#dump({ ...copyCheckpoint(checkpoint), channel_values: {} }),
      this.#dump(metadata),
      ...changed.map(async ([channel, version]) => ({ channel, version, value: await this.#dump(channel_values[channel]) })),
    ]);
    await this.#append(name, 'langgraph/checkpoint', { ns: checkpoint_ns, id: checkpoint.id, ...(checkpoint_id !== undefined && { parent: checkpoint_id }), checkpoint: state, metadata: meta, values });
    return { configurable: { thread_id: name, checkpoint_ns, checkpoint_id: checkpoint.id } };
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath = ''): Promise<void> {
    const { thread_id, checkpoint_ns = '', checkpoint_id } = places(config);
    const name = needed(thread_id, 'thread_id');
    const id = needed(checkpoint_id, 'checkpoint_id');
    const dumped = await Promise.all(writes.map(async ([channel, value], index) => ({ idx: WRITES_IDX_MAP[channel] ?? index, channel, value: await this.#dump(value) })));
    await this.#append(name, 'langgraph/writes', { ns: checkpoint_ns, id, taskId, taskPath, writes: dumped });
  }

  async deleteThread(threadId: string): Promise<void> {
    if (await this.#thread(threadId)) await this.#append(threadId, 'langgraph/deleted', {});
  }

  /** The thread, if there is one; `create` makes one. */
  async #thread(name: string | undefined, create = false): Promise<Thread | undefined> {
    if (name === undefined) return undefined;
    let opening = this.#threads.get(name);
    if (!opening || (create && !(await opening))) {
      const id = this.#sessionId(name);
      const open = async (): Promise<Thread | undefined> => {
        const missing = (error: unknown): undefined => {
          if (!(error instanceof PalimpsestError && error.code === 'SESSION_NOT_FOUND')) throw error;
        };
        const session = this.#store.get(id) ?? (await this.#load?.(id).catch(missing)) ?? (create ? this.#store.create(id) : undefined);
        return session && new Thread(name, session);
      };
      // Calls at the same time share one session.
      opening = open();
      this.#threads.set(name, opening);
      opening.then((thread) => thread ?? this.#threads.delete(name), () => this.#threads.delete(name));
    }
    return (await opening)?.fold();
  }

  async #append<T extends 'langgraph/checkpoint' | 'langgraph/writes' | 'langgraph/deleted'>(name: string, type: T, data: SessionEventMap[T]): Promise<void> {
    const { session } = (await this.#thread(name, true))!;
    const turn = Math.floor(session.seq / 3) + 1;
    session.append('turn/start', { turn, trigger: { kind: 'injection', source: SOURCE } });
    (session.append as (type: T, data: SessionEventMap[T]) => unknown).call(session, type, data);
    session.append('turn/end', { turn, reason: { kind: 'completed' } });
    await this.#store.flush(session);
  }

  async #tuple(thread: Thread, { put, writes }: Saved): Promise<CheckpointTuple> {
    const { name, namespaces } = thread;
    const { ns, id, parent } = put;
    const at = (checkpoint_id: string): RunnableConfig => ({ configurable: { thread_id: name, checkpoint_ns: ns, checkpoint_id } });
    const checkpoint = (await this.#restore(put.checkpoint)) as Checkpoint;
    for (const [channel, version] of Object.entries(checkpoint.channel_versions)) {
      const value = thread.value(ns, channel, version);
      if (value) checkpoint.channel_values[channel] = await this.#restore(value);
    }
    if (checkpoint.v < 4 && parent !== undefined) await this.#migrate(checkpoint, namespaces.get(ns)?.get(parent));
    return {
      config: at(id),
      checkpoint,
      metadata: (await this.#restore(put.metadata)) as CheckpointMetadata,
      ...(parent !== undefined && { parentConfig: at(parent) }),
      pendingWrites: await Promise.all(inOrder(writes).map(async ({ taskId, channel, value }): Promise<CheckpointPendingWrite> => [taskId, channel, await this.#restore(value)])),
    };
  }

  /** Before version 4, tasks to come stood among the writes of the parent. */
  async #migrate(checkpoint: Checkpoint, parent: Saved | undefined): Promise<void> {
    const sends = inOrder(parent?.writes ?? new Map<string, Write>()).filter(({ channel }) => channel === TASKS);
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = await Promise.all(sends.map(({ value }) => this.#restore(value)));
    checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }

  async #dump(value: unknown): Promise<Serialized> {
    const [type, bytes] = await this.serde.dumpsTyped(value);
    if (type === 'json') return { type, text: new TextDecoder().decode(bytes) };
    return { type, base64: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')) };
  }

  async #restore(value: Serialized): Promise<unknown> {
    return this.serde.loadsTyped(value.type, 'text' in value ? value.text : Uint8Array.from(atob(value.base64), (char) => char.charCodeAt(0))) as Promise<unknown>;
  }
}

const TASKS = '__pregel_tasks';

interface Places {
  readonly thread_id?: string;
  readonly checkpoint_ns?: string;
  readonly checkpoint_id?: string;
}

function places({ configurable }: RunnableConfig): Places {
  const { checkpoint_id, ...rest } = (configurable ?? {}) as Places;
  return checkpoint_id ? { ...rest, checkpoint_id } : rest;
}

function needed(value: string | undefined, field: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw new Error(`The config has no "${field}" in its "configurable": pass { configurable: { ${field}: … } }`);
}

function inOrder(writes: Map<string, Write>): Write[] {
  const keyed = [...writes.values()].map((write) => ({ write, key: writesSortKey(write.taskPath, write.taskId, write.idx) }));
  return keyed.sort((a, b) => compareWritesSortKeys(a.key, b.key)).map(({ write }) => write);
}
