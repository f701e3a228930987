/**
 * Subscribes to the hub's change notifications through one `subscriptions/listen` stream, which is reopened
 * whenever it ends.
 *
 * After a gap every watched resource counts as changed, because an unnecessary read costs less than a missed
 * change.
 */
import type { Upstream } from './hub/upstream.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import type { Clock, Timer } from '../ports/clock.ts'
import type { Log } from '../ports/log.ts'

export interface ChangeSubscriptionDeps {
  upstream: Pick<Upstream, 'listen'>
  clock: Pick<Clock, 'after'>
  log: Log
  onTools: () => void
  onResource: (uri: string) => void
}

export interface ChangeSubscription {
  /** Subscribes to changed tools and to these resources, in addition to earlier ones. */
  subscribe(uris: readonly string[]): void
  close(): void
}

export function createChangeSubscription({
  upstream,
  clock,
  log,
  onTools,
  onResource,
}: ChangeSubscriptionDeps): ChangeSubscription {
  const watched = new Set<string>()
  let stream: AbortController | null = null
  let retry: Timer | null = null
  let delay_ms: number = LIMITS.bridge_listen_min_ms
  let missed = false
  let closed = false

  function listen(): void {
    retry = null
    const abort = new AbortController()
    stream = abort
    const notifications = { toolsListChanged: true, resourceSubscriptions: [...watched] }
    upstream
      .listen({ notifications }, abort.signal, onMessage)
      .then(
        () => log.debug({}, 'change stream ended'),
        (error: unknown) =>
          abort.signal.aborted || log.debug({ err: error }, 'opening the change stream failed'),
      )
      .finally(() => {
        if (stream !== abort || closed) return
        stream = null
        missed = true
        retry = clock.after(delay_ms, listen)
        delay_ms = Math.min(delay_ms * 2, LIMITS.bridge_listen_max_ms)
      })
  }

  function onMessage({
    method,
    params,
  }: {
    method?: string | undefined
    params?: { uri?: unknown } | undefined
  }): void {
    if (method === 'notifications/tools/list_changed') onTools()
    if (method === 'notifications/resources/updated' && typeof params?.uri === 'string')
      onResource(params.uri)
    if (method !== 'notifications/subscriptions/acknowledged') return
    delay_ms = LIMITS.bridge_listen_min_ms
    if (!missed) return
    missed = false
    onTools()
    for (const uri of watched) onResource(uri)
  }

  return {
    subscribe(uris) {
      const before = watched.size
      for (const uri of uris) watched.add(uri)
      if (closed || (stream !== null && watched.size === before)) return
      // A change before the stream is open would be missed, so the resource counts as changed once it opens.
      if (watched.size > before) missed = true
      retry?.cancel()
      stream?.abort()
      listen()
    },
    close() {
      closed = true
      retry?.cancel()
      stream?.abort()
    },
  }
}
