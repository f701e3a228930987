/**
 * The bounds of the system, with the unit in the name, and how they relate.
 *
 * Whatever a user or another process can run into has its limit here and in what is taken in here, and
 * nowhere else; a bound that only one file knows of stands in that file. What a person may change is the default of a
 * key in `config.ts`; the rest are part of the protocol.
 */
import { AGENT_LIMITS } from './agent-limits.ts'
import { BRIDGE_LIMITS } from './bridge-limits.ts'
import { GIT_LIMITS } from './git-limits.ts'
import { MEMORY_LIMITS } from './memory-limits.ts'

export const LIMITS = {
  // Words and bodies
  identity_length_max: 63,
  tenant_length_max: 32,
  session_id_length_max: 128,
  intent_length_max: 64,
  topic_length_max: 128,
  idempotency_key_length_max: 128,
  payload_bytes_max: 65_536,
  /** Lists and mappings in each other. Around it stand a signal, an answer and its envelope, wherever it is read. */
  payload_depth_max: 50,
  /** Of the payload, for all recipients together: they are stored in one write, all or none. */
  broadcast_bytes_max: 64 * 1024 * 1024,
  doorbell_text_length_max: 200,
  short_id_length: 8,

  // Signals
  priority_min: 0,
  priority_default: 3,
  priority_max: 9,
  /** Lifetime of a pending signal from an agent; `signals.ttl_s` of the configuration changes it. */
  ttl_s_default: 86_400,
  /** Lifetime of a pending signal from a person, or to the person; also the maximum. */
  ttl_s_max: 30 * 86_400,
  /** Expired signals that one drain names; the next drains name the rest. */
  expired_told_max: 20,
  /** Expired signals that one notice names; its `total` counts all of them. */
  expired_named_max: 20,
  /** Notices about expired signals that one persona gets at a time; more are collapsed into one. */
  expiry_notices_max: 10,
  queue_depth_max: 10_000,
  drain_limit_default: 20,
  drain_limit_max: 100,
  /** Signals of one drain together, as they are shown, so that its answer fits frame_bytes_max on every transport. */
  drain_bytes_max: 128 * 1024,
  inbox_limit_max: 1_000,
  /** A page of an inbox as JSON: as many short signals as its limit. */
  inbox_bytes_max: 1024 * 1024,
  ack_batch_max: 1_000,
  deliveries_max: 5,
  lease_ms: 30 * 60_000,
  /** Signals in progress that one answer names; the others are a count. */
  in_progress_shown_max: 20,
  /** Signals in progress that one session is told of; more are left for the session after it. */
  in_progress_told_max: 1_000,
  idempotency_window_ms: 24 * 3_600_000,
  finished_retention_ms: 7 * 86_400_000,
  /** How often the hub looks for expired signals, lost leases and silent sessions. */
  sweep_interval_ms: 5_000,
  /** How often long finished signals are forgotten. */
  compaction_interval_ms: 3_600_000,

  // Journal
  segment_bytes_max: 64 * 1024 * 1024,
  /** A group commit is cut here so that one sync never carries an unbounded write. */
  commit_bytes_max: 8 * 1024 * 1024,
  /** Compaction starts when this share of the sealed bytes belongs to signals long finished. */
  compaction_dead_ratio: 0.5,
  event_log_events_max: 10_000,

  // Registry
  heartbeat_interval_ms: 10_000,
  /** Three missed heartbeats. Must stay above 2 x heartbeat_interval_ms. */
  registration_expire_ms: 30_000,
  personas_max: 20_000,

  // Records
  /** The name of a kind or of a status. */
  record_word_length_max: 64,
  record_scope_length_max: 256,
  /** Who says of itself that it wrote one. */
  record_agent_length_max: 128,
  /** One record as it is kept. Text that is longer belongs into a file of the project. */
  record_bytes_max: 64 * 1024,
  records_page_default: 20,
  records_page_max: 500,
  /** A page ends early here, so that its answer fits frame_bytes_max on every transport. */
  records_page_bytes_max: 128 * 1024,
  filter_values_max: 100,
  filter_text_length_max: 256,
  /** Any `next` is shorter: the longest holds the scope of a record, in signs that JSON spells out. */
  cursor_length_max: 4_096,
  project_aliases_max: 32,

  // Coordination
  resource_length_max: 512,
  /** Notes, reasons, purposes: a sentence that others read in a list. */
  note_length_max: 500,
  lock_ttl_s_default: 300,
  lock_ttl_s_max: 86_400,
  locks_max: 10_000,
  /** How long the record of a lease stays after its end. */
  lease_retention_ms: 24 * 3_600_000,
  blockings_max: 10_000,
  topics_per_persona_max: 64,
  capabilities_max: 32,
  capability_length_max: 64,
  /** Of each of the three lists in one look at who is there, which together fit frame_bytes_max. */
  status_limit_default: 200,
  status_limit_max: 1_000,
  status_list_bytes_max: 64 * 1024,
  /** Beside one agent; the list of locks has them all. */
  agent_locks_shown_max: 100,
  log_message_length_max: 2_000,
  /** What an agent adds to an event of its own, as JSON. */
  event_data_bytes_max: 4_096,
  history_limit_default: 50,
  history_limit_max: 500,
  /** What is listed in one answer, events or runs, together; so that it fits frame_bytes_max. */
  answer_list_bytes_max: 128 * 1024,

  // Runs
  prompt_length_max: 16_384,
  run_summary_length_max: 2_000,
  /** The newest of a run stay; every one of them also stands in the event stream. */
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
  /** By the rule of thumb that holds everywhere here. */
  characters_per_token: 4,

  // WebSocket
  frame_bytes_max: 256 * 1024,
  hello_timeout_ms: 5_000,
  malformed_frames_max: 10,
  ws_ping_interval_ms: 30_000,
  ws_silence_max_ms: 60_000,
  /** A client that does not read this much is closed: it can reconcile, the hub cannot wait. */
  ws_backlog_bytes_max: 4 * 1024 * 1024,
  subscriptions_max: 64,
  /** Sessions that are away of which the hub knows what they listened to; the oldest go first. */
  kept_channels_max: 1_000,
  /** Links that have not said hello yet; more are turned away at the door. */
  unproven_links_max: 1_024,
  /** Calls of one link that are not answered yet. */
  calls_underway_max: 1_024,
  /** Critical events that one link has not acknowledged yet; older ones are dropped. */
  critical_unacked_max: 1_000,
  metrics_channel_interval_ms: 5_000,
  critical_check_ms: 2_000,
  critical_resend_ms: 5_000,
  critical_tries_max: 3,

  // Kernel
  /** Calls that calls make: a batch in a routine that is invoked by name, and some more. */
  call_depth_max: 8,
  /** Calls that are made inside one call, on all depths together. */
  calls_inside_max: 2_000,
  search_results_max: 50,
  /** So that a token stays short enough for a header. */
  token_facets_max: 16,

  // Plugins
  plugins_max: 100,
  plugin_load_ms: 10_000,
  /** A name that it brings, with what belongs to it still one that every caller can say. */
  plugin_word_length_max: 64,
  /** A summary, a hint. */
  plugin_text_length_max: 1_000,
  /** Why it was left out. */
  plugin_problem_length_max: 2_000,

  // Routines
  routine_steps_max: 50,
  /** So long its steps may keep the hub from others, beside the one that runs. */
  routine_turn_ms: 20,
  /** Of all that a step is given by references; what stands there itself is bounded with the request. */
  step_references_bytes_max: 4 * 1024 * 1024,
  /** Routines that run at the same time; each does one step at a time. */
  routine_runs_max: 16,
  /** A step's result as the report shows it; and all of them together, so that a report fits frame_bytes_max. */
  step_result_bytes_max: 24 * 1024,
  report_results_bytes_max: 96 * 1024,
  /** What a problem of a step says of itself. */
  step_problem_length_max: 500,
  /** The oldest are forgotten. */
  routine_reports_max: 500,
  workflow_commands_max: 20,
  reports_page_max: 100,
  program_ms: 120_000,
  program_ms_max: 600_000,
  program_arguments_max: 256,
  program_argument_length_max: 32_768,
  /** Of each of a program's two outputs the end is kept. */
  program_output_bytes_max: 8 * 1024,
  /** What a program has written by its end is read until then, whatever still holds its pipes. */
  program_pipes_ms: 500,
  bench_runs_default: 5,
  bench_runs_max: 50,
  /** For all runs together; below hub_answer_ms, so that a command hears of them. */
  bench_ms: 25_000,
  /** Of what a program wrote whose run failed. */
  bench_output_length_max: 2_000,
  web_answer_ms: 30_000,
  web_answer_ms_max: 300_000,
  web_answer_bytes_max: 64 * 1024,
  web_redirects_max: 5,
  pattern_length_max: 500,
  /** A pattern that computes for longer than this is given up. So long does one try last; the hub stands still. */
  pattern_ms: 100,
  /** One that had no processor, or little, in that time is tried again, so often in all. */
  pattern_tries_max: 10,

  // HTTP
  body_bytes_max: 1024 * 1024,
  batch_calls_max: 100,
  /** Longer than a client waits between two calls of a turn: a socket closed under a call looks like a lost answer. */
  http_keep_alive_ms: 72_000,
  events_page_max: 1_000,
  sse_heartbeat_ms: 15_000,
  /** A reader of the event stream that takes nothing for this long is closed; it can resume. */
  sse_silence_max_ms: 60_000,
  event_streams_max: 256,
  /** The one unused longest is forgotten first; it is made anew when its client comes back. */
  mcp_sessions_max: 1_024,
  mcp_streams_max: 1_024,
  mcp_batch_max: 100,
  /** A hub that comes back meets every daemon, bridge and command at once. */
  token_requests_per_minute_max: 1_200,
  /** Addresses whose requests are counted; beyond so many the oldest is forgotten. */
  token_addresses_max: 5_000,
  /** For a request to arrive completely. */
  http_request_ms: 30_000,
  close_grace_ms: 30_000,
  token_ttl_s: 3_600,
  token_ttl_s_max: 30 * 86_400,
  /** The longest that a timer of Node's waits; a longer one is over at once. */
  timer_max_ms: 2 ** 31 - 1,
  /** A log that has grown so long is set aside as `.1`, in place of the one before. */
  log_file_bytes_max: 64 * 1024 * 1024,

  // Local sockets
  line_bytes_max: 65_536,
  socket_path_bytes_max: 104,
  socket_path_bytes_max_linux: 108,
  socket_clients_max: 32,
  /** Requests of one connection that may wait for their answers. */
  rpc_in_flight_max: 64,
  /** A local peer that asks and does not read its answers is cut off here. */
  rpc_backlog_bytes_max: 1024 * 1024,
  /** How long a closed connection waits for the other side to read the last answer. */
  rpc_close_grace_ms: 1_000,
  /** A shim that does not answer a request within this time is treated as having failed it. */
  shim_answer_ms: 5_000,
  /** A pull shim has no open connection; without a report for this long its surface counts as gone. */
  pull_attachment_ms: 30 * 60_000,
  /** A report with `take` is answered by then, with or without a bell. Below hook_timeout_ms: a hook waits for it. */
  take_answer_ms: 1_000,
  /** A surface that has not attached this long after the daemon's start counts as absent. */
  surface_attach_grace_ms: 5_000,
  /**
   * A session may be back this long after its daemon or its supervised shim has ended. Only then it counts as lost, and the
   * hub takes back what it had drained.
   */
  session_return_ms: 15_000,

  // Daemon
  pending_index_max: 1_000,
  /** The interval of heartbeats is the hub's to choose, but never below this. */
  heartbeat_interval_min_ms: 1_000,
  /** What a hub may answer to a request for a token. */
  token_answer_bytes_max: 64 * 1024,
  /** A link that was closed is cut off when the hub has not closed it too by then. */
  link_close_grace_ms: 500,
  /** Bells lost in a row after which delivery counts as degraded. */
  lost_rings_max: 3,
  /** A surface that says so long that it knows nothing of its turn gets no doorbells through. */
  turn_unknown_max_ms: 300_000,
  /** Delivery counts as degraded once an idle surface has held a doorbell this long without a turn. */
  bell_held_max_ms: 300_000,
  /** More are not counted: the wait has reached its longest by then. */
  lost_rings_counted_max: 30,
  /** A peek answers at most this many signals; `total` counts the rest. Fits frame_bytes_max. */
  peek_limit_max: 1_000,
  /** Signal ids in one frame or event; 9,000 would no longer fit a frame. */
  told_ids_max: 1_000,

  // The ways into the agents that turnbell knows
  ...AGENT_LIMITS,

  reconnect_min_ms: 500,
  /** After the hub of the same machine became ready its daemons connect within this time. */
  hub_back_spread_ms: 300,
  /** How often a daemon looks whether its sockets can still be found. */
  socket_look_ms: 5_000,
  reconnect_max_ms: 30_000,
  /** After this long without any frame from the hub the link is stalled. Above ws_ping_interval_ms. */
  link_silence_max_ms: 45_000,
  reconcile_timeout_ms: 10_000,
  /** The last look at pending before a bell leaves. Short: a hook may be waiting for the answer. */
  emit_check_ms: 2_000,
  bell_receipt_ms: 10_000,
  /** So many sessions that left the same bells unanswered are told from new ones. */
  bell_sessions_max: 64,
  /** Of so many bells it is known, whatever has answered them since, that they were seen, or that they were refused. */
  bells_remembered_max: 32,
  redoorbell_max: 3,
  /** How long after the end of a turn without a drain the agent is reminded: the first time, the second, and so on. */
  reminders_ms: [30_000, 120_000, 600_000],
  /** A person who interrupted the agent and has been quiet since is disturbed again after this. */
  interrupt_hold_ms: 300_000,
  /** Before a backlog found at a reconnect rings a surface that is idle by evidence. */
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
  /** Of one run of `notify.command`. */
  notify_timeout_ms: 10_000,
  notify_output_bytes_max: 4 * 1024,
  notices_waiting_max: 100,
  /** How long a command waits for a hub that restarts or is being started. */
  hub_reach_ms: 10_000,
  hub_reach_poll_ms: 100,
  /** How often a command that follows something looks again. */
  follow_interval_ms: 1_000,
  /** How long `send --wait` waits where no duration is given, in seconds. */
  wait_s_default: 600,
  wait_poll_ms: 500,
  /** How long `send` waits for the first byte of a pipe that it was not told to read. */
  piped_text_ms: 1_000,
  /** A command waits this long for the hub's answer; a drain of a full queue fits easily. */
  hub_answer_ms: 30_000,
  /** Or so long, where it is told to. Without the head of an answer `fetch` itself gives up after 300 s. */
  hub_answer_ms_max: 240_000,
  control_answer_ms: 5_000,
  /** How long a command waits for a daemon that was told to stop. Above shim_stop_grace_ms. */
  daemon_stop_ms: 15_000,
  /** How long `up` waits for a process it started to become ready. Recovery of a large journal fits. */
  process_start_ms: 30_000,
  /** A person who waits for one is told so after this long. */
  process_start_told_ms: 3_000,
  process_restart_min_ms: 1_000,
  process_restart_max_ms: 60_000,
  process_stable_ms: 60_000,
  /** Where only `ps` tells when a process started. */
  ps_answer_ms: 2_000,

  // Surfaces
  command_timeout_ms: 30_000,
  command_output_bytes_max: 65_536,
  hook_timeout_ms: 2_000,
  /** How long a client's status line waits for the daemon. */
  status_line_ms: 300,
  /** All that waits in the spool of a home for the hub; hooks drop what is beyond. */
  spool_bytes_max: 16 * 1024 * 1024,
  /** Lines that the hub could not take in yet, how many bytes, and for how long. Beyond this they are set aside. */
  spool_waiting_max: 5_000,
  /** Below spool_bytes_max, so that what cannot be taken in leaves room for what can. */
  spool_waiting_bytes_max: 4 * 1024 * 1024,
  spool_waiting_ms: 7 * 86_400_000,
  /** What was set aside, at which the file is put away as the older one of two. */
  spool_rejected_bytes_max: 8 * 1024 * 1024,
  /** How often a line is tried at which something breaks that is no refusal. */
  spool_tries_max: 5,
  /** Who had opened the spool before it was taken, or has written since, is through by then. */
  spool_quiet_ms: 2_000,
  /** A ring is answered after this long even if the command still runs. Below shim_answer_ms. */
  command_answer_ms: 1_000,
  /** A command that failed is left alone for this long, growing while it keeps failing. */
  command_pause_min_ms: 500,
  command_pause_max_ms: 60_000,
  /** How often it is looked who sits at a kept agent: a person who was killed leaves the sign that they are there. */
  joined_look_ms: 1_000,
  /** A shim whose daemon went away tries again after this long, growing to the maximum. */
  shim_reconnect_min_ms: 100,
  shim_reconnect_max_ms: 2_000,
  /** How long a shim waits for the answer to a report with `take`. Above take_answer_ms. */
  shim_take_ms: 2_500,
  /** Claude Code tells of no interrupt: a session at its prompt for this long without a Stop is idle. */
  claude_settle_ms: 1_500,
  /** Its session registry trails its hooks by a few milliseconds; before this it proves nothing. */
  claude_registry_lag_ms: 500,
  inbox_answer_ms: 2_000,
  /**
   * Time at the prompt, of all turns together, after which a doorbell counts as lost that Claude Code has read, or has not
   * read although it has run a turn since.
   */
  claude_bell_lost_ms: 30_000,
  /** Interval at which Claude Code's process is looked at while a doorbell is outstanding. */
  claude_bell_look_ms: 5_000,
  /**
   * A Claude Code session without a window has this long to end by itself, then it is asked, then made. Thrice this is
   * below shim_stop_grace_ms.
   */
  claude_leave_ms: 1_500,
  /** How often a keeper looks whether a session that an earlier one kept has come to its end. */
  claude_left_check_ms: 500,
  /** How often it is told of in the log meanwhile. */
  claude_left_warn_ms: 10 * 60_000,
  /** A session that has not come to its end by then hangs, and is ended. */
  claude_left_max_ms: 3_600_000,
  /** How long a hook of Claude Code waits until the hub has back what was not shown; that goes on either way. */
  give_back_wait_ms: 1_000,
  /**
   * Until a worker ends that took another's place and could not begin; its keeper starts the next. Seldom enough for what
   * lasts, as each try is a start of this program.
   */
  claude_quiet_ms: 60_000,

  // The bridge, and the hub that it may have to be
  ...BRIDGE_LIMITS,

  // Commands
  /**
   * How long one waits for another that changes the same file, and how often it tries. Several may have died in it, one
   * soon after the other, before it is one's turn.
   */
  brief_lock_patience_ms: 20_000,
  brief_lock_try_ms: 50,
  /** A lock without a sign of life for so long was left by a process that died in it. */
  brief_lock_stale_ms: 5_000,
  /** What a client that is asked for its version may take. */
  client_version_ms: 10_000,
} as const
