/** Logs at hand: the examples, the browser's own sessions, and what was dropped. */

import type { HeaderFacts, Source } from './protocol.js';

/** A file, and where in what was dropped or picked it lies. */
export interface PathFile {
  readonly file: File;
  readonly path: string;
}

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

export function fileEntry(file: File, path = file.name, related: readonly PathFile[] = []): Entry {
  const source: Source = { kind: 'file', name: path, file, ...(related.length > 0 && { related: related.map(({ file: beside, path: name }) => ({ name, file: beside })) }) };
  return { key: `file=${path}`, name: path, source, group: 'file' };
}

/** The files of sub-agents that Claude Code keeps beside that of a session: `<session>/subagents/agent-*.jsonl`. */
const BESIDE = /^((?:.*\/)?[^/]+)\/subagents\/agent-[^/]*\.jsonl$/;

/** Entries of files; those of sub-agents go with their session, where that is among them. */
export function fileEntries(files: readonly PathFile[]): Entry[] {
  const paths = new Set(files.map(({ path }) => path));
  const beside = new Map<string, PathFile[]>();
  const own = files.filter((found) => {
    const session = BESIDE.exec(found.path)?.[1];
    if (session === undefined || !paths.has(`${session}.jsonl`)) return true;
    beside.set(`${session}.jsonl`, [...(beside.get(`${session}.jsonl`) ?? []), found]);
    return false;
  });
  return own.map(({ file, path }) => fileEntry(file, path, beside.get(path)?.sort((a, b) => (a.path < b.path ? -1 : 1))));
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
export async function filesOf(transfer: DataTransfer): Promise<PathFile[]> {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 0) return [...transfer.files].map((file) => ({ file, path: file.name }));
  const found: PathFile[] = [];
  for (const entry of entries) await walk(entry, '', found);
  return found;
}

/** Files of folders that are looked at. */
export const MOST = 2000;

async function walk(entry: FileSystemEntry, folder: string, found: PathFile[]): Promise<void> {
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

const LOGS = /\.(?:jsonl|ndjson|json|log|jsonl\.zstd?)$/i;

/** Whether a file of a folder may be a log. */
export function maybeLog(path: string): boolean {
  return LOGS.test(path);
}
