/**
 * Handles a missing hub: starts one if that is allowed, and otherwise runs an embedded hub until another one
 * responds. The bridge's calls reach either in the same way, so its client notices no difference.
 */
import type { InProcessCall } from '../in-process-calls.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock, Timer } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'

export interface EmbeddedHub {
  url: string
  /** Calls the embedded hub without HTTP; null if that is not possible. */
  call: InProcessCall | null
  stop(): Promise<void>
}

export interface HubFallbackDeps {
  clock: Pick<Clock, 'monotonic' | 'every'>
  log: Log
  /** Starts a hub that outlives this process; absent if that is not allowed. */
  startHub?: () => void
  /**
   * Starts an embedded hub; `onEnd` is called when it ends. Rejects if another hub runs. Absent if the queue
   * is stored elsewhere.
   */
  embed?: (onEnd: () => void) => Promise<EmbeddedHub>
  /** Whether the hub given on the command line responds; absent if none was given. */
  preferredResponds?: () => Promise<boolean>
}

export interface HubFallback {
  /** A call has found no hub for `away_ms`; `reached`: a hub responded earlier. */
  onHubMissing(away_ms: number, reached: boolean): void
  /** Address of the embedded hub, or null. */
  url(): string | null
  /** In-process call of the embedded hub, or null. */
  call(): InProcessCall | null
  close(): Promise<void>
}

export function createHubFallback(deps: HubFallbackDeps): HubFallback {
  const { clock, log, startHub, embed, preferredResponds } = deps
  let started_at = -Infinity
  let embedding: Promise<void> | null = null
  let embedded: EmbeddedHub | null = null
  let following: Timer | null = null
  let closed = false

  const onEnded = () => {
    following?.cancel()
    following = null
    embedded = null
  }
  const switchIfResponding = async (answers: () => Promise<boolean>) => {
    const own = embedded
    if (own === null || !(await answers()) || own !== embedded) return
    log.info({}, 'preferred hub responds; embedded hub stops')
    onEnded()
    await own.stop()
  }
  const startEmbedded = async (start: NonNullable<HubFallbackDeps['embed']>) => {
    try {
      const own = await start(onEnded)
      if (closed) return await own.stop()
      embedded = own
      log.info({ url: own.url }, 'embedded hub started')
      if (preferredResponds === undefined) return
      following = clock.every(LIMITS.bridge_follow_ms, () => {
        switchIfResponding(preferredResponds).catch((error: unknown) =>
          log.warn({ err: error }, 'switching to the preferred hub failed'),
        )
      })
    } catch (error) {
      // Another process was faster, or no hub can be started; the waiting call returns the reason.
      log.debug({ err: error }, 'starting an embedded hub failed')
    }
  }

  return {
    onHubMissing(away_ms, reached) {
      // A hub that ran a moment ago is probably being restarted by its supervisor.
      if (reached && away_ms < LIMITS.bridge_autostart_after_ms) return
      const since_start_ms = clock.monotonic() - started_at
      if (startHub !== undefined && since_start_ms >= LIMITS.bridge_wait_ms) {
        started_at = clock.monotonic()
        log.info({}, 'no hub responds; background hub started')
        startHub()
        return
      }
      const patience_ms = reached || startHub !== undefined ? LIMITS.bridge_embed_after_ms : 0
      const waited_ms = startHub === undefined ? away_ms : since_start_ms
      if (embed === undefined || embedding !== null || embedded !== null || waited_ms < patience_ms) return
      embedding = startEmbedded(embed).finally(() => (embedding = null))
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
