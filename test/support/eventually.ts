/** Waits for a condition instead of a fixed time. */
import { setTimeout as elapse } from 'node:timers/promises'

/**
 * Pause between the end of a probe and the next one: a probe that starts a process would otherwise keep a core busy.
 */
const POLL_MS = 20

/**
 * Resolves with the first value that is not false, null or undefined. Fails after `within_ms` with the awaited
 * condition and the last result. A throwing probe counts as "not yet".
 */
export async function eventually<T>(
  what: string,
  probe: () => T | Promise<T>,
  within_ms = 30_000,
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = performance.now() + within_ms
  let last: unknown
  const attempt = async () => {
    try {
      return (last = await probe())
    } catch (error) {
      last = error
      return undefined
    }
  }
  const met = (value: unknown) => value !== false && value !== null && value !== undefined
  for (;;) {
    const value = await attempt()
    if (met(value)) return value as Exclude<T, false | null | undefined>
    if (performance.now() > deadline) break
    await elapse(POLL_MS)
  }
  const seen = last instanceof Error ? last.message : JSON.stringify(last)
  throw new Error(`${what}: not within ${within_ms} ms; last seen: ${seen}`)
}
