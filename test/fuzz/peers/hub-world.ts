/** A whole hub with clients in the same process, without a network. */
import diagnostics from 'node:diagnostics_channel'
import type { Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { FACADES } from '../../../src/facades/all.ts'
import { liveHub, OPERATOR_TOKEN, type LiveHub } from '../../support/worlds/live-hub.ts'
import { Broken } from '../target.ts'
import { wire } from './wire.ts'

export interface HubWorld {
  hub: LiveHub
  /** Opens a connection to the hub's port. */
  dial(): Duplex
  /** Replaces `@ada@` (a token), `@operator@` and `@host@` with their values in this run. */
  filled(text: string): string
  /** Throws if the hub has logged a bug since the last call. */
  sound(): void
  close(): Promise<void>
}

export async function hubWorld(): Promise<HubWorld> {
  const facets = [...new Set(FACADES.map(({ facet }) => facet))]
  const hub = await liveHub({ grants: { facets, pro: true, intents: { LOOK: ['signals'] } } })
  for (const identity of ['ada', 'bob']) await hub.hub.personas.add({ identity, surface: 'mcp' })
  const server = await serverOf(hub)
  const values: Record<string, string> = {
    '@ada@': hub.token('ada'),
    '@session@': hub.token('ada', 'agent', 'a-session-of-ada'),
    '@daemon@': hub.token('ada', 'daemon'),
    '@observer@': hub.token('ada', 'observer'),
    '@operator@': OPERATOR_TOKEN,
    '@host@': new URL(hub.url).host,
  }
  return {
    hub,
    dial() {
      const { ours, theirs } = wire()
      server.emit('connection', theirs)
      return ours
    },
    filled: (text) => text.replaceAll(/@\w+@/g, (name) => values[name] ?? name),
    sound() {
      const bug = hub.logged.find(({ level }) => level === 'error')
      hub.logged.length = 0
      hub.lines.length = 0
      if (bug === undefined) return
      const { err } = bug.fields as { err?: Error }
      throw err ?? new Broken(`${bug.message} ${JSON.stringify(bug.fields)}`)
    },
    close: () => hub.close(),
  }
}

/** Finds the server through Node's diagnostics channel, because the hub does not expose it. */
async function serverOf(hub: LiveHub): Promise<Server> {
  let found: Server | undefined
  const note = (told: unknown) => (found = (told as { server: Server }).server)
  diagnostics.subscribe('http.server.request.start', note)
  await hub.http('GET', '/health')
  diagnostics.unsubscribe('http.server.request.start', note)
  if (found === undefined) throw new Error('no server has answered')
  return found
}
