/** The address of what is shown: everything after the `#`, so that no server ever hears of it. */

export const VIEWS = ['timeline', 'conversation', 'model', 'strata', 'forks', 'numbers', 'search', 'integrity', 'take', 'try'] as const;
export type ViewName = (typeof VIEWS)[number];

/** A place: a log by its key, an event of it, and a view. */
export interface Place {
  /** A URL of this site, from `log=`. */
  readonly log?: string;
  /** A session of the browser's storage, from `db=`. */
  readonly db?: string;
  readonly seq?: number;
  /** A line by its place behind the header, where it is no event or shares its number with another. */
  readonly row?: number;
  readonly view?: ViewName;
  /** What is searched for. */
  readonly find?: string;
  /** And how: as a regular expression, in this case alone, in stream chunks too. */
  readonly how?: readonly ('regex' | 'case' | 'chunks')[];
  /** The other branch beside this one. */
  readonly beside?: string;
}

export function readAddress(hash: string): Place {
  const fragment = new URLSearchParams(hash.replace(/^#/, ''));
  const [seq, row] = [fragment.get('seq'), fragment.get('row')];
  const view = VIEWS.find((name) => name === fragment.get('view'));
  const [log, db, find, beside] = [fragment.get('log'), fragment.get('db'), fragment.get('find'), fragment.get('beside')];
  const how = (['regex', 'case', 'chunks'] as const).filter((word) => fragment.get('how')?.split('.').includes(word));
  return {
    ...(log !== null && { log }),
    ...(db !== null && { db }),
    ...(seq !== null && /^\d{1,9}$/.test(seq) && { seq: Number(seq) }),
    ...(row !== null && /^\d{1,9}$/.test(row) && { row: Number(row) }),
    ...(view !== undefined && { view }),
    ...(find !== null && find !== '' && { find }),
    ...(how.length > 0 && { how }),
    ...(beside !== null && { beside }),
  };
}

export function writeAddress({ log, db, seq, row, view, find, how, beside }: Place): string {
  const fragment = new URLSearchParams();
  if (log !== undefined) fragment.set('log', log);
  if (db !== undefined) fragment.set('db', db);
  if (seq !== undefined) fragment.set('seq', String(seq));
  if (row !== undefined) fragment.set('row', String(row));
  if (view !== undefined && view !== 'timeline') fragment.set('view', view);
  if (find !== undefined) fragment.set('find', find);
  if (how !== undefined) fragment.set('how', how.join('.'));
  if (beside !== undefined) fragment.set('beside', beside);
  const text = fragment.toString().replaceAll('%2F', '/');
  return text === '' ? '' : `#${text}`;
}
