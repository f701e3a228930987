/**
 * A hub that a client would rather call than its home's own, but need not: while it does not answer, the own one
 * is called, which all clients of the home find.
 */
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock, Timer } from '../../ports/clock.ts'

export interface PreferredHubNeeds {
  url: string
  /** Whether it answers. Never rejects. */
  answers: () => Promise<boolean>
  /** Where the home's own is now, null while none runs. */
  own: () => string | null
  clock: Pick<Clock, 'every'>
}

export interface PreferredHub {
  locate(): string
  /** A call found no hub where `locate` said. True where the home's own is there instead. */
  missed(): boolean
}

export function createPreferredHub({ url, answers, own, clock }: PreferredHubNeeds): PreferredHub {
  /** Set while it is away: looks whether it has come. */
  let following: Timer | null = null
  const follow = async () => {
    if (!(await answers())) return
    following?.cancel()
    following = null
  }
  const instead = () => (following === null ? null : own())
  return {
    locate: () => instead() ?? url,
    missed() {
      following ??= clock.every(LIMITS.bridge_follow_ms, () => void follow())
      return instead() !== null
    },
  }
}
