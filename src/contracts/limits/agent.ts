/** Limits of the surfaces of known agents, measured with these, a part of `LIMITS`. */
export const AGENT_LIMITS = {
  // The Codex app-server
  codex_answer_ms: 5_000,
  /**
   * Maximum time for a new Codex thread to start its MCP servers. After it the thread is rung without the missing
   * tools.
   */
  codex_start_ms: 30_000,
  codex_message_bytes_max: 64 * 1024 * 1024,
  /** Time between the status `idle` and the notification that the turn has ended. */
  codex_settle_ms: 250,
  /** Maximum number of buffered notifications of other threads while the thread for the next doorbell is searched. */
  codex_buffered_notifications_max: 64,
  /** Maximum number of threads known from hooks and tool calls; the oldest are dropped. */
  codex_known_threads_max: 64,
  /** Interval of the check that the process in the thread's terminal is alive. */
  codex_alive_look_ms: 1_000,
  /** Interval of the scan of all processes for a window of an unmanaged Codex while none is known. */
  codex_windows_look_ms: 5_000,
  /** Retry interval after a failed search for the thread or a failed request for approval. */
  codex_search_retry_ms: 2_000,
  /** Idle time of a thread after which a doorbell in neither its queue nor a turn counts as lost. */
  codex_bell_lost_ms: 60_000,
  codex_dial_ms: 100,
  /** Maximum size of the file in which hooks and tool calls report threads. */
  codex_thread_file_bytes_max: 64 * 1024,

  // The opencode server
  /**
   * Timeout of one request, and of the start of the event stream. A ring waits for two requests, so twice this value
   * must be less than shim_answer_ms.
   */
  opencode_answer_ms: 2_000,
  /** Timeout of the first request in a directory, for which opencode starts an instance. */
  opencode_first_answer_ms: 30_000,
  /** Maximum time without an event; opencode sends a heartbeat every 10 s. */
  opencode_silence_ms: 30_000,
  opencode_event_length_max: 64 * 1024 * 1024,
  /**
   * Maximum time between a prompt and the event that its turn runs, about 2 s in a new directory. Also the retry
   * interval of failed requests.
   */
  opencode_begin_ms: 5_000,
  /** Number of newest messages of a session that are searched for a doorbell. */
  opencode_bell_messages_max: 5,
  /**
   * Time without a busy session after which an accepted prompt counts as lost. With four busy processes per core a turn
   * was measured to start within 10 s.
   */
  opencode_bell_lost_ms: 60_000,
  /** Maximum time between a new session and the prompt that created it; about 100 ms in a new window. */
  opencode_first_prompt_ms: 2_000,
  /** Maximum time between the two end events of an aborted or failed turn. */
  opencode_settle_ms: 750,
  opencode_dial_ms: 200,
  /** Maximum number of sessions whose owner is known from events; the oldest are dropped. */
  opencode_known_sessions_max: 1_000,
  /** Maximum number of requests about an unknown session before its drain is allowed. */
  opencode_guard_tries: 3,

  // Agents that speak the Agent Client Protocol
  /** Timeout of every request but a prompt. A new session starts its MCP servers first. */
  acp_answer_ms: 60_000,
  /** Time after which a ring is confirmed even if the agent has not shown any activity. Less than shim_answer_ms. */
  acp_receipt_ms: 1_000,
  /** Time between the request to stop an agent and its termination. Less than shim_stop_grace_ms. */
  acp_stop_grace_ms: 2_000,
  acp_message_bytes_max: 64 * 1024 * 1024,
  /** Maximum number of logged lines that are not valid messages. */
  acp_invalid_lines_max: 5,
  /** Maximum length of an agent's error text in the log, in characters. */
  acp_error_length_max: 500,
  /** Maximum number of tool calls of one turn whose first announcement is stored. */
  acp_calls_max: 1_000,
  /** Number of consecutive starts without opening a session after which that session is abandoned. */
  acp_unopened_max: 2,

  // A tmux pane
  tmux_answer_ms: 2_000,
  /** Interval of screen captures while the screen changes. */
  tmux_look_ms: 300,
  /** Interval of screen captures while the screen does not change. */
  tmux_quiet_look_ms: 1_500,
  /** Minimum time that a prompt must be visible before it counts. */
  tmux_settle_ms: 250,
  /** Maximum time that a ring waits for the prompt to settle. */
  tmux_prompt_ms: 1_000,
  /** The same as tmux_settle_ms if the screen does not show that the previous turn has ended. */
  tmux_unproven_ms: 20_000,
  /** Maximum time between a doorbell's Enter and the first sign of its turn; the client may create a session first. */
  tmux_begin_ms: 15_000,
  /** Time at the prompt after which an entered doorbell that the conversation does not show counts as lost. */
  tmux_bell_lost_ms: 60_000,
  /** Time after which a ring does not press Enter any more. Together with tmux_typed_ms at most shim_answer_ms. */
  tmux_enter_by_ms: 3_500,
  /** Maximum time until the composer shows pasted text, and until the text disappears after Enter. */
  tmux_typed_ms: 1_500,
  tmux_typed_look_ms: 50,
  /**
   * Time without a visible composer after which the owner of the pane is checked again. A client started by a script
   * can end without a change of the program name that tmux shows.
   */
  tmux_no_composer_ms: 3_000,

  // Tool results, as clients show them to their models
  /**
   * Maximum size of a model's drain of at most drain_limit_default signals, about 8 KiB. Clients truncate long tool
   * results, and signals in the truncated part would count as read. The smallest measured limit is 12,000 characters.
   */
  drain_tokens_shown: 2_200,
  /** Maximum size of a larger drain, about 43 KiB. All clients but one show at least 48,000 characters. */
  drain_tokens_shown_max: 11_000,
  /** Maximum size of a drain in Codex, about 11 KiB, which is its limit for models that it does not know. */
  drain_tokens_shown_by_codex: 2_900,
  /**
   * Size in JSON above which a drained payload is delivered in parts, except to Claude Code, which shows the largest
   * payload whole. Codex shows about 11 KiB for unknown models, and opencode's usual 50 KiB can be configured lower.
   */
  payload_bytes_shown: 9 * 1024,
  /** Size of one part of a payload, in JSON. */
  signal_part_bytes: 8 * 1024,
  /** Result size that a drain requests from the client: one sanitized payload of payload_bytes_max in JSON. */
  drain_characters_shown: 200_000,
} as const
