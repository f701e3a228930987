/** A hub that a client prefers over its home's own. While it does not respond, the home's own hub is used. */
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock, Timer } from '../../ports/clock.ts'

export interface PreferredHubDeps {
  url: string
  /** Whether the preferred hub responds. Never rejects. */
  responds: () => Promise<boolean>
  /** Address of the home's own hub, null while none runs. */
  ownUrl: () => string | null
  clock: Pick<Clock, 'every'>
}

export interface PreferredHub {
  locate(): string
  /** A call found no hub at `locate()`. Returns true if the home's own hub is used instead. */
  onHubMissing(): boolean
}

export function createPreferredHub({ url, responds, ownUrl, clock }: PreferredHubDeps): PreferredHub {
  /** Set while the preferred hub is away; checks whether it responds again. */
  let following: Timer | null = null
  const check = async () => {
    if (!(await responds())) return
    following?.cancel()
    following = null
  }
  const fallbackUrl = () => (following === null ? null : ownUrl())
  return {
    locate: () => fallbackUrl() ?? url,
    onHubMissing() {
      following ??= clock.every(LIMITS.bridge_follow_ms, () => void check())
      return fallbackUrl() !== null
    },
  }
}
