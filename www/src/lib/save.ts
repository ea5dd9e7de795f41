/** Gives a file to the person. */

export function save(bytes: Blob, name: string): void {
  const url = URL.createObjectURL(bytes);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => { URL.revokeObjectURL(url); }, 10_000);
}

/** A file's name without its ending, fit for any file system. */
export function stem(name: string): string {
  return (name.split('/').pop() ?? name).replace(/\.(?:jsonl|ndjson|json)$/i, '').replace(/[^\p{L}\p{N}._ -]+/gu, '_').slice(0, 100) || 'session';
}
