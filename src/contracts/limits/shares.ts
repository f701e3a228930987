/**
 * Limits of one caller, a part of `LIMITS`. The operator may open any number of connections, requests, streams and
 * links.
 */
export const SHARE_LIMITS = {
  // Calls, in the fair queue of the kernel
  /** Maximum number of concurrent read-only calls of one caller. */
  reads_running_max: 4,
  /** Maximum number of concurrent mutating calls of one caller. */
  changes_running_max: 256,
  /** Maximum number of queued calls of one caller; further ones are rejected. */
  calls_waiting_max: 2_000,
  /** Time that one caller may keep the event loop busy before its next call is queued. */
  caller_slice_ms: 10,
  /** Time in which one caller's queued calls start one after the other in the same tick of the event loop. */
  waiting_slice_ms: 2,

  // Connections and requests
  caller_connections_max: 128,
  /** Maximum number of requests of one caller that are not completely answered. */
  caller_requests_max: 512,
  /** Maximum number of concurrently processed requests of one caller; the others wait. */
  caller_requests_handled_max: 64,
  caller_event_streams_max: 16,
  caller_mcp_sessions_max: 64,
  caller_mcp_streams_max: 64,
  caller_links_max: 64,
  /** Maximum size of one caller's request bodies, from the head of a request to the end of its response. */
  caller_body_bytes_max: 1024 * 1024,
  /** Maximum size of one caller's unread responses. */
  caller_unread_bytes_max: 8 * 1024 * 1024,
  /** Maximum number of concurrently processed requests of one connection; the others wait until responses are read. */
  connection_requests_max: 16,
  connection_unread_bytes_max: 256 * 1024,
  /** Maximum number of requests that a connection sends before it reads the first response; a further one closes it. */
  connection_ahead_max: 64,
  /** Time after which a connection with a complete but unread response is closed. */
  answer_unread_ms: 60_000,
  answer_unread_look_ms: 15_000,
  /** Maximum number of connections without a valid token; a further one closes the oldest. */
  unknown_connections_max: 256,
} as const
