/** Notifies the client of changed tools and resources. */
import type { Server } from '@modelcontextprotocol/server'
import {
  createChangeSubscription,
  type ChangeSubscription,
  type ChangeSubscriptionDeps,
} from './change-subscription.ts'

export interface ClientNotifications extends Pick<ChangeSubscription, 'subscribe' | 'close'> {
  /** Adds a server of the connection, which notifies its client until it closes. */
  add(server: Server, era: 'legacy' | 'modern'): void
  toolsChanged(): void
}

export function createClientNotifications({
  upstream,
  clock,
  log,
}: Pick<ChangeSubscriptionDeps, 'upstream' | 'clock' | 'log'>): ClientNotifications {
  const servers = new Set<Server>()
  /** Resources that a client of the 2025 revision subscribed to; for newer clients the SDK filters them. */
  let subscribed: Set<string> | null = null
  const notify = (send: (server: Server) => Promise<void>) => {
    for (const server of servers) {
      send(server).catch((error: unknown) =>
        log.debug({ err: error }, 'notifying the client of a change failed'),
      )
    }
  }
  const toolsChanged = () => notify((server) => server.sendToolListChanged())
  const changes = createChangeSubscription({
    upstream,
    clock,
    log,
    onTools: toolsChanged,
    onResource(uri) {
      if (subscribed?.has(uri) !== false) notify((server) => server.sendResourceUpdated({ uri }))
    },
  })

  function addLegacyHandlers(server: Server): void {
    // The server promised to notify about changed tools, and this revision has no request for it.
    changes.subscribe([])
    const uris = (subscribed ??= new Set())
    server.setRequestHandler('resources/subscribe', ({ params }) => {
      uris.add(params.uri)
      changes.subscribe([params.uri])
      return {}
    })
    server.setRequestHandler('resources/unsubscribe', ({ params }) => {
      uris.delete(params.uri)
      return {}
    })
  }

  return {
    subscribe: (uris) => changes.subscribe(uris),
    close: () => changes.close(),
    toolsChanged,
    add(server, era) {
      if (era === 'legacy') addLegacyHandlers(server)
      servers.add(server)
      server.onclose = () => servers.delete(server)
    },
  }
}
