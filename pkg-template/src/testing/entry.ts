/** What a storage shows to the suite. */

import type { StorageBackend } from '../persistence/backend.js';

/** What becomes of an operation of the storage: it happens, or it fails before it happens or after. */
export type Verdict = 'run' | 'before' | 'after';

/** Asked before each operation (a write, a sync, a statement, a request), by a name for messages. */
export type Decide = (operation: string) => Verdict;

/** One storage, empty at first. */
export interface StorageUnderTest {
  /** A backend on it. Each call gives one of its own, as another process or tab would have it. */
  open(): StorageBackend | Promise<StorageBackend>;
  /** As `open`, with every operation decided on. */
  openFaulty?(decide: Decide): StorageBackend | Promise<StorageBackend>;
  /**
   * Makes the stored log of a session without working directory be these bytes, as a crash or another program may have
   * left it. By `appendBatch` when absent, which does where bytes are stored as they come.
   */
  plant?(id: string, log: Uint8Array): Promise<void>;
  /** Takes it away. */
  dispose?(): Promise<void> | void;
}

/** Makes a fresh storage; a case may ask for several. */
export type Setup = () => StorageUnderTest | Promise<StorageUnderTest>;

/** What a storage may lack, and says so. */
export type Capability = 'faults' | 'locks' | 'delete';

/** A kind of storage, as it is registered. */
export interface StorageEntry {
  readonly name: string;
  readonly setup: Setup;
  /** What it lacks, and why. Cases that need it are skipped with the reason in their title. */
  readonly lacks?: Partial<Readonly<Record<Capability, string>>>;
}

/** One case of the suite. */
export interface ConformanceCase {
  readonly name: string;
  readonly needs?: readonly Capability[];
  /** Rejects when the storage does not conform. */
  readonly run: (setup: Setup) => Promise<void>;
}
