/**
 * The bounds of the bridge, and of the hub that it is itself where none can be had: a part of `LIMITS`, under which name
 * they are used.
 */
export const BRIDGE_LIMITS = {
  // A hub that stands in
  /** How long a hub of its own waits for the place: what runs there may end first. */
  yield_patience_ms: 35_000,
  yield_retry_ms: 50,

  // Bridge
  /** A bridge whose hub has been away for this long within one call stands in for it, where none may be started. */
  bridge_embed_after_ms: 3_000,
  /** How often one that stands in looks whether the hub it would rather call is there. */
  bridge_follow_ms: 5_000,
  /** How long a call waits for a hub that is away. Below the 8 s after which Claude Code gives up. */
  bridge_wait_ms: 6_000,
  bridge_retry_min_ms: 50,
  bridge_retry_max_ms: 500,
  /** A hub that has been away for this long within one call is started, where that is allowed. */
  bridge_autostart_after_ms: 1_500,
  bridge_answer_ms: 60_000,
  /** Lists in it are bounded by bytes; the longest left are those that name each of `personas_max`. */
  bridge_answer_bytes_max: 32 * 1024 * 1024,
  /** A stream of changes that ended is opened again after this long, growing to the maximum. */
  bridge_listen_min_ms: 200,
  bridge_listen_max_ms: 10_000,
  /** A token is renewed when this share of its life is over, so that a hub away for minutes costs nothing. */
  token_renew_ratio: 0.8,
  /** Confirmations that wait for a hub that is away; one more is dropped, its signals come back. */
  bridge_confirms_max: 256,
  /** A bridge that begins looks for drains a killed one left; a hub that is away takes them back itself. */
  bridge_leftover_wait_ms: 2_000,
  bridge_confirm_wait_ms: 600_000,
  /** How long a bridge that ends tries to say what it still owes the hub. */
  bridge_close_ms: 1_000,
  /** For the answers to what was asked before the client's input ended; a hub may have to be started for them. */
  bridge_linger_ms: 30_000,
  /** How much of it is for calls that are under way. */
  bridge_last_calls_ms: 500,
  /** The same for one that is the hub of others, too. */
  stand_in_close_ms: 5_000,
} as const
