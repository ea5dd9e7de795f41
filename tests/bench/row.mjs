// Runs one row in a process of its own, so that no row inherits another's heap and optimised code. Started by run.mjs.
import process from 'node:process';
import { kept } from './measure.mjs';
import rows from './rows/index.mjs';

const { name, ...options } = JSON.parse(process.argv[2]);
const { run, goal = null, ...row } = rows.find((candidate) => candidate.name === name);
const found = (await run(options)) ?? [];
const results = (Array.isArray(found) ? found : [found]).map((figures) => ({ ...row, goal, ratio: null, ...figures }));
process.send({ results, kept: kept() }, () => process.disconnect());
