/**
 * What a bridge does about a hub that is not there: have one started, where that is wanted, and else be
 * one itself until another comes. Its own calls go to either by the same way, so its client notices none
 * of it.
 */
import type { CallHere } from './calls-here.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock, Timer } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'

export interface Embedded {
  url: string
  /** Without a way through its door. */
  call: CallHere | null
  stop(): Promise<void>
}

export interface StandInNeeds {
  clock: Pick<Clock, 'monotonic' | 'every'>
  log: Log
  /** Starts a hub that outlives this process; absent where that is not wanted. */
  startHub?: () => void
  /**
   * Begins to be one, and says when that is over. Rejects where another one is. Absent where the queue is elsewhere.
   */
  embed?: (onEnd: () => void) => Promise<Embedded>
  /** Whether the hub that was named answers; absent where none was. */
  namedAnswers?: () => Promise<boolean>
}

export interface StandIn {
  /** A call found no hub, and has looked for one for so long; `reached`: one was there before. */
  missed(away_ms: number, reached: boolean): void
  /** Where this process answers itself, or null. */
  url(): string | null
  /** How it is asked without that address, or null. */
  call(): CallHere | null
  close(): Promise<void>
}

export function createStandIn(needs: StandInNeeds): StandIn {
  const { clock, log, startHub, embed, namedAnswers } = needs
  let started_at = -Infinity
  let embedding: Promise<void> | null = null
  let embedded: Embedded | null = null
  let following: Timer | null = null
  let closed = false

  const over = () => {
    following?.cancel()
    following = null
    embedded = null
  }
  const follow = async (answers: () => Promise<boolean>) => {
    const own = embedded
    if (own === null || !(await answers()) || own !== embedded) return
    log.info({}, 'the hub that was named answers; this one ends')
    over()
    await own.stop()
  }
  const begin = async (be: NonNullable<StandInNeeds['embed']>) => {
    try {
      const own = await be(over)
      if (closed) return await own.stop()
      embedded = own
      log.info({ url: own.url }, 'no hub answers; this process is one until another comes')
      if (namedAnswers === undefined) return
      following = clock.every(LIMITS.bridge_follow_ms, () => {
        follow(namedAnswers).catch((error: unknown) =>
          log.warn({ err: error }, 'going over to the hub that was named went wrong'),
        )
      })
    } catch (error) {
      // Another one was faster, or nobody can; the call that waits says which.
      log.debug({ err: error }, 'this process cannot be the hub')
    }
  }

  return {
    missed(away_ms, reached) {
      // One that ran a moment ago is probably being restarted by whoever runs it.
      if (reached && away_ms < LIMITS.bridge_autostart_after_ms) return
      const since_start_ms = clock.monotonic() - started_at
      if (startHub !== undefined && since_start_ms >= LIMITS.bridge_wait_ms) {
        started_at = clock.monotonic()
        log.info({}, 'no hub answers; starting one, which stays until turnbell down')
        startHub()
        return
      }
      const patience_ms = reached || startHub !== undefined ? LIMITS.bridge_embed_after_ms : 0
      const waited_ms = startHub === undefined ? away_ms : since_start_ms
      if (embed === undefined || embedding !== null || embedded !== null || waited_ms < patience_ms) return
      embedding = begin(embed).finally(() => (embedding = null))
    },
    url: () => embedded?.url ?? null,
    call: () => embedded?.call ?? null,
    async close() {
      closed = true
      await embedding
      following?.cancel()
      await embedded?.stop()
    },
  }
}
