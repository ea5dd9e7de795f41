/** A session's history as JSON: as the log has it, or as a provider takes it. */

import { needObject } from '../arguments.js';
import { messagesRequest } from '../providers/anthropic.js';
import type { Notice } from '../providers/notice.js';
import { chatRequest } from '../providers/openai.js';
import { needSession, type Session } from '../session.js';
import type { ModelRequest } from '../view.js';

/** Forms in which a history can be had. */
export type MessagesForm = 'neutral' | 'openai' | 'anthropic';

/** Which history, in which form. */
export interface MessagesOptions {
  /** `neutral` (when absent): the messages of this package, with the request header in force. Else a provider's body. */
  readonly as?: MessagesForm | undefined;
  /** Seq of the last event that counts; the last one when absent. */
  readonly at?: number | undefined;
  /** The model to name in a provider's body; the one of the log's request header when absent, or `unknown` where it names none. */
  readonly model?: string | undefined;
}

/** A history to be written as JSON. */
export interface ExportedMessages {
  /** `{ system?, tools?, config?, messages }`, or the body of a chat completion, or of an Anthropic message call. */
  readonly body: ModelRequest | ReturnType<typeof chatRequest>['body'] | ReturnType<typeof messagesRequest>['body'];
  /** What a provider's form could not say as the log does. */
  readonly report: readonly Notice[];
}

/**
 * What the model would see next, as of an event.
 * @throws PalimpsestError `INVALID_SEQ` where `at` is outside the log, `INVALID_ARGUMENT`
 */
export function toMessages(session: Session, options: MessagesOptions = {}): ExportedMessages {
  needSession(session);
  needObject('options', options);
  const { as = 'neutral', at = session.seq - 1, model } = options;
  const view = session.at(at);
  const { messagePrefix = [], ...header } = view.requestHeader() ?? {};
  const body: ModelRequest = { ...header, messages: [...messagePrefix, ...view.messages()] };
  if (as === 'neutral') return { body, report: [] };
  const named = model ?? (typeof body.config?.model === 'string' && body.config.model !== '' ? body.config.model : 'unknown');
  const converted = as === 'openai' ? chatRequest(body, { model: named }) : messagesRequest(body, { model: named });
  return { body: converted.body, report: converted.report };
}
