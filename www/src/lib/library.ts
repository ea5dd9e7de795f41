/** Logs at hand: the examples, the browser's own sessions, and what was dropped. */

import type { HeaderFacts, Source } from './protocol.js';

/** A log that can be opened. */
export interface Entry {
  /** Unlike that of any other. */
  readonly key: string;
  readonly name: string;
  readonly about?: string;
  readonly source: Source;
  readonly group: 'example' | 'stored' | 'file' | 'link';
  readonly header?: HeaderFacts;
}

/** @throws Error for a URL of another site: a link must not make this page read from elsewhere */
export function urlEntry(address: string, group: 'example' | 'link' = 'link', about?: string): Entry {
  const url = new URL(address, document.baseURI);
  if (url.origin !== location.origin || url.origin === 'null') {
    throw new Error(`${url.href} is on another site. This page only opens logs of its own address: download the file and drop it here.`);
  }
  const name = decodeURIComponent(url.pathname.split('/').pop() ?? '') || url.pathname;
  return { key: `log=${address}`, name, source: { kind: 'url', name, url: url.href }, group, ...(about !== undefined && { about }) };
}

export function fileEntry(file: File, path = file.name): Entry {
  return { key: `file=${path}`, name: path, source: { kind: 'file', name: path, file }, group: 'file' };
}

export function storedEntry(header: HeaderFacts): Entry {
  return { key: `db=${header.id}`, name: header.id, source: { kind: 'stored', name: header.id, id: header.id }, group: 'stored', header };
}

/** The examples that the site carries. */
export const EXAMPLES: readonly { readonly file: string; readonly about: string }[] = [
  { file: 'examples/coding.jsonl', about: 'An ordinary coding session: tools, edits, a failed test, usage with a cache' },
  { file: 'examples/long.jsonl', about: 'A long one: two compactions, a pruned result, a crash' },
  { file: 'examples/long-other-way.jsonl', about: 'A fork of the long one' },
  { file: 'examples/long-second-look.jsonl', about: 'Another fork, from later on' },
  { file: 'example.jsonl', about: 'A short session with one compaction' },
];

/** Files of a drop, those of folders among them. */
export async function filesOf(transfer: DataTransfer): Promise<{ file: File; path: string }[]> {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 0) return [...transfer.files].map((file) => ({ file, path: file.name }));
  const found: { file: File; path: string }[] = [];
  for (const entry of entries) await walk(entry, '', found);
  return found;
}

const MOST = 2000;

async function walk(entry: FileSystemEntry, folder: string, found: { file: File; path: string }[]): Promise<void> {
  if (found.length >= MOST) return;
  const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => { (entry as FileSystemFileEntry).file(resolve, reject); });
    found.push({ file, path });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => { reader.readEntries(resolve, reject); });
    if (some.length === 0) return;
    for (const child of some) await walk(child, path, found);
  }
}

const LOGS = /\.(?:jsonl|ndjson|json|db|sqlite|log)$/i;

/** Whether a file of a folder may be a log. */
export function maybeLog(path: string): boolean {
  return LOGS.test(path);
}
