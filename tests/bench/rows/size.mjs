import { readFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { figures, measure, timedEach } from '../measure.mjs';

const wasm = () => readFileSync(new URL(import.meta.resolve('palimpsest/palimpsest.wasm')));

const size = (name, work, goal, bytesOf) => ({
  name, work, goal,
  atMost: true,
  unit: 'KB',
  run: () => ({ ours: bytesOf(wasm()) / 1000 }),
});

/** Stand-ins for the glue's functions: none of them runs while an instance is made. */
function imports(module) {
  const found = {};
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    if (kind === 'function') (found[from] ??= {})[name] = () => {};
  }
  return found;
}

export default [
  size('wasm-raw', 'wasm', null, (bytes) => bytes.length),
  size('wasm-gzip', 'wasm, gzip -9', 45, (bytes) => gzipSync(bytes, { level: 9 }).length),
  size('wasm-brotli', 'wasm, brotli -11', null, (bytes) =>
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }).length),
  {
    name: 'wasm-start', work: 'compile and instantiate the wasm', goal: 2, atMost: true, unit: 'ms',
    async run({ short }) {
      const bytes = wasm();
      const start = () => {
        const module = new WebAssembly.Module(bytes);
        return Object.keys(new WebAssembly.Instance(module, imports(module)).exports).length;
      };
      const run = () => timedEach(1, (call) => call(start));
      return figures(await measure({ ours: run }, { rounds: short ? 9 : 25, warmup: 1 }));
    },
  },
];
