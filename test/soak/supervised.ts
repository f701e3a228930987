/**
 * A process of the product under a supervisor that restarts it whenever it ends. Only processes started here are killed
 * or stopped, each by its own handle.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { BIN, cleanEnvironment } from '../support/processes/processes.ts'
import { Violation } from '../support/violation.ts'

const READY_MS_MAX = 90_000
const STOP_MS_MAX = 60_000
/** Pause after a start that failed on the disk, as supervisors have. */
const REFUSED_PAUSE_MS = 1_000
const SAID_CHARS = 4_000

export interface SupervisedOptions {
  name: string
  args: readonly string[]
  ready: RegExp
  /** Added to the environment of the tests. */
  env?: Record<string, string>
  /** Returns the pause after a kill, in milliseconds. */
  restartPause: () => number
  /** Whether the start may fail because the disk is, or recently was, full or read-only. */
  mayFailToStart?: () => boolean
  /** Called when it ended without a kill, or did not become ready. */
  onBroken: (violation: Violation) => void
}

export class Supervised {
  readonly name: string
  /** Number of starts, and number of ends. */
  starts = 0
  ends = 0
  /** Number of permitted ends before it was ready. */
  refused_starts = 0
  /** Match of its ready line; null while it is not ready. */
  match: RegExpExecArray | null = null
  private child: ChildProcess | null = null
  private killed = false
  private closing = false
  private refused_ms = 0
  private held = false
  private whole: Promise<void> = Promise.resolve()
  private onFirst: { resolve: () => void; reject: (error: Error) => void } | null = null
  private readonly options: SupervisedOptions

  constructor(options: SupervisedOptions) {
    this.name = options.name
    this.options = options
  }

  get pid(): number | null {
    return this.child?.pid ?? null
  }

  /** Resolves when it is ready for the first time; rejects if that never happens. */
  start(): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.onFirst = { resolve, reject }
      this.whole = this.keep()
    })
  }

  /** Returns false if no process runs. */
  kill(): boolean {
    if (this.child === null || this.killed) return false
    this.killed = true
    this.held = false
    return this.child.kill('SIGKILL')
  }

  /** Stops it for this time, unless it is killed earlier. Returns null if no process runs. */
  standStill(ms: number): Promise<void> | null {
    const { child } = this
    if (child === null || this.killed || this.held || !child.kill('SIGSTOP')) return null
    this.held = true
    return pause(ms).then(() => {
      if (this.child !== child || !this.held) return
      child.kill('SIGCONT')
      this.held = false
    })
  }

  /** Ends it like a supervisor: SIGTERM, then its exit code; a process that does not exit is killed. */
  async close(): Promise<number | string | null> {
    this.closing = true
    const { child } = this
    if (child === null) {
      await this.whole
      return null
    }
    const gone = exitOf(child)
    const was_ready = this.match !== null
    child.kill('SIGCONT')
    child.kill('SIGTERM')
    const timeout = new AbortController()
    const late = pause(STOP_MS_MAX, undefined, { signal: timeout.signal }).then(
      () => child.kill('SIGKILL'),
      () => false,
    )
    const how = await gone
    timeout.abort()
    await late
    await this.whole
    // A process that is still starting need not exit cleanly.
    return how === 'SIGTERM' && !was_ready ? null : how
  }

  /** For an exit handler: no process survives the run. */
  killNow(): void {
    this.closing = true
    this.child?.kill('SIGKILL')
  }

  private async keep(): Promise<void> {
    while (!this.closing) {
      await this.once()
      this.ends += 1
      if (!this.closing) await pause(this.options.restartPause() + this.refused_ms)
    }
  }

  private async once(): Promise<void> {
    const { name, args, ready } = this.options
    const child: ChildProcess = spawn(process.execPath, [BIN, ...args], {
      env: cleanEnvironment(this.options.env),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.starts += 1
    this.refused_ms = 0
    this.child = child
    this.killed = false
    this.held = false
    let said = ''
    const exit = exitOf(child)
    // Without free descriptors it has no pipes, and its error event follows.
    child.stderr?.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-SAID_CHARS)))
    const lines = child.stdout === null ? null : createInterface({ input: child.stdout })
    lines?.on('line', (line) => {
      const match = ready.exec(line)
      if (match === null) return
      this.match = match
      this.onFirst?.resolve()
    })
    const slow = setTimeout(() => {
      if (this.match !== null) return
      this.broken(
        new Violation('what is started again becomes ready', `${name}, ${READY_MS_MAX} ms: ${said}`),
      )
    }, READY_MS_MAX)
    const how = await exit
    clearTimeout(slow)
    const was_ready = this.match !== null
    this.match = null
    this.child = null
    this.held = false
    if (this.killed || this.closing) return
    if (!was_ready && this.options.mayFailToStart?.() === true) {
      this.refused_starts += 1
      this.refused_ms = REFUSED_PAUSE_MS
      return
    }
    this.broken(new Violation('nothing ends by itself', `${name} ended with ${how}: ${said}`))
  }

  private broken(violation: Violation): void {
    this.onFirst?.reject(violation)
    this.options.onBroken(violation)
  }
}

function exitOf(child: ChildProcess): Promise<number | string> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode)
  return new Promise((resolve) => {
    // The process could not be started.
    child.once('error', ({ message }) => resolve(message))
    child.once('exit', (code, os_signal) => resolve(code ?? os_signal ?? 'unknown'))
  })
}
