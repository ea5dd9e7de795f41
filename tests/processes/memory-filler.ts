// Fills the core's memory to its end in two ways, and says what was refused and whether the rest is whole. A process of its
// own, since nobody else could do anything meanwhile.
import { PalimpsestError, Session, SessionReader } from 'palimpsest';

const other = new Session('other');
let count = 0;
const touch = (): void => {
  other.append('turn/start', { turn: count++, trigger: { kind: 'message', source: { kind: 'user' } } });
};
touch();

/** The code of the error that `work` ends with at last. */
function refusal(work: () => void): string {
  try {
    for (;;) work();
  } catch (error) {
    if (error instanceof PalimpsestError) return error.code;
    throw error;
  }
}

const large = new Session('large');
/** Logs an event of so many letters. */
function log(letters: number): void {
  large.append('prompt/blocked', { content: [{ type: 'text', text: 'x'.repeat(letters) }], source: { kind: 'user' }, reason: String(large.seq) });
}

/** Whether events from all over the log are what was logged. */
function isWhole(session: Session): boolean {
  const step = Math.ceil(session.seq / 40);
  for (let seq = session.seq - 1; seq >= 0; seq -= step) {
    if ((session.events[seq]?.data as { reason?: unknown } | undefined)?.reason !== String(seq)) return false;
  }
  return true;
}

// First what crosses alone, then, in what is left, what waits.
const alone = refusal(() => { log(5_000_000); });
const waiting = refusal(() => { log(10_000); });
const appended = { alone, waiting, copied: refusal(() => large.jsonl()), kept: isWhole(large), other: other.events.length === 1 && other.deriveMessages().length === 0 };
large.free();
touch();

const reader = new SessionReader('large');
reader.push(other.headerLine());
const piece = new TextEncoder().encode('"a",'.repeat(1 << 18));
let lines = 0;
const code = refusal(() => {
  reader.push(new TextEncoder().encode(`{"type":"x","seq":${lines++},"time":1,"data":[`));
  for (let n = 0; n < 32; n++) reader.push(piece);
  reader.push(new TextEncoder().encode('0]}\n'));
});
const kept = other.events.length === 2 && refusal(() => { reader.push(piece); }) === 'DISPOSED';
reader.free();
touch();
const after = other.events.map(({ data }) => (data as { turn?: number }).turn);
console.log(JSON.stringify({ appended, read: { code, kept }, after }));
