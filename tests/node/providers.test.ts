// Requests for providers: what they refuse, what comes back.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ModelRequest, Session } from 'palimpsest';
import { modelMessages } from 'palimpsest/ai-sdk';
import { messagesRequest } from 'palimpsest/anthropic';
import { type Aliases, type Notice, chatRequest, responsesRequest } from 'palimpsest/openai';
import { randomAgentSession } from '../support/agent.js';
import { conversation } from '../support/conversations.js';
import { Dice } from '../support/random.js';
import { foretold, fromAnthropic, fromChat, fromModelMessages, fromResponses, normal } from '../support/roundtrip.js';
import { anthropicFaults, chatFaults, modelMessageFaults, responsesFaults } from '../support/validators.js';

interface Outcome {
  readonly faults: readonly string[];
  readonly report: readonly Notice[];
  readonly aliases: Aliases;
  readonly back: ReturnType<typeof fromChat>;
  /** Whether the system prompt is among the messages. */
  readonly system: boolean;
  readonly textFirst: boolean;
  readonly parse: boolean;
}

const MODEL = { model: 'm-1' };

const PROVIDERS: Readonly<Record<string, (request: ModelRequest) => Outcome>> = {
  chat: (request) => {
    const { body, ...rest } = chatRequest(request, MODEL);
    return { ...rest, faults: chatFaults(body), back: fromChat(body, rest.aliases), system: true, textFirst: true, parse: false };
  },
  responses: (request) => {
    const { body, ...rest } = responsesRequest(request, MODEL);
    return { ...rest, faults: responsesFaults(body), back: fromResponses(body, rest.aliases), system: false, textFirst: false, parse: false };
  },
  anthropic: (request) => {
    const { body, ...rest } = messagesRequest(request, MODEL);
    return { ...rest, faults: anthropicFaults(body), back: fromAnthropic(body, rest.aliases), system: false, textFirst: false, parse: true };
  },
  'ai-sdk': (request) => {
    const { body, ...rest } = modelMessages(request);
    return { ...rest, faults: modelMessageFaults(body.messages), back: fromModelMessages(body.messages, rest.aliases), system: false, textFirst: false, parse: true };
  },
};

/** The requests of a session's model calls, and what the next one would be. */
function* requests(session: Session): Generator<ModelRequest> {
  for (const { type, seq } of session.events) if (type === 'step/start') yield session.at(seq).request();
  yield session.at(session.seq - 1).request();
}

function check(name: string, request: ModelRequest): 'equal' | 'untold' {
  const { faults, report, back, system, textFirst, parse } = PROVIDERS[name]!(request);
  try {
    assert.deepEqual(faults, []);
    const expected = foretold(request.messages, report, system ? request.system : undefined);
    if (!expected) return 'untold';
    assert.deepEqual(normal(back, { textFirst, parse }), normal(expected, { textFirst, parse }));
    return 'equal';
  } catch (error) {
    throw new Error(`${name}: ${JSON.stringify({ request, report, back }, undefined, 1)}`, { cause: error });
  }
}

type Tally = Record<string, { requests: number; equal: number }>;

/** Converts every request of many sessions for every provider. */
function tally(make: (dice: Dice) => Session): Tally {
  const counts: Tally = Object.fromEntries(Object.keys(PROVIDERS).map((name) => [name, { requests: 0, equal: 0 }]));
  for (let seed = 0; seed < 2000; seed++) {
    const session = make(new Dice(seed));
    for (const request of requests(session)) {
      for (const [name, count] of Object.entries(counts)) {
        count.requests++;
        if (check(name, request) === 'equal') count.equal++;
      }
    }
    session.free();
  }
  return counts;
}

const SESSIONS: readonly [name: string, make: (dice: Dice) => Session, share: number][] = [
  ['of a plain agent', (dice) => conversation(dice, false), 0.99],
  ['of an agent that compacts, prunes, forks and crashes', (dice) => randomAgentSession(dice), 0.5],
  ['with lost results, bad ids, empty texts and half pairs', (dice) => conversation(dice, true), 0.1],
];

suite('requests', () => {
  for (const [name, make, share] of SESSIONS) {
    test(`of 2000 random sessions ${name} are such as providers take, and say what they were made from`, (context) => {
      for (const [provider, { requests: all, equal }] of Object.entries(tally(make))) {
        context.diagnostic(`${provider}: ${all} requests, ${equal} came back as their report says`);
        assert.ok(all > 10_000 && equal > all * share, provider);
      }
    });
  }
});
