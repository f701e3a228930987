import { pause } from '../ports/pause.ts'
import { LIMITS } from '../contracts/limits.ts'
import type { Invocation } from './cli.ts'
import { isAway } from './reach-hub.ts'

/** Runs `look` again and again until the process is asked to end. A hub that is away is waited for. */
export async function follow(invocation: Invocation, look: () => Promise<void>): Promise<void> {
  const { cli, out } = invocation
  const ending = new AbortController()
  const stopListening = cli.onTermination(() => ending.abort())
  let away = false
  try {
    while (!ending.signal.aborted) {
      try {
        await look()
        away = false
      } catch (error) {
        if (!isAway(error)) throw error
        if (!away) out.note('The hub is away; waiting for it.')
        away = true
      }
      await pause(cli.clock, LIMITS.follow_interval_ms, ending.signal)
    }
  } finally {
    stopListening()
  }
}
