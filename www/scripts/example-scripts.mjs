// What is asked, answered and found in the example sessions.

const tool = (name, description, properties) => ({ name, description, parameters: { type: 'object', properties, required: Object.keys(properties) } });
const string = { type: 'string' };
const TOOLS = [
  tool('read_file', 'Reads a file of the project.', { path: string }),
  tool('edit_file', 'Replaces a text that stands once in a file.', { path: string, old_string: string, new_string: string }),
  tool('run_tests', 'Runs the tests.', {}),
];
const GREP = tool('grep', 'Finds lines by a regular expression.', { pattern: string });
const WRITE = tool('write_file', 'Writes a whole file.', { path: string, content: string });
const read = (path, output, took = 40) => ({ name: 'read_file', input: { path }, output, took });
const edit = (path, old_string, new_string, took = 55) => ({ name: 'edit_file', input: { path, old_string, new_string }, output: `${path}: 1 place changed`, took });
const tests = (output, took = 3_400, failed = false) => ({ name: 'run_tests', input: {}, output, took, failed });

// 16 × 16, drawn for this example: a rising line.
const CHART = 'iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAANklEQVR42mP8z8Dwn4EEwMRAIhjVMKphVMOohlENoxpGNYxqGNUwqmFUw6iGUQ2jGkY1QAAAtQQCH2Y1nYoAAAAASUVORK5CYII=';

const INVOICE = `export function total(lines, rate) {
  let sum = 0;
  for (const { price, quantity } of lines) {
    sum += Math.round(price * quantity * 100) / 100;
  }
  return Math.round(sum * (1 + rate) * 100) / 100;
}
`;

export const CODING = {
  header: {
    config: { model: 'swift-2', maxTokens: 4096, contextWindow: 128_000 },
    system: 'You are a coding agent in a small repository.\nRead before you change. Run the tests after each change.\nSay in the end what you did, in a few words.',
    tools: TOOLS,
  },
  turns: [
    {
      prompt: ['Invoice 2026-117 is off by one cent: we print **€ 1,204.46**, the customer’s system says € 1,204.47. Can you find out why?\n\n```json\n{ "lines": [[19.99, 3], [0.335, 100], [1109.5, 1]], "rate": 0 }\n```'],
      context: 'The working tree is clean. 2 files: src/total.js, test/total.test.js. Branch main.',
      steps: [
        { think: 'The sum of rounded lines differs from the rounded sum. I should see how total() rounds.', say: 'I read how the total is made first.', tools: [read('src/total.js', INVOICE), read('test/total.test.js', "test('adds lines', () => {\n  assert.equal(total([{ price: 2, quantity: 3 }], 0), 6);\n});\n")] },
        {
          todos: [{ content: 'A test with the invoice of the customer', status: 'in_progress' }, { content: 'Round once, in cents', status: 'pending' }],
          say: 'Each line is rounded **and** the sum is rounded again. `0.335 * 100` is 33.5 only on paper:\n\n| line | exact | in binary |\n| --- | --- | --- |\n| 0.335 × 100 | 33.50 | 33.5 |\n| 19.99 × 3 | 59.97 | 59.96999999999999 |\n\nA test that fails comes first.',
          tools: [edit('test/total.test.js', "test('adds lines'", "test('invoice 2026-117', () => {\n  const lines = [{ price: 19.99, quantity: 3 }, { price: 0.335, quantity: 100 }, { price: 1109.5, quantity: 1 }];\n  assert.equal(total(lines, 0), 1202.97);\n});\n\ntest('adds lines'")],
        },
        { tools: [tests('not ok 1 - invoice 2026-117\n  expected 1202.97, got 1202.96\nok 2 - adds lines\n# 1 of 2 failed', 3_700, true)] },
        {
          think: 'Work in tenths of a cent as integers, round half up at the end.',
          say: 'It fails as it should. Now the change: whole cents, rounded once.',
          tools: [edit('src/total.js', '    sum += Math.round(price * quantity * 100) / 100;\n  }\n  return Math.round(sum * (1 + rate) * 100) / 100;', '    sum += cents(price, quantity);\n  }\n  return Math.round(sum * (1 + rate)) / 100;'), edit('src/total.js', 'export function total', 'const cents = (price, quantity) => Math.round(Number((price * quantity * 100).toFixed(6)));\n\nexport function total')],
        },
        { tools: [tests('ok 1 - invoice 2026-117\nok 2 - adds lines\n# all 2 passed', 3_300)] },
        { say: 'Fixed. `total()` rounded every line and then the sum, on binary fractions; it now counts in whole cents and rounds **once**.\n\n- `test/total.test.js` has the customer’s invoice as a case\n- both tests pass' },
      ],
    },
    {
      prompt: ['Thanks. Draw me how far off the old way was, over the invoices of this year?'],
      steering: { before: 1, words: 'Only those of March, please.' },
      steps: [
        { say: 'I look for the invoices.', tools: [{ name: 'read_file', input: { path: 'data/2026.csv' }, output: 'ENOENT: data/2026.csv: there is no such file', took: 12, failed: true }] },
        { think: 'The data is elsewhere; the test data directory has a chart tool.', tools: [{ name: 'read_file', input: { path: 'data/march.png' }, output: 'data/march.png, 16 × 16', took: 90, image: CHART }] },
        { say: 'There is no table of invoices in this repository, so I cannot compute it. `data/march.png` holds a chart somebody drew before: the error grows with the number of lines.\n\nIf you give me the invoices as CSV, I draw it exactly.' },
      ],
    },
    {
      prompt: ['Not needed then. Write the finding into CHANGES.md.'],
      header: {
        config: { model: 'swift-2', maxTokens: 4096, contextWindow: 128_000 },
        system: 'You are a coding agent in a small repository.\nRead before you change. Run the tests after each change.\nSay in the end what you did, in a few words.',
        tools: [...TOOLS, WRITE],
      },
      steps: [
        { tools: [{ name: 'write_file', input: { path: 'CHANGES.md', content: '# Changes\n\n## Unreleased\n\n- Totals are rounded once, in whole cents. Invoices with fractions of a cent in their prices were off by a cent.\n' }, output: 'CHANGES.md: written, 5 lines', took: 48 }] },
        { tools: [tests('ok 1 - invoice 2026-117\nok 2 - adds lines\n# all 2 passed', 3_100)] },
        { say: '`CHANGES.md` has one entry that says what was wrong and for whom.' },
      ],
    },
  ],
};

const FILES = ['index', 'query', 'rank', 'snippet', 'stem', 'store', 'tokens', 'trie'];
const listing = (seed) => FILES.map((name, at) => `src/${name}.js  ${300 + ((seed * 97 + at * 53) % 900)} bytes  ${2 + ((seed + at * 7) % 40)} functions`).join('\n');
const source = (name, seed) => Array.from({ length: 34 }, (_, at) => `export function ${name}${at}(input) { return step${(seed * 31 + at * 17) % 9}(input, ${(seed * 13 + at * 7) % 100}); }`).join('\n');
const bench = (ms) => FILES.map((name, at) => `${name.padEnd(8)} ${(ms * (0.4 + ((at * 37) % 100) / 90)).toFixed(1)} ms`).join('\n');
const grep = (pattern, output, took = 30) => ({ name: 'grep', input: { pattern }, output, took });

const SYSTEM = 'You are a coding agent. The search of this project shall become ten times faster without a change in its results.\nMeasure before and after every change.';
const header = (more = {}) => ({ config: { model: 'swift-2', maxTokens: 8192, contextWindow: 4_000 }, system: SYSTEM, tools: [...TOOLS, GREP], ...more });

export const SUMMARIES = {
  first: 'The user wants the search ten times faster with the same results.\nMeasured: a query takes 412 ms, 61 % of it in rank.js and 22 % in tokens.js.\nDone: tokens are cut once and kept (tokens.js), 412 → 318 ms. All 148 tests pass.\nOpen: rank.js sorts all matches although 20 are shown.',
  second: 'The user wants the search ten times faster with the same results; stemming must stay as it is.\nStart: 412 ms a query. Tokens kept (318 ms), a heap of 20 instead of a sort in rank.js (141 ms), a trie for prefixes in trie.js (96 ms).\nA crash interrupted the edit of store.js; it was checked and done again.\nAll 148 tests pass. Open: snippets are made for all matches.',
};

export const LONG = {
  header: header(),
  turns: [
    { prompt: ['The search is slow: about 400 ms a query on our data. Please make it ten times faster, results unchanged.'], context: listing(1), steps: [
      { think: 'Measure first.', say: 'I measure before anything else.', tools: [tests(`# 148 passed\n${bench(41)}\ntotal 412.3 ms`, 6_200)] },
      { say: 'Most of the time goes into `rank.js` and `tokens.js`. I read both.', tools: [read('src/rank.js', source('rank', 3), 35), read('src/tokens.js', source('tokens', 5), 33)] },
      { say: 'Two thirds of a query are spent on ordering matches that nobody sees, and each query cuts the same texts into tokens again.\n\n1. keep tokens\n2. a heap of 20 in place of a sort\n3. a trie for prefixes' },
    ] },
    { prompt: ['Start with 1.'], steps: [
      { tools: [edit('src/tokens.js', 'export function tokens0(input) {', 'const kept = new Map();\n\nexport function tokens0(input) {\n  if (kept.has(input)) return kept.get(input);')] },
      { tools: [tests(`not ok 31 - tokens of an empty text\nnot ok 32 - tokens of a changed text\n# 146 of 148 passed`, 6_900, true)] },
      { think: 'A changed document keeps its id; the key must be the text, not the id.', say: 'The key must be the text itself.', tools: [edit('src/tokens.js', 'kept.has(input)', 'kept.has(input.text)'), tests(`# 148 passed\n${bench(32)}\ntotal 318.0 ms`, 6_100)] },
      { say: 'Tokens are kept now: **412 → 318 ms**, all 148 tests pass.' },
    ] },
    { prompt: ['Good. Where is the sort?'], steps: [
      { tools: [grep('sort\\(', 'src/rank.js:12:  return matches.sort(byScore).slice(0, 20);\nsrc/store.js:40:  keys.sort();')] },
      { tools: [read('src/store.js', source('store', 8), 30)] },
      { say: 'In `src/rank.js`, line 12: it sorts **all** matches and keeps 20.' },
    ] },
    { prompt: ['Then 2, please. And do not touch the stemming.'], compact: { summary: 'first', keep: 3 }, steps: [
      { think: 'A bounded heap keeps the order of equal scores only if ties are broken by position.', tools: [edit('src/rank.js', 'return matches.sort(byScore).slice(0, 20);', 'const heap = new Heap(20, byScore);\n  for (const match of matches) heap.offer(match);\n  return heap.drain();')] },
      { tools: [tests(`# 148 passed\n${bench(14)}\ntotal 141.2 ms`, 5_200)] },
      { say: 'A heap of 20 in place of the sort: **318 → 141 ms**. Equal scores keep their order.' },
    ] },
    { prompt: ['And 3?'], header: header({ system: `${SYSTEM}\nThe stemming must stay as it is.` }), steps: [
      { say: 'The prefixes.', tools: [read('src/trie.js', source('trie', 11), 31), grep('startsWith', 'src/query.js:7:  return words.filter((word) => word.startsWith(prefix));')] },
      { tools: [edit('src/query.js', 'return words.filter((word) => word.startsWith(prefix));', 'return trie.under(prefix);'), tests(`# 148 passed\n${bench(9.6)}\ntotal 96.4 ms`, 4_800)] },
      { say: '**141 → 96 ms** with a trie.' },
    ] },
    { prompt: ['What about the store? It reads its keys again and again.'], prune: { olderThan: 1, keep: 2, maxChars: 300 }, steps: [
      { say: 'I look at who asks it.', tools: [grep('store\\.', FILES.map((name, at) => `src/${name}.js:${at * 9 + 4}: store.get(key)`).join('\n'))] },
      { tools: [edit('src/store.js', 'keys.sort();', 'keys ??= [...this.read()].sort();', 70)] },
    ], crash: true },
    { prompt: ['You were cut off. Is the store whole?'], steps: [
      { think: 'The edit may or may not have reached the disk.', say: 'I check before I go on.', tools: [read('src/store.js', source('store', 9), 34)] },
      { tools: [edit('src/store.js', 'keys.sort();', 'keys ??= [...this.read()].sort();'), tests(`# 148 passed\n${bench(7.1)}\ntotal 71.9 ms`, 4_100)] },
      { say: 'The edit had not been written. It is now, and all tests pass: **72 ms**.' },
    ] },
    { prompt: ['Almost there. The rest?'], compact: { summary: 'second', keep: 1 }, header: header({ system: `${SYSTEM}\nThe stemming must stay as it is.`, tools: [...TOOLS, GREP, WRITE] }), steps: [
      { tools: [read('src/snippet.js', source('snippet', 14), 30)] },
      { say: 'Snippets are made for all matches, and 20 are shown.', tools: [edit('src/snippet.js', 'matches.map(snippet)', 'matches.slice(0, 20).map(snippet)'), tests(`# 148 passed\n${bench(3.9)}\ntotal 38.8 ms`, 3_700)] },
      { say: 'Done: **412 → 38.8 ms**, more than ten times. All 148 tests pass, and the stemming was not touched.' },
    ] },
  ],
};

export const LONG_FIRST_FORK = {
  header: header(),
  turns: [
    { prompt: ['Before the trie: would an index of all prefixes be simpler?'], steps: [
      { think: 'Memory: a prefix index of 200,000 words holds about 1.6 million entries.', say: 'I count what it would hold.', tools: [grep('words\\.length', 'src/query.js:3: // words.length is 204113 on our data')] },
      { say: 'Simpler, yes: one `Map` from prefix to words. But it would hold about **1.6 million** lists, some 210 MB. The trie needs 19 MB for the same answers.' },
    ] },
    { prompt: ['Then the trie it is.'], steps: [{ say: 'I go on with the trie.' }] },
  ],
};

export const LONG_SECOND_FORK = {
  header: header({ system: `${SYSTEM}\nThe stemming must stay as it is.` }),
  turns: [
    { prompt: ['Stop here. Review what was changed instead.'], steps: [
      { tools: [grep('kept|Heap|trie\\.under|\\?\\?=', 'src/tokens.js:1: const kept = new Map();\nsrc/rank.js:12: const heap = new Heap(20, byScore);\nsrc/query.js:7: return trie.under(prefix);\nsrc/store.js:40: keys ??= [...this.read()].sort();')] },
      { say: 'Four changes, each measured:\n\n1. `tokens.js` keeps tokens — it never forgets any: **a leak** when texts change often\n2. `rank.js` heap\n3. `query.js` trie\n4. `store.js` keys once — stale when a key is added\n\nI would bound 1 and invalidate 4.' },
    ], end: { kind: 'aborted', reason: 'the user closed the window' } },
  ],
};
