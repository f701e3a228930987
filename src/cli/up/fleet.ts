/**
 * The hub and the daemons of a home, kept running: what `up` shows and what it stops. Whatever runs
 * already is used and left running at the end; only what was started here is stopped here.
 */
import fs from 'node:fs'
import { TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { PersonaSettings } from '../../contracts/config.ts'
import { runningHub } from '../../system/hub-address.ts'
import { loadConfig } from '../../system/config.ts'
import type { Invocation } from '../cli.ts'
import { personasAtHub } from '../personas/listing.ts'
import { daemonPid } from '../stop-daemon.ts'
import type { Launch, Launched } from './launch.ts'
import { startPart, type Part, type PartView } from './part.ts'

export interface Fleet {
  hub(): PartView
  daemons(): PartView[]
  /** Resolves once every daemon runs, or is known not to. */
  settled(): Promise<void>
  /** Configured personas that rest: wrapped ones. */
  wrapped(): string[]
  /** Takes in personas that were added, wrapped, removed or brought back meanwhile. */
  follow(): Promise<void>
  /** Daemons over their control sockets, then the hub. Resolves with what had to be killed. */
  stop(): Promise<string[]>
  /** Kills what was started here, at once. */
  kill(): void
}

export interface FleetNeeds {
  invocation: Invocation
  launch: Launch
  onChange: (view: PartView) => void
  /** Resolves when all shall stop: then nothing more is waited for. */
  asked: Promise<void>
}

/**
 * Resolves once the hub answers and every daemon was begun, or as soon as all shall stop.
 *
 * @throws `hub_unreachable` with what the hub said, when it could not be started at all.
 */
export async function startFleet(needs: FleetNeeds): Promise<Fleet> {
  const { invocation, launch, onChange, asked } = needs
  const { home, cli } = invocation
  const { clock } = cli
  const common = { launch, clock, onChange }
  const daemons = new Map<string, Part>()
  /** What each daemon that was started here began with, as JSON. */
  const begunWith = new Map<string, string>()
  let wrapped: string[] = []
  /** What was configured at the last look. */
  let configured: ReadonlySet<string> = new Set()
  let stopping = false

  const hub = startHub(needs)

  const startDaemon = (identity: string, settings: PersonaSettings) => {
    begunWith.set(identity, JSON.stringify(settings))
    const paths = invocation.paths(identity)
    const part = startPart({
      ...common,
      name: identity,
      args: ['daemon', '--persona', identity, '--home', home.root],
      find: () => answeringDaemon(invocation, identity),
      leftCleanly: () => !fs.existsSync(paths.daemon_pid),
    })
    daemons.set(identity, part)
  }

  /** Starts what should run and does not, and drops from view what rests or was taken away. */
  const follow = async () => {
    const { personas } = loadConfig(home.config, cli.env)
    const known = await personasAtHub(invocation)
    const stateOf = new Map(known.map((persona) => [persona.identity, persona.state]))
    // One that stood here before is being removed at this moment, and its settings are the last of it.
    const leaving = Object.keys(personas).filter((name) => !stateOf.has(name) && configured.has(name))
    for (const [identity, { surface, project }] of Object.entries(personas)) {
      if (stateOf.has(identity) || leaving.includes(identity)) continue
      // Configured again after a removal, while no hub ran; the hub itself would not bring it back.
      const input = { identity, surface, ...(project === undefined ? {} : { project }) }
      await invocation.hub().call('personas', 'add', input)
    }
    configured = new Set(Object.keys(personas))
    if (stopping) return
    wrapped = Object.keys(personas).filter((identity) => stateOf.get(identity) === 'wrapped')
    const resting = [...wrapped, ...leaving]
    const wanted = Object.keys(personas).filter((identity) => !resting.includes(identity))
    for (const [identity, part] of daemons) {
      if (part.view().state === 'stopped' && !wanted.includes(identity)) daemons.delete(identity)
    }
    for (const identity of wanted) await keepUp(identity, personas[identity] as PersonaSettings)
  }

  /** A daemon that is not there yet, that somebody has started again, or that runs with settings of the past. */
  const keepUp = async (identity: string, settings: PersonaSettings) => {
    if (stopping) return
    const part = daemons.get(identity)
    if (part === undefined) return startDaemon(identity, settings)
    const { state, ours } = part.view()
    const back = state === 'stopped' && (await answeringDaemon(invocation, identity)) !== null
    const outdated = ours && state === 'running' && begunWith.get(identity) !== JSON.stringify(settings)
    if (outdated) await stopOwnDaemon(invocation, identity, part.release())
    if ((back || outdated) && !stopping) startDaemon(identity, settings)
  }

  const fleet: Fleet = {
    hub: () => hub.view(),
    daemons: () => [...daemons.values()].map((part) => part.view()),
    async settled() {
      await Promise.all([...daemons.values()].map((part) => part.settled))
    },
    wrapped: () => wrapped,
    follow,
    async stop() {
      stopping = true
      const ended = await Promise.all(
        [...daemons].map(async ([identity, part]) => {
          const own = part.release()
          return (await stopOwnDaemon(invocation, identity, own)) ? [] : [identity]
        }),
      )
      const grace_ms = LIMITS.close_grace_ms + LIMITS.control_answer_ms
      const hubEnded = await stopProcess(clock, hub.release(), 'SIGTERM', grace_ms)
      return [...ended.flat(), ...(hubEnded ? [] : ['hub'])]
    },
    kill() {
      stopping = true
      for (const part of [...daemons.values(), hub]) part.release()?.kill('SIGKILL')
    },
  }

  const first = await Promise.race([hub.settled, asked])
  if (first === undefined) return fleet
  if (first.state !== 'running') {
    hub.release()
    throw new TurnbellError('hub_unreachable', {
      detail: `the hub could not be started: ${first.note ?? first.state}`,
      hint: `Its log: ${home.hub_log}`,
    })
  }
  try {
    await Promise.race([follow(), asked])
  } catch (error) {
    await fleet.stop()
    throw error
  }
  return fleet
}

function startHub({ invocation, launch, onChange }: FleetNeeds): Part {
  const { home, cli } = invocation
  return startPart({
    name: 'hub',
    args: ['hub', '--home', home.root],
    find: async () => {
      const running = runningHub(home)
      // A bridge that stands in goes with its agent, and makes room for the one that is started here.
      if (running === null || running.stands_in === true) return null
      return (await invocation.hub().ready()) ? running.pid : null
    },
    leftCleanly: () => !fs.existsSync(home.hub_pid),
    launch,
    clock: cli.clock,
    onChange,
  })
}

/** Only one that answers on its socket counts: a pid file alone may belong to one that is going. */
async function answeringDaemon(invocation: Invocation, identity: string): Promise<number | null> {
  try {
    return (await invocation.control(identity).status()).pid
  } catch (error) {
    if (error instanceof TurnbellError) return null
    throw error
  }
}

/** False when it had to be killed. */
async function stopOwnDaemon(
  invocation: Invocation,
  identity: string,
  own: Launched | null,
): Promise<boolean> {
  if (own === null) return true
  try {
    if ((await daemonPid(invocation, identity)) !== null) await invocation.control(identity).shutdown()
    else own.kill('SIGTERM')
  } catch (error) {
    if (!(error instanceof TurnbellError)) throw error
    // Not listening yet, or no more: it understands the signal of its operating system as well.
    own.kill('SIGTERM')
  }
  return endsWithin(invocation.cli.clock, own, LIMITS.daemon_stop_ms)
}

async function stopProcess(
  clock: Invocation['cli']['clock'],
  own: Launched | null,
  os_signal: NodeJS.Signals,
  within_ms: number,
): Promise<boolean> {
  if (own === null) return true
  own.kill(os_signal)
  return endsWithin(clock, own, within_ms)
}

async function endsWithin(
  clock: Invocation['cli']['clock'],
  own: Launched,
  within_ms: number,
): Promise<boolean> {
  const late = new Promise<'late'>((resolve) => {
    const timer = clock.after(within_ms, () => resolve('late'))
    void own.exited.then(() => timer.cancel())
  })
  if ((await Promise.race([own.exited, late])) !== 'late') return true
  own.kill('SIGKILL')
  await own.exited
  return false
}
