/** Limits of the module inside Claude Code, a part of `LIMITS`. The module bundles only these. */
export const CLAUDE_MODULE_LIMITS = {
  /** Time that a ring waits for the outcome of a doorbell that the module in Claude Code has. Less than shim_answer_ms. */
  mod_receipt_ms: 2_000,
  /** Maximum time after which the worker answers a module that waits. The client itself aborts a request after 30 s. */
  mod_wait_ms: 10_000,
  /** Time without events after which the module shows that it lives. */
  mod_beat_ms: 5_000,
  /** Time without a request after which the module counts as gone. */
  mod_silent_ms: 15_000,
  /** Minimum backoff of a module whose worker is away. */
  mod_retry_min_ms: 500,
  /** Maximum backoff of a module whose worker is away. */
  mod_retry_max_ms: 5_000,
  /** Retry interval of a module whose worker has another protocol; the worker is replaced when turnbell is updated. */
  mod_protocol_retry_ms: 60_000,
  /** Maximum length of a text in an event of the module. */
  mod_text_length_max: 512,
  /**
   * Maximum length of the content of an event, such as a tool's output; of a longer one the beginning, the size and the digest
   * are sent. As JSON it has at most six bytes for each character, so one event fits into mod_batch_bytes_max. The same as
   * activity_sent_text_length_max.
   */
  mod_content_length_max: 72 * 1024,
  /** Length of a content above which it is not sent at all. The digest of such a length takes up to 0.1 s. */
  mod_digested_length_max: 1024 * 1024,
  /** Size of the events that wait in the module above which further ones lose their content. */
  mod_waiting_bytes_max: 4 * 1024 * 1024,
  /** Maximum size of the events of one request, unless one event has more. Half of mod_body_bytes_max. */
  mod_batch_bytes_max: 512 * 1024,
  /** Maximum number of a client's requests to its person in a report; all of a report must fit line_bytes_max. */
  presence_waiting_max: 8,
  /** Maximum number of running subagents in a report. */
  presence_agents_max: 16,
  /** Maximum number of events in one request of the module. */
  mod_batch_events_max: 64,
  /** Maximum number of events that wait in the module; the oldest are dropped. */
  mod_events_waiting_max: 512,
  /** Maximum number of reported tool calls that wait in the worker while the end of a turn waits for the hub. */
  mod_calls_waiting_max: 256,
  /** Maximum size of a request from the module in Claude Code. */
  mod_body_bytes_max: 1024 * 1024,
  /** Maximum number of connections from the module in Claude Code. */
  mod_connections_max: 8,
  /** Interval at which the worker reads what the module shows of the team. */
  mod_view_ms: 5_000,
  /** Minimum time between two of these reads. */
  mod_view_min_ms: 1_000,
  /** Time that the worker waits for the hub's response to such a read. */
  mod_view_answer_ms: 2_000,
  /** Maximum number of names in each text that the module shows. */
  mod_names_shown_max: 3,
} as const
