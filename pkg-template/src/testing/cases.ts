/** All cases, by noun. */

import { damageCases } from './cases/damage.js';
import { faultCases } from './cases/faults.js';
import { followCases } from './cases/follow.js';
import { identityCases } from './cases/identity.js';
import { lockCases } from './cases/locks.js';
import { manageCases } from './cases/manage.js';
import { roundTripCases } from './cases/round-trip.js';
import { writingCases } from './cases/writing.js';
import type { ConformanceCase } from './entry.js';

/** Every case of the suite. */
export const CASES: readonly ConformanceCase[] = [
  ...roundTripCases,
  ...writingCases,
  ...damageCases,
  ...identityCases,
  ...lockCases,
  ...followCases,
  ...manageCases,
  ...faultCases,
];
