/** Finished events as lines in the scratch area, for the calls that take them so. */

import { calling, type CoreSession } from './core.js';
import { encode, encodeRead } from './encode.js';
import type { SessionEvent } from './events.js';
import { sendRecords } from './records.js';
import { bytes, release, reserve } from './scratch.js';

/** Bytes of lines that cross at once. */
const BATCH = 1 << 18;

/** Writes one event's line at `at`; where it ends. */
function putLine(event: SessionEvent, at: number, root: string, write = encode): number {
  const { end } = write(event, at, root);
  reserve(end + 1);
  bytes[end] = 0x0a;
  return end + 1;
}

/**
 * Runs `use` on the lines of `events`, which are at the start of the scratch area. They are looked at, not logged: the
 * events of a loaded log may hold numbers that an append refuses.
 */
export function withLines<T>(events: readonly SessionEvent[], root: string, use: (used: number) => T): T {
  sendRecords();
  let used = 0;
  for (let i = 0; i < events.length; i++) used = putLine(events[i]!, used, `${root}[${i}]`, encodeRead);
  try {
    return use(used);
  } finally {
    release();
  }
}

/**
 * Appends finished events to a core session as they are.
 * @param write what checks and writes them; {@link encodeRead} for events that come out of a log
 * @throws PalimpsestError for the first one that JSON would change or that breaks a rule; those before it are in
 */
export function putEvents(core: CoreSession, events: readonly SessionEvent[], session: string, root: string, write = encode): void {
  sendRecords();
  let used = 0;
  const send = (): void => {
    const length = used;
    used = 0;
    calling(session, () => core.appendLines(length));
  };
  try {
    for (let i = 0; i < events.length; i++) {
      used = putLine(events[i]!, used, `${root}[${i}]`, write);
      if (used >= BATCH) send();
    }
    send();
  } finally {
    release();
  }
}
