/**
 * A process of the product under a supervisor that starts it again whenever it has ended. Only what was started here
 * is ever killed or stopped, each by its own handle.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { BIN, cleanEnvironment } from '../support/processes.ts'
import { Violation } from '../support/violation.ts'

const READY_MS_MAX = 90_000
const STOP_MS_MAX = 60_000
const SAID_CHARS = 4_000

export interface SupervisedOptions {
  name: string
  args: readonly string[]
  ready: RegExp
  /** How long it stays away after a kill. */
  restartPause: () => number
  /** It came to its end without having been killed, or did not become ready. */
  onBroken: (violation: Violation) => void
}

export class Supervised {
  readonly name: string
  /** How often it was started, and how often it was gone. */
  starts = 0
  ends = 0
  /** What the line that says it is ready caught; null while there is none. */
  match: RegExpExecArray | null = null
  private child: ChildProcess | null = null
  private killed = false
  private closing = false
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

  /** Resolves once it is ready for the first time; rejects where it does not come to that. */
  start(): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.onFirst = { resolve, reject }
      this.whole = this.keep()
    })
  }

  /** False where there is nothing to kill. */
  kill(): boolean {
    if (this.child === null || this.killed) return false
    this.killed = true
    this.held = false
    return this.child.kill('SIGKILL')
  }

  /** Stands still from now on for so long, unless it is killed meanwhile. Null where there is nothing to stop. */
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

  /** As a supervisor stops it for good: SIGTERM, then its exit code; what does not go is killed. */
  async close(): Promise<number | string | null> {
    this.closing = true
    const { child } = this
    if (child === null) {
      await this.whole
      return null
    }
    const gone = exitOf(child)
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
    return how
  }

  /** For an exit handler: nothing outlives the run. */
  killNow(): void {
    this.closing = true
    this.child?.kill('SIGKILL')
  }

  private async keep(): Promise<void> {
    while (!this.closing) {
      await this.once()
      this.ends += 1
      if (!this.closing) await pause(this.options.restartPause())
    }
  }

  private async once(): Promise<void> {
    const { name, args, ready } = this.options
    const child: ChildProcess = spawn(process.execPath, [BIN, ...args], {
      env: cleanEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.starts += 1
    this.child = child
    this.killed = false
    this.held = false
    let said = ''
    const exit = exitOf(child)
    // Where no files are left it has no pipes, and its error is still to come.
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
    this.match = null
    this.child = null
    this.held = false
    if (this.killed || this.closing) return
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
    // It could not be started at all.
    child.once('error', ({ message }) => resolve(message))
    child.once('exit', (code, os_signal) => resolve(code ?? os_signal ?? 'unknown'))
  })
}
