/** Limits of the primer; see `modules/context/primer.ts`. */
export const PRIMER_LIMITS = {
  /** Maximum size of the text that an agent gets when its session starts, is cleared or compacted, in tokens. */
  primer_tokens_max: 200,
  primer_teammates_max: 8,
  primer_senders_max: 4,
  primer_memory_lines_max: 3,
  /** Maximum length of one memory line, in characters, before it is truncated to the remaining tokens. */
  primer_line_length_max: 240,
  /** Maximum number of pending signals that are read for their senders. */
  primer_signals_max: 100,
  /** Timeout of a request for the primer; without it the session continues. Less than hook_timeout_ms. */
  primer_answer_ms: 5_000,
  /** Retry interval after a failed request. */
  primer_retry_ms: 30_000,
  /** Time without a request of a session after which its next request gets a new primer. */
  primer_lifetime_ms: 600_000,
} as const
