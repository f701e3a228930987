/**
 * The doorbell that is under way through the module, the view that it shows, and its open `/wait`, which takes both.
 * There is at most one of each.
 */
import type { ClientView, DropReason, ViewUpdate, Wait, WaitAnswer } from '../mod/messages.ts'
import type { Doorbell } from '../../../src/contracts/doorbell.ts'
import type { DoorbellId } from '../../../src/contracts/ids.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import type { Clock } from '../../../src/ports/clock.ts'

/**
 * `entered`: a turn began with the doorbell. `waits`: the module has it. `gone`: the module had it and ended before an
 * answer. `untaken`: the module did not fetch it and never will.
 */
export type BellOutcome = 'entered' | 'waits' | 'gone' | 'untaken' | DropReason

export interface BellExchange {
  /**
   * Resolves after at most `mod_receipt_ms`: without an outcome with `waits`, and the doorbell remains under way; or with
   * `untaken`.
   */
  ring(doorbell: Doorbell): Promise<BellOutcome>
  /**
   * Resolves with a doorbell or another view, with `{}` after `mod_wait_ms`, when it is aborted or another wait follows, and
   * with null when the module is gone. A doorbell that is not among `holds` is handed over again.
   */
  wait(wait: Pick<Wait, 'holds' | 'view'>, signal: AbortSignal): Promise<WaitAnswer | null>
  show(view: ClientView, arrived: ViewUpdate['arrived']): void
  underWay(): DoorbellId | null
  /** Ends the doorbell under way. */
  resolve(outcome: BellOutcome): void
  /** The module is gone. */
  abandon(): void
}

interface OpenWait {
  /** Version of the view that the module shows. */
  view: number
  answer(answer: WaitAnswer | null): void
}

interface Bell extends Doorbell {
  /** It was sent to the module. */
  taken: boolean
  resolve(outcome: BellOutcome): void
}

export function createBellExchange(clock: Pick<Clock, 'after'>): BellExchange {
  let bell: Bell | null = null
  let open: OpenWait | null = null
  const views = createViewSlot()

  const bellDue = (): WaitAnswer => {
    if (bell === null || bell.taken) return {}
    bell.taken = true
    return { bell: { doorbell_id: bell.doorbell_id, text: bell.text } }
  }
  const handOver = () => {
    if (open === null) return
    const due = { ...bellDue(), ...views.due(open.view) }
    if (Object.keys(due).length > 0) open.answer(due)
  }

  const resolve = (outcome: BellOutcome) => {
    const rung = bell
    bell = null
    rung?.resolve(outcome)
  }

  return {
    ring(doorbell) {
      resolve('gone')
      return new Promise((done) => {
        const timer = clock.after(LIMITS.mod_receipt_ms, () =>
          rung.taken ? done('waits') : resolve('untaken'),
        )
        const rung: Bell = {
          ...doorbell,
          taken: false,
          resolve(outcome) {
            timer.cancel()
            done(outcome)
          },
        }
        bell = rung
        handOver()
      })
    },

    show(view, arrived) {
      views.put(view, arrived)
      handOver()
    },

    wait({ holds, view }, signal) {
      // The module has one request open; another one means that it gave up the former.
      open?.answer({})
      if (bell !== null && !holds.includes(bell.doorbell_id)) bell.taken = false
      return new Promise((done) => {
        const finish = (result: WaitAnswer | null) => {
          if (open?.answer === finish) open = null
          timer.cancel()
          signal.removeEventListener('abort', abort)
          done(result)
        }
        const abort = () => finish({})
        const timer = clock.after(LIMITS.mod_wait_ms, () => finish({}))
        signal.addEventListener('abort', abort)
        open = { view, answer: finish }
        if (signal.aborted) finish({})
        else handOver()
      })
    },

    underWay: () => bell?.doorbell_id ?? null,
    resolve,
    abandon() {
      open?.answer(null)
      resolve(bell?.taken === true ? 'gone' : 'untaken')
    },
  }
}

/** The current view, and the arrivals that were not handed over. */
function createViewSlot() {
  let current: ViewUpdate | null = null
  return {
    put(view: ClientView, arrived: ViewUpdate['arrived']): void {
      const [before, version] = [current?.arrived, (current?.version ?? 0) + 1]
      const all = [before, arrived].filter((one) => one !== undefined)
      current = { version, view }
      if (all.length === 0) return
      current.arrived = {
        count: all.reduce((sum, { count }) => sum + count, 0),
        from: [...new Set(all.flatMap(({ from }) => from))],
        ...(all.some(({ more }) => more) ? { more: true } : {}),
      }
    },
    /** Returns what a module that shows this version lacks. */
    due(version: number): WaitAnswer {
      if (current === null || current.version === version) return {}
      const view = current
      current = { version: view.version, view: view.view }
      return { view }
    },
  }
}
