/** Calls that wait for a restarting hub, or start a hub if none runs in the home. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { pause } from '../../ports/pause.ts'
import { runningHub } from '../../system/config/hub-discovery.ts'
import type { Invocation } from '../cli.ts'
import { mayBeDone, type HubClient } from './client.ts'
import { startHubBeside } from './start.ts'

export interface ReachOptions {
  /** Starts a hub if none runs and the configuration names no address. */
  autostart: boolean
}

/**
 * Retries `call` until the hub answers, for at most `LIMITS.hub_reach_ms`. `call` must be idempotent, for example by an
 * `idempotency_key`. Rejects with the error of the last attempt.
 */
export async function whenReached<T>(
  invocation: Invocation,
  { autostart }: ReachOptions,
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

/** Returns true if the hub is not running, is stopping, or ended before it answered. */
export function isAway(error: unknown): boolean {
  if (!(error instanceof TurnbellError)) return false
  return error.code === 'hub_unreachable' || error.code === 'hub_stopping' || mayBeDone(error)
}
