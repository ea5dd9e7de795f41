/** What the agent can do: read a file and calculate. */

import { readFile } from 'node:fs/promises';
import type { JsonObject } from 'palimpsest';

export interface Tool {
  readonly description: string;
  readonly parameters: JsonObject;
  run(input: Record<string, unknown>, signal: AbortSignal): Promise<string>;
}

const oneString = (name: string): JsonObject => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] });

export const TOOLS: Readonly<Record<string, Tool>> = {
  read_file: {
    description: 'Reads a text file.',
    parameters: oneString('path'),
    run: async ({ path }, signal) => (await readFile(String(path), { encoding: 'utf8', signal })).slice(0, 20_000),
  },
  calculate: {
    description: 'Evaluates an arithmetic expression of numbers, + - * / and parentheses.',
    parameters: oneString('expression'),
    run: async ({ expression }) => String(calculate(String(expression))),
  },
};

/** Sums of products of numbers, signs and parentheses. */
export function calculate(expression: string): number {
  const tokens = expression.match(/\d+(?:\.\d+)?|[-+*/()]|\S/g) ?? [];
  const take = (...wanted: string[]): string | undefined => (wanted.includes(tokens[0] ?? '') ? tokens.shift() : undefined);
  const factor = (): number => {
    if (take('-')) return -factor();
    if (take('(')) {
      const value = sum();
      if (!take(')')) throw new Error('a parenthesis is not closed');
      return value;
    }
    const value = Number(tokens.shift());
    if (Number.isNaN(value)) throw new Error(`cannot calculate ${JSON.stringify(expression)}`);
    return value;
  };
  const product = (): number => {
    let value = factor();
    for (let op = take('*', '/'); op; op = take('*', '/')) value = op === '*' ? value * factor() : value / factor();
    return value;
  };
  const sum = (): number => {
    let value = product();
    for (let op = take('+', '-'); op; op = take('+', '-')) value = op === '+' ? value + product() : value - product();
    return value;
  };
  const value = sum();
  if (tokens.length > 0) throw new Error(`cannot calculate ${JSON.stringify(expression)}`);
  return value;
}
