/** Limits of activity capture, a part of `LIMITS`. */
export const ACTIVITY_LIMITS = {
  /** Maximum number of events in one report. */
  activity_report_events_max: 500,
  /** Maximum size of one captured text; of a longer one the beginning, the length and the SHA-256 are stored. */
  activity_text_bytes_max: 64 * 1024,
  /** Maximum size of one report as sent by a shim; below `body_bytes_max`. */
  activity_report_bytes_max: 512 * 1024,
  activity_page_max: 200,
  activity_page_default: 50,
  /** Maximum number of events per second of one caller, as an average over activity_rate_ms; further ones are dropped. */
  activity_rate_max: 1_000,
  activity_rate_ms: 10_000,
  /** Maximum number of events that wait in the hub to be written; further reports are answered as not stored. */
  activity_waiting_events_max: 5_000,
  /** Maximum number of sessions whose dropped events are counted until they can be stored. */
  activity_dropped_sessions_max: 10_000,
  /** Time without evidence after which a working session counts as unknown. */
  activity_unknown_ms: 120_000,
  /** Interval at which the hub checks the processes of open sessions. */
  activity_process_check_ms: 5_000,
  /** Default age at which activity is deleted, in days; configurable as `activity.retention_days`. */
  activity_retention_days: 30,
  /** Default size of the activity database at which the oldest activity is deleted; configurable as `activity.bytes_max`. */
  activity_bytes_max: 2 * 1024 ** 3,
  /** Maximum number of globs in `activity.deny`. */
  activity_deny_max: 100,
  /** Interval at which old activity is deleted. */
  activity_cleanup_ms: 60_000,
  /** Maximum number of open requests to a person, running tools and running subagents that are tracked of one session. */
  activity_tracked_max: 256,
} as const
