/** What a person takes away: the log or a part of it, as it is or without its secrets. */

import type { Session } from 'palimpsest';
import { htmlParts, markdownParts, toMessages } from 'palimpsest/export';
import { findSecrets, redactSession, type Pattern, type RedactOptions, type SecretKind } from 'palimpsest/redact';
import type { Redaction, Secrets, TakeForm } from '../lib/protocol.js';
import type { Log } from './log.js';
import { jsonText } from './requests.js';
import { proveToEnd } from './search.js';

/** Most hits that are shown in a preview; all are taken out. */
const HITS = 500;

/** The file of a form. @throws (rejects) what the package says of a pattern that cannot be used */
export async function take(log: Log, form: TakeForm, redaction: Redaction | undefined): Promise<Blob> {
  if (!redaction && form.what === 'jsonl') return log.store.blob();
  if (!redaction && form.what === 'selection') return lines(log, form.from, form.to);
  if (!redaction) return write(log.live, form);
  const { session } = redactSession(log.live, await optionsOf(log, redaction));
  try {
    return write(session, form);
  } finally {
    session.free();
  }
}

/** What would be taken out. */
export async function secretsIn(log: Log, redaction: Redaction): Promise<Secrets> {
  const { hits, counts } = findSecrets(log.live, { ...(await optionsOf(log, redaction)), maxHits: HITS });
  return { hits: hits.map(({ seq, path, kind, placeholder, excerpt, masked }) => ({ ...(seq !== undefined && { seq }), path, kind, placeholder, excerpt, masked })), counts };
}

function write(session: Session, form: TakeForm): Blob {
  switch (form.what) {
    case 'jsonl': return new Blob([session.headerLine(), session.jsonl()] as BlobPart[], { type: 'application/x-ndjson' });
    case 'selection': return new Blob([session.headerLine(), session.jsonl(form.from, Math.min(form.to + 1, session.seq))] as BlobPart[], { type: 'application/x-ndjson' });
    case 'request': return new Blob([jsonText(session.at(Math.min(form.seq, session.seq - 1)).request(), 2)], { type: 'application/json' });
    case 'messages': return new Blob([jsonText(toMessages(session, { at: Math.min(form.seq, session.seq - 1) }), 2)], { type: 'application/json' });
    case 'markdown': return new Blob([...markdownParts(session)], { type: 'text/markdown' });
    case 'html': return new Blob([...htmlParts(session)], { type: 'text/html' });
  }
}

/** The header line, and the lines from the first event that is numbered `from` or more to the last that is numbered `to` or less. */
function lines({ store, outline, headEnd }: Log, from: number, to: number): Blob {
  let first = 0;
  while (first < outline.length && outline.seqOf(first) < from) first++;
  let last = outline.length - 1;
  while (last >= first && (outline.seqOf(last) < 0 || outline.seqOf(last) > to)) last--;
  const head = store.blob().slice(0, headEnd);
  return last < first ? head : new Blob([head, store.blob().slice(outline.offsets.at(first), outline.endOf(last))]);
}

async function optionsOf(log: Log, { kinds, words, patterns }: Redaction): Promise<RedactOptions> {
  const own = patterns.map((source): Pattern => {
    try {
      return { kind: 'own', pattern: new RegExp(source) };
    } catch (error) {
      throw new Error(`${source} is no regular expression: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  });
  // Here nobody could stop one that does not end.
  await proveToEnd(log, patterns);
  return { kinds: kinds as SecretKind[], words, patterns: own };
}
