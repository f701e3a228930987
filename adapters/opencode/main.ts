/**
 * The shim of the `opencode` surface, started and supervised by the persona's daemon: owns the persona's
 * opencode server once somebody wants it, follows the session that is worked in there, and rings while it is
 * idle.
 */
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { headless, type Headless } from './headless.ts'
import { opencodeSurface } from './opencode-surface.ts'
import { serverLink } from './server-link.ts'
import { connectOpencode, OpencodeError, type Place } from './server.ts'
import { withTurnbell, type PluginEntry } from './server-config.ts'
import { serverRest, type ServerRest } from '../server-rest.ts'
import { shimProcess, type ShimParts } from '../shim-process.ts'
import { clientProgram, opencodeLoadsPlugins, withoutOuterSession } from '../../src/system/clients.ts'
import { systemClock } from '../../src/system/clock.ts'
import { nodeProgram } from '../../src/system/node-program.ts'
import { freePort, isFree } from '../../src/system/free-port.ts'
import { workerLog } from '../../src/system/home.ts'
import { joined, type Joined } from '../../src/system/joined.ts'
import { lastingProcess, notedProcess, type LastingProcess } from '../../src/system/lasting-process.ts'
import {
  opencodePlace,
  serverAuthorization,
  serverUrl,
  type BoundSession,
  type OpencodePlace,
  type ServerAddress,
} from '../../src/system/opencode-place.ts'
import { serverWish } from '../../src/system/server-wish.ts'
import { workingDirectory, type ShimPlace } from '../../src/system/shim-place.ts'

function begin(here: ShimPlace): ShimParts {
  const { identity, settings, paths, log } = here
  const place = opencodePlace(paths.run_dir)
  const wish = serverWish(paths.run_dir, 'opencode')
  const persons = joined(paths.run_dir, 'opencode')
  /** A client works at the server, or is about to join it. */
  const isUsed = () => persons.isJoined() || wish.stands()
  const alone = settings?.headless === true ? windowless(here, place, persons) : null
  const running = notedProcess(noteOf(here))

  const surface = opencodeSurface({
    identity,
    clock: systemClock,
    log,
    instanceId: () => running.instanceId(),
    keep: (session) => place.keepBound(session === null ? null : boundAt(session)),
    ...(alone === null
      ? { hasWindow: () => persons.isJoined() }
      : { onUnbound: () => link.unbound(), mayRedo: () => persons.isJoined() }),
  })
  const rest = serverRest(systemClock)
  let address: ServerAddress | null = null
  const link = serverLink({
    surface,
    async ensure() {
      const [server, found] = await ensureServer(here, place, rest)
      address = server
      return found
    },
    stop: () => running.stop(),
    connect(handlers) {
      const server = address as ServerAddress
      const at = { url: serverUrl(server), authorization: serverAuthorization(server) }
      return connectOpencode(at, { clock: systemClock, log }, handlers)
    },
    async sessionOn(server) {
      if (alone !== null) return alone.sessionOn(server)
      const kept = place.bound()
      return kept && placeOf(kept)
    },
    attached: () => address !== null && place.keepServer({ ...address, attached: true }),
    asked: (asked, server) => void alone?.asked(asked, server),
    output: outputOf(here),
    clock: systemClock,
    log,
  })
  // Where one still runs somebody may work in it.
  const before = place.server()
  const runs = before !== null && running.alive()
  if (before !== null && !runs) place.keepServer({ ...before, attached: false })
  // One that a window still needs was left running by the daemon before, or is started again for it.
  if (alone !== null || runs || persons.isJoined()) link.begin()
  const wished = wish.onAsked(() => {
    rest.forget()
    link.begin()
  })
  const left = persons.onAllLeft(() => void alone?.allLeft())
  const windows = persons.onChange(() => surface.windowsChanged())
  const bound = place.onBound((session) => void surface.joined(placeOf(session)))

  return {
    surface,
    stop() {
      wished.close()
      left.close()
      windows.close()
      bound.close()
      link.close()
      alone?.close()
      const last = place.server()
      if (last !== null) place.keepServer({ ...last, attached: false })
      // The last client that leaves ends it, or the next daemon goes on with it.
      if (isUsed()) return log.info({ clients: persons.pids() }, 'the server keeps running for its clients')
      if (last !== null) running.stop()
      // With the server nobody works in it any more; the next one begins without.
      place.keepBound(null)
    },
  }
}

/**
 * The server that runs, or a new one: at the same address, if nobody took it meanwhile. Rejects while one that
 * keeps ending is left alone.
 *
 * @throws `client_missing`, `config_invalid`
 */
async function ensureServer(
  here: ShimPlace,
  place: OpencodePlace,
  rest: ServerRest,
): Promise<[ServerAddress, 'started' | 'lives']> {
  const kept = place.server()
  if (kept !== null && notedProcess(noteOf(here)).alive()) return [kept, 'lives']
  if (!rest.isOver()) {
    if (kept?.attached === true) place.keepServer({ ...kept, attached: false })
    throw new OpencodeError(null, 'the server keeps ending, and is left alone for a while')
  }
  const { home, config } = here
  const program = clientProgram('opencode', { home, config, env: process.env })
  const free = kept !== null && (await isFree(kept.port))
  const address = free ? kept : { port: await freePort(), password: randomBytes(24).toString('base64url') }
  const next = { ...address, attached: false }
  place.keepServer(next)
  const found = serverProcess(here, next, program).ensure()
  rest.started()
  return [next, found]
}

const noteOf = ({ paths }: ShimPlace) => path.join(paths.run_dir, 'opencode.pid')
const outputOf = ({ home, identity }: ShimPlace) => workerLog(home, identity, 'opencode')

/** @throws `config_invalid` */
function serverProcess(here: ShimPlace, address: ServerAddress, program: string): LastingProcess {
  const { home, identity } = here
  const env = withoutOuterSession(process.env)
  const bin = path.join(import.meta.dirname, '..', '..', 'turnbell.cjs')
  const bridge = [nodeProgram(process.env), bin, 'mcp', '--client', 'opencode', '--persona', identity]
  bridge.push('--home', home.root)
  const guard: PluginEntry = [
    pathToFileURL(path.join(import.meta.dirname, 'plugin.js')).href,
    { persona: identity, home: home.root },
  ]
  const plugin = opencodeLoadsPlugins(env) ? guard : null
  const content = env['OPENCODE_CONFIG_CONTENT']
  return lastingProcess({
    program,
    args: ['serve', '--hostname', '127.0.0.1', '--port', String(address.port)],
    env: {
      ...env,
      TURNBELL_HOME: home.root,
      TURNBELL_PERSONA: identity,
      OPENCODE_SERVER_PASSWORD: address.password,
      OPENCODE_CONFIG_CONTENT: withTurnbell(content, bridge, plugin),
    },
    note_file: noteOf(here),
    output_file: outputOf(here),
  })
}

/** @throws `config_invalid` */
function windowless(here: ShimPlace, place: OpencodePlace, persons: Joined): Headless {
  return headless({
    directory: workingDirectory(here),
    permissions: here.settings?.permissions ?? 'reject',
    kept() {
      const kept = place.windowless()
      return kept && placeOf(kept)
    },
    keep: (session) => place.keepWindowless(boundAt(session)),
    bound() {
      const bound = place.bound()
      return bound && placeOf(bound)
    },
    isJoined: () => persons.isJoined(),
    clock: systemClock,
    log: here.log,
  })
}

const boundAt = ({ id, directory }: Place): BoundSession => ({ session_id: id, directory })
const placeOf = ({ session_id, directory }: BoundSession): Place => ({ id: session_id, directory })

shimProcess('opencode-shim', begin)
