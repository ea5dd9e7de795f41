/** Ids, plain JSON values and the format version: what every other type is made of. */

import { PalimpsestError } from './errors.js';

/** Version of the stored form. A log of any other version is refused, never converted. */
export const SESSION_FORMAT_VERSION = 0;

declare const flavor: unique symbol;

/**
 * Id of a session: a non-empty string.
 *
 * Any string is accepted where an id goes in; what the brand refuses is an id of another kind, such as a {@link CallId}.
 */
export type SessionId = string & { readonly [flavor]?: 'SessionId' };

/**
 * Marks a string as a session id.
 * @throws PalimpsestError `INVALID_ID` when it is not a non-empty string
 */
export function SessionId(value: string): SessionId {
  if (typeof value !== 'string' || value === '') {
    throw new PalimpsestError('INVALID_ID', 'A session id must be a non-empty string');
  }
  return value;
}

/** Id of a tool call, chosen by the model's provider. Any string is accepted where one goes in, see {@link SessionId}. */
export type CallId = string & { readonly [flavor]?: 'CallId' };

/**
 * Marks a string as a tool call id. The empty string is allowed, since providers choose these ids.
 * @throws PalimpsestError `INVALID_ID` when it is not a string
 */
export function CallId(value: string): CallId {
  if (typeof value !== 'string') throw new PalimpsestError('INVALID_ID', 'A tool call id must be a string');
  return value;
}

/** A value that JSON keeps without loss. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** An object that JSON keeps without loss. */
export interface JsonObject {
  readonly [key: string]: JsonValue;
}
