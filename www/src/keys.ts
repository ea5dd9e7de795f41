/** Keys that work everywhere. Lists have their own for moving. */

import { ask } from './client.js';
import { VIEWS } from './lib/address.js';
import { app } from './state.svelte.js';

/** What a key does, for the help. */
export const KEYS: readonly { readonly keys: readonly string[]; readonly what: string }[] = [
  { keys: ['j', '↓'], what: 'next row; j also: next message, next event' },
  { keys: ['k', '↑'], what: 'previous row, message or event' },
  { keys: ['→', '←'], what: 'open or close a turn, a step, or the chunks of a message' },
  { keys: ['Home', 'End', 'Page ↑', 'Page ↓'], what: 'far away rows' },
  { keys: ['Enter'], what: 'the details of the row' },
  { keys: ['Esc'], what: 'back: close what is open' },
  { keys: [']', '['], what: 'next or previous step' },
  { keys: ['g'], what: 'go to an event by its number' },
  { keys: ['/'], what: 'search' },
  { keys: ['1 … 9', '0'], what: 'views, in their order' },
  { keys: ['?'], what: 'this help' },
];

/** Whether keys belong to what is typed in. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement ? !['checkbox', 'radio', 'range', 'button', 'file'].includes(target.type) : target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

export function onKey(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === 'Escape') {
    if (app.help || app.goTo) app.help = app.goTo = false;
    else if (app.library) app.library = false;
    else if (app.detail) app.detail = false;
    return;
  }
  if (isTyping(event.target) || app.help || app.goTo) return;
  const view = /^[0-9]$/.test(event.key) ? VIEWS[(Number(event.key) + 9) % 10] : undefined;
  if (view) {
    if (app.current) app.show(view);
    return;
  }
  switch (event.key) {
    case '?':
      app.help = true;
      break;
    case 'g':
      if (app.current) app.goTo = true;
      break;
    case '/':
      if (!app.current) return;
      app.show('search');
      setTimeout(() => document.querySelector<HTMLInputElement>('#search-text')?.select());
      break;
    case 'j':
    case 'k':
      // The timeline and the conversation move by their own rows.
      if (!app.current || (app.view !== 'model' && app.view !== 'strata')) return;
      void app.choose(app.row + (event.key === 'j' ? 1 : -1));
      break;
    case '[':
    case ']':
      void step(event.key === ']' ? 1 : -1);
      break;
    default:
      return;
  }
  event.preventDefault();
}

/** To the start of the next or previous step. */
export async function step(direction: 1 | -1): Promise<void> {
  const log = app.current;
  const found = log && (await ask('stepNear', log.id, app.row, direction));
  if (found) await app.choose(found.seq);
  else app.say(direction === 1 ? 'This was the last step' : 'This was the first step');
}
