/**
 * Notifies the person of new signals: runs `notify.command` for each signal to `operator`, with a notice as JSON on its
 * stdin. A program that fails, hangs or is missing is logged and has no other effect.
 */
import type { NotifySettings } from '../contracts/config.ts'
import type { Identity, SignalId } from '../contracts/ids.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Log } from '../ports/log.ts'
import type { StepRunner } from '../ports/step-runner.ts'

/** Contains no signal content; `turnbell inbox` shows that. */
export interface Notice {
  signal_id: SignalId
  from: Identity
  intent: string
  priority: number
  pending_count: number
}

export interface Notifier {
  notice(notice: Notice): void
}

/** Runs one program at a time. Further notices are queued, up to `notices_waiting_max`, and dropped beyond that. */
export function createNotifier(needs: {
  settings: NotifySettings
  programs: Pick<StepRunner, 'run'>
  /** Working directory of the program. */
  root: string
  log: Log
}): Notifier {
  const { settings, programs, root, log } = needs
  const waiting: Notice[] = []
  let running = false
  let dropped = 0

  const runOne = async (
    argv: readonly string[],
    { signal_id, from, intent, priority, pending_count }: Notice,
  ) => {
    const { exit_code, timed_out, stderr } = await programs.run({
      ...{ argv, root, cwd: '.', timeout_ms: LIMITS.notify_timeout_ms },
      input: `${JSON.stringify({ signal_id, from, intent, priority, pending_count })}\n`,
      output_bytes_max: LIMITS.notify_output_bytes_max,
      desktop: true,
    })
    if (exit_code !== 0) log.warn({ signal_id, exit_code, timed_out, stderr }, 'notify.command failed')
  }
  const runAll = async (argv: readonly string[]) => {
    running = true
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { signal_id } = next
      await runOne(argv, next).catch((err: unknown) => log.warn({ err, signal_id }, 'notify.command failed'))
    }
    running = false
    if (dropped > 0) log.warn({ dropped }, 'notices dropped, because notify.command is too slow')
    dropped = 0
  }

  return {
    notice(notice) {
      const { command } = settings
      if (command === undefined) return
      if (waiting.length >= LIMITS.notices_waiting_max) dropped += 1
      else waiting.push(notice)
      if (!running) void runAll(command)
    },
  }
}
