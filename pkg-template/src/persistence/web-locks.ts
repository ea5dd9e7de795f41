/** One writer per session among the tabs and workers of a site, by Web Locks. */

import type { SessionId } from '../events.js';
import type { SessionLock } from './backend.js';
import { locked } from './faults.js';

/**
 * Takes the lock at once or not at all. The browser gives it back when the tab ends, however it ends.
 *
 * Browsers before 2022, and pages that are not served securely, have no Web Locks: there nothing is refused here.
 * @throws (rejects) PalimpsestError `SESSION_LOCKED`
 */
export async function takeWebLock(id: SessionId, location: string): Promise<SessionLock> {
  const { navigator } = globalThis as { navigator?: { readonly locks?: LockManager } };
  const locks = navigator?.locks;
  if (!locks) return { release: async () => undefined };
  const name = `palimpsest:${location}`;
  const release = await take(locks, name);
  if (!release) throw locked(id, { since: await heldSince(locks, name) }, location);
  // A lock says nothing about its holder but its name: the second one is there to be read.
  const forget = await take(locks, `${name}${SINCE}${Date.now()}`);
  return {
    release: async () => {
      await Promise.all([release(), forget?.()]);
    },
  };
}

const SINCE = ' since ';

/** Resolves with the function that gives the lock back, or undefined when somebody has it. */
function take(locks: LockManager, name: string): Promise<(() => Promise<void>) | undefined> {
  return new Promise((resolve, reject) => {
    const ended = locks.request(name, { ifAvailable: true }, (lock) => {
      if (!lock) {
        resolve(undefined);
        return undefined;
      }
      // The lock is held until this promise resolves.
      return new Promise<void>((end) => {
        resolve(async () => {
          end();
          await ended.catch(() => undefined);
        });
      });
    });
    // Somebody may steal the lock later; then the writes of one of the two are refused.
    ended.catch(reject);
  });
}

async function heldSince(locks: LockManager, name: string): Promise<number | undefined> {
  const { held = [] } = await locks.query();
  const times = held.flatMap((lock) => (lock.name?.startsWith(name + SINCE) ? [Number(lock.name.slice(name.length + SINCE.length))] : []));
  return times[0];
}
