/**
 * JSON text laid out for reading. Works on the text and never parses it, so that what a log says is shown as it says it:
 * long integers, key order and escapes stay as they are, and nesting has no limit.
 */

const STEP = 2;
const DEEPEST = 24;

/** The text of a value that was parsed already. */
export function jsonOf(value: unknown): string {
  try {
    return layOut(JSON.stringify(value));
  } catch {
    return 'This is nested too deeply to be written out here; the stored event has its text.';
  }
}

export function layOut(json: string): string {
  let out = '';
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const char = json.charAt(at);
    if (char === '"') {
      const end = endOfString(json, at);
      out += json.slice(at, end);
      at = end - 1;
    } else if (char === '{' || char === '[') {
      const closer = json.charAt(at + 1);
      if (closer === '}' || closer === ']') {
        out += char + closer;
        at++;
      } else {
        out += char + newLine(++depth);
      }
    } else if (char === '}' || char === ']') {
      out += newLine(--depth) + char;
    } else if (char === ',') {
      out += char + newLine(depth);
    } else if (char === ':') {
      out += ': ';
    } else if (char !== ' ' && char !== '\t') {
      out += char;
    }
  }
  return out;
}

function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (at < json.length && json.charCodeAt(at) !== QUOTE) at += json.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

function newLine(depth: number): string {
  return `\n${' '.repeat(STEP * Math.max(0, Math.min(depth, DEEPEST)))}`;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
