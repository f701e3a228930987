/** Whether a process that ended is started again, and when. Pure. */
import { EXIT } from '../../contracts/exit-codes.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Exit } from './launch.ts'

export type AfterExit =
  /** Somebody stopped it on purpose. */
  | { kind: 'stopped' }
  /** Another process holds its place: use that one. */
  | { kind: 'adopt' }
  /** Starting again would change nothing. */
  | { kind: 'failed' }
  | { kind: 'restart'; in_ms: number }

/** `failures` counts the crashes in a row, this one not included; a stable run before it resets them. */
export function afterExit({ code }: Exit, failures: number): AfterExit {
  if (code === EXIT.done) return { kind: 'stopped' }
  if (code === EXIT.already_running) return { kind: 'adopt' }
  if (code === EXIT.config_invalid) return { kind: 'failed' }
  const in_ms = Math.min(LIMITS.process_restart_max_ms, LIMITS.process_restart_min_ms * 2 ** failures)
  return { kind: 'restart', in_ms }
}

export function describeExit({ code, os_signal }: Exit): string {
  if (os_signal !== null) return `was ended by ${os_signal}`
  return code === null ? 'could not be started' : `ended with ${code}`
}
