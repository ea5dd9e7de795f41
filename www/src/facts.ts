/** What is known of a log as a whole. */

import { dateTime } from './describe.js';
import { count, el, fileSize, number } from './dom.js';
import type { OpenedLog } from './log.js';

export function factsOf(log: OpenedLog): HTMLElement {
  const { header, index, session } = log;
  const facts: (readonly [string, string])[] = [
    ['Session', header.id],
    ['Created', dateTime(header.createdAt)],
    ['Size', `${count(session.seq, 'event')}, ${count(index.turns, 'turn')}, ${fileSize(log.bytes)}`],
  ];
  if (index.times) facts.push(['Time', times(...index.times)]);
  if (header.cwd !== undefined) facts.push(['Directory', header.cwd]);
  if (header.parentSession !== undefined) facts.push(['Fork of', `${header.parentSession}, ${count(header.seedLength ?? 0, 'inherited event')}`]);
  return el(
    'section',
    { class: 'facts', 'aria-label': 'About this log' },
    el('dl', {}, ...facts.flatMap(([name, value]) => [el('div', {}, el('dt', {}, name), el('dd', {}, value))])),
    integrityOf(log),
    el('details', { class: 'types' },
      el('summary', {}, count(index.types.length, 'event type')),
      el('ul', {}, ...index.types.map(([type, times]) => el('li', {}, el('span', { class: 'times' }, number(times)), ` ${type}`)))),
  );
}

function times(first: number, last: number): string {
  const [from, to] = [dateTime(first), dateTime(last)];
  if (from === to) return from;
  const day = from.split(', ')[0] ?? '';
  return to.startsWith(`${day}, `) ? `${from} to ${to.slice(day.length + 2)}` : `${from} to ${to}`;
}

function integrityOf({ tornBytes, closers }: OpenedLog): HTMLElement {
  const notes: string[] = [];
  if (tornBytes > 0) notes.push(`The last line is torn: its ${count(tornBytes, 'byte')} were never acknowledged and are left out.`);
  if (closers.length > 0) notes.push(`The last turn is open: a load would close it by ${closers.map(({ type }) => type).join(', ')}.`);
  const whole = notes.length === 0;
  return el('p', { id: 'integrity', class: whole ? 'integrity whole' : 'integrity broken' }, whole ? 'Whole: every line is complete, and no turn is open.' : notes.join(' '));
}
