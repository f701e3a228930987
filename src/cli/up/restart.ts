/** The restart policy for a process that ended. Pure. */
import { EXIT } from '../../contracts/errors/exit-codes.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Exit } from './launch.ts'

export type AfterExit =
  /** Stopped on purpose. */
  | { kind: 'stopped' }
  /** Another process runs already and is used instead. */
  | { kind: 'adopt' }
  /** A restart would fail in the same way. */
  | { kind: 'failed' }
  | { kind: 'restart'; in_ms: number }

/** `failures` is the number of consecutive crashes before this one. A stable run resets it. */
export function afterExit({ code }: Exit, failures: number): AfterExit {
  if (code === EXIT.done) return { kind: 'stopped' }
  if (code === EXIT.already_running) return { kind: 'adopt' }
  if (code === EXIT.config_invalid) return { kind: 'failed' }
  const in_ms = Math.min(LIMITS.process_restart_max_ms, LIMITS.process_restart_min_ms * 2 ** failures)
  return { kind: 'restart', in_ms }
}

export function describeExit({ code, os_signal }: Exit): string {
  if (os_signal !== null) return `ended by ${os_signal}`
  return code === null ? 'could not be started' : `ended with exit code ${code}`
}
