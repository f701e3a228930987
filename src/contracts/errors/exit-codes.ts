/** Exit codes of the command line, a subset of BSD's sysexits. */
import { TurnbellError, type ErrorCode } from './errors.ts'

export const EXIT = {
  done: 0,
  failed: 1,
  refused: 2,
  usage: 64,
  unreachable: 69,
  already_running: 75,
  not_permitted: 77,
  config_invalid: 78,
} as const

const EXIT_BY_CODE: Partial<Record<ErrorCode, number>> = {
  usage_invalid: EXIT.usage,
  hub_unreachable: EXIT.unreachable,
  daemon_unreachable: EXIT.unreachable,
  hub_stopping: EXIT.unreachable,
  timed_out: EXIT.unreachable,
  already_running: EXIT.already_running,
  binding_stale: EXIT.already_running,
  home_not_permitted: EXIT.not_permitted,
  token_missing: EXIT.not_permitted,
  token_invalid: EXIT.not_permitted,
  token_expired: EXIT.not_permitted,
  operator_required: EXIT.not_permitted,
  config_invalid: EXIT.config_invalid,
  result_missing: EXIT.failed,
  bind_failed: EXIT.failed,
  client_missing: EXIT.failed,
  service_failed: EXIT.failed,
  store_damaged: EXIT.failed,
  store_unavailable: EXIT.failed,
  store_fenced: EXIT.failed,
  internal: EXIT.failed,
}

/** Returns the exit code of an error: `refused` for a `TurnbellError` without its own exit code, `failed` for any other error. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof TurnbellError)) return EXIT.failed
  return EXIT_BY_CODE[error.code] ?? EXIT.refused
}
