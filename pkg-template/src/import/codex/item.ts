/** One line of a rollout, in any generation. */

import { isObject, type Raw, stringOf } from '../json.js';

/** A line with its envelope taken off. */
export interface Item {
  /** `session_meta`, `response_item`, `event_msg`, … */
  readonly type: string;
  readonly payload: Raw;
  /** Type of the payload, where it has one. */
  readonly inner: string | undefined;
}

/** Items of the Responses API, which stood bare in the oldest files. */
const BARE = new Set([
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'web_search_call',
  'image_generation_call',
]);

/** The item of a line. */
export function itemOf(value: Raw): Item {
  const type = stringOf(value.type);
  if (type !== undefined && isObject(value.payload)) return { type, payload: value.payload, inner: stringOf(value.payload.type) };
  if (type !== undefined && BARE.has(type)) return { type: 'response_item', payload: value, inner: type };
  if (type === undefined && stringOf(value.id) !== undefined && stringOf(value.timestamp) !== undefined) return { type: 'session_meta', payload: value, inner: undefined };
  return { type: type ?? stringOf(value.record_type) ?? 'None', payload: isObject(value.payload) ? value.payload : {}, inner: undefined };
}

/** The item's type for the report. */
export function kindOf({ type, inner }: Item): string {
  return inner !== undefined && (type === 'response_item' || type === 'event_msg') ? `${type}/${inner}` : type;
}

/** Injected text that comes in the user's name, by how it starts. */
const INJECTED = /^\s*(<(environment_context|user_instructions|permissions instructions|permissions_instructions|turn_aborted|INSTRUCTIONS|skill|subagent_notification|user_shell_command|collaboration_mode|app-context|apps_instructions|skills_instructions|personality_spec|model_switch)\b|# AGENTS\.md instructions|# Context from my IDE setup)/;

/** Whether a text bears the mark of injected text. */
export function isInjected(text: string): boolean {
  return INJECTED.test(text);
}
