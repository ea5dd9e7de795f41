/**
 * Elements. Log content is hostile: it reaches the document as text nodes and nothing else, and never as the name of an
 * element, an attribute or a class.
 */

type Child = Node | string | false | undefined;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== false && child !== undefined));
  return element;
}

export function button(text: string, onClick: () => void, attributes: Readonly<Record<string, string>> = {}): HTMLButtonElement {
  const element = el('button', { type: 'button', ...attributes }, text);
  element.addEventListener('click', onClick);
  return element;
}

export function byId<E extends HTMLElement>(id: string, type: new () => E): E {
  const element = document.getElementById(id);
  if (!(element instanceof type)) throw new Error(`#${id} is missing`);
  return element;
}

const FIRST = 2_000;
const MORE = 100_000;

/** A text of any length: its beginning, and buttons for the rest, since laying out megabytes at once stops the page. */
export function longText(text: string, className: string): HTMLElement {
  const body = el('div', { class: className });
  if (text.length <= FIRST * 1.2) {
    body.textContent = text;
    return body;
  }
  const shown = document.createTextNode('');
  const grow = (by: number): void => {
    shown.data = text.slice(0, safeEnd(text, shown.length + by));
    const rest = text.length - shown.length;
    if (rest > 0) more.textContent = `Show ${number(Math.min(rest, MORE))} of ${number(rest)} more characters`;
    else more.remove();
  };
  const more = button('', () => { grow(MORE); }, { class: 'more' });
  body.append(shown, more);
  grow(FIRST);
  return body;
}

/** Not between the halves of a surrogate pair. */
function safeEnd(text: string, end: number): number {
  const unit = text.charCodeAt(end - 1);
  return unit >= 0xd800 && unit <= 0xdbff ? end + 1 : end;
}

export function number(value: number): string {
  return value.toLocaleString('en');
}

export function count(value: number, noun: string): string {
  return `${number(value)} ${noun}${value === 1 ? '' : 's'}`;
}

export function fileSize(bytes: number): string {
  if (bytes < 1000) return count(bytes, 'byte');
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
