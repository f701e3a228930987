/** Limits of hooks, shims, the spool and Claude Code, a part of `LIMITS`. */
export const SURFACE_LIMITS = {
  command_timeout_ms: 30_000,
  command_output_bytes_max: 65_536,
  /**
   * Time after which a client aborts a hook. The event of an aborted hook is lost, and a loaded machine needs a second or
   * more to start its process.
   */
  hook_timeout_ms: 10_000,
  /** Maximum time that a hook waits for the hub; then it spools its event. At the start of a session it is primer_answer_ms. */
  hook_answer_ms: 2_000,
  /** Maximum length of a text of a client that `status` shows. */
  presence_text_length_max: 120,
  /** Maximum time that a client's status line waits for the daemon. */
  status_line_ms: 300,
  /** Maximum number of spooled lines that are consumed with one sync. */
  spool_batch_max: 256,
  /** Maximum size of a spooled line; longer lines are rejected. */
  spool_line_bytes_max: 8 * 1024 * 1024,
  /** Maximum size of the spool of a home; hooks drop further lines. */
  spool_bytes_max: 16 * 1024 * 1024,
  /** Size of the spool at which shims spool no further activity, so that it leaves space for other lines. */
  spool_activity_bytes_max: 8 * 1024 * 1024,
  /** Maximum number of deferred lines, which the hub could not consume yet; further ones are quarantined. */
  spool_deferred_max: 5_000,
  /** Maximum size of the deferred lines. Less than spool_bytes_max, so that they leave space for other lines. */
  spool_deferred_bytes_max: 4 * 1024 * 1024,
  /** Maximum time that a line stays deferred before it is quarantined. */
  spool_deferred_ms: 7 * 86_400_000,
  /** Size at which the quarantine file is rotated; one older file is kept. */
  spool_rejected_bytes_max: 8 * 1024 * 1024,
  /** Maximum number of attempts to consume a line that fails with an unexpected error. */
  spool_tries_max: 5,
  /** Time without writes after which no writer can have the taken spool file open. */
  spool_quiet_ms: 2_000,
  /** Maximum time that a shim waits for the hub's answer to a report of activity; then it spools the report. */
  activity_answer_ms: 2_000,
  /** Minimum time between two reports of activity of one shim. */
  activity_batch_ms: 100,
  /** Minimum time between two reports while the hub does not answer. */
  activity_retry_ms: 1_000,
  /** Maximum number of events that wait in a shim; the oldest are dropped. */
  activity_queue_events_max: 2_000,
  /** Size of the waiting events above which further ones are recorded without their texts. */
  activity_queue_bytes_max: 8 * 1024 * 1024,
  /**
   * Maximum length of a text in an event that a shim sends. More than activity_text_bytes_max by the length of a private key:
   * the hub removes secrets before it cuts.
   */
  activity_sent_text_length_max: 72 * 1024,
  /** Maximum number of sessions whose numbers a shim has in memory. */
  activity_sessions_max: 64,
  /** Maximum number of sessions of a persona whose last numbers are stored. */
  activity_numbers_max: 1_000,
  /** Time after the last event of a session at which its number is removed. */
  activity_numbers_age_ms: 90 * 86_400_000,
  /** Time after which a ring is confirmed even if the command still runs. Less than shim_answer_ms. */
  command_answer_ms: 1_000,
  /** Minimum backoff after a failed command. */
  command_pause_min_ms: 500,
  /** Maximum backoff after failed commands. */
  command_pause_max_ms: 60_000,
  /** Interval at which the users attached to a managed agent are checked; a killed user leaves its marker file. */
  attached_look_ms: 1_000,
  /** Minimum backoff of a shim whose daemon is away. */
  shim_reconnect_min_ms: 100,
  /** Maximum backoff of a shim whose daemon is away. */
  shim_reconnect_max_ms: 2_000,
  /** Maximum time that a shim waits for the response to a report with `take`. Greater than take_answer_ms. */
  shim_take_ms: 2_500,
  /**
   * Time at the prompt without a Stop hook after which a session counts as idle, because Claude Code does not report
   * interrupts.
   */
  claude_settle_ms: 1_500,
  /** Time by which Claude Code's session registry can lag behind its hooks. */
  claude_registry_lag_ms: 500,
  inbox_answer_ms: 2_000,
  /**
   * Time at the prompt, over all turns, after which a doorbell counts as lost that Claude Code has read, or has not
   * read in a turn after it.
   */
  claude_bell_lost_ms: 30_000,
  /** Interval at which the process of Claude Code is checked while a doorbell is outstanding. */
  claude_bell_look_ms: 5_000,
  /**
   * Time between the steps of stopping a headless Claude Code session: end of input, SIGTERM, SIGKILL. Three times this
   * value is less than shim_stop_grace_ms.
   */
  claude_leave_ms: 1_500,
  /** Interval at which a session orphaned by an earlier supervisor is checked. */
  claude_orphan_check_ms: 500,
  /** Interval of the log message about an orphaned session. */
  claude_orphan_warn_ms: 10 * 60_000,
  /** Maximum time for an orphaned session to end before it is killed. */
  claude_orphan_max_ms: 3_600_000,
  /**
   * Maximum time that a hook of Claude Code waits for the release of signals that were not shown; the release continues
   * after it.
   */
  release_wait_ms: 1_000,
  /** Retry interval after a worker failed to start; each retry starts a new process. */
  claude_respawn_ms: 60_000,
} as const
