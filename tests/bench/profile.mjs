// node tests/bench/profile.mjs FILE.cpuprofile [COUNT]: where the time of a profile went, by function and by origin.
//
// Make one with: node tests/bench/run.mjs --rows append-chunk --only ours --cpu-prof DIRECTORY
import { readFileSync } from 'node:fs';
import process from 'node:process';

const [file, count = '25'] = process.argv.slice(2);
const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(file, 'utf8'));
const byId = new Map(nodes.map((node) => [node.id, node]));

const origin = (url) =>
  url.startsWith('wasm:') ? 'wasm' : /\/pkg\/dist\//.test(url) ? 'ours, JS' : /\/tests\/bench\/node_modules\//.test(url) ? 'peers' : /\/tests\/bench\//.test(url) ? 'bench' : 'engine';

const functions = new Map();
const origins = new Map();
let total = 0;
samples.forEach((id, i) => {
  const { functionName, url, lineNumber } = byId.get(id).callFrame;
  if (functionName === '(idle)' || functionName === '(program)') return;
  const time = timeDeltas[i] / 1000;
  const from = functionName === '(garbage collector)' ? 'collector' : origin(url);
  const key = `${functionName || '(anonymous)'}  ${url.split('/').slice(-2).join('/')}${from === 'wasm' ? '' : `:${lineNumber + 1}`}`;
  functions.set(key, (functions.get(key) ?? 0) + time);
  origins.set(from, (origins.get(from) ?? 0) + time);
  total += time;
});

const list = (map) => [...map].sort(([, a], [, b]) => b - a);
const line = ([key, time]) => `${((100 * time) / total).toFixed(1).padStart(5)}%  ${time.toFixed(0).padStart(7)} ms  ${key}`;
console.log(list(origins).map(line).join('\n'));
console.log(`\n${list(functions).slice(0, Number(count)).map(line).join('\n')}`);
