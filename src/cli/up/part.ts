/**
 * One process of `up`, the hub or a daemon: finds the one that runs, else starts it; starts it again
 * after a crash; leaves it alone when it was stopped on purpose.
 */
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock, Timer } from '../../ports/clock.ts'
import { processAlive } from '../../system/processes.ts'
import type { Launch, Launched } from './launch.ts'
import { afterExit, describeExit } from './restart.ts'

export type PartState = 'starting' | 'running' | 'waiting' | 'stopped' | 'failed'

export interface PartView {
  name: string
  state: PartState
  pid: number | null
  /** Started by this `up`, and therefore stopped by it. */
  ours: boolean
  restarts: number
  /** Why it is in this state, for a person. */
  note: string | null
}

export interface PartNeeds {
  name: string
  args: readonly string[]
  /** The pid of the one that runs and answers, whoever started it. */
  find(): Promise<number | null>
  /** Did one that is gone clean up behind itself? Then it was stopped on purpose. */
  leftCleanly(): boolean
  launch: Launch
  clock: Clock
  onChange: (view: PartView) => void
}

export interface Part {
  view(): PartView
  /** Resolves once it runs, or is known not to: stopped, failed, or waiting for its next attempt. */
  settled: Promise<PartView>
  /** No more starts. The process, if it is ours, and its end. */
  release(): Launched | null
}

const POLL_MS = 50
const ADOPTED_POLL_MS = 500
/** One that is slow, or answers elsewhere than it is asked: it is left its time. */
const SILENT = `runs, and has not answered for ${LIMITS.process_start_ms / 1000} s`

export function startPart(needs: PartNeeds): Part {
  const { clock } = needs
  let released = false
  let child: Launched | null = null
  let failures = 0
  let timer: Timer | null = null
  let wake = (): void => {}
  let settle: (view: PartView) => void = () => {}
  const settled = new Promise<PartView>((resolve) => (settle = resolve))
  let view: PartView = {
    name: needs.name,
    state: 'starting',
    pid: null,
    ours: false,
    restarts: 0,
    note: null,
  }

  const change = (to: Partial<PartView>) => {
    view = { ...view, ...to }
    needs.onChange(view)
    if (view.state !== 'starting') settle(view)
  }
  const pause = (delay_ms: number) =>
    new Promise<void>((resolve) => {
      wake = resolve
      timer = clock.after(delay_ms, resolve)
    })

  /** One that somebody else started: watched by its pid, for we are not told of its end. */
  async function watchAdopted(pid: number): Promise<'again' | 'over'> {
    change({ state: 'running', pid, ours: false, note: null })
    while (!released && processAlive(pid)) await pause(ADOPTED_POLL_MS)
    if (released) return 'over'
    if (needs.leftCleanly()) {
      change({ state: 'stopped', pid: null, note: null })
      return 'over'
    }
    change({ state: 'starting', pid: null, restarts: view.restarts + 1, note: 'died; it is started again' })
    return 'again'
  }

  async function runOwn(): Promise<'again' | 'over'> {
    const started_at = clock.monotonic()
    const isLate = () => clock.monotonic() - started_at >= LIMITS.process_start_ms
    const own = (child = needs.launch(needs.args))
    change({ state: 'starting', pid: own.pid, ours: true })
    while (!released && own.exit() === null) {
      if (view.state === 'starting' && (await needs.find()) === own.pid && own.exit() === null) {
        change({ state: 'running', note: null })
      } else if (view.state === 'starting' && view.note !== SILENT && isLate()) {
        change({ note: SILENT })
      }
      await Promise.race([own.exited, pause(view.state === 'starting' ? POLL_MS : ADOPTED_POLL_MS)])
      timer?.cancel()
    }
    const exit = own.exit()
    if (exit === null) return 'over'
    child = null
    if (released) return 'over'
    if (clock.monotonic() - started_at >= LIMITS.process_stable_ms) failures = 0
    const next = afterExit(exit, failures)
    switch (next.kind) {
      case 'stopped':
        change({ state: 'stopped', pid: null, note: null })
        return 'over'
      case 'failed':
        change({ state: 'failed', pid: null, note: inShort(own.said()) || describeExit(exit) })
        return 'over'
      case 'adopt':
        return adoptOther(own.said())
      case 'restart': {
        failures += 1
        const why = inShort(own.said())
        const note = `${describeExit(exit)}, again in ${next.in_ms / 1000} s${why === '' ? '' : `: ${why}`}`
        change({ state: 'waiting', pid: null, note })
        await pause(next.in_ms)
        if (!released) change({ state: 'starting', restarts: view.restarts + 1 })
        return 'again'
      }
    }
  }

  /** Another one holds the place and may itself still be starting. */
  async function adoptOther(said: string): Promise<'again' | 'over'> {
    const deadline = clock.monotonic() + LIMITS.process_start_ms
    while (!released && clock.monotonic() < deadline) {
      if ((await needs.find()) !== null) return 'again'
      await pause(POLL_MS)
    }
    if (!released) change({ state: 'failed', pid: null, ours: false, note: inShort(said) })
    return 'over'
  }

  async function run(): Promise<void> {
    for (let next = 'again'; next === 'again' && !released;) {
      const pid = await needs.find()
      if (released) return
      next = pid === null ? await runOwn() : await watchAdopted(pid)
    }
  }

  run().catch((error: unknown) => change({ state: 'failed', pid: null, note: String(error) }))

  return {
    view: () => view,
    settled,
    release() {
      released = true
      timer?.cancel()
      wake()
      return child !== null && child.exit() === null ? child : null
    },
  }
}

const SHORT_LENGTH_MAX = 300

/** Its last words in one line, without the line that only said that it was ready. */
function inShort(text: string): string {
  const words = text.split('\n').filter((line) => !/^turnbell \w+ ready /.test(line))
  return words.join(' ').replace(/\s+/g, ' ').trim().slice(0, SHORT_LENGTH_MAX)
}
