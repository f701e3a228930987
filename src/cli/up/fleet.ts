/**
 * The hub and the daemons of a home, kept running: what `up` shows and what it stops. Whatever runs
 * already is used and left running at the end; only what was started here is stopped here.
 */
import fs from 'node:fs'
import { TurnbellError, type ErrorCode } from '../../contracts/errors.ts'
import type { Persona } from '../../contracts/registry.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { PersonaSettings } from '../../contracts/config.ts'
import { runningHub } from '../../system/hub-address.ts'
import { loadConfig } from '../../system/config.ts'
import type { Invocation } from '../cli.ts'
import { addAtHub, personasAtHub } from '../personas/listing.ts'
import { stopOwnDaemon, stopProcess } from './end.ts'
import type { Launch } from './launch.ts'
import { startPart, type Part, type PartView } from './part.ts'

export interface Fleet {
  hub(): PartView
  daemons(): PartView[]
  /** Resolves once every daemon runs, or is known not to. */
  settled(): Promise<void>
  /** The hub was stopped on purpose, not by us, and no daemon runs: nothing comes back by itself. */
  isDown(): boolean
  /** Configured personas that rest: wrapped ones. */
  wrapped(): string[]
  /** Takes in personas that were added, wrapped, removed or brought back meanwhile. */
  follow(): Promise<void>
  /** Daemons over their control sockets, then the hub. Resolves with what had to be killed. */
  stop(): Promise<string[]>
  /** Kills what was started here, at once. */
  kill(): void
}

interface Begun {
  /** As JSON. */
  settings: string
  /** Of the persona at the hub. */
  updated_at: string | undefined
}

/** No refusal: the hub may take it in later. */
const AWAY: readonly ErrorCode[] = ['hub_unreachable', 'timed_out']

const NOT_BEGUN = { state: 'failed', pid: null, ours: false, restarts: 0 } as const

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
  /** What was true of each persona when its part was begun. */
  const begunWith = new Map<string, Begun>()
  /** Personas whom the hub does not take in, with the reason. */
  const refused = new Map<string, string>()
  let wrapped: string[] = []
  /** What was configured at the last look. */
  let configured: ReadonlySet<string> = new Set()
  /** The configuration could not be read at the last look. */
  let unreadable = false
  let stopping = false

  const hub = startHub(needs)

  const startDaemon = (identity: string, begun: Begun) => {
    begunWith.set(identity, begun)
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
    const { personas, mended } = configuration()
    const known = new Map((await personasAtHub(invocation)).map((persona) => [persona.identity, persona]))
    // One that stood here before is being removed at this moment, and its settings are the last of it.
    const leaving = Object.keys(personas).filter(
      (name) => !known.has(name) && configured.has(name) && !refused.has(name),
    )
    refused.clear()
    for (const [identity, settings] of Object.entries(personas)) {
      if (known.has(identity) || leaving.includes(identity)) continue
      const taken = await takeIn(invocation, identity, settings)
      if (typeof taken === 'string') refused.set(identity, taken)
      else known.set(identity, taken)
    }
    configured = new Set(Object.keys(personas))
    if (stopping) return
    wrapped = Object.keys(personas).filter((identity) => known.get(identity)?.state === 'wrapped')
    const resting = [...wrapped, ...leaving, ...refused.keys()]
    const wanted = Object.keys(personas).filter((identity) => !resting.includes(identity))
    for (const [identity, part] of daemons) {
      if (isOver(part) && !wanted.includes(identity)) daemons.delete(identity)
    }
    for (const identity of wanted) {
      const settings = JSON.stringify(personas[identity])
      await keepUp(identity, { settings, updated_at: known.get(identity)?.updated_at }, mended)
    }
  }

  const configuration = () => {
    const was_unreadable = unreadable
    unreadable = true
    const { personas } = loadConfig(home.config, cli.env)
    unreadable = false
    return { personas, mended: was_unreadable }
  }

  /**
   * A daemon that is not there yet, that somebody has started again or wants again, or that runs with settings of
   * the past.
   */
  const keepUp = async (identity: string, now: Begun, mended: boolean) => {
    if (stopping) return
    const part = daemons.get(identity)
    const begun = begunWith.get(identity)
    if (part === undefined || begun === undefined) return startDaemon(identity, now)
    const { state, ours, pid } = part.view()
    const changed = begun.settings !== now.settings
    // Wrapped and added again between two looks, or added otherwise.
    const renewed = begun.updated_at !== now.updated_at
    switch (state) {
      case 'running':
        if (ours && changed) {
          await stopOwnDaemon(invocation, identity, part.release())
          if (!stopping) startDaemon(identity, now)
        } else if (renewed && (await answeringDaemon(invocation, identity)) === pid) {
          // This one runs for it; what is stopped from now on is meant to be.
          begunWith.set(identity, { ...begun, updated_at: now.updated_at })
        }
        return
      case 'stopped':
      case 'failed': {
        const wanted = renewed || (state === 'failed' && (changed || mended))
        if ((wanted || (await answeringDaemon(invocation, identity)) !== null) && !stopping)
          startDaemon(identity, now)
        return
      }
      case 'starting':
      case 'waiting':
    }
  }

  const fleet: Fleet = {
    hub: () => hub.view(),
    daemons: () => [
      ...[...daemons.values()].map((part) => part.view()),
      ...[...refused]
        .filter(([identity]) => !daemons.has(identity))
        .map(([name, note]) => ({ ...NOT_BEGUN, name, note })),
    ],
    async settled() {
      await Promise.all([...daemons.values()].map((part) => part.settled))
    },
    isDown: () =>
      !stopping &&
      hub.view().state === 'stopped' &&
      [...daemons.values()].every((part) => !['starting', 'running'].includes(part.view().state)),
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

/**
 * One that is configured again after a removal, while no hub ran; the hub itself would not bring it back. Resolves
 * with the persona, or with why it is refused.
 */
async function takeIn(
  invocation: Invocation,
  identity: string,
  settings: PersonaSettings,
): Promise<Persona | string> {
  try {
    return await addAtHub(invocation, identity, settings)
  } catch (error) {
    if (!(error instanceof TurnbellError) || AWAY.includes(error.code)) throw error
    return error.detail
  }
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

const isOver = (part: Part) => part.view().state === 'stopped' || part.view().state === 'failed'
