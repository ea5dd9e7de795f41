/** Errors, for a person. */

import { PalimpsestError } from 'palimpsest';
import { el } from './dom.js';

const ADVICE: Readonly<Partial<Record<PalimpsestError['code'], string>>> = {
  CORRUPT_LOG: 'Only a torn last line is dropped when a log is opened; damage before it is never guessed over.',
  UNSUPPORTED_VERSION: 'Another version of the format wrote it. It is refused rather than misread.',
  INVALID_HEADER: 'A log begins with a header line of type "session". This file may be something else.',
};

/** A panel that says what is wrong with `name`; the messages of the package say where, and what can be done. */
export function failureOf(name: string, error: unknown): HTMLElement {
  const known = error instanceof PalimpsestError ? error : undefined;
  const advice = known && ADVICE[known.code];
  return el(
    'section',
    { class: 'failure', role: 'alert' },
    el('h2', {}, 'This log cannot be opened'),
    el('p', { class: 'quiet' }, name),
    el('p', {}, known !== undefined && el('code', {}, known.code), ` ${error instanceof Error ? error.message : String(error)}`),
    advice !== undefined && el('p', {}, advice),
  );
}
