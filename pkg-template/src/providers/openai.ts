/**
 * OpenAI, and servers that speak like it: `palimpsest/openai`.
 *
 * `chatRequest` and `ChatReader` are for chat completions, `responsesRequest` and `ResponsesReader` for the responses API.
 * A request's conversion gives the body, a report of everything that was changed, and the aliases that the reader of the
 * answer needs. Nothing here calls the network, and the `openai` package is needed for its types only.
 */

export { ChatReader, chatAnswer, chatRequest } from './openai-chat.js';
export { ResponsesReader, responsesAnswer, responsesRequest } from './openai-responses.js';
export { readChunks } from './notice.js';
export type { Aliases, Answer, ChunkReader, Converted, Notice, NoticeCode } from './notice.js';
export type { RequestOptions } from './config.js';
export type { SignedReasoning } from './signed.js';
