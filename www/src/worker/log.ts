/** One log at hand: its bytes, its index, and the package's session where the log is whole. */

import type { PalimpsestError, Session, SessionEvent } from 'palimpsest';
import { familyOf, Flag } from '../lib/kinds.js';
import type { Finding, HeaderFacts, ImportFacts, LogFacts } from '../lib/protocol.js';
import { ByteStore } from './byte-store.js';
import { field } from '../lib/describe.js';
import { Outline } from './outline.js';
import { Visible } from './visible.js';

const decoder = new TextDecoder();

export class Log {
  readonly id: number;
  readonly name: string;
  readonly store = new ByteStore();
  readonly outline = new Outline();
  readonly visible = new Visible(this.outline);
  header: HeaderFacts | undefined;
  /** Bytes before the first row. */
  headEnd = 0;
  session: Session | undefined;
  failure: { code: string; message: string } | undefined;
  stopped = false;
  tornBytes = 0;
  closers: readonly SessionEvent[] = [];
  /** What is wrong with it; found in the background, once the log is open. */
  findings: Promise<readonly Finding[]> = Promise.resolve([]);
  checkedBytes = 0;
  imported: ImportFacts | undefined;

  constructor(id: number, name: string) {
    this.id = id;
    this.name = name;
  }

  /** @throws Error that says why the package cannot tell what the model saw */
  get live(): Session {
    if (this.session) return this.session;
    if (this.stopped) throw new Error('Reading was stopped, so what the model saw cannot be told. Open the log again to read all of it.');
    throw new Error(this.failure ? `${this.failure.code}: ${this.failure.message}` : 'The log is still being read.');
  }

  /** A row's line as it is stored, without its line end. */
  async line(row: number): Promise<string> {
    const bytes = await this.store.read(this.outline.offsets.at(row), this.outline.endOf(row));
    return decoder.decode(bytes).trim();
  }

  takeHeader(line: Uint8Array, end: number): void {
    this.headEnd = this.outline.end = end;
    let value: unknown;
    try {
      value = JSON.parse(decoder.decode(line));
    } catch {
      return;
    }
    const text = (key: string): string | undefined => (typeof field(value, key) === 'string' ? (field(value, key) as string) : undefined);
    const number = (key: string): number | undefined => (typeof field(value, key) === 'number' ? (field(value, key) as number) : undefined);
    const id = text('id');
    if (field(value, 'type') !== 'session' || id === undefined) return;
    const [cwd, parentSession, seedLength] = [text('cwd'), text('parentSession'), number('seedLength')];
    this.header = { id, createdAt: number('createdAt') ?? 0, ...(cwd !== undefined && { cwd }), ...(parentSession !== undefined && { parentSession }), ...(seedLength !== undefined && { seedLength }) };
  }

  fail(error: unknown): void {
    const { code = 'ERROR', message } = error as Partial<PalimpsestError>;
    this.failure ??= { code, message: message ?? String(error) };
    this.session?.free();
    this.session = undefined;
  }

  facts(): LogFacts {
    const { outline, header, failure, imported } = this;
    const counts = new Map<number, { count: number; row: number }>();
    let errors = 0;
    for (let row = 0; row < outline.length; row++) {
      const type = outline.types.at(row);
      const known = counts.get(type);
      if (known) known.count++;
      else counts.set(type, { count: 1, row });
      if ((outline.flags.at(row) & Flag.error) !== 0) errors++;
    }
    const types = [...counts].filter(([type]) => type !== 0).map(([type, { count, row }]) => ({ name: outline.typeNames.nameOf(type), family: familyOf(outline.kinds.at(row)), count }));
    types.sort((a, b) => b.count - a.count);
    return {
      log: this.id,
      name: this.name,
      ...(header && { header }),
      rows: outline.length,
      numbered: outline.numbered,
      lastSeq: outline.lastSeq,
      visible: this.visible.length,
      bytes: this.store.size,
      turns: outline.turns.row.length,
      steps: outline.steps.row.length,
      replaces: outline.shadows.replaces.length,
      firstTime: outline.times.at(0),
      lastTime: outline.times.at(outline.length - 1),
      types: types.slice(0, 200),
      tools: outline.toolNames.all.slice(0, 500),
      whole: this.session !== undefined,
      ...(failure && { failure }),
      stopped: this.stopped,
      tornBytes: this.tornBytes,
      closers: this.closers.map(({ type }) => type),
      errors,
      ...(imported && { imported }),
    };
  }

  free(): void {
    this.session?.free();
    this.session = undefined;
  }
}
