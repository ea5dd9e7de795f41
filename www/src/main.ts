/** The page: opens a log from a file, a drop or its own address, and shows it. */

import { init } from 'palimpsest';
import { byId, count, el, fileSize, number } from './dom.js';
import { failureOf } from './failure.js';
import { openLog } from './log.js';
import { LogView } from './log-view.js';
import { fileSource, urlSource } from './source.js';
import type { Source } from './source.js';
import './style.css';

const main = byId('main', HTMLElement);
const nameLine = byId('name', HTMLElement);
const picker = byId('file', HTMLInputElement);
const progressBar = byId('progress', HTMLElement);
const meter = byId('meter', HTMLProgressElement);
const reading = byId('reading', HTMLElement);

let view: LogView | undefined;
let opening = new AbortController();
/** The link that the shown log was opened by; a file has none. */
let shownLink: string | undefined;
let remembering: ReturnType<typeof setTimeout> | undefined;

async function open(source: Source, link?: { readonly log: string; readonly seq?: number }): Promise<void> {
  opening.abort();
  clearTimeout(remembering);
  const { signal } = (opening = new AbortController());
  shownLink = link?.log;
  nameLine.textContent = source.name;
  document.title = `${source.name} · palimpsest`;
  show(undefined);
  try {
    await init();
    const log = await openLog(source, signal, showProgress);
    // A later log may have been chosen in the meantime.
    if (signal.aborted) {
      log.session.free();
      return;
    }
    const opened = new LogView(log, (seq) => { remember(seq); });
    show(opened);
    opened.select(link?.seq ?? log.session.seq - 1);
  } catch (error) {
    if (signal.aborted) return;
    show(failureOf(source.name, error));
  }
}

function show(content: LogView | HTMLElement | undefined): void {
  view?.dispose();
  view = content instanceof LogView ? content : undefined;
  main.replaceChildren(...(content === undefined ? [] : [content instanceof LogView ? content.element : content]));
  progressBar.hidden = content !== undefined;
  if (content === undefined) {
    meter.removeAttribute('value');
    reading.textContent = 'Opening…';
  }
}

function showProgress(stage: 'read' | 'index', done: number, total: number | undefined): void {
  if (total !== undefined && total > 0) meter.value = done / total;
  const of = (unit: (value: number) => string): string => (total === undefined ? unit(done) : `${unit(done)} of ${unit(total)}`);
  reading.textContent = stage === 'read' ? `Read ${of(fileSize)}` : `Indexed ${number(done)} of ${count(total ?? 0, 'event')}`;
}

/** Keeps the address a link to what is shown. Browsers refuse to have it changed for every press of a key that repeats. */
function remember(seq: number): void {
  clearTimeout(remembering);
  if (shownLink === undefined) return;
  const fragment = new URLSearchParams({ log: shownLink, seq: String(seq) }).toString().replaceAll('%2F', '/');
  remembering = setTimeout(() => { history.replaceState(null, '', `#${fragment}`); }, 250);
}

/** The address names no log: a file has no link. */
function forgetLink(): void {
  clearTimeout(remembering);
  history.replaceState(null, '', location.pathname + location.search);
}

function openLink(): void {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const log = fragment.get('log');
  if (log === null) {
    welcome();
    return;
  }
  const seq = fragment.get('seq');
  try {
    void open(urlSource(log), { log, ...(seq !== null && /^\d{1,9}$/.test(seq) && { seq: Number(seq) }) });
  } catch (error) {
    opening.abort();
    nameLine.textContent = '';
    show(failureOf(log, error));
  }
}

function openFile(file: File): void {
  forgetLink();
  void open(fileSource(file));
}

function welcome(): void {
  opening.abort();
  nameLine.textContent = '';
  document.title = 'palimpsest';
  show(el(
    'section',
    { class: 'welcome' },
    el('h2', {}, 'Drop a session log here'),
    el('p', {}, 'A .jsonl file of palimpsest: its events, and what the model saw after each of them. It is read in this page; nothing leaves your machine.'),
    el('p', {}, 'No log at hand? ', el('a', { href: '#log=example.jsonl' }, 'Open the example'), ': a short coding session with a compaction.'),
  ));
}

picker.addEventListener('change', () => {
  const file = picker.files?.[0];
  if (file) openFile(file);
  // So that the same file can be picked again.
  picker.value = '';
});
byId('stop', HTMLButtonElement).addEventListener('click', () => {
  forgetLink();
  welcome();
});
byId('example', HTMLAnchorElement).addEventListener('click', () => {
  // The address may name the example already, and then does not change.
  if (location.hash === '#log=example.jsonl') openLink();
});
addEventListener('hashchange', openLink);
addEventListener('dragover', (event) => {
  event.preventDefault();
  document.body.classList.add('dropping');
});
addEventListener('dragleave', (event) => {
  if (event.relatedTarget === null) document.body.classList.remove('dropping');
});
addEventListener('drop', (event) => {
  event.preventDefault();
  document.body.classList.remove('dropping');
  const file = event.dataTransfer?.files[0];
  if (file) openFile(file);
});
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return;
  if (event.key === 'j') view?.move(1);
  if (event.key === 'k') view?.move(-1);
});

openLink();
