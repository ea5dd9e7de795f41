/** What LangGraph's checkpoints add to the vocabulary. */

/** A value as LangGraph's serializer wrote it: text, or bytes in base64. */
export type Serialized = { readonly type: string; readonly text: string } | { readonly type: string; readonly base64: string };

/** The events. */
export interface LangGraphEventMap {
  /** Log-only. LangGraph: the state of a graph after a step, with the channels that have changed; the others stand in earlier ones. */
  'langgraph/checkpoint': {
    readonly ns: string;
    readonly id: string;
    readonly parent?: string;
    readonly checkpoint: Serialized;
    readonly metadata: Serialized;
    readonly values: readonly { readonly channel: string; readonly version: number | string; readonly value: Serialized }[];
  };
  /** Log-only. LangGraph: what a task has written, not yet part of a checkpoint. */
  'langgraph/writes': {
    readonly ns: string;
    readonly id: string;
    readonly taskId: string;
    readonly taskPath: string;
    readonly writes: readonly { readonly idx: number; readonly channel: string; readonly value: Serialized }[];
  };
  /** Log-only. LangGraph: the thread was deleted; what stands before counts no more. */
  'langgraph/deleted': object;
}
