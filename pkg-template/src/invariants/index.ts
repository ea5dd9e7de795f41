/**
 * `palimpsest/invariants`: the rules that a correct agent's log keeps, over live sessions and over logs at rest.
 *
 * A session by itself refuses what would make its log unreadable. These rules are about what an agent should not have
 * written: turns that do not count up, a result without its call, a replace that splits a pair. Attach them while you
 * develop and test; `checkLog` tells what is wrong with a log from anywhere.
 *
 * The map: `finding.ts` the rules by name and what they find; `attach.ts` live sessions; `check-log.ts` logs at rest;
 * `request.ts` the model's requests.
 */

export { attachInvariants, type InvariantOptions } from './attach.js';
export { checkLog, LogChecker } from './check-log.js';
export { type CheckOptions, type Finding, InvariantError, RULES, type RuleCode } from './finding.js';
export { checkRequest, requestDifference } from './request.js';
