/** Limits of the import of clients' history files, a part of `LIMITS`. */
export const HISTORY_LIMITS = {
  /** Maximum size of one line of a history file; longer ones, such as large images, are skipped and counted. */
  history_line_bytes_max: 16 * 1024 * 1024,
  /** Size of one read of a history file. */
  history_read_bytes: 256 * 1024,
  /** Maximum number of history files that are read in one run, newest first. */
  history_files_max: 20_000,
  /** Maximum depth of folders below the one with the history files. */
  history_depth_max: 6,
  /** Time without a line after which a session at rest has ended. Files that changed more recently are not read. */
  history_pause_ms: 15 * 60_000,
  /** The same for a session whose turn was running: a person may answer a question the next morning. */
  history_open_pause_ms: 24 * 3_600_000,
  /** Number of sent events per second, below `activity_rate_max`, because dropped events would count as lost. */
  history_rate_max: 800,
  /** Number of events that are sent before the rate applies; below what the hub accepts at once. */
  history_burst_events_max: 5_000,
  /** Maximum number of times that a dropped report is sent again. */
  history_retries_max: 20,
  /** Time before a dropped report is sent again. */
  history_retry_ms: 1_000,
} as const
