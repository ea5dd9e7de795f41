// What the user asks and what the model answers: a scripted model, so that every run tells the same story.
import { TOOLS, WRITE_TOOL } from './project.mjs';

const MODEL = 'scripted-1';

export const HEADER = {
  config: { model: MODEL, maxTokens: 1024 },
  system: 'You are a coding agent.\nWork in small steps and run the tests after each change.',
  tools: TOOLS,
};

export const RESUMED_HEADER = { ...HEADER, system: `${HEADER.system}\nThe last turn was interrupted: check before you go on.` };

export const WRITER_HEADER = { ...HEADER, config: { model: MODEL, maxTokens: 2048 }, tools: [...TOOLS, WRITE_TOOL] };

export const FIX = {
  prompt: 'The tests of slug.js fail. Please fix it.',
  answers: [
    { reasoning: 'Nothing is known yet. The tests will say what is wrong.', text: 'I run the tests first.', calls: [['run_tests', {}]] },
    { text: 'Upper case stays. I read the code.', calls: [['read_file', { path: 'slug.js' }]] },
    {
      reasoning: 'toLowerCase() before the dashes is enough.',
      text: 'The title is never lowered.',
      calls: [['edit_file', { path: 'slug.js', find: 'title.trim()', replace: 'title.trim().toLowerCase()' }]],
    },
    { calls: [['run_tests', {}]] },
    { text: 'Fixed: slug() now lowers the title before it puts dashes, and all tests pass.' },
  ],
};

export const SPACES = {
  prompt: 'Several spaces give several dashes. One dash is enough.',
  answers: [
    {
      text: 'A case for it first, then the change.',
      calls: [
        ['edit_file', { path: 'cases.json', find: '"tidy"]', replace: '"tidy"],\n  ["Two  spaces", "two-spaces"]' }],
        ['edit_file', { path: 'slug.js', find: '/\\s/g', replace: '/\\s+/g' }],
      ],
    },
    { text: 'Now the tests.', calls: [['run_tests', {}]] },
    { text: 'Done: any run of spaces is one dash now.' },
  ],
};

export const GO_ON = {
  prompt: 'You were cut off. Is it done?',
  answers: [
    { reasoning: 'The edits may or may not have reached the disk.', text: 'I check with the tests.', calls: [['run_tests', {}]] },
    { text: 'Yes. Both edits were on disk before the interruption, and all 3 tests pass.' },
  ],
};

export const OTHER_WAY = {
  prompt: 'Several spaces give several dashes. How would you do it without a regular expression?',
  answers: [{ text: "title.toLowerCase().split(' ').filter(Boolean).join('-') needs none: empty pieces fall out before the join." }],
};

export const DOCUMENT = {
  prompt: 'Write a short README for it.',
  context: 'cases.json now holds 3 cases; no README.md exists.',
  answers: [
    {
      todos: [{ content: 'Write README.md', status: 'in_progress' }, { content: 'Run the tests once more', status: 'pending' }],
      text: 'I write it from what the code does now.',
      calls: [['write_file', { path: 'README.md', text: '# slug\n\n`slug(title)` makes a title fit for a URL: trimmed, in lower case, one dash for each run of spaces.\n' }]],
    },
    {
      todos: [{ content: 'Write README.md', status: 'completed' }, { content: 'Run the tests once more', status: 'in_progress' }],
      calls: [['run_tests', {}]],
    },
    {
      todos: [{ content: 'Write README.md', status: 'completed' }, { content: 'Run the tests once more', status: 'completed' }],
      text: 'README.md says in three lines what slug() does, and all 3 tests still pass.',
    },
  ],
};

export const FIX_SUMMARY =
  'The user asked to fix slug.js. The tests showed that upper case stayed; toLowerCase() was added in slug(), and all tests of cases.json passed.';
