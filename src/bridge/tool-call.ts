/** A call of one tool, as the client sent it. */
export interface ToolRequest {
  name: string
  args: Record<string, unknown>
}

/** Never copied, because `signal` may be created on access and a copy would lose it. */
export interface ToolCall extends ToolRequest {
  /** The client's `_meta` of the call. */
  meta: Record<string, unknown>
  /** Aborted when the client cancels the call. */
  readonly signal: AbortSignal
}
