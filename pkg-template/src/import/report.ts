/** Counts and anomalies of an import. */

import type { ImportAnomaly, ImportReport } from './types.js';

/** Anomalies of one code that are listed. */
const MOST = 1000;
const MOST_BACKWARD = 20;

/** Gathers the report of an import, over all of its sources. */
export class Report {
  #bytes = 0;
  #broken = 0;
  #blankLines = 0;
  readonly #kinds = new Map<string, { mapped: number; kept: number }>();
  readonly #anomalies: ImportAnomaly[] = [];
  readonly #counts = new Map<string, number>();
  #times: { first: number; last: number; min: number; max: number; backwardSteps: number; backwardAtLines: number[] } | undefined;
  /** Name of the source at hand, where it lies beside the main one. */
  source: string | undefined;

  bytes(count: number): void {
    this.#bytes += count;
  }

  blankLine(): void {
    this.#blankLines++;
  }

  broken(): void {
    this.#broken++;
  }

  /** A record's time. Only those of the main source are watched. */
  time(time: number, line: number): void {
    if (this.source !== undefined) return;
    const times = (this.#times ??= { first: time, last: time, min: time, max: time, backwardSteps: 0, backwardAtLines: [] });
    if (time < times.last) {
      times.backwardSteps++;
      if (times.backwardAtLines.length < MOST_BACKWARD) times.backwardAtLines.push(line);
    }
    times.last = time;
    times.min = Math.min(times.min, time);
    times.max = Math.max(times.max, time);
  }

  /** A record is done with. */
  record(kind: string, mapped: boolean): void {
    let counts = this.#kinds.get(kind);
    if (counts === undefined) this.#kinds.set(kind, (counts = { mapped: 0, kept: 0 }));
    if (mapped) counts.mapped++;
    else counts.kept++;
  }

  anomaly(code: string, message: string, details: Omit<ImportAnomaly, 'code' | 'message'> = {}): void {
    const count = (this.#counts.get(code) ?? 0) + 1;
    this.#counts.set(code, count);
    if (count > MOST) return;
    this.#anomalies.push({ code, message, ...details, ...(this.source !== undefined && { source: this.source }) });
  }

  finish(): ImportReport {
    let mapped = 0;
    let kept = 0;
    for (const counts of this.#kinds.values()) {
      mapped += counts.mapped;
      kept += counts.kept;
    }
    return {
      bytes: this.#bytes,
      records: mapped + kept,
      mapped,
      kept,
      broken: this.#broken,
      blankLines: this.#blankLines,
      byKind: Object.fromEntries(this.#kinds),
      anomalies: this.#anomalies,
      anomalyCounts: Object.fromEntries(this.#counts),
      ...(this.#times !== undefined && { times: this.#times }),
    };
  }
}
