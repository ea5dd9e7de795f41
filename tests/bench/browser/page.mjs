// The rows that run in a page. Those of single microseconds do not: a page's clock is too coarse for them.
import { init } from 'palimpsest';
import append from '../rows/append.mjs';
import fork from '../rows/fork.mjs';
import open from '../rows/open.mjs';
import replace from '../rows/replace.mjs';

const rows = [...append, ...open.filter(({ full }) => !full), ...replace, ...fork];

globalThis.bench = {
  names: () => rows.map(({ name }) => name),
  /** Starts the core, runs one row and returns its figures. */
  async run(name, options) {
    await init(fetch('palimpsest.wasm'));
    const { run, goal = null, ...row } = rows.find((candidate) => candidate.name === name);
    return [{ ...row, goal, ratio: null, ...(await run(options)) }];
  },
};
