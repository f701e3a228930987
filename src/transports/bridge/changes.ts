/**
 * What the hub says has changed, for a client that asked to hear of it: one `subscriptions/listen`
 * stream that is opened with the first wish and opened again whenever it ends.
 *
 * Nothing is remembered of the time in between; after a gap everything that is watched counts as
 * changed, because looking once too often costs less than not looking.
 */
import type { Upstream } from './upstream.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock, Timer } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'

export interface ChangesDeps {
  upstream: Pick<Upstream, 'listen'>
  clock: Pick<Clock, 'after'>
  log: Log
  onTools: () => void
  onResource: (uri: string) => void
}

export interface Changes {
  /** The client wants to hear of changed tools, and of these resources. Wishes add up. */
  want(uris: readonly string[]): void
  close(): void
}

export function createChanges({ upstream, clock, log, onTools, onResource }: ChangesDeps): Changes {
  const wanted = new Set<string>()
  let stream: AbortController | null = null
  let retry: Timer | null = null
  let delay_ms: number = LIMITS.bridge_listen_min_ms
  let missed = false
  let closed = false

  function listen(): void {
    retry = null
    const abort = new AbortController()
    stream = abort
    const notifications = { toolsListChanged: true, resourceSubscriptions: [...wanted] }
    upstream
      .listen({ notifications }, abort.signal, onMessage)
      .then(
        () => log.debug({}, 'the stream of changes ended'),
        (error: unknown) => abort.signal.aborted || log.debug({ err: error }, 'no stream of changes'),
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
    for (const uri of wanted) onResource(uri)
  }

  return {
    want(uris) {
      const before = wanted.size
      for (const uri of uris) wanted.add(uri)
      if (closed || (stream !== null && wanted.size === before)) return
      // It counts as watched from now on, and nothing is told until the stream stands.
      if (wanted.size > before) missed = true
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
