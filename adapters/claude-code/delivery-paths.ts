/**
 * Chooses which delivery path into a Claude Code session the next doorbell uses; the preferred path comes first.
 *
 * No path acknowledges a text. If a path has no receiver, the next one is used at once. A path that accepted a
 * doorbell and lost it is detected only when the daemon rings again for the same turn; the next path is then
 * used until it loses one too.
 */
import type { Log } from '../../src/ports/log.ts'
import type { PostOutcome, DeliveryPath } from '../../src/ports/delivery-path.ts'

export interface DeliveryPaths {
  post(text: string): Promise<PostOutcome>
  /** Whether the last doorbell is known to be unread. */
  unread(): boolean
  /** Records that the last doorbell was lost: no turn began with it although the session stayed idle. */
  markLost(): void
}

/** `degraded` is the log for the operator of the daemon. */
export function deliveryPaths(paths: readonly DeliveryPath[], degraded: Log): DeliveryPaths {
  let first = 0
  let last_used: number | null = null
  /** Indexes of paths whose failure was logged; each is logged once. */
  const warned = new Set<number>()

  const warnOnce = (index: number, next: number | null, message: string) => {
    if (warned.has(index)) return
    warned.add(index)
    const fields = { path: paths[index]?.name, ...(next !== null && { next: paths[next]?.name }) }
    degraded.warn(fields, message)
  }

  return {
    async post(text) {
      for (let step = 0; step < paths.length; step++) {
        const index = (first + step) % paths.length
        const outcome = await (paths[index] as DeliveryPath).post(text)
        if (outcome === 'unavailable') continue
        // A doorbell that may have arrived must not be sent again by another path.
        last_used = index
        if (index !== first) warnOnce(first, index, 'delivery path has no receiver; using the next')
        return outcome
      }
      last_used = null
      warnOnce(first, null, 'no delivery path has a receiver')
      return 'unavailable'
    },
    unread: () => (last_used === null ? false : (paths[last_used]?.unread?.() ?? false)),
    markLost() {
      if (last_used === null) return
      first = (last_used + 1) % paths.length
      warnOnce(last_used, first, 'delivery path lost a doorbell; using the next')
    },
  }
}
