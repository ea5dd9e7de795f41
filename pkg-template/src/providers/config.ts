/** The config of a request header in the words that programs commonly use, and what converters share about it. */

import { PalimpsestError } from '../errors.js';
import type { JsonObject } from '../ids.js';
import type { Report } from './notice.js';

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
 * @throws PalimpsestError `INVALID_PAYLOAD` when there is no model
 */
export function settings(config: JsonObject = {}, options: RequestOptions<never>, report: Report): Settings {
  const { model, maxTokens, temperature, topP, stop, ...rest } = config;
  for (const key of Object.keys(rest)) report.add('unknown-config', `config.${key}`, `the setting ${JSON.stringify(key)} was left out`);
  const number = (value: unknown, key: string): number | undefined => {
    if (typeof value === 'number' || value === undefined) return value;
    report.add('unknown-config', `config.${key}`, `the setting ${JSON.stringify(key)} is not a number and was left out`);
    return undefined;
  };
  const stops = typeof stop === 'string' ? [stop] : Array.isArray(stop) ? (stop as unknown[]).filter((text) => typeof text === 'string') : undefined;
  if (stop !== undefined && stops === undefined) report.add('unknown-config', 'config.stop', 'the setting "stop" is not a text and was left out');
  const chosen = options.model ?? model;
  if (typeof chosen !== 'string' || chosen === '') {
    throw new PalimpsestError('INVALID_PAYLOAD', 'the request names no model: set config.model in its header, or give options.model', { path: 'config.model' });
  }
  return {
    model: chosen,
    maxTokens: options.maxTokens ?? number(maxTokens, 'maxTokens'),
    temperature: number(temperature, 'temperature'),
    topP: number(topP, 'topP'),
    stop: stops?.length ? stops : undefined,
  };
}

/** @internal The fields that have a value. */
export function present<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
