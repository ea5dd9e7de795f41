/**
 * The one error type of the package. A message names the session, seq and path where they are known and says what to
 * do; programs look at `code`, which is stable.
 */

/** What went wrong. Codes are stable across versions; messages are not. */
export type ErrorCode =
  /** The core is used before `init()` has resolved. */
  | 'NOT_INITIALIZED'
  /** A session is used after `free()`. */
  | 'DISPOSED'
  /** A listener appends to the session whose event it is being told about. */
  | 'REENTRANT_APPEND'
  /** An argument that no call can work with. */
  | 'INVALID_ARGUMENT'
  /** A value that JSON would lose or change; `path` says where. */
  | 'INVALID_JSON_VALUE'
  /** Text that is not JSON where JSON is wanted. */
  | 'INVALID_JSON'
  /** An event type that is not a non-empty string. */
  | 'INVALID_TYPE'
  /** An event payload that lacks what its type needs; `path` says where. */
  | 'INVALID_PAYLOAD'
  /** A surface event without `surfaceOp`. */
  | 'MISSING_SURFACE_OP'
  /** A log-only event with `surfaceOp` or `sourceEventSeqs`. */
  | 'UNEXPECTED_SURFACE_FIELDS'
  /** A `surfaceOp` that is neither `'append'` nor a replace. */
  | 'INVALID_SURFACE_OP'
  /** `sourceEventSeqs` that repeat, or name the event itself or one that does not exist. */
  | 'INVALID_SOURCES'
  /** A replace whose ends are not on the surface, are reversed, or whose sources miss a shadowed node. */
  | 'INVALID_REPLACE'
  /** Events that do not continue the log: a gap or a repetition. */
  | 'SEQ_MISMATCH'
  /** A stored log that cannot be read; `line`, `byte` and `seq` say where. */
  | 'CORRUPT_LOG'
  /** A stored log of another format version. */
  | 'UNSUPPORTED_VERSION'
  /** A file that is no log of any known agent. */
  | 'UNKNOWN_FORMAT'
  /** A session header with a missing or wrong field. */
  | 'INVALID_HEADER'
  /** A working directory that is not an absolute path. */
  | 'INVALID_CWD'
  /** A `request/header-delta` before any `request/header`. */
  | 'DELTA_WITHOUT_HEADER'
  /** A tool result that answers no call. */
  | 'UNPAIRED_TOOL_RESULT'
  /** A seq outside the log. */
  | 'INVALID_SEQ'
  /** A session or call id that is not usable. */
  | 'INVALID_ID'
  /** The id belongs to a live session. */
  | 'SESSION_ALREADY_EXISTS'
  /** No live, or no stored, session has the id. */
  | 'SESSION_NOT_FOUND'
  /** A session object that is not, or no longer, the live instance of its id. */
  | 'SESSION_NOT_LIVE'
  /** A fork boundary that is not the seq of an event. */
  | 'INVALID_BOUNDARY'
  /** A fork boundary inside a turn. */
  | 'OPEN_TURN'
  /** Another session is stored under the same id, and is neither adopted nor overwritten. */
  | 'SESSION_COLLISION'
  /** A flush listener failed: what was appended may not be durable yet. `errors` holds the causes. */
  | 'FLUSH_FAILED'
  /** The core's memory (at most 4 GiB, for all sessions together) is used up; what was there before is as it was. */
  | 'OUT_OF_MEMORY'
  /** The storage refused or broke; the log in memory is whole and a later flush tries again. */
  | 'STORAGE_FAILED'
  /** The stored log is not what this writer last saw: somebody else wrote to it. */
  | 'WRITE_CONFLICT'
  /** Another process writes to the session. */
  | 'SESSION_LOCKED'
  /** An event breaks a rule of correct logs; `rule` and `seq` say which (see `palimpsest/invariants`). */
  | 'INVARIANT'
  /** A compaction is open in the log: a second one, or a prune, has to wait for its end. */
  | 'COMPACTION_OPEN'
  /** A compaction that came to nothing: its summary is no use, or the log went on without it. The surface is as it was. */
  | 'COMPACTION_FAILED'
  /** A region whose ends would separate a tool call from its result. */
  | 'UNBALANCED_REGION'
  /** A scope, store or adapter is used after it was closed. */
  | 'CLOSED';

/** Where an error happened; every part is optional. */
export interface ErrorDetails {
  /** Id of the session concerned. */
  readonly session?: string | undefined;
  /** Seq of the event concerned. */
  readonly seq?: number | undefined;
  /** Path inside a value (`data.content[0].text`), or of a file. */
  readonly path?: string | undefined;
  /** Line of a stored log, counted from 1. */
  readonly line?: number | undefined;
  /** Byte offset in a stored log, counted from 0. */
  readonly byte?: number | undefined;
  /** What caused the error. */
  readonly cause?: unknown;
}

/** Every error that this package throws on purpose. */
export class PalimpsestError extends Error {
  /** What went wrong, for programs. */
  readonly code: ErrorCode;
  /** Id of the session concerned. */
  declare readonly session?: string;
  /** Seq of the event concerned. */
  declare readonly seq?: number;
  /** Path inside a value, or of a file. */
  declare readonly path?: string;
  /** Line of a stored log, counted from 1. */
  declare readonly line?: number;
  /** Byte offset in a stored log, counted from 0. */
  declare readonly byte?: number;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'PalimpsestError';
    this.code = code;
    for (const key of ['session', 'seq', 'path', 'line', 'byte'] as const) {
      if (details[key] !== undefined) Object.defineProperty(this, key, { value: details[key], enumerable: true });
    }
  }
}

/** @internal Memory that the host does not give. */
export function outOfMemory(): PalimpsestError {
  return new PalimpsestError('OUT_OF_MEMORY', 'there is no memory left for this; free sessions, or open large logs without their bytes (openFile, openBlob)');
}

/** Why a fork was refused. */
export type SessionForkErrorCode = Extract<
  ErrorCode,
  'SESSION_ALREADY_EXISTS' | 'SESSION_NOT_FOUND' | 'SESSION_NOT_LIVE' | 'INVALID_BOUNDARY' | 'OPEN_TURN'
>;

/** A refused fork. The conditions are checked in the order in which {@link SessionForkErrorCode} lists them. */
export class SessionForkError extends PalimpsestError {
  declare readonly code: SessionForkErrorCode;

  constructor(code: SessionForkErrorCode, message: string, details: ErrorDetails = {}) {
    super(code, message, details);
    this.name = 'SessionForkError';
  }
}

/** A flush after which something may not be durable. A later flush tries everything again. */
export class FlushError extends PalimpsestError {
  declare readonly code: 'FLUSH_FAILED';
  /** What each failed listener or session threw. */
  readonly errors: readonly unknown[];

  constructor(message: string, errors: readonly unknown[], details: ErrorDetails = {}) {
    super('FLUSH_FAILED', message, { cause: errors.length === 1 ? errors[0] : new AggregateError(errors, message), ...details });
    this.name = 'FlushError';
    this.errors = errors;
  }
}
