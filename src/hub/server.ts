/**
 * The hub's one port: fastify, `/mcp` and the WebSocket upgrade on a single server, and the order in
 * which all of it stops.
 */
import http from 'node:http'
import https from 'node:https'
import os from 'node:os'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { toProblem, TurnbellError } from '../contracts/errors.ts'
import { LIMITS } from '../contracts/limits.ts'
import { projectMcp } from '../kernel/project-mcp.ts'
import type { Clock } from '../ports/clock.ts'
import { checkOrigin, tokenOf } from '../transports/http/guard.ts'
import { createHttpTransport, type RawRoute } from '../transports/http/server.ts'
import type { McpExtend } from '../transports/mcp/extension.ts'
import { createMcpHttp } from '../transports/mcp/http.ts'
import { refuseBounds } from '../transports/narrowing.ts'
import type { Hub } from './hub.ts'

const BOUNDS_OF_FRAMES =
  'Leave it out: on /ws each `call` frame sets its own bounds, as `narrowing: {facets, facades, intents, read_only}`.'

export interface ListenSettings {
  host: string
  /** 0 picks one. */
  port: number
  /** Tried in this order where the port is taken. */
  other_ports?: readonly number[] | undefined
  /** Who listens on a port, for people; null where that is unknown. */
  holder?: (port: number) => string | null
  /** PEM texts; without them the hub speaks plain HTTP. */
  tls?: { cert: string; key: string } | undefined
  /** A proxy in front ends TLS and checks who comes in. */
  behind_proxy: boolean
  /** Where clients find the hub, when that is another address than the one it listens on. */
  url?: string | undefined
  /** Routes besides the hub's own. */
  raw?: readonly RawRoute[]
  /** What MCP offers beside the kernel's own. */
  extend?: McpExtend | undefined
}

export interface HubServer {
  /** `http://HOST:PORT` as clients on this machine reach it. */
  url: string
  /**
   * Lets what runs come to its end, `close_grace_ms` at most, then ends every link and socket. Calling
   * it twice is one stop.
   */
  stop(): Promise<{ cut_off: boolean }>
}

/** Filled by `listen`; asked by the hub's doors at every request. */
export interface OwnHosts {
  list: readonly string[]
}

/**
 * Starts the hub, then opens its port: a drain before the start had taken back old leases would be taken
 * back with them.
 *
 * @throws `config_invalid` for an open address without protection, `bind_failed` when it is taken.
 */
export async function listen(
  hub: Hub,
  settings: ListenSettings,
  own: OwnHosts,
  version: string,
  clock: Clock,
): Promise<HubServer> {
  refuseOpenAddress(settings)
  const { doors, kernel, connections } = hub
  const server = createServer(settings)
  // A client that trickles its headers or body must not hold a socket for minutes.
  server.requestTimeout = LIMITS.http_request_ms
  server.headersTimeout = LIMITS.http_request_ms
  const projection = projectMcp(kernel)
  const mcp = await createMcpHttp({ kernel, projection, doors, version, extend: settings.extend })
  const app = createHttpTransport({ kernel, doors, version, raw: [mcp, ...(settings.raw ?? [])] })
  await app.start(server)

  server.on('upgrade', (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    try {
      if (pathOf(request.url) !== '/ws') {
        throw new TurnbellError('route_unknown', {
          detail: 'Only /ws can be upgraded.',
          // Node hands over whatever offers an upgrade, and nothing else can answer it then.
          hint: 'Leave `Upgrade` out: every other path is plain HTTP/1.1, and nothing on it is upgraded to HTTP/2.',
        })
      }
      checkOrigin(request.headers, doors.ownHosts())
      refuseBounds(request, BOUNDS_OF_FRAMES)
      connections.accept(request, socket, head, tokenOf(request.headers, request.url))
      if (socket.writableEnded) letGo(socket)
    } catch (error) {
      refuseUpgrade(socket, error, doors.ids.next())
    }
  })

  let port: number
  try {
    await hub.start()
    port = await bind(server, settings)
  } catch (error) {
    // Its timers would keep the process alive.
    await app.stop()
    throw error
  }
  // One connection that could not be taken must not end the hub.
  server.on('error', (error) => doors.log.error({ err: error }, 'the port could not take a connection'))
  own.list = ownHosts(settings, port)
  const scheme = settings.tls ? 'https' : 'http'
  let stopped: Promise<{ cut_off: boolean }> | null = null

  const stop = async () => {
    hub.stopping()
    // No new connections; those that are there may finish what runs on them.
    server.close()
    const cut_off = await finished([app.stop(), settled(hub.underway)], clock)
    await hub.close()
    server.closeAllConnections()
    return { cut_off }
  }
  return {
    url: `${scheme}://${inUrl(reachable(settings.host))}:${port}`,
    stop: () => (stopped ??= stop()),
  }
}

function createServer({ tls }: ListenSettings): http.Server {
  if (tls === undefined) return http.createServer()
  try {
    return https.createServer(tls)
  } catch (cause) {
    throw new TurnbellError('config_invalid', {
      detail: `hub.tls_cert or hub.tls_key is no usable PEM file: ${String(cause)}`,
      cause,
    })
  }
}

function refuseOpenAddress({ host, tls, behind_proxy }: ListenSettings): void {
  if (isLoopback(host) || tls !== undefined || behind_proxy) return
  throw new TurnbellError('config_invalid', {
    detail: `hub.host: ${host} can be reached from other machines, and the hub would speak to them without TLS`,
    hint: 'Give --tls-cert and --tls-key, or --behind-proxy if a proxy in front ends TLS.',
  })
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

type Ports = Pick<ListenSettings, 'host' | 'port' | 'other_ports' | 'holder'>

/** The first of the ports that nobody listens on. */
async function bind(
  server: http.Server,
  { host, port, other_ports = [], holder = () => null }: Ports,
): Promise<number> {
  try {
    return await bindTo(server, host, port)
  } catch (error) {
    const taken = error instanceof TurnbellError && codeOf(error.cause) === 'EADDRINUSE'
    if (!taken) throw error
    const [next, ...rest] = other_ports
    if (next !== undefined) return bind(server, { host, port: next, other_ports: rest, holder })
    const by = holder(port)
    throw new TurnbellError('bind_failed', {
      detail: `${host}:${port} is taken${by === null ? '' : ` by ${by}`}`,
      hint: 'Stop that process, or choose another port: --port, hub.port in the configuration, or 0 for any.',
      cause: error,
    })
  }
}

const codeOf = (cause: unknown) => (cause as NodeJS.ErrnoException | undefined)?.code

async function bindTo(server: http.Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    const failed = (cause: Error) =>
      reject(new TurnbellError('bind_failed', { detail: `${host}:${port}: ${cause.message}`, cause }))
    server.once('error', failed)
    server.listen({ host, port }, () => {
      server.off('error', failed)
      resolve()
    })
  })
  return (server.address() as AddressInfo).port
}

/** Every name under which a request may call this hub; see `checkOrigin`. */
function ownHosts({ host, url, behind_proxy }: ListenSettings, port: number): string[] {
  const names = isLoopback(host)
    ? ['127.0.0.1', 'localhost', '::1', host]
    : [os.hostname(), 'localhost', '127.0.0.1', '::1', ...(isAny(host) ? everyAddress() : [host])]
  const listed = names.map((name) => `${inUrl(name.toLowerCase())}:${port}`)
  if (url !== undefined) {
    const { hostname, port: told, protocol } = new URL(url)
    listed.push(`${hostname}:${told === '' ? (protocol === 'https:' ? 443 : 80) : told}`)
    // A proxy may hand on its own port or leave it out.
    if (behind_proxy) listed.push(`${hostname}:80`, `${hostname}:443`)
  }
  return [...new Set(listed)]
}

function everyAddress(): string[] {
  return Object.values(os.networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address))
}

function isAny(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

/** An address that means all of them is no address to call. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}

function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function pathOf(url: string | undefined): string {
  return (url ?? '').split('?')[0] ?? ''
}

function refuseUpgrade(socket: Duplex, error: unknown, instance: string): void {
  const problem = toProblem(error, instance)
  const body = JSON.stringify(problem)
  socket.end(
    `HTTP/1.1 ${problem.status} ${http.STATUS_CODES[problem.status] ?? 'Refused'}\r\n` +
      `Connection: close\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  letGo(socket)
}

/** What was refused is not waited for: a client that never ends its side would keep the socket for good. */
function letGo(socket: Duplex): void {
  if (socket.writableFinished) socket.destroy()
  else socket.once('finish', () => socket.destroy())
}

/** True when the grace ran out first. */
async function finished(running: Promise<unknown>[], clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const grace = clock.after(LIMITS.close_grace_ms, () => resolve(true))
    void Promise.allSettled(running).then(() => {
      grace.cancel()
      resolve(false)
    })
  })
}

/** Also for calls that begin while the others are waited for: a client may not have read of the stop yet. */
async function settled(underway: ReadonlySet<Promise<unknown>>): Promise<void> {
  while (underway.size > 0) await Promise.allSettled([...underway])
}
