// All rows, in the order of the table. A row is { name, work, unit, goal?, atMost?, full?, newer?, run(options) }: the
// goal is a ratio to the peer, or with `atMost` a limit in the row's unit; `newer` asks for the newer Node of the tests.
// `run` gives figures, or a list of rows of its own.
import append from './append.mjs';
import derive from './derive.mjs';
import fork from './fork.mjs';
import memory from './memory.mjs';
import open from './open.mjs';
import replace from './replace.mjs';
import size from './size.mjs';
import store from './store.mjs';

export default [...append, ...open, ...memory, ...derive, ...fork, ...replace, ...store, ...size];
