/**
 * `palimpsest/redact`: a session that may be shown to others.
 *
 * {@link redactSession} gives a copy without keys, tokens, mail addresses and names in home paths, and the list of what it
 * took out; {@link findSecrets} gives the list alone. Shapes are guesses: look at the result before you publish it.
 *
 * The map: `patterns.ts` what secrets look like; `strings.ts` the strings of a record; `format.ts` which of them
 * make it one; `deltas.ts` secrets that a stream has cut; `redact.ts` the rest.
 */

export type { Pattern, SecretKind } from './patterns.js';
export { findSecrets, type Redacted, type RedactHit, type RedactOptions, type RedactReport, redactSession } from './redact.js';
