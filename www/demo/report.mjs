// What a stored log says: npm start -- --log FILE. The file is only read.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { PalimpsestError, SessionReader, SessionStore, isToolPairingBalanced } from 'palimpsest';
import { count, fact, heading, message, problem, say, short, visible } from './print.mjs';

const SHOWN_MESSAGES = 12;

/**
 * Prints the report.
 * @returns false when the log was refused
 */
export async function reportLog(file) {
  heading(visible(file));
  let loaded;
  try {
    loaded = await readLog(file);
  } catch (error) {
    if (!(error instanceof PalimpsestError)) throw error;
    refused(error);
    return false;
  }
  const { session, header, closers } = loaded;
  const bytes = (await stat(file)).size;
  summary(session, header, bytes);
  integrity(loaded);
  pairing(session);
  requestHeader(session);
  messages(session);
  forkAtLastTurnEnd(session, closers);
  return true;
}

async function readLog(file) {
  const reader = new SessionReader(file, (await stat(file)).size);
  try {
    for await (const chunk of createReadStream(file)) reader.push(chunk);
    return reader.finish();
  } catch (error) {
    reader.free();
    throw error;
  }
}

function refused(error) {
  problem(`Refused: ${error.code}`);
  say(visible(error.message));
  say('Only a torn last line is dropped when a log is loaded: damage before it is never guessed over.');
}

function summary(session, header, bytes) {
  const types = new Map();
  const turns = new Map();
  let [first, last] = [Infinity, -Infinity];
  for (const { type, time, data } of session.events) {
    types.set(type, (types.get(type) ?? 0) + 1);
    [first, last] = [Math.min(first, time), Math.max(last, time)];
    if (type === 'turn/end') {
      const reason = String(data?.reason?.kind);
      turns.set(reason, (turns.get(reason) ?? 0) + 1);
    }
  }
  fact('session', `${short(header.id, 120)}, format ${header.version}, created ${date(header.createdAt)}`);
  if (header.cwd !== undefined) fact('directory', short(header.cwd, 200));
  if (header.parentSession !== undefined) fact('fork of', `${short(header.parentSession, 120)}, ${count(header.seedLength ?? 0, 'inherited event')}`);
  fact('size', `${count(bytes, 'byte')}, ${count(session.seq, 'event')}`);
  if (session.seq > 0) fact('time', `${date(first)} to ${date(last)}`);
  const ended = [...turns].map(([reason, number]) => `${number} ${short(reason, 40)}`).join(', ');
  fact('turns', `${types.get('turn/start') ?? 0} started${ended ? `; ended: ${ended}` : ''}`);
  const byCount = [...types].sort((a, b) => b[1] - a[1]);
  fact('events', byCount.map(([type, number]) => `${number} ${short(type, 40)}`).join(', '));
}

function integrity({ committedBytes, tornBytes, closers }) {
  const torn = tornBytes > 0 ? `a torn last line of ${count(tornBytes, 'byte')} is dropped; the next write goes to byte ${committedBytes}` : 'every line is whole';
  const open = closers.length > 0 ? `the last turn is open; a load would close it by ${closers.map(({ type }) => type).join(', ')}` : 'no turn is open';
  fact('integrity', `${torn}; ${open}`);
}

function pairing(session) {
  let text;
  try {
    text = isToolPairingBalanced(session.surface.nodes, session.events, null) ? 'every tool call has its result' : 'some tool calls have no result yet';
  } catch (error) {
    if (error.code !== 'UNPAIRED_TOOL_RESULT') throw error;
    text = `broken: ${visible(error.message)}`;
  }
  fact('pairing', text);
}

function requestHeader(session) {
  let header;
  try {
    header = session.requestHeader();
  } catch (error) {
    if (!(error instanceof PalimpsestError)) throw error;
    problem(`request header: ${error.code}: ${visible(error.message)}`);
    return;
  }
  if (header === undefined) return fact('header', 'none was logged');
  const { config, system, tools = [], messagePrefix = [] } = header;
  fact('config', short(JSON.stringify(config), 240));
  if (system !== undefined) fact('system', `${count(system.split('\n').length, 'line')}: ${short(system, 160)}`);
  if (tools.length > 0) fact('tools', tools.map(({ name }) => short(String(name), 40)).join(', '));
  if (messagePrefix.length > 0) fact('prefix', count(messagePrefix.length, 'message'));
}

function messages(session) {
  const all = session.deriveMessages();
  heading(`What the model sees: ${count(all.length, 'message')}`);
  const first = Math.max(0, all.length - SHOWN_MESSAGES);
  if (first > 0) say(`(the first ${first} are not shown)`);
  all.slice(first).forEach((each, index) => message(each, first + index));
}

function forkAtLastTurnEnd(session, closers) {
  heading('A fork at the last turn end');
  let end = session.seq - 1;
  while (end >= 0 && session.events[end].type !== 'turn/end') end--;
  if (end < 0) return say('No turn has ended yet, so there is no place to fork at.');
  const store = new SessionStore();
  store.enter(session);
  const child = store.fork(session, end, `${session.id}-fork`);
  const left = session.seq - 1 - end;
  say(`Made in memory at event ${end}: ${count(child.seq, 'event')}, ${count(child.deriveMessages().length, 'message')}; ${left === 0 ? 'nothing is left out' : `${count(left, 'later event')} left out${closers.length > 0 ? ', those of the open turn' : ''}`}.`);
}

function date(time) {
  const value = new Date(time);
  return Number.isNaN(value.getTime()) ? String(time) : value.toISOString().replace('T', ' ').replace(/\.\d+Z$/, ' UTC');
}
