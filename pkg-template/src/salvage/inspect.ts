/**
 * What there is to say about a log that loads. There is nothing to salvage in it, so that its bytes may stay where they
 * are: what grows with the file is where each event stands.
 */

import { needBytes, needObject } from '../arguments.js';
import { needSession, type Session } from '../session.js';
import type { Place } from './branch.js';
import { chunksOf, type SalvageSource } from './chunks.js';
import type { SalvageFinding } from './finding.js';
import { Findings } from './findings.js';
import { type Line, LineCutter, trimmed } from './lines.js';
import { headOf, parseRecord } from './record.js';
import type { SalvageOptions } from './salvage.js';
import { rules } from './salvaged.js';

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * The findings of `salvage` on a log without damage, which was opened already (by `openFile` or `openBlob`, say).
 * @param session the whole log, without a torn tail
 * @param source the bytes that it was opened from
 * @throws (rejects) as `salvage`
 */
export async function inspect(session: Session, source: SalvageSource, options: SalvageOptions = {}): Promise<SalvageFinding[]> {
  needSession(session);
  needObject('options', options);
  const found = new Findings(options.knownTypes);
  const cutter = new LineCutter();
  const lines: number[] = [];
  const bytes: number[] = [];
  let lastTime = -Infinity;
  const look = ({ bytes: content, number: line, byte, ended }: Line): void => {
    const place: Place = { line, byte };
    const mark = byte === 0 && content[0] === 0xef && content[1] === 0xbb && content[2] === 0xbf;
    if (mark) found.fault('BYTE_ORDER_MARK', 'info', place);
    if (ended && content[content.length - 1] === 0x0d) found.count('CRLF', place);
    const [start, end] = trimmed(mark ? content.subarray(3) : content);
    if (start === end) {
      if (ended) found.count('BLANK_LINE', place);
      return;
    }
    const text = decoder.decode((mark ? content.subarray(3) : content).subarray(start, end));
    const parsed = headOf(text) ?? envelopeOf(text);
    // The header, and what was written behind the session since it was opened.
    if (parsed === undefined || lines.length === session.seq) return;
    const seq = lines.push(line) - 1;
    bytes.push(byte + start);
    if (parsed.time < lastTime) found.count('TIME_BACKWARD', { line, byte: byte + start }, seq);
    lastTime = parsed.time;
    found.event(parsed.type, text, { line, byte: byte + start }, seq);
  };
  for await (const chunk of chunksOf(source)) {
    options.signal?.throwIfAborted();
    needBytes('a chunk of the source', chunk);
    for (const line of cutter.push(chunk)) look(line);
    options.onProgress?.(cutter.bytes);
  }
  const rest = cutter.finish();
  if (rest !== undefined) look(rest);
  const placeOf = (seq: number): Place | undefined => (seq < lines.length ? { line: lines[seq]!, byte: bytes[seq]! } : undefined);
  return [...found.list(), ...rules(session, { placeOf, seedLength: 0 })].sort((a, b) => a.byte - b.byte).map(({ branch: _, ...finding }) => finding);
}

function envelopeOf(text: string): { type: string; time: number } | undefined {
  const parsed = parseRecord(text);
  return parsed?.kind === 'event' ? parsed.envelope : undefined;
}
