/**
 * A whole daemon in this process: real sockets in a temporary directory, a fake hub, and shims that the test controls.
 */
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import type {
  DaemonStatus,
  RingResult,
  SurfaceReport,
  SurfaceStatus,
} from '../../../src/contracts/control.ts'
import type { Doorbell } from '../../../src/contracts/doorbell.ts'
import { createHubLink } from '../../../src/daemon/link/hub-link.ts'
import { createTokenSource } from '../../../src/daemon/link/hub-token.ts'
import { createDaemon, type DaemonOptions, type StopReason } from '../../../src/daemon/runtime.ts'
import type { Json } from '../../../src/contracts/ids.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { connectLocally, localSockets } from '../../../src/system/ipc/unix-socket.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import { eventually } from '../eventually.ts'
import { fakeHub, type FakeHubOptions } from '../fakes/fake-hub.ts'
import { RULES } from './machine-world.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

export interface DaemonWorldOptions extends FakeHubOptions {
  identity?: string
  daemon?: Partial<DaemonOptions>
}

export async function daemonWorld(options: DaemonWorldOptions = {}) {
  const identity = options.identity ?? 'ada'
  const hub = await fakeHub(options)
  onTestFinished(() => hub.close())
  // The daemon creates its run directory itself, inside the temporary directory.
  const socket_dir = path.join(temporaryDirectory(), 'run')
  const paths = {
    socket_dir,
    control_socket: path.join(socket_dir, 'control.sock'),
    surface_socket: path.join(socket_dir, 'surface.sock'),
  }
  const clock = options.daemon?.clock ?? systemClock
  const ids = createIds(systemClock, systemRandom)
  const session_id = ids.next()
  const url = () => hub.url
  const operatorToken = () => 'operator-token'
  const tokens = createTokenSource({ url, identity, session_id, operatorToken, clock })
  const stops: StopReason[] = []
  const written: string[] = []
  const surface = options.daemon?.surface ?? 'claude-code'
  const daemon = createDaemon({
    tenant_id: 'local',
    identity,
    surface,
    rules: RULES,
    pid: process.pid,
    paths,
    clock,
    random: { ...systemRandom, next: () => 0 },
    ids,
    link: createHubLink({ url, identity, surface, session_id, tokens, clock, log: silentLog }),
    sockets: localSockets,
    startShim: null,
    state_file: null,
    restoreRunFiles: () => {},
    watchHub: null,
    writeMetrics: (text) => void written.push(text),
    log: silentLog,
    onStopRequested: (why) => {
      stops.push(why)
      void daemon.stop()
    },
    onBug(error) {
      throw error
    },
    ...options.daemon,
  })
  onTestFinished(() => daemon.stop())

  const world = {
    hub,
    daemon,
    paths,
    /** Reasons for which the daemon was asked to end. */
    stops,
    /** All contents written to metrics.prom. */
    written,
    status: () => daemon.status(),
    connected: () => eventually('CONNECTED', () => daemon.status().state === 'CONNECTED'),
    /** Sends one request over a new connection. */
    async ask(method: string, params: { [key: string]: Json } = {}): Promise<Json> {
      const peer = await connectLocally(paths.control_socket)
      try {
        return await peer.request(method, params, 5_000)
      } finally {
        peer.close()
      }
    },
    askStatus: () => world.ask('status') as unknown as Promise<DaemonStatus>,
    exists: (file: string) => fs.existsSync(file),
    mode: (file: string) => fs.statSync(file).mode & 0o777,
    shim: (standing: Partial<SurfaceStatus> = {}) => fakeShim(paths.surface_socket, standing),
  }
  return world
}

export type DaemonWorld = Awaited<ReturnType<typeof daemonWorld>>

/** Returns a running, reconciled daemon with one idle shim attached. */
export async function readyDaemon(options: DaemonWorldOptions = {}) {
  const world = await daemonWorld(options)
  await world.daemon.start()
  await world.connected()
  const shim = await world.shim()
  await shim.report()
  return { ...world, first: shim }
}

/** A shim on the real socket, controlled by the test. */
export async function fakeShim(surface_socket: string, standing: Partial<SurfaceStatus> = {}) {
  let status: SurfaceStatus = {
    surface: 'claude-code',
    session_id: 'session-1',
    delivery: 'push',
    turn: 'idle',
    turn_seq: 0,
    ...standing,
  }
  const shim = {
    bells: [] as Doorbell[],
    /** Methods called by the daemon, in order. */
    asked: [] as string[],
    closed: false,
    /** Response to a doorbell; null never responds. */
    answer: { accepted: true, proof: 'sent' } as RingResult | null,
    /** Response to a probe; null returns its current status. */
    probe: null as Json,
    get status() {
      return status
    },
    async report(change: Partial<SurfaceReport> = {}): Promise<Doorbell | null> {
      const { take, ...next } = change
      status = { ...status, ...next }
      const report = { ...status, ...(take === undefined ? {} : { take }) } as { [key: string]: Json }
      const answer = (await peer.request('status', report, 10_000)) as { doorbell: Doorbell | null }
      const { seen_doorbell_id: _, absent: __, ...rest } = status
      status = rest
      return answer.doorbell
    },
    turnBegins: (seen_doorbell_id?: string) =>
      shim.report({
        turn: 'busy',
        turn_seq: status.turn_seq + 1,
        ...(seen_doorbell_id === undefined ? {} : { seen_doorbell_id }),
      }),
    turnEnds: () => shim.report({ turn: 'idle' }),
    turnEndsAsking: () => shim.report({ turn: 'idle', take: true }),
    rung: (count: number) => eventually(`${count} bells`, () => shim.bells.length >= count),
    /** Closes the connection without a goodbye, like a killed process. */
    leave: () => peer.close(),
    peer: () => peer,
  }
  const peer = await connectLocally(surface_socket, {
    onRequest(method, params) {
      shim.asked.push(method)
      if (method === 'status') return shim.probe ?? (status as Json)
      if (method !== 'notify_surface') return {}
      shim.bells.push(params['doorbell'] as unknown as Doorbell)
      return shim.answer === null ? new Promise<Json>(() => {}) : shim.answer
    },
    onClose: () => (shim.closed = true),
  })
  onTestFinished(() => peer.close())
  return shim
}

/** A connection that sends arbitrary data and collects everything it receives. */
export async function rawClient(socket_path: string) {
  const socket = net.connect(socket_path)
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  let text = ''
  let ended = false
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
  socket.on('close', () => (ended = true)).on('error', () => {})
  onTestFinished(() => void socket.destroy())
  return {
    write: (data: string | Uint8Array) => socket.write(data),
    end: () => socket.end(),
    lines: () =>
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as RpcLine),
    ended: () => ended,
  }
}

export interface RpcLine {
  id: string | number | null
  result?: { [key: string]: Json }
  error?: { code: number; message: string; data: { code: string; hint: string } }
}
