/** What a tool call did to a file, as far as its arguments tell: agents name these things in a few ways. */

import { field } from './describe.js';

/** A change of one file. */
export interface Edit {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

const PATHS = ['path', 'file_path', 'filePath', 'file', 'filename'];
const OLD = ['old_string', 'old_str', 'oldText', 'old_text', 'oldString', 'find', 'search'];
const NEW = ['new_string', 'new_str', 'newText', 'new_text', 'newString', 'replace', 'replacement'];
const WHOLE = ['content', 'contents', 'text', 'file_text', 'newContent'];

/** The edits that a call's arguments tell of; none for a call of another kind. */
export function editsOf(args: unknown): Edit[] {
  const path = first(args, PATHS);
  const list = field(args, 'edits');
  if (path !== undefined && Array.isArray(list)) {
    return list.flatMap((edit: unknown) => {
      const [before, after] = [first(edit, OLD), first(edit, NEW)];
      return before !== undefined && after !== undefined ? [{ path, before, after }] : [];
    });
  }
  const [before, after] = [first(args, OLD), first(args, NEW)];
  if (path !== undefined && before !== undefined && after !== undefined) return [{ path, before, after }];
  const whole = first(args, WHOLE);
  return path !== undefined && whole !== undefined ? [{ path, before: '', after: whole }] : [];
}

function first(value: unknown, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const found = field(value, key);
    if (typeof found === 'string') return found;
  }
  return undefined;
}
