/** Event types by number, and the few families that colours and filters know. */

/** The types of the package's own vocabulary. A type's number is its place here and 1; 0 is any other type. */
export const TYPES = [
  'turn/start', 'turn/end', 'step/start', 'step/end',
  'user/message', 'context/message', 'steering/message', 'prompt/blocked',
  'assistant/chunk', 'assistant/message', 'tool/call', 'tool/result', 'todo/write',
  'request/header', 'request/header-delta', 'compact/start', 'compact/summary', 'compact/end',
  'hook/invoked', 'hook/result',
] as const;

const number = (type: (typeof TYPES)[number]): number => TYPES.indexOf(type) + 1;

export const Kind = {
  other: 0,
  turnStart: number('turn/start'),
  turnEnd: number('turn/end'),
  stepStart: number('step/start'),
  stepEnd: number('step/end'),
  user: number('user/message'),
  context: number('context/message'),
  steering: number('steering/message'),
  blocked: number('prompt/blocked'),
  chunk: number('assistant/chunk'),
  assistant: number('assistant/message'),
  toolCall: number('tool/call'),
  toolResult: number('tool/result'),
  header: number('request/header'),
  headerDelta: number('request/header-delta'),
  compactStart: number('compact/start'),
  compactSummary: number('compact/summary'),
  compactEnd: number('compact/end'),
  /** A line that is no event. */
  bad: 255,
} as const;

const NUMBERS: ReadonlyMap<string, number> = new Map(TYPES.map((type, index) => [type, index + 1]));

export function kindOf(type: string): number {
  return NUMBERS.get(type) ?? Kind.other;
}

/** What an event is about, as a fixed set of names that styles may use. */
export type Family = 'user' | 'assistant' | 'tool' | 'chunk' | 'turn' | 'request' | 'compact' | 'other' | 'bad';

export const FAMILIES: readonly Family[] = ['user', 'assistant', 'tool', 'chunk', 'turn', 'request', 'compact', 'other', 'bad'];

const FAMILY_OF: readonly Family[] = [
  'other', 'turn', 'turn', 'turn', 'turn', 'user', 'user', 'user', 'user', 'chunk', 'assistant', 'tool', 'tool', 'other',
  'request', 'request', 'compact', 'compact', 'compact', 'other', 'other',
];

export function familyOf(kind: number): Family {
  return kind === Kind.bad ? 'bad' : (FAMILY_OF[kind] ?? 'other');
}

/** Bits of a row. */
export const Flag = {
  /** A failed tool result, a turn that did not complete, a failed compaction. */
  error: 1,
  /** It joined the surface at the tail. */
  append: 2,
  /** It replaced a range of the surface. */
  replace: 4,
  /** A line that is no event of this log. */
  bad: 8,
} as const;

/** No row, no turn, no step. */
export const NONE = 0xffffffff;
