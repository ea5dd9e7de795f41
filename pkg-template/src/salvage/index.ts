/**
 * `palimpsest/salvage`: what can be read of a damaged log.
 *
 * A load refuses a log that is damaged anywhere but at its torn end, so that nobody works on with half a history
 * unknowingly. This reads on: {@link salvage} gives every record that can be read, in sessions that load, says what is
 * wrong with the file, line by line, and names the bytes that are lost. {@link repaired} gives the bytes of repaired logs.
 * Neither changes anything on disk. {@link inspect} finds the same in a log that loads, without holding it.
 *
 * The map: `salvage.ts` the reading, line by line; `chunks.ts`, `lines.ts`, `record.ts`, `recover.ts` bytes and texts;
 * `entry.ts` a record without a place, `waiting.ts` whether it is its turn, `order.ts` the order of records that the file
 * has lost; `writers.ts` whose record it is, `branch.ts` one writer's sequence; `ledger.ts`, `finding.ts`, `findings.ts`
 * what is found; `salvaged.ts`, `repaired.ts` what comes of it; `inspect.ts` the way for a log that loads.
 */

export type { SalvageSource } from './chunks.js';
export { salvage, type SalvageOptions } from './salvage.js';
export type { Salvaged } from './salvaged.js';
export { inspect } from './inspect.js';
export { FAULTS, type FaultCode, type KeptText, type LostRange, type SalvageFinding } from './finding.js';
export { repaired, type RepairAction, type RepairedLog } from './repaired.js';
