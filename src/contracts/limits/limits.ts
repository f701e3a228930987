/**
 * All limits that a user or another process can reach, with the unit in the name.
 *
 * A limit that only one file uses is defined in that file. Limits that `config.ts` uses as defaults are configurable; the
 * others are part of the protocol.
 */
import { ACTIVITY_LIMITS } from './activity.ts'
import { AGENT_LIMITS } from './agent.ts'
import { BRIDGE_LIMITS } from './bridge.ts'
import { GIT_LIMITS } from './git.ts'
import { HISTORY_LIMITS } from './history.ts'
import { MEMORY_LIMITS } from './memory.ts'
import { SHARE_LIMITS } from './shares.ts'
import { SURFACE_LIMITS } from './surfaces.ts'
import { CLAUDE_MODULE_LIMITS } from './claude-module.ts'

export const LIMITS = {
  // Names and bodies
  identity_length_max: 63,
  tenant_length_max: 32,
  session_id_length_max: 128,
  intent_length_max: 64,
  topic_length_max: 128,
  idempotency_key_length_max: 128,
  payload_bytes_max: 65_536,
  /** Maximum nesting of lists and objects. The signal, the response and its envelope add to it. */
  payload_depth_max: 50,
  /** Maximum size of a broadcast's payloads for all recipients together, which are stored in one write. */
  broadcast_bytes_max: 64 * 1024 * 1024,
  doorbell_text_length_max: 200,
  short_id_length: 8,

  // Signals
  priority_min: 0,
  priority_default: 3,
  priority_max: 9,
  /** Lifetime of a pending signal from an agent, in seconds; configurable as `signals.ttl_s`. */
  ttl_s_default: 86_400,
  /** Lifetime of a pending signal from or to a person, in seconds; also the maximum. */
  ttl_s_max: 30 * 86_400,
  /** Maximum number of expired signals listed by one drain; the next drains list the others. */
  expired_per_drain_max: 20,
  /** Maximum number of expired signals listed in one notice; its `total` counts all of them. */
  expired_per_notice_max: 20,
  /** Maximum number of expiry notices of one persona; further ones are merged into one. */
  expiry_notices_max: 10,
  queue_depth_max: 10_000,
  drain_limit_default: 20,
  drain_limit_max: 100,
  /**
   * Maximum size of the signals of one drain as returned, so that the response fits frame_bytes_max on every transport.
   */
  drain_bytes_max: 128 * 1024,
  inbox_limit_max: 1_000,
  /** Maximum size of an inbox page in JSON, so that the response fits frame_bytes_max on every transport. */
  inbox_bytes_max: 192 * 1024,
  ack_batch_max: 1_000,
  deliveries_max: 5,
  lease_ms: 30 * 60_000,
  /** Maximum number of signals in progress listed in one response; the others are counted. */
  in_progress_shown_max: 20,
  /** Maximum number of signals in progress reported to one session; the next session gets the others. */
  in_progress_reported_max: 1_000,
  idempotency_window_ms: 24 * 3_600_000,
  finished_retention_ms: 7 * 86_400_000,
  /** Interval of the sweep for expired signals, lost leases and silent sessions. */
  sweep_interval_ms: 5_000,
  /** Interval of the deletion of finished signals past their retention. */
  compaction_interval_ms: 3_600_000,

  // Journal
  segment_bytes_max: 64 * 1024 * 1024,
  /** Maximum size of one group commit, which bounds the write before a sync. */
  commit_bytes_max: 8 * 1024 * 1024,
  /** Share of dead bytes in the sealed segments at which compaction starts. */
  compaction_dead_ratio: 0.5,
  event_log_events_max: 10_000,
  /** Maximum size of the events in memory; above it the oldest are dropped. */
  event_log_bytes_max: 16 * 1024 * 1024,

  // Registry
  heartbeat_interval_ms: 10_000,
  /**
   * Time without a heartbeat after which a registration expires: three intervals. Must be above 2 x
   * heartbeat_interval_ms.
   */
  registration_expire_ms: 30_000,
  personas_max: 20_000,

  // Records
  /** Maximum length of the name of a kind or of a status, in characters. */
  record_name_length_max: 64,
  record_scope_length_max: 256,
  /** Maximum length of a record's self-declared author, in characters. */
  record_agent_length_max: 128,
  /** Maximum size of one stored record. Longer text belongs into a file of the project. */
  record_bytes_max: 64 * 1024,
  records_page_default: 20,
  records_page_max: 500,
  /** Maximum size of a page, so that the response fits frame_bytes_max on every transport. */
  records_page_bytes_max: 128 * 1024,
  filter_values_max: 100,
  filter_text_length_max: 256,
  /** Maximum length of a `next` cursor, in characters. The longest contains the scope of a record in escaped JSON. */
  cursor_length_max: 4_096,
  project_aliases_max: 32,

  // Coordination
  resource_length_max: 512,
  /** Maximum length of a note, reason or purpose shown in lists, in characters. */
  note_length_max: 500,
  lock_ttl_s_default: 300,
  lock_ttl_s_max: 86_400,
  locks_max: 10_000,
  /** Time that the record of an ended lock is kept. */
  lock_retention_ms: 24 * 3_600_000,
  blockings_max: 10_000,
  topics_per_persona_max: 64,
  capabilities_max: 32,
  capability_length_max: 64,
  /** Maximum number of entries in each of the three lists of a status, which together fit frame_bytes_max. */
  status_limit_default: 200,
  status_limit_max: 1_000,
  status_list_bytes_max: 64 * 1024,
  /** Maximum number of personas in a team view. */
  team_shown_max: 20,
  /** Maximum number of names in each list of a team view. */
  team_names_max: 8,
  /** Number of pending signals in which a team view looks for senders. */
  team_signals_read_max: 256,
  /** Maximum number of locks shown with one agent; the list of locks returns all of them. */
  agent_locks_shown_max: 100,
  log_message_length_max: 2_000,
  /** Maximum size of the data that an agent adds to its own event, in JSON. */
  event_data_bytes_max: 4_096,
  history_limit_default: 50,
  history_limit_max: 500,
  /** Maximum size of all events or runs in one response, so that it fits frame_bytes_max. */
  answer_list_bytes_max: 128 * 1024,

  // Runs
  prompt_length_max: 16_384,
  run_summary_length_max: 2_000,
  /** Maximum number of stored checkpoints of a run; the oldest are dropped, and the event stream has all of them. */
  run_checkpoints_max: 50,
  run_assumptions_max: 100,
  assumption_length_max: 500,
  run_delegations_max: 200,
  run_bytes_max: 64 * 1024,
  runs_page_default: 20,
  runs_page_max: 200,
  run_events_default: 50,
  run_events_max: 500,
  trace_depth_default: 5,
  trace_depth_max: 20,
  trace_runs_max: 200,
  context_pack_tokens_min: 200,
  context_pack_tokens_default: 2_000,
  context_pack_tokens_max: 16_000,
  /** Number of characters counted as one token. */
  characters_per_token: 4,

  // WebSocket
  frame_bytes_max: 256 * 1024,
  hello_timeout_ms: 5_000,
  malformed_frames_max: 10,
  ws_ping_interval_ms: 30_000,
  ws_silence_max_ms: 60_000,
  /** Maximum unread data of one client; above it the connection is closed, and the client reconciles later. */
  ws_backlog_bytes_max: 1024 * 1024,
  subscriptions_max: 64,
  /** Maximum number of disconnected sessions whose subscriptions are stored; the oldest are dropped. */
  stored_subscriptions_max: 1_000,
  /** Maximum number of connections without a valid token and without a hello; a further one closes the oldest. */
  unproven_links_max: 64,
  /** Maximum number of frames of one connection that are queued while its hello is processed. */
  early_frames_max: 64,
  /** Number of running calls of one connection at which reading from it pauses. */
  calls_underway_paused: 256,
  /** Maximum number of running calls of one connection. */
  calls_underway_max: 1_024,
  /** Maximum number of unacknowledged critical events of one connection; the oldest are dropped. */
  critical_unacked_max: 1_000,
  metrics_channel_interval_ms: 5_000,
  critical_check_ms: 2_000,
  critical_resend_ms: 5_000,
  critical_tries_max: 3,

  // Kernel
  /** Maximum nesting of calls made by calls, such as a batch in a routine that is called by name. */
  call_depth_max: 8,
  /** Maximum number of calls of one request, including nested ones. */
  request_calls_max: 2_000,
  /** Maximum size of the responses of all calls of one request. */
  request_answer_bytes_max: 2 * 1024 * 1024,
  /** Maximum running time of all calls of one request together. */
  request_running_ms: 120_000,
  /** Maximum number of concurrent calls of one batch. */
  batch_running_max: 16,
  search_results_max: 50,
  /** Maximum number of facets in a token, so that it fits into a header. */
  token_facets_max: 16,

  // Plugins
  plugins_max: 100,
  plugin_load_ms: 10_000,
  /** Maximum length of a name in a plugin, in characters, so that the full name is still a valid tool name. */
  plugin_name_length_max: 64,
  /** Maximum length of a summary or a hint, in characters. */
  plugin_text_length_max: 1_000,
  /** Maximum length of the reason why a plugin was not loaded, in characters. */
  plugin_problem_length_max: 2_000,

  // Routines
  routine_steps_max: 50,
  /** Time after which a routine yields to the event loop between two steps. */
  routine_turn_ms: 20,
  /**
   * Maximum size of all values that the references of one step resolve to. Literal values are bounded by the request.
   */
  step_references_bytes_max: 4 * 1024 * 1024,
  /** Maximum number of concurrent routines; each runs one step at a time. */
  routine_runs_max: 16,
  /** Maximum size of one step's result in the report. */
  step_result_bytes_max: 24 * 1024,
  /** Maximum size of all results in the report, so that it fits frame_bytes_max. */
  report_results_bytes_max: 96 * 1024,
  /** Maximum length of the detail of a step's problem, in characters. */
  step_problem_length_max: 500,
  /** Maximum number of stored reports; the oldest are deleted. */
  routine_reports_max: 500,
  workflow_commands_max: 20,
  reports_page_max: 100,
  program_ms: 120_000,
  program_ms_max: 600_000,
  program_arguments_max: 256,
  program_argument_length_max: 32_768,
  /** Maximum size of the stored end of each output stream of a program. */
  program_output_bytes_max: 8 * 1024,
  /** Maximum time for reading a program's output after its exit, because another process may keep its pipes open. */
  program_pipes_ms: 500,
  bench_runs_default: 5,
  bench_runs_max: 50,
  /** Maximum time for all runs together. Less than hub_answer_ms, so that the command gets the result. */
  bench_ms: 25_000,
  /** Maximum length of the output of a failed run, in characters. */
  bench_output_length_max: 2_000,
  web_answer_ms: 30_000,
  web_answer_ms_max: 300_000,
  web_answer_bytes_max: 64 * 1024,
  web_redirects_max: 5,
  pattern_length_max: 500,
  /** Maximum time for the evaluation of one pattern, which blocks the hub. */
  pattern_ms: 100,
  /** Maximum number of evaluations of a pattern that timed out without enough processor time. */
  pattern_tries_max: 10,

  // HTTP
  body_bytes_max: 1024 * 1024,
  batch_calls_max: 100,
  /**
   * Keep-alive timeout of an HTTP connection. Longer than clients pause between two calls of a turn, because a
   * connection closed during a call looks like a lost response.
   */
  http_keep_alive_ms: 72_000,
  /** Maximum time for a client to close its end of a connection that it asked to close. */
  http_linger_ms: 2_000,
  events_page_max: 1_000,
  ...SHARE_LIMITS,

  // Activity capture
  ...ACTIVITY_LIMITS,
  ...HISTORY_LIMITS,
  sse_heartbeat_ms: 15_000,
  /** Maximum time that a reader of the event stream may leave data unread before it is closed; it can resume. */
  sse_silence_max_ms: 60_000,
  event_streams_max: 256,
  /** Number of event streams reserved for the operator and for daemons. */
  event_streams_kept: 64,
  /**
   * Maximum number of MCP sessions. A further one drops the least recently used, which is recreated when its client
   * returns.
   */
  mcp_sessions_max: 1_024,
  mcp_streams_max: 1_024,
  mcp_streams_kept: 64,
  mcp_batch_max: 100,
  /**
   * Maximum number of token requests a minute. After a restart of the hub every daemon, bridge and command sends one.
   */
  token_requests_per_minute_max: 1_200,
  /** Maximum number of renewals a minute for one caller other than the operator. */
  caller_renewals_per_minute_max: 120,
  /** Maximum number of callers with a request counter; the oldest are dropped. */
  token_callers_max: 50_000,
  /** Maximum time for a request to arrive completely. */
  http_request_ms: 30_000,
  close_grace_ms: 30_000,
  token_ttl_s: 3_600,
  token_ttl_s_max: 30 * 86_400,
  /** Maximum delay of a Node.js timer; a longer one fires at once. */
  timer_max_ms: 2 ** 31 - 1,
  /** Size at which a log is rotated to `.1`, replacing the previous one. */
  log_file_bytes_max: 64 * 1024 * 1024,

  // Local sockets
  line_bytes_max: 65_536,
  socket_path_bytes_max: 104,
  socket_path_bytes_max_linux: 108,
  socket_clients_max: 32,
  /** Maximum number of unanswered requests of one connection. */
  rpc_in_flight_max: 64,
  /** Maximum unread data of a local peer; above it the connection is closed. */
  rpc_backlog_bytes_max: 1024 * 1024,
  /** Maximum time that a closing connection waits for the peer to read the last response. */
  rpc_close_grace_ms: 1_000,
  /** Timeout of a request to a shim; a request without a response counts as failed. */
  shim_answer_ms: 5_000,
  /** Time without a report after which the surface of a pull shim, which has no open connection, counts as absent. */
  pull_attachment_ms: 30 * 60_000,
  /**
   * Maximum time until a report with `take` is answered, with or without a doorbell. Less than hook_timeout_ms, because
   * a hook waits for it.
   */
  take_answer_ms: 1_000,
  /** Time after the start of a daemon after which a surface that has not attached counts as absent. */
  surface_attach_grace_ms: 5_000,
  /**
   * Time for a session to return after its daemon or supervised shim has ended. After it the session counts as lost,
   * and the hub releases its drains.
   */
  session_return_ms: 15_000,

  // Daemon
  pending_index_max: 1_000,
  /** Minimum heartbeat interval that a daemon accepts from the hub. */
  heartbeat_interval_min_ms: 1_000,
  /** Maximum size of the response to a token request. */
  token_answer_bytes_max: 64 * 1024,
  /** Time after which a closed link is terminated if the hub has not closed it too. */
  link_close_grace_ms: 500,
  /** Number of consecutive lost doorbells at which delivery counts as degraded. */
  lost_rings_max: 3,
  /** Maximum time that a surface may report an unknown turn before it counts as unable to receive doorbells. */
  turn_unknown_max_ms: 300_000,
  /** Time that an idle surface may hold a doorbell without a turn before delivery counts as degraded. */
  bell_held_max_ms: 300_000,
  /** Maximum of the counter of lost doorbells; the backoff has reached its maximum before. */
  lost_rings_counted_max: 30,
  /** Maximum number of signals returned by a peek, so that it fits frame_bytes_max; `total` counts the others. */
  peek_limit_max: 1_000,
  /** Maximum number of signal ids in one frame or event. A frame fits fewer than 9,000. */
  told_ids_max: 1_000,

  // Surfaces of known agents
  ...AGENT_LIMITS,

  reconnect_min_ms: 500,
  /** Time over which the daemons of a machine spread their connections after the hub is ready. */
  reconnect_spread_ms: 300,
  /** Interval at which a daemon checks that its socket files still exist. */
  socket_look_ms: 5_000,
  reconnect_max_ms: 30_000,
  /** Time without a frame from the hub after which the link counts as stalled. Greater than ws_ping_interval_ms. */
  link_silence_max_ms: 45_000,
  reconcile_timeout_ms: 10_000,
  /** Timeout of the last check of pending before a doorbell. Short, because a hook may wait for it. */
  emit_check_ms: 2_000,
  bell_receipt_ms: 10_000,
  /** Maximum number of sessions whose unanswered doorbells are stored. */
  bell_sessions_max: 64,
  /** Maximum number of doorbells whose receipt or rejection is stored after they were answered. */
  stored_bells_max: 32,
  redoorbell_max: 3,
  /** Delays of the first, second and third reminder after a turn that ended without a drain. */
  reminders_ms: [30_000, 120_000, 600_000],
  /** Time without doorbells after a person interrupted the agent and was quiet since. */
  interrupt_hold_ms: 300_000,
  /** Delay before a backlog found at a reconnect rings a surface that is known to be idle. */
  reconnect_grace_ms: 15_000,
  reconnect_patience_ms: 300_000,
  metrics_publish_ms: 10_000,
  shim_restart_min_ms: 1_000,
  shim_restart_max_ms: 60_000,
  shim_stable_ms: 60_000,
  shim_stop_grace_ms: 5_000,

  // Git
  ...GIT_LIMITS,

  // Shared memory
  ...MEMORY_LIMITS,

  // Command line
  /** Timeout of one run of `notify.command`. */
  notify_timeout_ms: 10_000,
  notify_output_bytes_max: 4 * 1024,
  notices_waiting_max: 100,
  /** Maximum time that a command waits for a hub that restarts or starts. */
  hub_reach_ms: 10_000,
  hub_reach_poll_ms: 100,
  /** Polling interval of commands that follow something. */
  follow_interval_ms: 1_000,
  /** Default duration of `send --wait`, in seconds. */
  wait_s_default: 600,
  wait_poll_ms: 500,
  /** Maximum time that `send` waits for the first byte of a pipe that the user did not ask to read. */
  piped_text_ms: 1_000,
  /** Timeout of a command's request to the hub; the drain of a full queue takes less. */
  hub_answer_ms: 30_000,
  /** Maximum timeout that can be passed to a command. `fetch` gives up after 300 s without response headers. */
  hub_answer_ms_max: 240_000,
  control_answer_ms: 5_000,
  /** Timeout of each process check of `doctor`, whose whole report takes less than 5 s. */
  doctor_answer_ms: 1_500,
  /** Number of lines at the end of a daemon's log in which doctor looks for the failure of its agent. */
  doctor_log_lines_max: 200,
  /** Maximum time that a command waits for a daemon to stop. Greater than shim_stop_grace_ms. */
  daemon_stop_ms: 15_000,
  /** Maximum time that `up` waits for a started process to be ready; the recovery of a large journal fits. */
  process_start_ms: 30_000,
  /** Time after which a person is informed that a process is still starting. */
  process_start_notice_ms: 3_000,
  process_restart_min_ms: 1_000,
  process_restart_max_ms: 60_000,
  process_stable_ms: 60_000,
  /** Timeout of `ps`, which is used where only it reports the start time of a process. */
  ps_answer_ms: 2_000,

  // Surfaces
  ...SURFACE_LIMITS,
  ...CLAUDE_MODULE_LIMITS,

  // Bridge and embedded hub
  ...BRIDGE_LIMITS,

  // Shared files and clients
  /**
   * Maximum time that a command waits for another one that changes the same file; several holders may have crashed one
   * after another.
   */
  short_lock_patience_ms: 20_000,
  /** Interval between attempts to take the lock of a file. */
  short_lock_retry_ms: 50,
  /** Time without a heartbeat after which the lock of a file counts as stale. */
  short_lock_stale_ms: 5_000,
  /** Timeout of a client's version command. */
  client_version_ms: 10_000,
} as const
