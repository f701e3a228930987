/** Calls that wait for a hub that restarts, and start one in a home where none runs. */
import { TurnbellError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'
import { pause } from '../ports/pause.ts'
import { runningHub } from '../system/hub-address.ts'
import type { Invocation } from './cli.ts'
import { mayBeDone, type HubClient } from './hub-client.ts'
import { startHubBeside } from './start-hub.ts'

export interface Reaching {
  /** Start a hub where none runs; never where the configuration names its address. */
  autostart: boolean
}

/**
 * Runs `call` until the hub has answered, for at most `LIMITS.hub_reach_ms`. `call` may run several times, so it must be
 * harmless twice: give what it sends an `idempotency_key`. Rejects with what the last try was refused with.
 */
export async function whenReached<T>(
  invocation: Invocation,
  { autostart }: Reaching,
  call: (hub: HubClient) => Promise<T>,
): Promise<T> {
  const { cli, home } = invocation
  const began = cli.clock.monotonic()
  let started = !autostart || invocation.config().hub.url !== undefined
  for (;;) {
    try {
      return await call(invocation.hub())
    } catch (error) {
      if (!isAway(error) || cli.clock.monotonic() - began >= LIMITS.hub_reach_ms) throw error
    }
    if (!started && runningHub(home) === null) {
      started = true
      startHubBeside(invocation)
    }
    await pause(cli.clock, LIMITS.hub_reach_poll_ms)
  }
}

/** The hub is not there, is about to end, or went away before it answered. */
export function isAway(error: unknown): boolean {
  if (!(error instanceof TurnbellError)) return false
  return error.code === 'hub_unreachable' || error.code === 'hub_stopping' || mayBeDone(error)
}
