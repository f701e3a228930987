/** Bounds of the primer; see `modules/context/primer.ts`. */
export const PRIMER_LIMITS = {
  /** Of the text that an agent gets when its session starts, is cleared or compacted; an upper bound, not an estimate. */
  primer_tokens_max: 200,
  primer_teammates_max: 8,
  primer_senders_max: 4,
  primer_memory_lines_max: 3,
  /** In characters, of one line of the memory, before it is cut to the tokens that are left. */
  primer_line_length_max: 240,
  /** Waiting signals that are read for their senders. */
  primer_signals_max: 100,
  /** Time within which a plugin gets the primer from the hub; without it the session goes on. */
  primer_answer_ms: 2_000,
  /** Pause after a request that failed. */
  primer_retry_ms: 30_000,
  /** A session without a request for this long gets a new primer with its next one. */
  primer_kept_ms: 600_000,
} as const
