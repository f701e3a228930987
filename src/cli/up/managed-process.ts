/**
 * One process of `up`, the hub or a daemon. Uses a running process or starts one, and restarts it after a crash, but not
 * after it was stopped on purpose.
 */
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock, Timer } from '../../ports/clock.ts'
import { processAlive } from '../../system/process/process-info.ts'
import type { Exit, Launch, Launched } from './launch.ts'
import { afterExit, describeExit } from './restart.ts'

export type ProcessState = 'starting' | 'running' | 'waiting' | 'stopped' | 'failed'

export interface ProcessView {
  name: string
  state: ProcessState
  pid: number | null
  /** Started by this `up`, which therefore stops it. */
  ours: boolean
  restarts: number
  /** Reason of the state, for a person. */
  note: string | null
}

export interface ManagedProcessDeps {
  name: string
  args: readonly string[]
  /** Returns the pid of a process that runs and answers, however it was started. */
  find(): Promise<number | null>
  /** Returns true if the ended process cleaned up, which means that it was stopped on purpose. */
  leftCleanly(): boolean
  launch: Launch
  clock: Clock
  onChange: (view: ProcessView) => void
}

export interface ManagedProcess {
  view(): ProcessView
  /** Resolves once the process runs, was stopped, failed, or waits for its next attempt. */
  settled: Promise<ProcessView>
  /** Stops restarting. Returns the process if it is ours. */
  release(): Launched | null
}

const POLL_MS = 50
const ADOPTED_POLL_MS = 500
/** Note of a process that is slow, or answers at another address. It keeps running. */
const SILENT = `running, but did not answer within ${LIMITS.process_start_ms / 1000} s`

export function manageProcess(deps: ManagedProcessDeps): ManagedProcess {
  const supervisor = new Supervisor(deps)
  supervisor.run()
  return {
    view: () => supervisor.view,
    settled: supervisor.settled,
    release: () => supervisor.release(),
  }
}

/** Whether another attempt follows. */
type Next = 'again' | 'over'

class Supervisor {
  view: ProcessView
  readonly settled: Promise<ProcessView>
  private readonly deps: ManagedProcessDeps
  private settle: (view: ProcessView) => void = () => {}
  private released = false
  private child: Launched | null = null
  private failures = 0
  private timer: Timer | null = null
  private wake = (): void => {}

  constructor(deps: ManagedProcessDeps) {
    this.deps = deps
    this.view = { name: deps.name, state: 'starting', pid: null, ours: false, restarts: 0, note: null }
    this.settled = new Promise((resolve) => (this.settle = resolve))
  }

  run(): void {
    this.attempts().catch((error: unknown) =>
      this.change({ state: 'failed', pid: null, note: String(error) }),
    )
  }

  release(): Launched | null {
    this.released = true
    this.timer?.cancel()
    this.wake()
    return this.child !== null && this.child.exit() === null ? this.child : null
  }

  private async attempts(): Promise<void> {
    for (let next: Next = 'again'; next === 'again' && !this.released;) {
      const pid = await this.deps.find()
      if (this.released) return
      next = pid === null ? await this.runOwn() : await this.watchAdopted(pid)
    }
  }

  /** Watches a process that was started elsewhere, by its pid. */
  private async watchAdopted(pid: number): Promise<Next> {
    this.change({ state: 'running', pid, ours: false, note: null })
    while (!this.released && processAlive(pid)) await this.pause(ADOPTED_POLL_MS)
    if (this.released) return 'over'
    if (this.deps.leftCleanly()) {
      this.change({ state: 'stopped', pid: null, note: null })
      return 'over'
    }
    this.restarting({ pid: null, note: 'ended unexpectedly; restarting' })
    return 'again'
  }

  private async runOwn(): Promise<Next> {
    const { clock, launch, args } = this.deps
    const started_at = clock.monotonic()
    const own = (this.child = launch(args))
    this.change({ state: 'starting', pid: own.pid, ours: true })
    await this.watchOwn(own, started_at)
    const exit = own.exit()
    if (exit === null) return 'over'
    this.child = null
    if (this.released) return 'over'
    if (clock.monotonic() - started_at >= LIMITS.process_stable_ms) this.failures = 0
    return this.afterEnd(exit, own.output())
  }

  /** Updates the view until the process ends or is released. */
  private async watchOwn(own: Launched, started_at: number): Promise<void> {
    const { clock } = this.deps
    const isLate = () => clock.monotonic() - started_at >= LIMITS.process_start_ms
    while (!this.released && own.exit() === null) {
      const is_starting = this.view.state === 'starting'
      if (is_starting && (await this.deps.find()) === own.pid && own.exit() === null) {
        this.change({ state: 'running', note: null })
      } else if (this.view.state === 'starting' && this.view.note !== SILENT && isLate()) {
        this.change({ note: SILENT })
      }
      const poll_ms = this.view.state === 'starting' ? POLL_MS : ADOPTED_POLL_MS
      await Promise.race([own.exited, this.pause(poll_ms)])
      this.timer?.cancel()
    }
  }

  private async afterEnd(exit: Exit, output: string): Promise<Next> {
    const next = afterExit(exit, this.failures)
    switch (next.kind) {
      case 'stopped':
        this.change({ state: 'stopped', pid: null, note: null })
        return 'over'
      case 'failed':
        this.change({ state: 'failed', pid: null, note: summarize(output) || describeExit(exit) })
        return 'over'
      case 'adopt':
        return this.adoptOther(output)
      case 'restart': {
        this.failures += 1
        const why = summarize(output)
        const note = `${describeExit(exit)}, restart in ${next.in_ms / 1000} s${why === '' ? '' : `: ${why}`}`
        this.change({ state: 'waiting', pid: null, note })
        await this.pause(next.in_ms)
        if (!this.released) this.restarting()
        return 'again'
      }
    }
  }

  /** Waits for another process that holds the lock, which may still be starting. */
  private async adoptOther(output: string): Promise<Next> {
    const { clock } = this.deps
    const deadline = clock.monotonic() + LIMITS.process_start_ms
    while (!this.released && clock.monotonic() < deadline) {
      if ((await this.deps.find()) !== null) return 'again'
      await this.pause(POLL_MS)
    }
    if (this.released) return 'over'
    // The other process may end, or answer later.
    this.change({ state: 'waiting', pid: null, ours: false, note: summarize(output) })
    await this.pause(LIMITS.process_restart_max_ms)
    if (!this.released) this.restarting()
    return 'again'
  }

  private restarting(more: Partial<ProcessView> = {}): void {
    this.change({ ...more, state: 'starting', restarts: this.view.restarts + 1 })
  }

  private change(to: Partial<ProcessView>): void {
    this.view = { ...this.view, ...to }
    this.deps.onChange(this.view)
    if (this.view.state !== 'starting') this.settle(this.view)
  }

  private pause(delay_ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.wake = resolve
      this.timer = this.deps.clock.after(delay_ms, resolve)
    })
  }
}

const SUMMARY_LENGTH_MAX = 300

/** Returns the output in one line, without the ready line. */
function summarize(output: string): string {
  const lines = output.split('\n').filter((line) => !/^turnbell \w+ ready /.test(line))
  return lines.join(' ').replace(/\s+/g, ' ').trim().slice(0, SUMMARY_LENGTH_MAX)
}
