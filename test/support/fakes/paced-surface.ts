/**
 * The daemon's real state machine between a queue and the surface under test, on the test's clock. Its effects are
 * executed on the surface, and the surface's reports are fed back.
 */
import type { RingResult, SurfaceReport } from '../../../src/contracts/control.ts'
import type { Doorbell } from '../../../src/contracts/doorbell.ts'
import type { PendingEntry } from '../../../src/contracts/frames.ts'
import type { DaemonEvent, Effect } from '../../../src/daemon/events.ts'
import { nextDeadline, start, step } from '../../../src/daemon/machine.ts'
import type { PacerRules } from '../../../src/daemon/history.ts'
import type { Clock, Timer } from '../../../src/ports/clock.ts'
import type { Surface, SurfaceHost } from '../../../src/ports/surface.ts'
import { countedId, RULES } from '../worlds/machine-world.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'

type News = DaemonEvent extends infer E ? (E extends unknown ? Omit<E, 'now'> : never) : never

export interface PacedSurface {
  host: SurfaceHost
  /** The current surface. */
  surface: Surface | null
  /** Doorbells sent over the connection or in a response. */
  bells: Doorbell[]
  /** Results of all ring requests to the surface. */
  rings: RingResult[]
  /** Stores and pushes a signal for the persona. */
  send(): void
  /** The agent drains. Returns the number of signals. */
  drain(): number
  pending(): number
  close(): void
}

/** Starts the machine when its clock is set: connected, reconciled, and waiting for a surface. */
export function paceSurface(clock: Clock, rules: Partial<PacerRules> = {}): PacedSurface {
  const now = () => clock.monotonic()
  const ids = createIds(clock, systemRandom)
  let snapshot = start({
    identity: 'ada',
    surface: 'command',
    rules: { ...RULES, ...rules },
    now: now(),
  })
  let queue: PendingEntry[] = []
  let seq = 0
  let requests = 0
  let alarm: Timer | null = null
  let session_id = 'unknown'
  const answers = new Map<number, (doorbell: Doorbell | null) => void>()

  function tell(news: News): void {
    const [next, effects] = step(snapshot, { ...news, now: now() })
    snapshot = next
    for (const effect of effects) perform(effect)
    alarm?.cancel()
    const at = nextDeadline(snapshot)
    alarm =
      at === null
        ? null
        : clock.after(Math.max(1, at - now()), () => tell({ type: 'TIME_PASSED', random: 0.5 }))
  }

  function perform(effect: Effect): void {
    switch (effect.type) {
      case 'peek': {
        const { peek_id, limit } = effect.params
        const signals = queue.slice(0, limit)
        const listed = { signals, total: queue.length, as_of_seq: seq, doorbell_id: ids.next() }
        return tell({ type: 'PENDING_LISTED', peek_id, ...listed })
      }
      case 'ring': {
        const { doorbell, request } = effect.params
        paced.bells.push(doorbell)
        if (request === null) void ring(doorbell)
        else answer(request, doorbell)
        return
      }
      case 'probe':
        void probe(effect.params.probe_id)
        return
      case 'answerReport':
        return answer(effect.params.request, null)
      default:
    }
  }

  async function ring(doorbell: Doorbell): Promise<void> {
    const said = await paced.surface?.notify_surface(doorbell)
    const result = said ?? { accepted: false, proof: 'unavailable' as const }
    paced.rings.push(result)
    const { doorbell_id, signal_id } = doorbell
    tell({ type: 'BELL_ANSWERED', doorbell_id, signal_id, ...result })
  }

  /** Like surface.sock: the status is processed as a report first, then as the response. */
  async function probe(probe_id: string): Promise<void> {
    const status = await paced.surface?.status()
    if (status !== undefined) void paced.host.report(status)
    const holds = status === undefined ? null : status.outstanding_doorbell_id !== undefined
    tell({ type: 'SURFACE_PROBED', probe_id, holds })
  }

  function answer(request: number, doorbell: Doorbell | null): void {
    answers.get(request)?.(doorbell)
    answers.delete(request)
  }

  const paced: PacedSurface = {
    surface: null,
    bells: [],
    rings: [],
    host: {
      report: (report: SurfaceReport) =>
        new Promise((resolve) => {
          session_id = report.session_id ?? session_id
          const request = ++requests
          answers.set(request, (doorbell) => resolve({ doorbell }))
          tell({ type: 'SURFACE_REPORTED', report, same_shim: true, request })
        }),
    },
    send() {
      seq += 1
      const entry = { signal_id: countedId('S', seq), seq, from: 'bob', intent: 'task', priority: 3 }
      queue.push(entry)
      tell({ type: 'SIGNAL_PUSHED', entry, total: queue.length })
    },
    drain() {
      const signal_ids = queue.map(({ signal_id }) => signal_id)
      queue = []
      if (signal_ids.length > 0) tell({ type: 'SIGNALS_DRAINED', signal_ids, session_id, total: 0 })
      return signal_ids.length
    },
    pending: () => queue.length,
    close: () => alarm?.cancel(),
  }
  tell({ type: 'LINK_UP' })
  return paced
}
