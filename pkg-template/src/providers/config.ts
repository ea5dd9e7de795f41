/** The config of a request header in the words that programs commonly use, and what converters share about it. */

import { needObject, needPositive } from '../arguments.js';
import { isRecord } from '../depth.js';
import { PalimpsestError } from '../errors.js';
import type { JsonObject } from '../ids.js';
import type { Report } from './notice.js';
import { wellFormed } from './text.js';

/** How to convert a request. */
export interface RequestOptions<Body> {
  /** The model, in place of the config's. */
  readonly model?: string | undefined;
  /** The limit of output tokens, in place of the config's. */
  readonly maxTokens?: number | undefined;
  /** Fields of the body to set as they are; they win over everything else. */
  readonly body?: Partial<Body> | undefined;
}

/** @internal What is known of a config. */
export interface Settings {
  readonly model: string;
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly stop: string[] | undefined;
}

/**
 * @internal Reads a config.
 * @throws PalimpsestError `INVALID_PAYLOAD` when there is no model, `INVALID_ARGUMENT`
 */
export function settings(given: unknown, options: RequestOptions<never>, report: Report): Settings {
  needObject('options', options);
  if (options.maxTokens !== undefined) needPositive('options.maxTokens', options.maxTokens);
  if (given !== undefined && !isRecord(given)) report.add('unknown-config', 'config', 'a config that is no object was left out');
  const { model, maxTokens, temperature, topP, stop, ...rest } = (isRecord(given) ? given : {}) as JsonObject;
  for (const key of Object.keys(rest)) report.add('unknown-config', `config.${key}`, `the setting ${JSON.stringify(key)} was left out`);
  const number = (value: unknown, key: string): number | undefined => {
    if (typeof value === 'number' || value === undefined) return value;
    report.add('unknown-config', `config.${key}`, `the setting ${JSON.stringify(key)} is not a number and was left out`);
    return undefined;
  };
  const limit = number(maxTokens, 'maxTokens');
  if (limit !== undefined && !(limit > 0)) report.add('unknown-config', 'config.maxTokens', 'the setting "maxTokens" is not above 0 and was left out');
  const stops = typeof stop === 'string' ? [stop] : Array.isArray(stop) ? (stop as unknown[]).filter((text) => typeof text === 'string') : undefined;
  if (stop !== undefined && stops === undefined) report.add('unknown-config', 'config.stop', 'the setting "stop" is not a text and was left out');
  const chosen = options.model ?? model;
  if (typeof chosen !== 'string' || chosen === '') {
    throw new PalimpsestError('INVALID_PAYLOAD', 'the request names no model: set config.model in its header, or give options.model', { path: 'config.model' });
  }
  return {
    model: wellFormed(chosen, report, 'config.model'),
    maxTokens: options.maxTokens ?? (limit !== undefined && limit > 0 ? limit : undefined),
    temperature: number(temperature, 'temperature'),
    topP: number(topP, 'topP'),
    stop: stops?.length ? stops.map((text) => wellFormed(text, report, 'config.stop')) : undefined,
  };
}

/** @internal The fields that have a value. */
export function present<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
