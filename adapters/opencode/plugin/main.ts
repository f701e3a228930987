/**
 * The plugin that makes a person's own opencode a surface, wired by `turnbell connect opencode`. It is a
 * shim that runs inside of opencode: it dials the persona's daemon, for ever and quietly, and whatever
 * goes wrong in here, opencode goes on as if it were not there.
 */
import { isMainThread } from 'node:worker_threads'
import * as z from 'zod'
import { drainGuard, type ComingCall } from './guard.ts'
import { ownLog, ownServer, type PluginClient } from './client.ts'
import { partIn } from './part.ts'
import { sessionPrimer } from './primer.ts'
import { reportToHub } from './report.ts'
import { opencodeSurface } from '../opencode-surface.ts'
import { Event } from '../protocol.ts'
import type { OpencodeServer, Place } from '../server.ts'
import { attachShim } from '../../shim.ts'
import { describeIssues, TurnbellError } from '../../../src/contracts/errors.ts'
import { Identity } from '../../../src/contracts/ids.ts'
import type { Log } from '../../../src/ports/log.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { loadConfig } from '../../../src/system/config.ts'
import {
  ensurePrivateDirectory,
  personaPaths,
  resolveHome,
  type PersonaPaths,
} from '../../../src/system/home.ts'
import { requireHub } from '../../../src/system/hub-address.ts'
import { connectLocally } from '../../../src/system/local-socket.ts'
import { forgetEnded, opencodePlace } from '../../../src/system/opencode-place.ts'
import { processAlive, processInstance } from '../../../src/system/processes.ts'
import { readOperatorToken } from '../../../src/system/secrets.ts'

const Options = z.object({ persona: Identity, home: z.string().min(1).optional() })

/** One instance of opencode: a directory in which it works. */
interface Input {
  client: PluginClient
  directory: string
}
interface Hooks {
  dispose?: () => Promise<void>
  event?: (input: { event: unknown }) => Promise<void>
  'tool.execute.before'?: (call: ComingCall, output?: { args?: unknown }) => Promise<void>
  'shell.env'?: (input: unknown, output: { env: Record<string, string> }) => Promise<void>
  'experimental.chat.system.transform'?: (
    request: { sessionID?: string },
    output: { system: string[] },
  ) => Promise<void>
  'experimental.session.compacting'?: (of: { sessionID: string }) => Promise<void>
}

/** opencode makes an instance anew when its settings change; the person is still in the same session. */
const bound_before = new Map<string, Place>()

/** `options` are those of `["file:///…/plugin.js", {"persona": …, "home": …}]`. */
async function server(input: Input, options?: unknown): Promise<Hooks> {
  const log = ownLog(input.client)
  try {
    return hooksOf(input, options, log)
  } catch (error) {
    log.error({ err: error }, 'turnbell is not here')
    return {}
  }
}

function hooksOf({ client, directory }: Input, options: unknown, log: Log): Hooks {
  const given = Options.safeParse(options ?? {})
  if (!given.success) {
    throw new TurnbellError('config_invalid', {
      detail: describeIssues(given.error, 'the options of the plugin'),
      hint: 'turnbell connect opencode --persona NAME',
    })
  }
  if (typeof client.session?.promptAsync !== 'function')
    throw new TurnbellError('config_invalid', { detail: 'this opencode has another API than 1.x' })
  const { persona: identity } = given.data
  const home = resolveHome(process.env, given.data.home)
  const config = loadConfig(home.config, process.env)
  const paths = personaPaths(home, config.tenant_id, identity, process.env)
  const { env, argv } = process
  const password = opencodePlace(paths.run_dir).server()?.password
  const report = async (payload: object) => {
    const operator_token = readOperatorToken(home)
    if (operator_token === null) throw new Error('this home has no operator token')
    return reportToHub({ url: requireHub(home, config), operator_token, identity }, payload)
  }
  const instance = { opencode: ownServer(client, systemClock), directory, log, report }
  switch (partIn({ env, argv, mainThread: isMainThread, password }, identity)) {
    case 'none':
      return {}
    case 'guards':
      return guards(instance)
    case 'rings': {
      const rung = rings(instance, identity, paths)
      return { ...guards(instance, rung.told), ...rung.hooks }
    }
  }
}

interface Instance {
  opencode: OpencodeServer
  directory: string
  log: Log
  /** Sends a hook payload to the hub; the output of the hook. */
  report: (payload: object) => Promise<unknown>
}

/** `told` hears what happens in opencode as well. */
function guards(
  { opencode, directory, log, report }: Instance,
  told: (event: Event) => void = () => {},
): Hooks {
  const guard = drainGuard({ server: opencode, directory, log })
  const { isPersons } = guard
  const primer = sessionPrimer({ report, isPersons, directory, clock: systemClock, log })
  return {
    async event({ event }) {
      const known = Event.safeParse(event)
      if (!known.success) return
      guard.told(known.data)
      told(known.data)
    },
    'tool.execute.before': (call, output) => guard.before({ ...call, args: output?.args }),
    'experimental.chat.system.transform': ({ sessionID }, { system }) => primer.addTo(sessionID, system),
    'experimental.session.compacting': async ({ sessionID }) => primer.compacting(sessionID),
    // Who has it may answer in the person's place what this very shell is asked leave for.
    'shell.env': async (_input, { env }) => {
      if (process.env['OPENCODE_SERVER_PASSWORD'] !== undefined) env['OPENCODE_SERVER_PASSWORD'] = ''
    },
  }
}

interface Rung {
  told: (event: Event) => void
  hooks: Hooks
}

function rings({ opencode, directory, log }: Instance, identity: Identity, paths: PersonaPaths): Rung {
  ensurePrivateDirectory(paths.run_dir)
  forgetEnded(paths.run_dir, processAlive)
  const place = opencodePlace(paths.run_dir, { pid: process.pid, directory })
  const surface = opencodeSurface({
    identity,
    clock: systemClock,
    log,
    instanceId: () => processInstance(process.pid),
    keep(bound) {
      if (bound === null) bound_before.delete(directory)
      else bound_before.set(directory, bound)
      place.keepBound(bound && { session_id: bound.id, directory: bound.directory })
    },
  })
  const shim = attachShim({
    surface,
    dial: (handlers) => connectLocally(paths.surface_socket, handlers),
    clock: systemClock,
    log,
  })
  surface.open(shim)
  const failed = (error: unknown) => log.error({ err: error }, 'a step of turnbell broke')
  const before = bound_before.get(directory)
  surface.connected(opencode, null).catch(failed)
  // There is no next connection in here, so this one is asked until it answers.
  if (before !== undefined) void surface.joined(before)

  return {
    told(event) {
      try {
        surface.told(event)
      } catch (error) {
        failed(error)
      }
    },
    hooks: {
      async dispose() {
        surface.close()
        shim.close()
        place.keepBound(null)
      },
    },
  }
}

const plugin = { id: 'turnbell', server }
export default plugin

/** The same for a module of one's own, where options cannot be given. */
export const turnbellPlugin = (options: { persona: string; home?: string }) => ({
  ...plugin,
  server: (input: Input) => server(input, options),
})
