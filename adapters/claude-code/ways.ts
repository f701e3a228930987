/**
 * The ways into one Claude Code session, best first, and which of them the next bell takes.
 *
 * None of them acknowledges anything. A way that nobody stands at the end of says so, and the bell goes by
 * the next one at once. A way that took a bell and lost it is found out only when the daemon rings again
 * for the same turn: then the next way is taken, and kept for as long as it does not lose one too.
 */
import type { Log } from '../../src/ports/log.ts'
import type { Posted, Way } from '../../src/ports/way.ts'

export interface Ways {
  post(text: string): Promise<Posted>
  /** Whether the last bell is known not to have been read yet. */
  unread(): boolean
  /** The last bell left no trace although its session stood idle all the while. */
  lost(): void
}

/** `degraded` hears what a person who looks after the daemon should know. */
export function waysInto(ways: readonly Way[], degraded: Log): Ways {
  let first = 0
  let taken: number | null = null
  /** A way that stays away is told of once. */
  const told = new Set<number>()

  const tell = (index: number, why: string) => {
    if (told.has(index)) return
    told.add(index)
    degraded.warn({ way: ways[index]?.name }, why)
  }

  return {
    async post(text) {
      for (let step = 0; step < ways.length; step++) {
        const index = (first + step) % ways.length
        const posted = await (ways[index] as Way).post(text)
        if (posted === 'unavailable') continue
        // A bell that may have arrived must not be sent once more by another way.
        taken = index
        if (index !== first) tell(first, `nobody is there; bells go by the ${ways[index]?.name}`)
        return posted
      }
      taken = null
      tell(first, 'nobody is there, and there is no other way')
      return 'unavailable'
    },
    unread: () => (taken === null ? false : (ways[taken]?.unread?.() ?? false)),
    lost() {
      if (taken === null) return
      first = (taken + 1) % ways.length
      tell(taken, `lost a bell; the next goes by the ${ways[first]?.name}`)
    },
  }
}
