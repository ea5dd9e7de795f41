/** Reasoning that a provider has signed or sealed, and wants back as it was. */

import { quoted } from '../depth.js';
import type { ContentBlock } from '../events.js';
import type { Reasoning } from './exchange.js';
import type { Report } from './notice.js';
import { isBroken } from './text.js';

/**
 * A `reasoning` block as the readers of this package log it when the provider has signed it. Other providers, and other
 * models of the same one, refuse the signature: for them the block is left out.
 */
export interface SignedReasoning {
  readonly type: 'reasoning';
  /** What may be read of it; empty where all is sealed. */
  readonly text: string;
  readonly provider: 'anthropic' | 'openai';
  /** The model that wrote it. */
  readonly model?: string;
  /** The provider's id of the block. */
  readonly id?: string;
  /** Anthropic's signature, or sealed content. */
  readonly signature: string;
  /** The signature is the sealed content of a redacted block. */
  readonly redacted?: true;
}

/** @internal */
export function signedBlock(block: SignedReasoning): ContentBlock {
  return block;
}

/** @internal The signed reasoning that may go back to this model; otherwise a notice says why not. */
export function returnable({ block, path }: Reasoning, provider: SignedReasoning['provider'], model: string, changed: boolean, report: Report): SignedReasoning | undefined {
  const signed = block as Partial<SignedReasoning>;
  const why =
    signed.provider !== provider || !isUsable(signed.signature) || (signed.id !== undefined && !isUsable(signed.id))
      ? 'without this provider’s signature it would be refused'
      : signed.model !== undefined && signed.model !== model
        ? `it was signed for the model ${quoted(signed.model)}`
        : changed
          ? 'its message was changed, which breaks the signature'
          : undefined;
  if (why === undefined) return signed as SignedReasoning;
  report.add('reasoning-dropped', path, `reasoning was left out: ${why}`);
  return undefined;
}

function isUsable(text: unknown): boolean {
  return typeof text === 'string' && text !== '' && !isBroken(text);
}
