/** What a command's exit code tells its caller (a small part of BSD's sysexits). */
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

const BY_CODE: Partial<Record<ErrorCode, number>> = {
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

/** Every other refusal of the hub or the daemon is `refused`; anything that is no refusal is `failed`. */
export function exitCodeOf(error: unknown): number {
  if (!(error instanceof TurnbellError)) return EXIT.failed
  return BY_CODE[error.code] ?? EXIT.refused
}
