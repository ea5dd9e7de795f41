// A store on a directory of JSONL files.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SessionStore } from 'palimpsest';
import { attach, jsonl } from 'palimpsest/jsonl';
import type { PersistenceAdapter } from 'palimpsest/persistence';
import { ManualTimers, WatchedBackend, WatchedFs } from './storage.js';

/** A store on a directory of files. */
export function open(root: string, fs = new WatchedFs()): { store: SessionStore; fs: WatchedFs; adapter: PersistenceAdapter } {
  const store = new SessionStore({ onError: (error) => { throw error; } });
  return { store, fs, adapter: attach(store, jsonl({ root, fs }), { timers: new ManualTimers() }) };
}

/** As `open`, for a writer that knows nothing of locks. */
export function openUnlocked(root: string, fs = new WatchedFs()): { store: SessionStore; fs: WatchedFs; adapter: PersistenceAdapter } {
  const store = new SessionStore({ onError: (error) => { throw error; } });
  return { store, fs, adapter: attach(store, new WatchedBackend(jsonl({ root, fs })), { timers: new ManualTimers() }) };
}

/** The files below the directory, as paths relative to it, without those of locks. */
export async function tree(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && !entry.parentPath.endsWith('.writers')).map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1)).sort();
}
