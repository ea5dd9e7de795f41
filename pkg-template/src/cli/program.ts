/**
 * The commands and their options. What a command does is in the file of its name, loaded when it is called: `--help` must
 * not wait for it.
 */

import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { SecretKind } from '../redact/index.js';
import type { CheckOptions } from './check.js';
import type { ExportOptions } from './export.js';
import type { ForkOptions } from './fork.js';
import type { ImportOptions } from './import.js';
import type { LsOptions } from './ls.js';
import type { RedactCommandOptions } from './redact.js';
import type { RepairOptions } from './repair.js';
import type { SearchOptions } from './search.js';
import type { ShowOptions } from './show.js';
import type { StatsOptions } from './stats.js';
import type { TailOptions } from './tail.js';
import type { ViewOptions } from './view.js';

/** The exit code of the command that ran. */
export interface Outcome {
  exit: number;
}

const EXIT_CODES = `
Exit codes:
  0    done
  1    done, and there is something to look at: check has findings, search has no match
  2    the command line is wrong
  3    not done: a file cannot be read, written or understood
  130  interrupted before it was done; tail -f and view, which nothing else ends, exit with 0

FILE is a log of palimpsest (JSONL), damaged or not, a log of another agent, a database, a
store's directory, or - for standard input (not for view). Originals are never changed, and no file is ever
overwritten. Colours follow the terminal; NO_COLOR turns them off, FORCE_COLOR on.`;

function number(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError('It must be a whole number, 0 or more.');
  return value;
}

function positive(text: string): number {
  const value = number(text);
  if (value === 0) throw new InvalidArgumentError('It must be 1 or more.');
  return value;
}

function port(text: string): number {
  const value = number(text);
  if (value > 65535) throw new InvalidArgumentError('It must be a number from 0 to 65535.');
  return value;
}

const many = (text: string, others: string[] = []): string[] => [...others, text];
const KINDS: readonly SecretKind[] = ['private-key', 'api-key', 'jwt', 'credential', 'mail', 'home'];
function kinds(text: string, others: SecretKind[] = []): SecretKind[] {
  const kind = KINDS.find((one) => one === text);
  if (kind === undefined) throw new InvalidArgumentError(`Allowed choices are ${KINDS.join(', ')}.`);
  return [...others, kind];
}

const json = new Option('--json', 'print JSON for programs');
const session = new Option('--session <id>', 'which session, where FILE holds several');

/** The whole command line. @param outcome is given the exit code */
export function program(outcome: Outcome): Command {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
  const root = new Command('palimpsest')
    .description('Check, repair, read and move the session logs of LLM agents.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .addHelpText('after', EXIT_CODES)
    .showSuggestionAfterError()
    .enablePositionalOptions();

  const command = (usage: string, summary: string): Command => root.command(usage).summary(summary).helpOption('-h, --help', 'print help');
  const set = (exit: number): void => void (outcome.exit = exit);

  command('ls', 'list sessions')
    .argument('[root]', 'a directory or a database; the current directory when absent')
    .description('List the sessions below a directory, or in a database, oldest first. Only their headers are read, however large they are; files that cannot be read are named and hide nothing.')
    .addOption(new Option('--agent <name>', "list another agent's sessions, in its usual place when no root is given").choices(['claude', 'codex', 'pi', 'dsh']))
    .option('-n, --last <count>', 'only the newest ones', positive)
    .option('--verbose', 'say how much was read')
    .addOption(json)
    .action(async (path: string | undefined, options: LsOptions) => set(await (await import('./ls.js')).ls(path, options)));

  command('show', 'show what a session says')
    .argument('<file>')
    .description('Show what the model sees at the end of a session, or at any point of it.')
    .option('--at <seq>', 'as of this event; the last one when absent', number)
    .addOption(new Option('--as <view>', 'messages: the history; request: with system prompt, tools and config, as the model call carried it; surface: the events that are seen; events: all events').choices(['messages', 'request', 'surface', 'events']).default('messages'))
    .addOption(session)
    .addOption(json)
    .action(async (path: string, options: ShowOptions) => set(await (await import('./show.js')).show(path, options)));

  command('stats', 'count turns, tokens, tools and compactions')
    .argument('<file>')
    .description('Count turns, tokens with the share that came from a cache, tools, and compactions.')
    .addOption(session)
    .addOption(json)
    .action(async (path: string, options: StatsOptions) => set(await (await import('./stats.js')).stats(path, options)));

  command('check', 'find everything that is wrong with logs')
    .argument('<file...>', 'logs, and directories with logs')
    .description('Find everything that is wrong with logs: each finding with its code, line, byte and seq. Exits with 1 where there is an error or a warning that is shown.')
    .addOption(new Option('--level <level>', 'the least that counts').choices(['error', 'warning', 'info']).default('info'))
    .option('--all', 'list findings of which there are many')
    .addOption(json)
    .action(async (paths: string[], options: CheckOptions) => set(await (await import('./check.js')).check(paths, options)));

  command('repair', 'write a repaired copy of a damaged log')
    .argument('<file>')
    .description('Write a repaired copy of a damaged log: every record that can be read, in a log that loads. Torn tails are left out, open turns closed, and what a second writer wrote becomes a fork, in a file of its own. A repair/note in the copy says what was done. The original is never changed.')
    .requiredOption('-o, --output <new>', 'the new file, or - for standard output')
    .addOption(json)
    .action(async (path: string, options: RepairOptions) => set(await (await import('./repair.js')).repair(path, options)));

  command('fork', 'begin a new session with the events of another')
    .argument('<file>')
    .description('Begin a new session with the events of another, through the end of one of its turns.')
    .requiredOption('-o, --output <new>', "a new file, a store's directory, or - for standard output")
    .option('--at <seq>', 'seq of a turn/end; the last one when absent', number)
    .option('--id <id>', 'id of the new session; that of the other with -fork behind it when absent')
    .addOption(session)
    .addOption(json)
    .action(async (path: string, options: ForkOptions) => set(await (await import('./fork.js')).fork(path, options)));

  command('import', "turn another agent's logs into sessions")
    .argument('<source...>', 'logs of Claude Code, Codex, pi or DeepSeek Harness, or directories with them')
    .description("Turn another agent's logs into sessions, one for each branch and sub-agent.")
    .requiredOption('-o, --output <new>', "a store's directory (with a slash at its end where it is new), or a new file; branches and sub-agents get files beside it")
    .option('--no-forks', 'no sessions for branches that were left; what is in them is kept with the main one')
    .addOption(json)
    .action(async (paths: string[], options: ImportOptions) => set(await (await import('./import.js')).importLogs(paths, options)));

  command('export', 'write a session in another form')
    .argument('<file>')
    .description('Write a session as a page, as messages for a provider, or as a log of palimpsest.')
    .addOption(new Option('--as <form>', 'markdown, html (one page that needs nothing else), messages (neutral JSON), openai and anthropic (request bodies), jsonl').choices(['markdown', 'html', 'messages', 'openai', 'anthropic', 'jsonl']).default('markdown'))
    .option('-o, --output <new>', 'a new file; standard output when absent', '-')
    .option('--at <seq>', 'as of this event; the last one when absent', number)
    .addOption(new Option('--what <what>', 'of a page: log, all that was said, or surface, what the model sees').choices(['log', 'surface']).default('log'))
    .option('--max-result <chars>', 'of a page: longest tool result', number)
    .option('--no-reasoning', 'of a page: leave out what the model thought')
    .option('--no-tools', 'of a page: leave out tool calls and results')
    .option('--model <name>', "the model to name in a request body; the log's own when absent")
    .addOption(session)
    .action(async (path: string, options: ExportOptions) => set(await (await import('./export.js')).exportSession(path, options)));

  command('redact', 'write a copy without keys, mail addresses and home paths')
    .argument('<file>')
    .description('Write a copy without keys, tokens, passwords, mail addresses and the names in home paths. The same secret has the same placeholder everywhere. Signatures and sealed content are left alone. Shapes are guesses: look at the copy before you publish it.')
    .option('-o, --output <new>', "a new file, a store's directory, or - for standard output")
    .option('--dry-run', 'only list what would be taken out')
    .option('--kind <kind>', `look only for this: ${KINDS.join(', ')} (repeatable)`, kinds)
    .option('--pattern <regexp>', 'also take out what matches (repeatable)', many)
    .option('--word <text>', 'also take out this text, such as a name (repeatable)', many)
    .addOption(session)
    .addOption(json)
    .action(async (path: string, options: RedactCommandOptions) => set(await (await import('./redact.js')).redact(path, options)));

  command('search', 'search the texts of logs')
    .argument('<pattern>', 'a regular expression')
    .argument('[root...]', 'logs, and directories with logs; the current directory when absent')
    .description('Search the texts of logs, damaged ones and those of other agents too. Pieces of a streamed answer are left out, since the whole answer follows them; --type assistant/chunk searches them.')
    .option('-i, --ignore-case', 'whatever the case')
    .option('-F, --fixed', 'the pattern is a text, not a regular expression')
    .option('--type <type>', 'only events of this type, such as user/message (repeatable)', many)
    .option('-m, --max <count>', 'stop after so many matches', positive)
    .addOption(json)
    .action(async (pattern: string, roots: string[], options: SearchOptions) => set(await (await import('./search.js')).search(pattern, roots.length === 0 ? ['.'] : roots, options)));

  command('tail', 'show the last events of a log')
    .argument('<file>')
    .description('Show the last events of a log, and with -f each new one as it is written. Nothing is locked.')
    .option('-f, --follow', 'go on as the log grows')
    .option('-n, --lines <count>', 'how many events to begin with', number, 10)
    .addOption(new Option('--json', 'print the records, one a line'))
    .action(async (path: string, options: TailOptions) => set(await (await import('./tail.js')).tail(path, options)));

  command('view', 'open a log in the viewer')
    .argument('[file]')
    .description('Serve the viewer to this machine alone, with a log in it. The page reads the log in the browser and sends it nowhere.')
    .option('--port <port>', 'where to serve it, or the next free one; 0 for any', port, 4174)
    .addOption(new Option('--json', 'print the address as JSON'))
    .action(async (path: string | undefined, options: ViewOptions) => set(await (await import('./view.js')).view(path, options)));

  return root;
}
