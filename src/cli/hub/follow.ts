/** The loop of commands that print news until they are ended, such as `turnbell inbox --follow`. */
import { pause } from '../../ports/pause.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Invocation } from '../cli.ts'
import { isAway } from './reach.ts'

/** Polls with `look` until the process is requested to end. Keeps polling while the hub is unreachable. */
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
        if (!away) out.note('The hub is unreachable; waiting for it.')
        away = true
      }
      await pause(cli.clock, LIMITS.follow_interval_ms, ending.signal)
    }
  } finally {
    stopListening()
  }
}
