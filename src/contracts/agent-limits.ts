/**
 * The bounds of the ways into the agents that turnbell knows, measured with these: a part of `LIMITS`, under
 * which name they are used.
 */
export const AGENT_LIMITS = {
  // The Codex app-server
  codex_answer_ms: 5_000,
  /**
   * A thread that begins is got ready first. One that is given up is there all the same, beside the next; one whose
   * tools have not started by then is rung without them.
   */
  codex_start_ms: 30_000,
  codex_message_bytes_max: 64 * 1024 * 1024,
  /** Between the status that says idle and the turn's own word on how it ended. */
  codex_settle_ms: 250,
  /** News of other threads that are kept while the one to be rung is looked for. */
  codex_heard_max: 64,
  /** Threads of which hooks and tool calls have told; of more the oldest are forgotten. */
  codex_told_threads_max: 64,
  /** Whether the process still lives in whose terminal the thread is. */
  codex_alive_look_ms: 1_000,
  /** Interval at which all processes are searched for a window of a plain Codex while none is known. */
  codex_windows_look_ms: 5_000,
  /** After a search that failed: for the thread to be rung, or for the one that asks to be answered. */
  codex_seek_again_ms: 2_000,
  /** Idle time of a thread after which a doorbell counts as lost that is in neither its queue nor a turn. */
  codex_bell_lost_ms: 60_000,
  codex_dial_ms: 100,
  /** Of what hooks and tool calls told about threads, so much is kept. */
  codex_news_bytes_max: 64 * 1024,

  // The opencode server
  /** For each question, and until its events begin. A ring waits for two in a row: twice this is below shim_answer_ms. */
  opencode_answer_ms: 2_000,
  /** For the first question in a directory, which opencode has to get ready for. */
  opencode_first_answer_ms: 30_000,
  /** It sends a heartbeat every ten seconds. */
  opencode_silence_ms: 30_000,
  opencode_event_length_max: 64 * 1024 * 1024,
  /**
   * Between a message and the word that its turn runs; two seconds in a directory that is used first. As long as
   * that, too, until a question is asked again.
   */
  opencode_begin_ms: 5_000,
  /** Newest messages of a session among which a doorbell is searched. */
  opencode_bell_messages_max: 5,
  /**
   * Time without a busy session after which an accepted prompt counts as never run. On a machine with four times as
   * many busy processes as cores a turn began within 10 s.
   */
  opencode_bell_lost_ms: 60_000,
  /** From a new session to the prompt that began it: a tenth of a second, in a window that just opened. */
  opencode_first_prompt_ms: 2_000,
  /** A turn that was aborted, or failed, says twice that it ended; the second time within this. */
  opencode_settle_ms: 750,
  opencode_dial_ms: 200,
  /** Sessions of which opencode's events told whose they are; of more the oldest are forgotten. */
  opencode_told_sessions_max: 1_000,
  /** Questions about a session that was not told of, before its drain passes in doubt. */
  opencode_guard_tries: 3,

  // Agents that speak the Agent Client Protocol
  /** For everything but a prompt. A session begins with its MCP servers, which may take their time. */
  acp_answer_ms: 60_000,
  /** A ring is answered after this long even if the agent shows no sign of work yet. Below shim_answer_ms. */
  acp_receipt_ms: 1_000,
  /** An agent that was asked to end is made to. Below shim_stop_grace_ms. */
  acp_stop_grace_ms: 2_000,
  acp_message_bytes_max: 64 * 1024 * 1024,
  /** Lines that are no messages are told of in the log up to here. */
  acp_strange_lines_max: 5,
  /** How much of an agent's own words stands in the log. */
  acp_error_length_max: 500,
  /** Tool calls of one turn of which the first word is remembered. */
  acp_calls_max: 1_000,
  /** Starts in a row after which a session that was not opened in them is given up. Once may have been bad luck. */
  acp_unopened_max: 2,

  // A tmux pane
  tmux_answer_ms: 2_000,
  /** A look at the screen while something goes on there, and while nothing does. */
  tmux_look_ms: 300,
  tmux_quiet_look_ms: 1_500,
  /** A prompt counts once it has stood for this long; a ring waits for that, but not for ever. */
  tmux_settle_ms: 250,
  tmux_prompt_ms: 1_000,
  /** The same where the screen does not show that the turn before has ended. */
  tmux_unproven_ms: 20_000,
  /** Between a bell's Enter and the first sign of its turn; a client may have to make a session first. */
  tmux_begin_ms: 15_000,
  /** Time at the prompt after which a bell counts as lost that was entered and that the conversation does not show. */
  tmux_bell_lost_ms: 60_000,
  /** After this a ring presses Enter no more. With tmux_typed_ms not above shim_answer_ms. */
  tmux_enter_by_ms: 3_500,
  /** Until the composer shows what was pasted, and until it is gone after Enter. */
  tmux_typed_ms: 1_500,
  tmux_typed_look_ms: 50,
  /**
   * A screen without a composer may be no client's any more: one that a script started ends without a change of what
   * tmux shows as the program. Whose pane it is, is asked again once it has shown none for this long.
   */
  tmux_strange_ms: 3_000,

  // Answers, as clients show them to their models
  /**
   * A model's drain that asks for no more than drain_limit_default: some 8 KiB. Clients show their model only so much of one
   * answer, and what they cut away would count as read. The narrowest that was measured shows 12,000 characters.
   */
  drain_tokens_shown: 2_200,
  /** One that asks for more, 43 KiB: all but the narrowest show at least 48,000 characters. */
  drain_tokens_shown_max: 11_000,
  /** The same in Codex, which is the narrowest with a model that it does not know: some 11 KiB. */
  drain_tokens_shown_by_codex: 2_900,
  /**
   * A drained payload that takes more as JSON is handed over in parts, except by Claude Code, which shows the largest
   * whole. Codex shows some 11 KiB of an answer with a model that it does not know, and a person may have set less than
   * the usual 50 KiB in opencode.
   */
  payload_bytes_shown: 9 * 1024,
  /** One part of a payload, written as JSON. */
  signal_part_bytes: 8 * 1024,
  /** Asked of a client for the answer of a drain: a single payload of payload_bytes_max, made harmless and written as JSON. */
  drain_characters_shown: 200_000,
} as const
