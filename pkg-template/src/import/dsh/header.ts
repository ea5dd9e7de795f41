/** The first line of a log. */

import { PalimpsestError } from '../../errors.js';
import type { SessionHeader } from '../../events.js';
import { SESSION_FORMAT_VERSION } from '../../ids.js';
import { idOf, isAbsolute, isObject, parse } from '../json.js';

/** Header of the session to be; members that ours does not have stay on it. `seed` counts events of the source. */
export interface DshHeader {
  readonly header: SessionHeader;
  readonly seed: number;
}

/**
 * Reads the first line.
 * @throws PalimpsestError `UNSUPPORTED_VERSION` for generations whose form is known from notes only, and where the
 *   version is written so that two readers may disagree about it; `INVALID_HEADER`
 */
export function headerOf(text: string, name: string): DshHeader {
  const value = parse(text.replace(/^\ufeff/, ''));
  if (!isObject(value) || value.type !== 'session') {
    throw new PalimpsestError('INVALID_HEADER', `${name}, line 1: a log of DeepSeek Harness begins with its session header, and this is none`, { path: name, line: 1, byte: 0 });
  }
  const written = [...text.matchAll(/"version"\s*:\s*([^\s,}]*)/g)].map((match) => match[1]!);
  if (written.length !== 1 || written[0] !== '0' || value.version !== 0) {
    const what = written.length > 1 ? 'the version is written twice' : `version ${written[0] ?? 'none'} is not version 0`;
    throw new PalimpsestError('UNSUPPORTED_VERSION', `${name}, line 1: ${what}; of versions 1 to 4 only notes are public, so their logs are not read. The version 0 file that the migration left beside it can be imported`, { path: name, line: 1, byte: 0 });
  }
  const { type: _type, version: _version, id, createdAt, cwd, parentSession, seedLength, ...rest } = value;
  const session = idOf(id);
  if (session === undefined) throw new PalimpsestError('INVALID_HEADER', `${name}, line 1: the header names no session`, { path: name, line: 1, byte: 0 });
  const isCount = (count: unknown): count is number => typeof count === 'number' && Number.isSafeInteger(count) && count >= 0;
  const parent = idOf(parentSession);
  const path = idOf(cwd);
  const header = {
    version: SESSION_FORMAT_VERSION,
    id: session,
    createdAt: isCount(createdAt) ? createdAt : 0,
    ...(path !== undefined && isAbsolute(path) && { cwd: path }),
    ...(parent !== undefined && { parentSession: parent }),
    ...rest,
  };
  return { header, seed: parent !== undefined && isCount(seedLength) ? seedLength : 0 };
}
