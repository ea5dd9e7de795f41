/** Numbers, sizes and times as people read them. */

export function number(value: number): string {
  return value.toLocaleString('en');
}

export function count(value: number, noun: string, plural = `${noun}s`): string {
  return `${number(value)} ${value === 1 ? noun : plural}`;
}

export function fileSize(bytes: number): string {
  if (bytes < 1000) return count(bytes, 'byte');
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}

/** A number in at most five characters. */
export function short(value: number): string {
  if (value < 10_000) return number(Math.round(value));
  if (value < 999_500) return `${(value / 1e3).toFixed(value < 99_950 ? 1 : 0)}k`;
  return `${(value / 1e6).toFixed(1)}M`;
}

/** Milliseconds. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  return `${(ms / 3_600_000).toFixed(1)} h`;
}

export function percent(part: number, all: number): string {
  return all > 0 ? `${((part / all) * 100).toFixed(0)} %` : '–';
}

// Made once: each call of toLocaleString makes its own.
const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const DATE_TIME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** A time of day, or the bare number where it is no date: a log may hold any number as a time. */
export function clock(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : CLOCK.format(date);
}

export function dateTime(time: number): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : DATE_TIME.format(date);
}
