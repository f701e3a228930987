/**
 * How often each address has asked, in windows of a clock that never steps back, as `@fastify/rate-limit` wants it kept.
 * Its own store goes by the time of day: set back by hours, one of its windows lasts as long.
 */
import type { FastifyRateLimitStore, FastifyRateLimitStoreCtor } from '@fastify/rate-limit'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock } from '../../ports/clock.ts'

export function requestWindows(clock: Pick<Clock, 'monotonic'>): FastifyRateLimitStoreCtor {
  const windows = new Map<string, { began: number; count: number }>()

  return class RequestWindows implements FastifyRateLimitStore {
    incr(address: string, told: Told, window_ms = 0): void {
      const now = clock.monotonic()
      const last = windows.get(address)
      const current = last !== undefined && now < last.began + window_ms ? last : { began: now, count: 0 }
      current.count += 1
      windows.set(address, current)
      const [oldest] = windows.keys()
      if (windows.size > LIMITS.token_addresses_max && oldest !== undefined) windows.delete(oldest)
      told(null, { current: current.count, ttl: current.began + window_ms - now })
    }

    child(): this {
      return this
    }
  }
}

type Told = Parameters<FastifyRateLimitStore['incr']>[1]
