/**
 * Store of `@fastify/rate-limit` with the monotonic clock. Its built-in store uses the time of day: if that is set back by
 * hours, a window lasts hours longer.
 */
import type { FastifyRateLimitStore, FastifyRateLimitStoreCtor } from '@fastify/rate-limit'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'

export function requestWindows(clock: Pick<Clock, 'monotonic'>): FastifyRateLimitStoreCtor {
  const windows = new Map<string, { began: number; count: number }>()

  return class RequestWindows implements FastifyRateLimitStore {
    incr(caller: string, done: Done, window_ms = 0): void {
      const now = clock.monotonic()
      const last = windows.get(caller)
      const current = last !== undefined && now < last.began + window_ms ? last : { began: now, count: 0 }
      current.count += 1
      windows.set(caller, current)
      const [oldest] = windows.keys()
      if (windows.size > LIMITS.token_callers_max && oldest !== undefined) windows.delete(oldest)
      done(null, { current: current.count, ttl: current.began + window_ms - now })
    }

    child(): this {
      return this
    }
  }
}

type Done = Parameters<FastifyRateLimitStore['incr']>[1]
