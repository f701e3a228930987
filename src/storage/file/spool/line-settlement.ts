/**
 * What becomes of the lines of one run: each one is done, deferred or rejected after `take` received it, and that is
 * durable before the progress of its batch passes it.
 */
import { LIMITS } from '../../../contracts/limits/limits.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { LineOutcome, Spool } from '../../../ports/spool.ts'
import type { DeferredLine, DeferredLines } from './deferred-lines.ts'
import type { SpoolReject, SpoolRejects } from './rejected-lines.ts'

export type Take = Parameters<Spool['consume']>[0]
export type Counts = Awaited<ReturnType<Spool['consume']>>

export interface SettlementDeps {
  clock: Pick<Clock, 'now'>
  waiting: DeferredLines
  rejects: SpoolRejects
  onRefused: (notice: { reason: string; kept_in: string }) => void
}

export class LineSettlement {
  readonly counts: Counts = { taken: 0, refused: 0 }
  private readonly deps: SettlementDeps
  private readonly take: Take

  constructor(deps: SettlementDeps, take: Take) {
    this.deps = deps
    this.take = take
  }

  async refuse(refused: readonly SpoolReject[]): Promise<void> {
    const { rejects, onRefused } = this.deps
    for (const { reason } of await rejects.keep(refused)) onRefused({ reason, kept_in: rejects.file })
    this.counts.refused += refused.length
  }

  /** Passes a group to `take`. Afterwards each line is done, deferred or rejected, and that is durable. */
  async settle(group: readonly DeferredLine[]): Promise<void> {
    const { waiting } = this.deps
    if (group.length === 0) return
    const outcomes = await this.take(group.map(({ line }) => line))
    const refused: SpoolReject[] = []
    const put: DeferredLine[] = []
    const room = roomIn(waiting)
    for (const [nth, waiting_line] of group.entries()) {
      const outcome = outcomes[nth] ?? { broke: 'no outcome was returned' }
      if (outcome === 'taken') {
        this.counts.taken += 1
        continue
      }
      const { key, line } = waiting_line
      const broke = 'broke' in outcome
      const updated = { ...waiting_line, tries: waiting_line.tries + (broke ? 1 : 0) }
      const reason = 'refused' in outcome ? outcome.refused : this.whyNotDeferred(updated, outcome, room)
      if (reason !== null) refused.push({ key, line, reason })
      else if (broke || waiting.get(key) === undefined) put.push(updated)
    }
    await this.refuse(refused)
    const stays = new Set(put.map(({ key }) => key))
    const over = group.filter(
      ({ key }, nth) => !stays.has(key) && !staysDeferred(outcomes[nth], refused, key),
    )
    await waiting.change(
      put,
      over.map(({ key }) => key),
    )
  }

  /** Returns why the line cannot be deferred; null if it can. */
  private whyNotDeferred(
    { key, line, since, tries }: DeferredLine,
    outcome: { later: string } | { broke: string },
    room: { lines: number; bytes: number },
  ): string | null {
    const { clock, waiting } = this.deps
    if ('broke' in outcome) {
      if (tries >= LIMITS.spool_tries_max) return `the line failed ${tries} times: ${outcome.broke}`
    } else if (clock.now() - Date.parse(since) > LIMITS.spool_deferred_ms)
      return `the line was deferred since ${since}: ${outcome.later}`
    if (waiting.get(key) !== undefined) return null
    const bytes = Buffer.byteLength(line)
    if (room.lines > 0 && room.bytes >= bytes) {
      room.lines -= 1
      room.bytes -= bytes
      return null
    }
    return `too many lines are deferred: ${'later' in outcome ? outcome.later : outcome.broke}`
  }
}

/** Returns how much more may be deferred; `whyNotDeferred` counts it down. */
function roomIn(waiting: DeferredLines): { lines: number; bytes: number } {
  return {
    lines: LIMITS.spool_deferred_max - waiting.size(),
    bytes: LIMITS.spool_deferred_bytes_max - waiting.bytes(),
  }
}

/** Returns whether a deferred line stays deferred unchanged. */
function staysDeferred(
  outcome: LineOutcome | undefined,
  refused: readonly SpoolReject[],
  key: string,
): boolean {
  if (outcome === undefined || outcome === 'taken' || 'refused' in outcome) return false
  return !refused.some((one) => one.key === key)
}
