/** The hub's port: fastify, `/mcp` and the WebSocket upgrade on one server, and their shutdown order. */
import http from 'node:http'
import https from 'node:https'
import os from 'node:os'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { toProblem, TurnbellError } from '../contracts/errors/errors.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import { projectMcp } from '../kernel/projections/project-mcp.ts'
import type { Clock } from '../ports/clock.ts'
import { checkOrigin, tokenOf } from '../transports/http/guard.ts'
import { createHttpTransport, type RawRoute } from '../transports/http/server.ts'
import type { McpExtend } from '../transports/mcp/extension.ts'
import { createMcpHttp } from '../transports/mcp/http.ts'
import { refuseBounds } from '../transports/narrowing.ts'
import type { Hub } from './hub.ts'

const BOUNDS_OF_FRAMES =
  'Remove it: on /ws each `call` frame sets its own bounds, as `narrowing: {facets, facades, intents, read_only}`.'

export interface ListenSettings {
  host: string
  /** 0 picks a free port. */
  port: number
  /** Tried in this order if the port is in use. */
  other_ports?: readonly number[] | undefined
  /** Returns a description of the process that listens on a port; null if unknown. */
  holder?: (port: number) => string | null
  /** PEM texts; without them the hub speaks plain HTTP. */
  tls?: { cert: string; key: string } | undefined
  /** A reverse proxy terminates TLS and controls access. */
  behind_proxy: boolean
  /** Public address of the hub, if it differs from the address it listens on. */
  url?: string | undefined
  /** Routes in addition to the hub's own. */
  raw?: readonly RawRoute[]
  /** MCP methods in addition to those of the kernel. */
  extend?: McpExtend | undefined
}

export interface HubServer {
  /** `http://HOST:PORT` as clients on this machine reach it. */
  url: string
  /**
   * Waits for running work, at most `close_grace_ms`, then closes every link and socket. Idempotent. `cut_off` is true if
   * work was still running.
   */
  stop(): Promise<{ cut_off: boolean }>
}

/** Filled by `listen`; read by the transports at every request. */
export interface OwnHosts {
  list: readonly string[]
}

/**
 * Starts the hub, then opens its port. Otherwise the start, which releases all old leases, would also release the lease of
 * a new drain.
 *
 * @throws `config_invalid` for a public address without TLS or proxy, `bind_failed` if the port is in use.
 */
export async function listen(
  hub: Hub,
  settings: ListenSettings,
  own: OwnHosts,
  version: string,
  clock: Clock,
): Promise<HubServer> {
  refuseOpenAddress(settings)
  const { api, kernel, connections } = hub
  const server = createServer(settings)
  // Otherwise a client that sends its headers or body slowly would hold a socket for minutes.
  server.requestTimeout = LIMITS.http_request_ms
  server.headersTimeout = LIMITS.http_request_ms
  const projection = projectMcp(kernel)
  const mcp = await createMcpHttp({ kernel, projection, api, version, extend: settings.extend })
  const app = createHttpTransport({ kernel, api, version, raw: [mcp, ...(settings.raw ?? [])] })
  await app.start(server)

  server.on('upgrade', (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    try {
      if (pathOf(request.url) !== '/ws') {
        throw new TurnbellError('route_unknown', {
          detail: 'Only /ws can be upgraded.',
          // Node passes every request with an `Upgrade` header here, so only this handler can answer it.
          hint: 'Remove the `Upgrade` header: every other path is plain HTTP/1.1 without an upgrade to HTTP/2.',
        })
      }
      checkOrigin(request.headers, api.ownHosts())
      refuseBounds(request, BOUNDS_OF_FRAMES)
      connections.accept(request, socket, head, tokenOf(request.headers, request.url))
      if (socket.writableEnded) destroyWhenWritten(socket)
    } catch (error) {
      refuseUpgrade(socket, error, api.ids.next())
    }
  })

  let port: number
  try {
    await hub.start()
    port = await bind(server, settings)
  } catch (error) {
    // Otherwise its timers would keep the process alive.
    await app.stop()
    throw error
  }
  // A connection that cannot be accepted must not end the hub.
  server.on('error', (error) => api.log.error({ err: error }, 'connection not accepted'))
  own.list = ownHosts(settings, port)
  const scheme = settings.tls ? 'https' : 'http'
  let stopped: Promise<{ cut_off: boolean }> | null = null

  const stop = async () => {
    hub.stopping()
    // Stops accepting connections; requests on open ones may finish.
    server.close()
    const cut_off = await isCutOff([app.stop(), settled(hub.underway)], clock)
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
      detail: `hub.tls_cert or hub.tls_key is not a usable PEM file: ${String(cause)}`,
      cause,
    })
  }
}

function refuseOpenAddress({ host, tls, behind_proxy }: ListenSettings): void {
  if (isLoopback(host) || tls !== undefined || behind_proxy) return
  throw new TurnbellError('config_invalid', {
    detail: `hub.host: ${host} is reachable from other machines, and TLS is not configured`,
    hint: 'Set --tls-cert and --tls-key, or --behind-proxy if a reverse proxy terminates TLS.',
  })
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

type Ports = Pick<ListenSettings, 'host' | 'port' | 'other_ports' | 'holder'>

/** Binds the first port that is not in use. */
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
      detail: `${host}:${port} is in use${by === null ? '' : ` by ${by}`}`,
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

/** Returns every `host:port` that a request to this hub may name; see `checkOrigin`. */
function ownHosts({ host, url, behind_proxy }: ListenSettings, port: number): string[] {
  const names = isLoopback(host)
    ? ['127.0.0.1', 'localhost', '::1', host]
    : [os.hostname(), 'localhost', '127.0.0.1', '::1', ...(isAny(host) ? everyAddress() : [host])]
  const listed = names.map((name) => `${inUrl(name.toLowerCase())}:${port}`)
  if (url !== undefined) {
    const { hostname, port: public_port, protocol } = new URL(url)
    listed.push(`${hostname}:${public_port === '' ? (protocol === 'https:' ? 443 : 80) : public_port}`)
    // A proxy may send its own port or none.
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

/** Returns a loopback address in place of a wildcard address, which clients cannot connect to. */
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
  destroyWhenWritten(socket)
}

/** Destroys a rejected socket once its answer is written, because a client may never close its side. */
function destroyWhenWritten(socket: Duplex): void {
  if (socket.writableFinished) socket.destroy()
  else socket.once('finish', () => socket.destroy())
}

/** Returns true if the grace period ended first. */
async function isCutOff(running: Promise<unknown>[], clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const grace = clock.after(LIMITS.close_grace_ms, () => resolve(true))
    void Promise.allSettled(running).then(() => {
      grace.cancel()
      resolve(false)
    })
  })
}

/** Includes calls that start during the wait, because a client may not have read the stop announcement yet. */
async function settled(underway: ReadonlySet<Promise<unknown>>): Promise<void> {
  while (underway.size > 0) await Promise.allSettled([...underway])
}
