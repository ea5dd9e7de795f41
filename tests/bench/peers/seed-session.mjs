// The design of the two seed documents, written down plainly: check with isJsonValue, copy with structuredClone, a
// linked list folded from the log, each node projected once, everything again after a replace.

const SURFACE = new Set(['user/message', 'assistant/message', 'tool/result', 'context/message', 'steering/message']);

export function isJsonValue(value, open = new Set()) {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== 'object' || open.has(value)) return false;
  open.add(value);
  let fine;
  if (Array.isArray(value)) {
    fine = Object.keys(value).length === value.length && value.every((item) => isJsonValue(item, open));
  } else {
    const prototype = Object.getPrototypeOf(value);
    fine = (prototype === Object.prototype || prototype === null) && Object.values(value).every((item) => isJsonValue(item, open));
  }
  open.delete(value);
  return fine;
}

function deepFreeze(value) {
  if (typeof value !== 'object' || value === null) return value;
  for (const child of Object.values(value)) deepFreeze(child);
  return Object.freeze(value);
}

function project({ type, data }) {
  switch (type) {
    case 'user/message': return { role: 'user', content: data.content };
    case 'assistant/message': return data.content.length === 0 ? null : { role: 'assistant', content: data.content };
    case 'tool/result': return { role: 'user', content: [{ type: 'tool-result', toolCallId: data.callId, content: data.content, isError: data.isError }] };
    default: return null;
  }
}

/** The surface: nodes { seq, prev, next } by seq; only events since the last look are folded. */
class Surface {
  nodes = new Map();
  head = null;
  tail = null;
  generation = 0;
  #folded = 0;

  constructor(log) {
    this.log = log;
  }

  fold() {
    for (; this.#folded < this.log.length; this.#folded++) {
      const { seq, surfaceOp, sourceEventSeqs } = this.log[this.#folded];
      if (surfaceOp === 'append') this.#insert(seq, this.tail, null);
      else if (surfaceOp !== undefined) this.#replace(seq, surfaceOp, sourceEventSeqs);
    }
    return this;
  }

  #insert(seq, prev, next) {
    this.nodes.set(seq, { seq, prev, next });
    if (prev === null) this.head = seq;
    else this.nodes.get(prev).next = seq;
    if (next === null) this.tail = seq;
    else this.nodes.get(next).prev = seq;
  }

  #replace(seq, { start, end }, sources) {
    const first = this.nodes.get(start);
    const known = new Set(sources);
    const gone = [];
    let node = first;
    for (;;) {
      if (node === undefined || !known.has(node.seq)) throw new Error(`seq ${seq}: bad replace`);
      gone.push(node.seq);
      if (node.seq === end) break;
      node = this.nodes.get(node.next);
    }
    for (const old of gone) this.nodes.delete(old);
    this.#insert(seq, first.prev, node.next);
    this.generation++;
  }
}

export class SeedSession {
  #log = [];
  #surface = new Surface(this.#log);
  #messages = [];
  #last = null;
  #generation = 0;

  constructor(id, seed = []) {
    this.id = id;
    for (const event of seed) {
      if (event.seq !== this.#log.length || !isJsonValue(event.data)) throw new Error(`bad seed at ${this.#log.length}`);
      if (SURFACE.has(event.type) && event.surfaceOp === undefined) throw new Error(`no surfaceOp at ${event.seq}`);
      this.#log.push(structuredClone(event));
    }
  }

  get events() {
    return this.#log;
  }

  get seq() {
    return this.#log.length;
  }

  append(type, data, intent) {
    if (!isJsonValue(data)) throw new Error('data is not JSON');
    if (SURFACE.has(type) !== (intent?.surfaceOp !== undefined)) throw new Error(`${type}: surfaceOp`);
    const event = { type, seq: this.#log.length, time: Date.now(), data: structuredClone(data), ...(intent && structuredClone(intent)) };
    this.#log.push(event);
    return event;
  }

  deriveMessages() {
    const surface = this.#surface.fold();
    if (surface.generation !== this.#generation) {
      this.#generation = surface.generation;
      this.#messages = [];
      this.#last = null;
    }
    let seq = this.#last === null ? surface.head : surface.nodes.get(this.#last).next;
    for (; seq !== null; seq = surface.nodes.get(seq).next) {
      const message = project(this.#log[seq]);
      if (message !== null) this.#messages.push(deepFreeze(structuredClone(message)));
      this.#last = seq;
    }
    return [...this.#messages];
  }

  fork(id) {
    return new SeedSession(id, this.#log);
  }
}
