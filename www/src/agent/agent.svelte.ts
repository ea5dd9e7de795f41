/** The page's own agent, as the page sees it. */

import { storedEntry } from '../lib/library.js';
import { workerUrl } from '../lib/trusted.js';
import { app } from '../state.svelte.js';
import { TURNS } from './script.js';
import type { Order, Report } from './worker.js';
import url from './worker.ts?worker&url';

class Agent {
  id = $state<string>();
  busy = $state(false);
  crashed = $state(false);
  turns = $state(0);
  /** What was tried. */
  did = $state({ turn: false, compact: false, fork: false, crash: false, resume: false });
  lines = $state.raw<readonly { readonly words: string; readonly own: boolean }[]>([]);
  #worker: Worker | undefined;

  /** What the user would say next. */
  get next(): string {
    return TURNS[this.turns % TURNS.length]!.prompt;
  }

  start(): void {
    this.#end();
    this.lines = [];
    this.turns = 0;
    this.crashed = false;
    this.#order({ order: 'create', id: `try-${Date.now().toString(36)}` });
  }

  say(words: string): void {
    this.turns++;
    this.did.turn = true;
    this.#say(`the user says: ${words}`, true);
    this.#order({ order: 'turn', words });
  }

  compact(): void {
    this.did.compact = true;
    this.#order({ order: 'compact' });
  }

  fork(): void {
    this.did.fork = true;
    this.#order({ order: 'fork', id: `${this.id ?? 'try'}-fork-${Date.now().toString(36).slice(-4)}` });
  }

  /** Ends the worker wherever it stands: nothing is closed, nobody says goodbye. */
  crash(): void {
    const open = this.busy;
    this.did.crash ||= open;
    this.#end();
    this.crashed = true;
    this.busy = false;
    this.#say(open ? 'the agent is gone, in the middle of what it did' : 'the agent is gone, between two turns: nothing was open', true);
  }

  resume(): void {
    if (this.id === undefined) return;
    this.crashed = false;
    this.#order({ order: 'load', id: this.id });
  }

  #end(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  #order(order: Order): void {
    this.busy = true;
    if (!this.#worker) {
      const worker = (this.#worker = new Worker(workerUrl(url), { type: 'module', name: 'agent' }));
      worker.addEventListener('message', ({ data }: MessageEvent<Report>) => { if (worker === this.#worker) this.#hear(data); });
      worker.addEventListener('error', (event) => { this.#say(`the agent failed: ${event.message}`, false); });
    }
    this.#worker.postMessage(order);
  }

  #hear(report: Report): void {
    switch (report.report) {
      case 'ready': {
        this.id = report.id;
        if (report.closed > 0) this.did.resume = true;
        if (report.closed > 0) this.#say(`loaded again: ${report.closed} events closed what the crash had left open`, false);
        if (report.parent !== undefined) this.#say(`a fork: it shares ${report.seed ?? 0} events with ${report.parent}, and its future is its own`, false);
        const entry = storedEntry({ id: report.id, createdAt: report.createdAt, ...(report.parent !== undefined && { parentSession: report.parent }), ...(report.seed !== undefined && { seedLength: report.seed }) });
        if (app.current?.entry.key !== entry.key) void app.open(entry, { view: 'try' });
        void app.listStored();
        break;
      }
      case 'line':
        this.#say(report.words, false);
        break;
      case 'done':
        this.busy = false;
        break;
      case 'failed':
        this.busy = false;
        this.#say(report.message, false);
        break;
    }
  }

  #say(words: string, own: boolean): void {
    this.lines = [...this.lines.slice(-200), { words, own }];
  }
}

export const agent = new Agent();
