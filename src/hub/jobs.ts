/** Runs the periodic work of the hub's modules. */
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { HubModule, Job } from './hub-module.ts'

export interface Jobs {
  start(): void
  stop(): void
}

interface JobDeps {
  clock: Pick<Clock, 'every' | 'monotonic'>
  /** A job failed. Not called again for a job until a run of it has succeeded. */
  onFailed: (job: string, error: unknown) => void
}

export function createJobs(modules: readonly HubModule[], { clock, onFailed }: JobDeps): Jobs {
  const jobs = [sweepOf(modules, clock), ...modules.flatMap((module) => module.jobs ?? [])]
  const timers: Timer[] = []
  return {
    start() {
      for (const job of jobs) timers.push(clock.every(job.every_ms, runner(job, onFailed)))
    },
    stop() {
      for (const timer of timers.splice(0)) timer.cancel()
    },
  }
}

function runner({ name, run }: Job, onFailed: JobDeps['onFailed']): () => void {
  let has_failed = false
  const attempt = async () => run()
  return () => {
    attempt().then(
      () => (has_failed = false),
      (error: unknown) => {
        if (!has_failed) onFailed(name, error)
        has_failed = true
      },
    )
  }
}

function sweepOf(modules: readonly HubModule[], clock: Pick<Clock, 'monotonic'>): Job {
  let swept_at = clock.monotonic()
  return {
    name: 'sweep',
    every_ms: LIMITS.sweep_interval_ms,
    run() {
      const before = swept_at
      swept_at = clock.monotonic()
      // After a suspension of this process, queued messages are read before a caller counts as silent.
      if (swept_at - before > 2 * LIMITS.sweep_interval_ms) return
      return Promise.all(modules.map(async (module) => module.sweep?.()))
    },
  }
}
