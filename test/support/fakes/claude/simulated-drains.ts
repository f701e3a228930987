/**
 * The hub's leases of one session's drains, and what the client did with each result. The client's side is the truth;
 * the hub learns only what the worker confirms, releases and reports. A drain is final at the end of its turn, as in
 * `src/modules/signals/lease-state.ts`.
 */
import type { SurfaceReport } from '../../../../src/contracts/control.ts'
import type { Drain } from '../../../../adapters/claude-code/unconfirmed-drains.ts'
import { boundaryAfter, continuesCount } from '../../../../src/modules/signals/lease-state.ts'
import { Violation } from '../../violation.ts'

/** `open`: the tool batch has not ended. `cleared`: the conversation is gone, so both outcomes are right. */
type Fate = 'open' | 'kept' | 'discarded' | 'cleared'

interface SimulatedDrain extends Drain {
  session_id: string
  fate: Fate
  written: boolean
  confirmed: boolean
  final: boolean
  releases: number
  /** A worker that replaced a killed one may release a drain that the agent has seen. */
  orphaned: boolean
  boundary_turn: number | null
}

type Turn = Pick<SurfaceReport, 'turn' | 'turn_seq'>

export class SimulatedDrains {
  private readonly drains: SimulatedDrain[] = []
  private readonly turns = new Map<string, Turn>()
  private readonly note: (what: string) => void

  constructor(note: (what: string) => void) {
    this.note = note
  }

  open(session_id: string): Drain {
    const number = this.drains.length + 1
    const turn = this.turns.get(session_id)
    const drain: SimulatedDrain = {
      ...{ drain_id: `drain-${number}`, signal_ids: [`signal-${number}`], session_id, fate: 'open' },
      ...{ written: false, confirmed: false, final: false, releases: 0, orphaned: false },
      boundary_turn: turn === undefined ? null : boundaryAfter(turn),
    }
    this.drains.push(drain)
    this.note(`${drain.drain_id} is taken`)
    return drain
  }

  /** The result is in the client's pipe. */
  written(drain_id: string): void {
    this.find(drain_id).written = true
  }

  /** What the client did with the results of these drains. */
  ended(drain_ids: readonly string[], fate: 'kept' | 'discarded'): void {
    for (const drain_id of drain_ids) {
      const drain = this.find(drain_id)
      if (drain.fate !== 'open') continue
      drain.fate = fate
      this.note(`the result of ${drain_id} is ${fate}`)
    }
  }

  /** The conversation is gone. */
  cleared(): void {
    for (const drain of this.drains) if (drain.fate === 'kept') drain.fate = 'cleared'
  }

  confirm(drain_id: string): void {
    this.note(`${drain_id} is confirmed`)
    this.find(drain_id).confirmed = true
  }

  release(signal_ids: readonly string[], orphaned = false): void {
    for (const drain of this.drains) {
      if (!drain.signal_ids.some((id) => signal_ids.includes(id))) continue
      this.note(`${drain.drain_id} is released${orphaned ? ' as an orphan' : ''}`)
      drain.releases++
      drain.orphaned ||= orphaned
    }
  }

  /** Releases the drains that a killed worker took and did not settle. */
  releaseOrphaned(session_id: string): void {
    for (const drain of this.drains) {
      if (drain.session_id !== session_id || drain.final || drain.releases > 0) continue
      this.release(drain.signal_ids, true)
    }
  }

  reported(session_id: string, { turn, turn_seq }: Turn): void {
    const before = this.turns.get(session_id)
    this.turns.set(session_id, { turn, turn_seq })
    const continues = before === undefined || continuesCount(before.turn_seq, turn_seq)
    for (const drain of this.drains) {
      if (drain.session_id !== session_id || drain.final || drain.releases > 0) continue
      if (drain.boundary_turn === null || !continues) drain.boundary_turn = boundaryAfter({ turn, turn_seq })
      else if (turn_seq > drain.boundary_turn || (turn_seq === drain.boundary_turn && turn === 'idle')) {
        drain.final = true
        this.note(`${drain.drain_id} is final`)
      }
    }
  }

  /** @throws Violation */
  check(): void {
    for (const { drain_id, fate, releases, orphaned, confirmed, final } of this.drains) {
      if (fate === 'kept' && releases > 0 && !orphaned)
        throw new Violation(
          'no signal is shown twice',
          `${drain_id} stays in the conversation and was released`,
        )
      if (fate === 'discarded' && (confirmed || final))
        throw new Violation(
          'no signal is lost',
          `${drain_id} was discarded and is ${final ? 'final' : 'confirmed'}`,
        )
      if (releases > 1) throw new Violation('a drain is released once', drain_id)
    }
  }

  /** Checks a session that has been at its prompt for a while. @throws Violation */
  checkSettled(): void {
    for (const { drain_id, fate, releases, final } of this.drains) {
      if (fate === 'discarded' && releases === 0)
        throw new Violation('a discarded drain is released', `${drain_id} is not`)
      if (fate === 'kept' && releases === 0 && !final)
        throw new Violation('a drain that was read becomes final', `${drain_id} does not`)
    }
  }

  private find(drain_id: string): SimulatedDrain {
    return this.drains.find((drain) => drain.drain_id === drain_id) as SimulatedDrain
  }
}
