#!/usr/bin/env node
/** The command `palimpsest`. Nothing of the library loads this directory. */

import process from 'node:process';
import { CommanderError } from 'commander';
import '../entry/start-node.js';
import { Exit, report } from './host.js';
import { program } from './program.js';

// Whoever reads the output may stop reading: `palimpsest show FILE | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(Exit.ok);
  process.exit(report(error));
});

const outcome = { exit: Exit.ok as number };
const root = program(outcome);
for (const command of [root, ...root.commands]) {
  command.exitOverride();
  command.configureOutput({ outputError: (text, write) => write(`${text.trimEnd()}\nhint: \`palimpsest ${command === root ? '' : `${command.name()} `}--help\` lists what there is\n`) });
}
try {
  await root.parseAsync();
  process.exitCode = outcome.exit;
} catch (error) {
  // Help and version end this way too.
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? Exit.ok : Exit.usage;
  else process.exitCode = report(error);
}
