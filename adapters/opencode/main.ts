/**
 * The shim of the `opencode` surface, started and supervised by the persona's daemon: owns the persona's
 * opencode server, follows the session a person works in there, and rings while it is idle.
 */
import { randomBytes } from 'node:crypto'
import net from 'node:net'
import path from 'node:path'
import { opencodeSurface } from './opencode-surface.ts'
import { connectOpencode, OpencodeVersionError, type OpencodeServer } from './server.ts'
import { withTurnbell } from './server-config.ts'
import { attachShim } from '../shim.ts'
import { exitCodeOf } from '../../src/contracts/exit-codes.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import { clientProgram, withoutOuterSession } from '../../src/system/clients.ts'
import { systemClock } from '../../src/system/clock.ts'
import { workerLog } from '../../src/system/home.ts'
import { lastingProcess } from '../../src/system/lasting-process.ts'
import { connectLocally } from '../../src/system/local-socket.ts'
import {
  opencodePlace,
  serverAuthorization,
  serverUrl,
  type ServerAddress,
} from '../../src/system/opencode-place.ts'
import { leaveWithParent } from '../../src/system/parent.ts'
import { printProblem } from '../../src/system/problem-output.ts'
import { shimPlace } from '../../src/system/shim-place.ts'

function main(): void {
  const { home, config, identity, paths, log } = shimPlace('opencode-shim')
  const place = opencodePlace(paths.run_dir)

  const program = clientProgram('opencode', { home, config, env: process.env })
  const env = withoutOuterSession(process.env)
  const bin = path.join(import.meta.dirname, '..', '..', 'turnbell.js')
  const bridge = [process.execPath, bin, 'mcp', '--client', 'opencode', '--persona', identity]
  const configuration = withTurnbell(env['OPENCODE_CONFIG_CONTENT'], [...bridge, '--home', home.root])
  const processAt = ({ port, password }: ServerAddress) =>
    lastingProcess({
      program,
      args: ['serve', '--hostname', '127.0.0.1', '--port', String(port)],
      env: {
        ...env,
        TURNBELL_HOME: home.root,
        TURNBELL_PERSONA: identity,
        OPENCODE_SERVER_PASSWORD: password,
        OPENCODE_CONFIG_CONTENT: configuration,
      },
      note_file: path.join(paths.run_dir, 'opencode.pid'),
      output_file: workerLog(home, identity, 'opencode'),
    })

  /** The one that runs, or a new one: at the same address, if nobody took it meanwhile. */
  async function ensureServer(): Promise<ServerAddress> {
    const kept = place.server()
    if (kept !== null && processAt(kept).alive()) return kept
    const free = kept !== null && (await isFree(kept.port))
    const address = free ? kept : { port: await freePort(), password: randomBytes(24).toString('base64url') }
    const next = { ...address, attached: false }
    place.keepServer(next)
    processAt(next).ensure()
    return next
  }

  const surface = opencodeSurface({
    identity,
    clock: systemClock,
    log,
    keep: (session) =>
      place.keepBound(session === null ? null : { session_id: session.id, directory: session.directory }),
  })

  let dial_ms: number = LIMITS.opencode_dial_ms
  let leaving = false
  /** For ever: a server that ended is started again, ever more slowly while it keeps ending. */
  async function attend(): Promise<void> {
    let link: OpencodeServer | null = null
    try {
      const address = await ensureServer()
      link = await connectOpencode(
        { url: serverUrl(address), authorization: serverAuthorization(address) },
        { clock: systemClock, log },
        {
          onEvent: (event) => surface.told(event),
          onClose() {
            surface.disconnected()
            again()
          },
        },
      )
      const kept = place.bound()
      await surface.connected(link, kept && { id: kept.session_id, directory: kept.directory })
      dial_ms = LIMITS.opencode_dial_ms
      place.keepServer({ ...address, attached: true })
      log.info({}, 'attached to the opencode server')
    } catch (error) {
      if (error instanceof OpencodeVersionError) {
        log.error({ err: error, program }, error.message)
        dial_ms = LIMITS.shim_restart_max_ms
      } else log.debug({ err: error }, 'no opencode server yet')
      // A link that was made says by itself when it is gone.
      if (link === null) again()
      else link.close()
    }
  }
  function again(): void {
    if (leaving) return
    systemClock.after(dial_ms, () => void attend())
    dial_ms = Math.min(dial_ms * 2, Math.max(dial_ms, LIMITS.shim_reconnect_max_ms))
  }
  void attend()

  // Its server stays: a person works in it.
  const leaveIfOrphaned = leaveWithParent()

  const shim = attachShim({
    surface,
    dial: (handlers) => connectLocally(paths.surface_socket, handlers),
    clock: systemClock,
    log,
    onDetached: leaveIfOrphaned,
  })
  surface.open(shim)

  for (const os_signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(os_signal, () => {
      leaving = true
      surface.close()
      shim.close()
      const address = place.server()
      if (address !== null) processAt(address).stop()
      // With the server nobody works in it any more; the next one begins without.
      place.keepBound(null)
      process.exit(0)
    })
  }
}

function isFree(port: number): Promise<boolean> {
  return listenOnce(port).then(
    () => true,
    () => false,
  )
}

const freePort = () => listenOnce(0)

function listenOnce(port: number): Promise<number> {
  const server = net.createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      const { port: found } = server.address() as net.AddressInfo
      server.close(() => resolve(found))
    })
  })
}

try {
  main()
} catch (error) {
  printProblem(error, false)
  process.exit(exitCodeOf(error))
}
