// The small project that the agent works on, and the tools that it has for it.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FILES = {
  'slug.js': "export function slug(title) {\n  return title.trim().replace(/\\s/g, '-');\n}\n",
  'cases.json': '[\n  ["Hello World", "hello-world"],\n  ["  Tidy ", "tidy"]\n]\n',
};

export async function createProject(directory) {
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(directory, name), text);
}

export const TOOLS = [
  tool('read_file', 'Read a file of the project.', { path: 'string' }),
  tool('edit_file', 'Replace one piece of text in a file.', { path: 'string', find: 'string', replace: 'string' }),
  tool('run_tests', 'Run slug() on every case of cases.json.', {}),
];

export const WRITE_TOOL = tool('write_file', 'Write a whole file.', { path: 'string', text: 'string' });

function tool(name, description, parameters) {
  const properties = Object.fromEntries(Object.entries(parameters).map(([key, type]) => [key, { type }]));
  return { name, description, parameters: { type: 'object', properties, required: Object.keys(parameters) } };
}

/** What runs when the model calls a tool: a text for it, or a thrown error. */
export function toolsFor(directory) {
  const read = (path) => readFile(join(directory, path), 'utf8');
  return {
    read_file: ({ path }) => read(path),
    async edit_file({ path, find, replace }) {
      const text = await read(path);
      if (!text.includes(find)) throw new Error(`${path} does not contain ${JSON.stringify(find)}`);
      await writeFile(join(directory, path), text.replace(find, () => replace));
      return `${path} was changed`;
    },
    async write_file({ path, text }) {
      await writeFile(join(directory, path), text);
      return `${path} was written`;
    },
    async run_tests() {
      const { slug } = await import(`data:text/javascript,${encodeURIComponent(await read('slug.js'))}`);
      const cases = JSON.parse(await read('cases.json'));
      const failures = cases
        .filter(([title, wanted]) => slug(title) !== wanted)
        .map(([title, wanted]) => `slug(${JSON.stringify(title)}) is ${JSON.stringify(slug(title))}, not ${JSON.stringify(wanted)}`);
      return [`${cases.length - failures.length} of ${cases.length} tests pass`, ...failures].join('\n');
    },
  };
}
