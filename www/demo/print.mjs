// What the terminal shows. Text from a log is hostile input here too: control characters move cursors and retitle windows.
import process from 'node:process';

const coloured = Boolean(process.stdout.isTTY) && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
const style = (open, close) => (text) => (coloured ? `\x1b[${open}m${text}\x1b[${close}m` : text);
export const bold = style(1, 22);
export const dim = style(2, 22);
const ROLE_STYLES = { user: style(36, 39), assistant: style(32, 39), tool: style(33, 39) };
const red = style(31, 39);

const WIDTH = Math.min(Math.max(process.stdout.columns || 100, 60), 100);
const LABEL = 11;

export function heading(text) {
  console.log(`\n${bold(text)}`);
}

/** Prose, wrapped. */
export function say(text) {
  for (const line of wrapped(text, WIDTH - 2)) console.log(`  ${line}`);
}

/** A fact with its name. */
export function fact(name, text) {
  const [first, ...more] = wrapped(text, WIDTH - LABEL - 3);
  console.log(`  ${dim(name.padEnd(LABEL))} ${first ?? ''}`);
  for (const line of more) console.log(`  ${' '.repeat(LABEL)} ${line}`);
}

export function problem(text) {
  for (const line of wrapped(text, WIDTH - 2)) console.log(`  ${red(line)}`);
}

/** One line for an event that the model sees: its seq, who speaks, the beginning of what is said. */
export function spoken(event) {
  const who = { 'tool/result': 'tool', 'assistant/message': 'assistant' }[event.type] ?? 'user';
  const mark = event.data.isError ? 'failed: ' : event.surfaceOp === 'append' ? '' : 'replaces: ';
  console.log(entry(String(event.seq), who, mark + blocksText(event.data.content)));
}

/** One line for a derived message. */
export function message({ role, content }, position) {
  const isResult = content[0]?.type === 'tool-result';
  console.log(entry(`[${position}]`, isResult ? 'tool' : role, blocksText(content)));
}

function entry(mark, who, text) {
  const paint = ROLE_STYLES[who] ?? dim;
  return `  ${dim(mark.padStart(5))}  ${paint(who.padEnd(9))}  ${short(text, WIDTH - 20)}`;
}

function blocksText(content) {
  return content.map(blockText).filter(Boolean).join('  ');
}

function blockText(block) {
  switch (block?.type) {
    case 'text': return String(block.text);
    case 'reasoning': return '';
    case 'tool-call': return `→ ${block.name} ${block.arguments}`;
    case 'tool-result': return (block.isError ? 'failed: ' : '') + (Array.isArray(block.content) ? blocksText(block.content) : '');
    default: return `(${block?.type})`;
  }
}

/** At most `length` characters on one line. */
export function short(text, length) {
  // Cut first: a text of many megabytes is not worth cleaning.
  const line = visible(text.slice(0, length * 4).replace(/\s+/g, ' ').trim());
  return line.length > length || text.length > length * 4 ? `${line.slice(0, length - 1).trimEnd()}…` : line;
}

/** The text with every control and direction character written out. */
export function visible(text) {
  return text.replace(/[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

export function count(number, noun) {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;
}

function wrapped(text, width) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line && line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines;
}
