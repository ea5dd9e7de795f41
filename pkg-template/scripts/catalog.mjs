#!/usr/bin/env node
// Writes the catalog of events: every event of the log with its payload, every signal of the store, from the declarations.
//
//   palimpsest-catalog [--project tsconfig.json] [--out FILE] [--check]
//
// A program that merges events of its own into `SessionEventMap` runs it on its own project. Without --out the catalog
// goes to the standard output; with --check nothing is written, and the exit code is 1 when FILE is not fresh.
// TypeScript is taken from the project.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, relative, resolve, sep } from 'node:path';
import process from 'node:process';

const MAPS = [
  ['ContentBlockMap', 'type', 'Content blocks', 'Pieces of a message, by `type`.'],
  ['StreamChunkMap', 'type', 'Stream chunks', 'Pieces of a streamed answer, by `type`.'],
  ['MessageSourceMap', 'kind', 'Message sources', 'Who a message comes from, by `kind`.'],
  ['TurnTriggerMap', 'kind', 'Turn triggers', 'What starts a turn, by `kind`.'],
  ['TurnEndReasonMap', 'kind', 'Ends of turns', 'Why a turn ends, by `kind`.'],
  ['FinishReasonMap', 'kind', 'Finish reasons', 'Why a model stops, by `kind`.'],
];

function main() {
  const { project, out, check } = parse(process.argv.slice(2));
  const text = catalog(project);
  if (out === undefined) return void process.stdout.write(text);
  const file = resolve(out);
  const fresh = existsSync(file) && readFileSync(file, 'utf8') === text;
  if (check && !fresh) {
    console.error(`${out} is not what the declarations say. Run this again without --check.`);
    process.exitCode = 1;
  } else if (!check && !fresh) {
    writeFileSync(file, text);
    console.log(`wrote ${out}`);
  }
}

function parse(argv) {
  const options = { project: 'tsconfig.json', out: undefined, check: false };
  for (let at = 0; at < argv.length; at++) {
    if (argv[at] === '--check') options.check = true;
    else if (argv[at] === '--project' && argv[at + 1]) options.project = argv[++at];
    else if (argv[at] === '--out' && argv[at + 1]) options.out = argv[++at];
    else fail(`Cannot understand ${argv[at]}: palimpsest-catalog [--project tsconfig.json] [--out FILE] [--check]`);
  }
  if (options.check && options.out === undefined) fail('--check needs --out');
  return options;
}

function fail(message) {
  console.error(message);
  process.exit(2);
}

/** The catalog of a project, as Markdown. */
function catalog(project) {
  const config = resolve(project);
  const ts = createRequire(config)('typescript');
  const parsed = ts.getParsedCommandLineOfConfigFile(config, { noEmit: true }, { ...ts.sys, onUnRecoverableConfigFileDiagnostic: ({ messageText }) => fail(ts.flattenDiagnosticMessageText(messageText, '\n')) });
  const program = ts.createProgram(parsed.fileNames, parsed.options);
  const checker = program.getTypeChecker();
  const modules = program.getSourceFiles().flatMap((file) => checker.getSymbolAtLocation(file) ?? []);

  /** The file that declares a name first; augmentations add to the same symbol. */
  const declared = (name, kind) => {
    for (const module of modules) {
      const declaration = module.exports?.get(name)?.declarations?.find(kind);
      // Asked for by its place, the symbol is the one that all augmentations are merged into.
      if (declaration) return { symbol: checker.getSymbolAtLocation(declaration.name), home: declaration.getSourceFile() };
    }
    return fail(`${project}: no file of the project knows ${name}; import 'palimpsest' somewhere in it`);
  };
  const vocabulary = declared('SessionEventMap', ts.isInterfaceDeclaration);
  const surface = declared('SurfaceEventType', ts.isTypeAliasDeclaration);
  const surfaceTypes = new Set(checker.getDeclaredTypeOfSymbol(surface.symbol).types.map(({ value }) => value));

  const members = (name) => {
    const { symbol, home } = name === 'SessionEventMap' ? vocabulary : declared(name, ts.isInterfaceDeclaration);
    return checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)).map((property) => describe(property, home));
  };
  const describe = (property, home) => {
    const [declaration] = property.declarations;
    const file = declaration.getSourceFile();
    const since = property.getJsDocTags(checker).find((tag) => tag.name === 'since');
    return {
      name: property.name,
      node: declaration.type,
      prose: oneLine(ts.displayPartsToString(property.getDocumentationComment(checker)).replace(/^(Surface|Log-only)\. /, '')),
      payload: payloadOf(declaration.type),
      since: since ? oneLine(ts.displayPartsToString(since.text)) : undefined,
      own: file === home ? undefined : relative(dirname(config), file.fileName).split(sep).join('/'),
    };
  };
  /** The type as it is written, without comments and `readonly`, which goes without saying in a log. */
  const payloadOf = (node) => {
    const printer = ts.createPrinter({ removeComments: true });
    const text = printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile());
    return oneLine(text).replace(/\breadonly /g, '').replace(/; \}/g, ' }').replace(/^object$/, '{}');
  };

  const events = members('SessionEventMap');
  const lines = [
    '# Catalog of events',
    '',
    'Written by `palimpsest-catalog` from the TypeScript declarations; do not edit.',
    '',
    '## Events of the log',
    '',
    'Each is stored as `{ type, seq, time, data, sourceEventSeqs?, surfaceOp? }`. **Surface** events yield a message that the model sees, and are appended with an intent; **log-only** events are stored and replayed, nothing more. *Since* is the format version of the log that first had the event.',
    '',
    '| event | | since | |',
    '| --- | --- | --- | --- |',
    ...events.map((event) => `| [\`${event.name}\`](#${anchor(event.name)}) | ${badge(event, surfaceTypes)} | ${sinceOf(event)} | ${cell(event.prose)} |`),
    '',
    ...events.flatMap((event) => [`### ${event.name}`, '', [`**${badge(event, surfaceTypes)}**`, `since ${sinceOf(event)}`, ...(event.own ? [`declared in \`${event.own}\``] : [])].join(' · '), '', ...(event.prose ? [event.prose, ''] : []), '```ts', event.payload, '```', '']),
    ...MAPS.flatMap(([name, tag, title, prose]) => table(title, `${prose} Open for merging: \`${name}\`.`, tag, members(name))),
    ...feed(ts, members('SessionFeed')),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

/** A name without @since is as old as the format: 0 for the package's own, and unsaid for others. */
function sinceOf({ since, own }) {
  return since ?? (own ? '–' : 'format 0');
}

function badge({ name }, surfaceTypes) {
  return surfaceTypes.has(name) ? 'surface' : 'log-only';
}

function table(title, prose, tag, rows) {
  return [`## ${title}`, '', prose, '', `| \`${tag}\` | fields | |`, '| --- | --- | --- |', ...rows.map((row) => `| \`${row.name}\` | \`${cell(row.payload)}\` | ${cell(row.prose)}${row.own ? ` (declared in \`${row.own}\`)` : ''} |`), ''];
}

function feed(ts, signals) {
  const mode = ({ node }) => (node.type.getText().includes('PromiseLike') ? 'awaited: all listeners settle, then failures reject' : 'synchronous');
  return [
    '## Signals of the store',
    '',
    'Listen with `store.on(name, listener)`. A signal goes first to the scope that the session was entered in, then to the store; a scope hears only its own sessions.',
    '',
    ...signals.flatMap((signal) => [`### ${signal.name}`, '', `**${mode(signal)}** · scope of the session, then the store`, '', signal.prose, '', '```ts', signal.payload, '```', '']),
  ];
}

function anchor(name) {
  return name.replace(/[^\w-]/g, '').toLowerCase();
}

function oneLine(text) {
  return text.replace(/\s+/g, ' ').trim();
}

function cell(text) {
  return text.replace(/\|/g, '\\|');
}

main();
