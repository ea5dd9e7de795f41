/** The request header in force: what surrounds the messages in a model call. */

import type { EpochHeader } from 'palimpsest';
import { list, text, field } from './describe.js';
import { count, el, longText } from './dom.js';
import { jsonOf } from './json-text.js';

export function headerView(header: EpochHeader | undefined): HTMLElement {
  if (header === undefined) return el('p', { class: 'quiet pad' }, 'No request header was logged up to here.');
  const tools = list(header.tools);
  return el(
    'dl',
    { class: 'header-view' },
    ...entry('Config', longText(jsonOf(header.config), 'code')),
    ...entry('System', header.system === undefined ? el('span', { class: 'quiet' }, 'none') : longText(header.system, 'text')),
    ...entry(count(tools.length, 'tool'), el('ul', { class: 'tools' }, ...tools.map(tool))),
  );
}

function entry(name: string, value: HTMLElement): HTMLElement[] {
  return [el('dt', {}, name), el('dd', {}, value)];
}

function tool(value: unknown): HTMLElement {
  const parameters = jsonOf(field(value, 'parameters') ?? null);
  return el('li', {}, el('details', {},
    el('summary', {}, el('code', {}, text(field(value, 'name'))), ` ${text(field(value, 'description')).slice(0, 300)}`),
    longText(parameters, 'code')));
}
