/**
 * The plugin that makes a person's own opencode a surface, installed by `turnbell connect opencode`. It is a shim
 * inside opencode: it redials the persona's daemon without output, and its errors never affect opencode.
 */
import { isMainThread } from 'node:worker_threads'
import * as z from 'zod'
import { clientProcess, openActivity, type Activity } from '../activity/main.ts'
import { sessionReader } from '../activity/session-reader.ts'
import { drainGuard, type ToolCall } from './guard.ts'
import { logOfClient, serverOfClient, type PluginClient } from './client.ts'
import { pluginRole } from './plugin-role.ts'
import { sessionPrimer } from './primer.ts'
import { reportToHub } from './report.ts'
import { opencodeSurface } from '../opencode-surface.ts'
import { Event } from '../protocol.ts'
import type { OpencodeServer, SessionRef } from '../server.ts'
import { attachShim } from '../../shim.ts'
import { describeIssues, TurnbellError } from '../../../src/contracts/errors/errors.ts'
import { Identity } from '../../../src/contracts/ids.ts'
import type { Log } from '../../../src/ports/log.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { loadConfig } from '../../../src/system/config/config.ts'
import {
  ensurePrivateDirectory,
  personaPaths,
  resolveHome,
  type PersonaPaths,
} from '../../../src/system/config/home.ts'
import { requireHub } from '../../../src/system/config/hub-discovery.ts'
import { connectLocally } from '../../../src/system/ipc/unix-socket.ts'
import { removeEnded, opencodeRunFiles } from '../../../src/system/clients/opencode-run-files.ts'
import { processAlive, processInstance } from '../../../src/system/process/process-info.ts'
import { readOperatorToken } from '../../../src/system/config/secrets.ts'

const Options = z.object({ persona: Identity, home: z.string().min(1).optional() })

/** One instance of opencode, for one directory. */
interface Input {
  client: PluginClient
  directory: string
}
interface Hooks {
  dispose?: () => Promise<void>
  event?: (input: { event: unknown }) => Promise<void>
  'tool.execute.before'?: (call: ToolCall, output?: { args?: unknown }) => Promise<void>
  'shell.env'?: (input: unknown, output: { env: Record<string, string> }) => Promise<void>
  'experimental.chat.system.transform'?: (
    request: { sessionID?: string },
    output: { system: string[] },
  ) => Promise<void>
  'experimental.session.compacting'?: (of: { sessionID: string }) => Promise<void>
}

/** Bound sessions by directory, because opencode recreates an instance when its settings change. */
const bound_before = new Map<string, SessionRef>()

/** The plugin's entry point. `options` are those of `["file:///…/plugin.js", {"persona": …, "home": …}]`. */
async function server(input: Input, options?: unknown): Promise<Hooks> {
  const log = logOfClient(input.client)
  try {
    return hooksOf(input, options, log)
  } catch (error) {
    log.error({ err: error }, 'turnbell plugin disabled')
    return {}
  }
}

function hooksOf({ client, directory }: Input, options: unknown, log: Log): Hooks {
  const parsed_options = Options.safeParse(options ?? {})
  if (!parsed_options.success) {
    throw new TurnbellError('config_invalid', {
      detail: describeIssues(parsed_options.error, 'the options of the plugin'),
      hint: 'Run `turnbell connect opencode --persona NAME`.',
    })
  }
  if (typeof client.session?.promptAsync !== 'function')
    throw new TurnbellError('config_invalid', { detail: 'this opencode has no API of version 1.x' })
  const { persona: identity } = parsed_options.data
  const home = resolveHome(process.env, parsed_options.data.home)
  const config = loadConfig(home.config, process.env)
  const paths = personaPaths(home, config.tenant_id, identity, process.env)
  const { env, argv } = process
  const password = opencodeRunFiles(paths.run_dir).server()?.password
  const report = async (payload: object) => {
    const operator_token = readOperatorToken(home)
    if (operator_token === null) throw new Error('this home has no operator token')
    return reportToHub({ url: requireHub(home, config), operator_token, identity }, payload)
  }
  const instance = { opencode: serverOfClient(client, systemClock), directory, log, report }
  switch (pluginRole({ env, argv, mainThread: isMainThread, password }, identity)) {
    case 'none':
      return {}
    case 'guards':
      return guardHooks(instance)
    case 'rings': {
      const activity = openActivity({ home, config, identity, paths, log })
      const ringing = ringingHooks(instance, identity, paths, activity)
      const hooks = { ...guardHooks(instance, ringing.handleEvent), ...ringing.hooks }
      return recordedEvents(hooks, activity, directory)
    }
  }
}

interface Instance {
  opencode: OpencodeServer
  directory: string
  log: Log
  /** Sends a hook payload to the hub and returns the output of the hook. */
  report: (payload: object) => Promise<unknown>
}

/** Returns the hooks that guard drains and add the primer. `onEvent` receives opencode's events, too. */
function guardHooks(
  { opencode, directory, log, report }: Instance,
  onEvent: (event: Event) => void = () => {},
): Hooks {
  const guard = drainGuard({ server: opencode, directory, log })
  const { isUserSession: isPersons } = guard
  const primer = sessionPrimer({ report, isUserSession: isPersons, directory, clock: systemClock, log })
  return {
    async event({ event }) {
      const parsed = Event.safeParse(event)
      if (!parsed.success) return
      guard.handleEvent(parsed.data)
      onEvent(parsed.data)
    },
    'tool.execute.before': (call, output) => guard.before({ ...call, args: output?.args }),
    'experimental.chat.system.transform': ({ sessionID }, { system }) => primer.addTo(sessionID, system),
    'experimental.session.compacting': async ({ sessionID }) => primer.compacting(sessionID),
    // Removed, because a process with the password could answer permission requests instead of the person.
    'shell.env': async (_input, { env }) => {
      if (process.env['OPENCODE_SERVER_PASSWORD'] !== undefined) env['OPENCODE_SERVER_PASSWORD'] = ''
    },
  }
}

/** Passes each event on, and to the record. */
function recordedEvents(hooks: Hooks, { feed }: Activity, directory: string): Hooks {
  return {
    ...hooks,
    async event(input) {
      feed?.handle(input.event, directory)
      await hooks.event?.(input)
    },
  }
}

interface Ringing {
  handleEvent: (event: Event) => void
  hooks: Hooks
}

function ringingHooks(
  { opencode, directory, log }: Instance,
  identity: Identity,
  paths: PersonaPaths,
  activity: Activity,
): Ringing {
  ensurePrivateDirectory(paths.run_dir)
  removeEnded(paths.run_dir, processAlive)
  const run_files = opencodeRunFiles(paths.run_dir, { pid: process.pid, directory })
  const surface = opencodeSurface({
    identity,
    clock: systemClock,
    log,
    instanceId: () => processInstance(process.pid),
    storeSession(bound) {
      if (bound === null) bound_before.delete(directory)
      else bound_before.set(directory, bound)
      activity.feed?.bound(bound)
      run_files.storeBound(bound && { session_id: bound.id, directory: bound.directory })
    },
  })
  const shim = attachShim({
    surface,
    dial: (handlers) => connectLocally(paths.surface_socket, handlers),
    clock: systemClock,
    log,
  })
  surface.open(shim)
  const logBug = (error: unknown) => log.error({ err: error }, 'turnbell plugin failed')
  void activity.feed?.attached(clientProcess(process.pid), sessionReader(opencode))
  const before = bound_before.get(directory)
  surface.connected(opencode, null).catch(logBug)
  // There is no later connection inside opencode, so binding is retried until it succeeds.
  if (before !== undefined) void surface.personJoined(before)

  return {
    handleEvent(event) {
      try {
        surface.handleEvent(event)
      } catch (error) {
        logBug(error)
      }
    },
    hooks: {
      async dispose() {
        surface.close()
        shim.close()
        activity.close('closed')
        run_files.storeBound(null)
      },
    },
  }
}

const plugin = { id: 'turnbell', server }
export default plugin

/** Returns the plugin with options, for a module of one's own that cannot pass any. */
export const turnbellPlugin = (options: { persona: string; home?: string }) => ({
  ...plugin,
  server: (input: Input) => server(input, options),
})
