// In the page: IndexedDB whose operations fail when the test says so, for databases opened by an alias.
import type { Decide } from 'palimpsest/testing';

const aliases = new Map<string, { readonly name: string; readonly decide: Decide }>();
const decisions = new WeakMap<IDBDatabase, Decide>();
/** Transactions whose commit fails before it happens. */
const doomed = new WeakSet<IDBTransaction>();

/** Another name for the database: each operation of who opens it by that name is decided on. */
export function alias(name: string, decide: Decide): string {
  const other = `${name}!${aliases.size}`;
  aliases.set(other, { name, decide });
  return other;
}

const injected = (name = 'UnknownError'): DOMException => new DOMException('injected', name);

/** Reports an event as another one, which carries an error. */
function replace(target: IDBRequest | IDBTransaction, event: string, by: string, also?: () => void): void {
  target.addEventListener(event, (happened) => {
    happened.stopImmediatePropagation();
    also?.();
    Object.defineProperty(target, 'error', { value: injected() });
    target.dispatchEvent(new Event(by));
  });
}

/** Puts the decisions between the package and the browser. */
export function install(): void {
  instead(IDBFactory.prototype, 'open', (_factory, [name, version], original) => {
    const known = aliases.get(name as string);
    if (!known) return original(name, version);
    const verdict = known.decide('open');
    if (verdict === 'before') throw injected();
    const made = original(known.name, version) as IDBOpenDBRequest;
    if (verdict === 'after') replace(made, 'success', 'error', () => made.result.close());
    else made.addEventListener('success', () => decisions.set(made.result, known.decide));
    return made;
  });

  instead(IDBDatabase.prototype, 'transaction', (database, args, original) => {
    const decide = decisions.get(database);
    if (!decide) return original(...args);
    if (decide('transaction') !== 'run') throw injected('InvalidStateError');
    const made = original(...args) as IDBTransaction;
    const verdict = args[1] === 'readwrite' ? decide('commit') : 'run';
    if (verdict === 'before') doomed.add(made);
    if (verdict === 'after') replace(made, 'complete', 'abort');
    return made;
  });

  for (const method of ['get', 'getKey', 'getAll', 'getAllKeys', 'add', 'put', 'delete'] as const) {
    instead(IDBObjectStore.prototype, method, (store, args, original) => request(method, store.transaction, () => original(...args) as IDBRequest));
  }
  for (const method of ['getKey', 'getAll'] as const) {
    instead(IDBIndex.prototype, method, (index, args, original) => request(method, index.objectStore.transaction, () => original(...args) as IDBRequest));
  }
}

function request(method: string, transaction: IDBTransaction, run: () => IDBRequest): IDBRequest {
  const verdict = decisions.get(transaction.db)?.(method) ?? 'run';
  if (verdict === 'before') throw injected();
  const made = run();
  if (verdict === 'after') replace(made, 'success', 'error');
  if (doomed.has(transaction)) {
    made.addEventListener('success', () => {
      if (doomed.delete(transaction)) transaction.abort();
    });
  }
  return made;
}

type Original = (...args: unknown[]) => unknown;

function instead<T extends object>(prototype: T, method: keyof T & string, by: (on: T, args: unknown[], original: Original) => unknown): void {
  const original = prototype[method] as Original;
  const replaced = function (this: T, ...args: unknown[]): unknown {
    return by(this, args, (...given) => original.apply(this, given));
  };
  Object.defineProperty(prototype, method, { value: replaced, configurable: true, writable: true });
}
