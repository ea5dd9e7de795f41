// All rows, in the order of the table. A row is { name, work, unit, goal?, full?, run(options) }.
import append from './append.mjs';
import derive from './derive.mjs';
import fork from './fork.mjs';
import memory from './memory.mjs';
import open from './open.mjs';
import replace from './replace.mjs';
import size from './size.mjs';

export default [...append, ...open, ...memory, ...derive, ...fork, ...replace, ...size];
