/**
 * Reads what the module shows in the client: at intervals, because the hub has no notification for turns of other
 * agents, and earlier after the session's own turns. Never awaited by a hook.
 */
import type { ClientView, ViewUpdate } from './mod/messages.ts'
import { TurnbellError } from '../../src/contracts/errors/errors.ts'
import type { Identity } from '../../src/contracts/ids.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import type { TeamView } from '../../src/contracts/team-view.ts'
import type { Clock, Timer } from '../../src/ports/clock.ts'
import type { Log } from '../../src/ports/log.ts'

type Arrived = ViewUpdate['arrived']

export interface ViewFeedDeps {
  persona: Identity
  /** Reads the team view at the hub. Rejects with `hub_unreachable` if no hub answered. */
  read: (answer_ms: number) => Promise<TeamView>
  /** Called when the view has changed or signals for the person have arrived. */
  show: (view: ClientView, arrived: Arrived) => void
  clock: Pick<Clock, 'after' | 'monotonic'>
  log: Log
}

export interface ViewFeed {
  /** A module is there that shows the view. */
  start(): void
  /** Something has changed: reads as soon as `mod_view_min_ms` allows. */
  refresh(): void
  stop(): void
}

/** A hub that restarts fails one read. */
const FAILURES_HIDDEN_MAX = 1

export function createViewFeed({ persona, read, show, clock, log }: ViewFeedDeps): ViewFeed {
  const arrivals = createArrivals()
  let running = false
  let reading = false
  let is_due = false
  let began_ms = 0
  let failures = 0
  let shown = ''
  let timer: Timer | null = null

  function publish(view: ClientView, arrived?: Arrived): void {
    const text = JSON.stringify(view)
    if (text === shown && arrived === undefined) return
    shown = text
    show(view, arrived)
  }

  function found(team: TeamView): void {
    failures = 0
    publish({ persona, team }, arrivals.in(team))
  }

  function failed(error: unknown): void {
    failures++
    log.debug({ err: error }, 'reading the team view failed')
    if (failures <= FAILURES_HIDDEN_MAX) return
    const is_away = error instanceof TurnbellError && error.code === 'hub_unreachable'
    publish({ persona, team: null, ...(is_away ? {} : { refused: true }) })
  }

  async function look(): Promise<void> {
    reading = true
    is_due = false
    began_ms = clock.monotonic()
    await read(LIMITS.mod_view_answer_ms).then(found).catch(failed)
    reading = false
    if (running) lookAfter(is_due ? LIMITS.mod_view_min_ms : LIMITS.mod_view_ms)
  }

  function lookAfter(delay_ms: number): void {
    timer?.cancel()
    timer = clock.after(delay_ms, () => void look())
  }

  return {
    start() {
      if (running) return
      running = true
      if (!reading) void look()
    },
    refresh() {
      is_due = true
      if (running && !reading) lookAfter(Math.max(0, began_ms + LIMITS.mod_view_min_ms - clock.monotonic()))
    },
    stop() {
      running = false
      timer?.cancel()
    },
  }
}

/** Signals that arrived in the person's inbox since the first read. The view lists only the newest. Ids grow with time. */
function createArrivals() {
  let last: string | null = null
  return {
    in({ person }: TeamView): Arrived {
      const before = last
      last = [before ?? '', ...person.newest.map(({ signal_id }) => signal_id)].toSorted().at(-1) ?? ''
      const fresh = before === null ? [] : person.newest.filter(({ signal_id }) => signal_id > before)
      if (fresh.length === 0) return undefined
      const more = fresh.length === person.newest.length && fresh.length < person.pending_count
      return {
        count: fresh.length,
        from: [...new Set(fresh.map(({ from }) => from))],
        ...(more ? { more } : {}),
      }
    },
  }
}
