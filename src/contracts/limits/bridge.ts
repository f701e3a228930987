/** Limits of the bridge and of its embedded hub, a part of `LIMITS`. */
export const BRIDGE_LIMITS = {
  // Embedded hub
  /** Maximum time that a full hub waits for the home lock; the embedded hub that holds it may finish first. */
  handover_patience_ms: 35_000,
  /** Interval between attempts to take the home lock. */
  handover_retry_ms: 50,

  // Bridge
  /**
   * Time without a hub, within one call, after which a bridge starts the embedded hub if it must not start a full one.
   */
  bridge_embed_after_ms: 3_000,
  /** Interval at which a bridge with an embedded hub checks for its preferred hub. */
  bridge_follow_ms: 5_000,
  /** Maximum time that a call waits for an absent hub. Less than the 8 s timeout of Claude Code. */
  bridge_wait_ms: 6_000,
  bridge_retry_min_ms: 50,
  bridge_retry_max_ms: 500,
  /** Time without a hub, within one call, after which the bridge starts one, if allowed. */
  bridge_autostart_after_ms: 1_500,
  bridge_answer_ms: 60_000,
  /** Maximum size of a response. Lists are bounded by bytes; the longest others name each of `personas_max`. */
  bridge_answer_bytes_max: 32 * 1024 * 1024,
  /** Minimum backoff before a closed change stream is reopened. */
  bridge_listen_min_ms: 200,
  /** Maximum backoff before a closed change stream is reopened. */
  bridge_listen_max_ms: 10_000,
  /** Share of a token's lifetime after which it is renewed, so that a hub can be away for minutes. */
  token_renew_ratio: 0.8,
  /**
   * Maximum number of confirmations queued for an absent hub. A further one is dropped, and its signals return to
   * pending.
   */
  bridge_confirms_max: 256,
  /** Maximum time that a new bridge waits to release the drains of a killed one. An absent hub releases them itself. */
  bridge_leftover_wait_ms: 2_000,
  bridge_confirm_wait_ms: 600_000,
  /** Maximum time that a closing bridge takes to send its queued confirmations. */
  bridge_close_ms: 1_000,
  /**
   * Maximum time for outstanding responses after the client closed its input; a hub may have to be started for them.
   */
  bridge_linger_ms: 30_000,
  /** Share of bridge_close_ms for running calls. */
  bridge_last_calls_ms: 500,
  /** The same as bridge_close_ms for a bridge whose embedded hub has other clients. */
  embedded_close_ms: 5_000,
} as const
