/** Goal 9: the hub's memory for each idle daemon. */
import fs from 'node:fs'
import { collect, STEADY_HEAP } from '../collect.ts'
import { figure, interleave, short, type Figure, type Pair } from '../report/figures.ts'
import type { LinkHandlers } from '../programs/links.ts'
import { addPersonas, operatorToken, startBareServer, startHub, type BareServer } from '../hubs.ts'
import { usage } from '../usage.ts'
import { startRemote } from '../remote.ts'

const ROUNDS = 5
const LINKS = 10_000
/** Links opened and closed before the measurement, so that their code is compiled and the heap has grown. */
const WARM_UP_LINKS = 500
const CLIENTS = 2
const ADDS_UNDERWAY = 50
/** Number of a server's open files besides its links. */
const OTHER_FILES = 200

interface Server extends BareServer {
  token: string
}

export async function idleLinks(): Promise<Figure[]> {
  const links = Math.min(LINKS, openFilesMax() - OTHER_FILES)
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => startRemote<LinkHandlers>('links')))
  const names = namesFor('idle', links)
  const connect = async ({ url, token }: Server, identities: string[][]) => {
    const groups = await Promise.all(
      clients.map(({ call }, client) => call.connect({ url, token, identities: identities[client] ?? [] })),
    )
    return () => Promise.all(clients.map(({ call }, at) => call.close(groups[at] ?? { group: -1 })))
  }
  /** Returns the resident memory that each link adds to the server, in KiB. */
  const perLink = async (server: Server) => {
    try {
      await (
        await connect(server, namesFor('warm-up', WARM_UP_LINKS))
      )()
      await collect(server)
      const before = await usage(server.pid)
      const close = await connect(server, names)
      await collect(server)
      const after = await usage(server.pid)
      await close()
      return ((after.rss_mib - before.rss_mib) * 1024) / links
    } finally {
      await server.stop()
    }
  }
  try {
    const home = await homeOf(names.flat())
    const pairs = await interleave<Pair>(ROUNDS, {
      value: async () => perLink(await gcHub(home)),
      limit: async () => perLink(await bareServer()),
    })
    const fewer = links < LINKS ? `; ${LINKS} would need more open files than this system allows` : ''
    return [
      figure('idle-links', 'KiB', '9: <= 1.3', pairs, ({ value }) => [
        `what a hub has resident for each of ${links} daemons of personas that it knows, each with a heartbeat that tells all, and with nothing to do: after them less before, garbage collected in a heap whose young generation is as large before as after; ${short((value * links) / 1024)} MiB together${fewer}`,
        'limit: the same of a bare ws server without compression that answers what it is told, in such a heap',
      ]),
    ]
  } finally {
    await Promise.all(clients.map((client) => client.stop()))
  }
}

/** Creates a home with these personas in the hub's records; no daemons run. */
async function homeOf(identities: readonly string[]): Promise<string> {
  const hub = await startHub('durable')
  const waiting = identities.values()
  await Promise.all(
    Array.from({ length: ADDS_UNDERWAY }, async () => {
      for (const identity of waiting) await addPersonas(hub, [identity])
    }),
  )
  await hub.stop()
  return hub.home
}

async function gcHub(home: string): Promise<Server> {
  const hub = await startHub('with gc', home)
  return { ...hub, token: operatorToken(hub) }
}

/** Returns the names for one client. */
const namesFor = (name: string, count: number) =>
  Array.from({ length: CLIENTS }, (_, client) =>
    Array.from({ length: count / CLIENTS }, (__, at) => `${name}-${client}-${at}`),
  )

async function bareServer(): Promise<Server> {
  return { ...(await startBareServer(['bare-ws.js'], STEADY_HEAP)), token: '' }
}

/** Node raises its soft limit to the hard limit. */
function openFilesMax(): number {
  try {
    const limits = fs.readFileSync('/proc/self/limits', 'utf8')
    return Number(/^Max open files\s+\d+\s+(\d+)/m.exec(limits)?.[1] ?? Infinity)
  } catch {
    return Infinity
  }
}
