/** The strings in a JSON text, with their places, without parsing the rest: numbers, order and blanks stay as they are. */

/** One string of a JSON text. */
export interface StringToken {
  /** Offset of its opening quote. */
  readonly from: number;
  /** Offset behind its closing quote. */
  readonly to: number;
  readonly value: string;
  readonly isKey: boolean;
  /** Keys and indices from the root; for a key, of the object's member. */
  readonly path: readonly (string | number)[];
}

/** Walks the strings of a text, which must be JSON. Iterative, since a log may be nested as deep as JSON goes. */
export function* stringsOf(text: string): Generator<StringToken> {
  // One entry a level: the key or the index that is being read; a string for an object.
  const path: (string | number)[] = [];
  let keyNext = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === 0x7b) {
      path.push('');
      keyNext = true;
    } else if (char === 0x5b) {
      path.push(0);
      keyNext = false;
    } else if (char === 0x7d || char === 0x5d) {
      path.pop();
    } else if (char === 0x2c) {
      const top = path[path.length - 1];
      if (typeof top === 'number') path[path.length - 1] = top + 1;
      else keyNext = true;
    } else if (char === 0x22) {
      const from = at;
      let escaped = false;
      for (at++; text.charCodeAt(at) !== 0x22; at++) {
        if (text.charCodeAt(at) !== 0x5c) continue;
        escaped = true;
        at++;
      }
      const raw = text.slice(from, at + 1);
      const value = escaped ? (JSON.parse(raw) as string) : raw.slice(1, -1);
      const isKey = keyNext && typeof path[path.length - 1] === 'string';
      if (isKey) path[path.length - 1] = value;
      keyNext = false;
      yield { from, to: at + 1, value, isKey, path };
    }
  }
}

/** A path as people write it: `data.content[0].text`. */
export function pathText(path: readonly (string | number)[]): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[A-Za-z_$][\w$]*$/.test(part)) text += text === '' ? part : `.${part}`;
    else text += `[${JSON.stringify(part)}]`;
  }
  return text;
}
