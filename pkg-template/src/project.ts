/**
 * The projection of a surface event to the message that the model sees, on the event's own frozen snapshot.
 * `src/derive.rs` is the same function on text; a property holds the two equal.
 */

import type { ContentBlock, Message, SessionEvent } from './events.js';

/** Text blocks that wrap content between tags which name its source as JSON. */
function wrapped(tag: string, kind: unknown, content: readonly ContentBlock[]): readonly ContentBlock[] {
  const open = Object.freeze({ type: 'text' as const, text: `<${tag} source=${JSON.stringify(kind)}>` });
  const close = Object.freeze({ type: 'text' as const, text: `</${tag}>` });
  return Object.freeze([open, ...content, close]);
}

function message(role: Message['role'], content: readonly ContentBlock[]): Message {
  return Object.freeze({ role, content });
}

/**
 * The message of one event.
 * @param event a frozen event, as a session returns it
 * @returns the frozen message, or `null` for a log-only event and for an assistant message with empty content
 */
export function deriveEventMessage(event: SessionEvent): Message | null {
  switch (event.type) {
    case 'user/message':
      return message('user', event.data.content);
    case 'assistant/message':
      return event.data.content.length === 0 ? null : message('assistant', event.data.content);
    case 'tool/result': {
      const { callId, content, isError } = event.data;
      // A file of another origin may lack isError; the key is then absent here as well.
      const flag = (isError as boolean | undefined) === undefined ? {} : { isError };
      return message('user', Object.freeze([Object.freeze({ type: 'tool-result' as const, toolCallId: callId, content, ...flag })]));
    }
    case 'context/message':
      return message('user', wrapped('context', event.data.source.kind, event.data.content));
    case 'steering/message':
      return message('user', wrapped('steering', event.data.source.kind, event.data.content));
    default:
      return null;
  }
}
