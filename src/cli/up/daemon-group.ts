/** The daemons of a home, kept running as the configuration and the hub require. */
import fs from 'node:fs'
import { TurnbellError, type ErrorCode } from '../../contracts/errors/errors.ts'
import type { Persona } from '../../contracts/registry.ts'
import type { PersonaSettings } from '../../contracts/config.ts'
import { loadConfig } from '../../system/config/config.ts'
import type { Invocation } from '../cli.ts'
import { addAtHub, personasAtHub } from '../personas/persona-api.ts'
import { stopOwnDaemon } from './shutdown.ts'
import type { Launch } from './launch.ts'
import { manageProcess, type ManagedProcess, type ProcessView } from './managed-process.ts'

/** What a daemon was started with. */
interface StartedWith {
  /** The settings as JSON. */
  settings: string
  /** Time of the persona's last update at the hub. */
  updated_at: string | undefined
}

type Settings = Record<string, PersonaSettings>

/** Errors after which the persona may still be added later. */
const AWAY: readonly ErrorCode[] = ['hub_unreachable', 'timed_out']

const NOT_STARTED = { state: 'failed', pid: null, ours: false, restarts: 0 } as const

export interface DaemonGroupDeps {
  invocation: Invocation
  launch: Launch
  onChange: (view: ProcessView) => void
}

export class DaemonGroup {
  /** Configured personas that are wrapped. */
  wrapped: string[] = []
  private readonly deps: DaemonGroupDeps
  private readonly daemons = new Map<string, ManagedProcess>()
  private readonly startedWith = new Map<string, StartedWith>()
  /** Personas that the hub refuses, with the reason. */
  private readonly refused = new Map<string, string>()
  /** Personas of the configuration at the last call of `follow`. */
  private configured: ReadonlySet<string> = new Set()
  /** The configuration was invalid at the last call of `follow`. */
  private was_invalid = false
  private stopping = false

  constructor(deps: DaemonGroupDeps) {
    this.deps = deps
  }

  views(): ProcessView[] {
    return [
      ...[...this.daemons.values()].map((daemon) => daemon.view()),
      ...[...this.refused]
        .filter(([identity]) => !this.daemons.has(identity))
        .map(([name, note]) => ({ ...NOT_STARTED, name, note })),
    ]
  }

  /** Resolves once every daemon runs, was stopped, failed, or waits for its next attempt. */
  async settled(): Promise<void> {
    await Promise.all([...this.daemons.values()].map((daemon) => daemon.settled))
  }

  /** Returns true if no daemon runs or is starting. */
  isIdle(): boolean {
    return [...this.daemons.values()].every(
      (daemon) => !['starting', 'running'].includes(daemon.view().state),
    )
  }

  /** Starts missing daemons, and hides stopped ones whose persona is wrapped or removed. */
  async follow(): Promise<void> {
    const { personas, config_fixed } = this.configuration()
    const { at_hub, leaving } = await this.addMissing(personas)
    if (this.stopping) return
    this.wrapped = Object.keys(personas).filter((identity) => at_hub.get(identity)?.state === 'wrapped')
    const inactive = [...this.wrapped, ...leaving, ...this.refused.keys()]
    const active = Object.keys(personas).filter((identity) => !inactive.includes(identity))
    for (const [identity, daemon] of this.daemons) {
      if (isOver(daemon) && !active.includes(identity)) this.daemons.delete(identity)
    }
    for (const identity of active) {
      const settings = JSON.stringify(personas[identity])
      await this.keepUp(identity, { settings, updated_at: at_hub.get(identity)?.updated_at }, config_fixed)
    }
  }

  /** Stops the daemons over their control sockets. Resolves with the names that had to be killed. */
  async stop(): Promise<string[]> {
    this.stopping = true
    const killed = await Promise.all(
      [...this.daemons].map(async ([identity, daemon]) =>
        (await stopOwnDaemon(this.deps.invocation, identity, daemon.release())) ? [] : [identity],
      ),
    )
    return killed.flat()
  }

  kill(): void {
    this.stopping = true
    for (const daemon of this.daemons.values()) daemon.release()?.kill('SIGKILL')
  }

  private configuration(): { personas: Settings; config_fixed: boolean } {
    const { home, cli } = this.deps.invocation
    const config_fixed = this.was_invalid
    this.was_invalid = true
    const { personas } = loadConfig(home.config, cli.env)
    this.was_invalid = false
    return { personas, config_fixed }
  }

  /** Adds configured personas that the hub does not know. Returns all of the hub, and those that are being removed. */
  private async addMissing(
    personas: Settings,
  ): Promise<{ at_hub: Map<string, Persona>; leaving: readonly string[] }> {
    const { invocation } = this.deps
    const at_hub = new Map((await personasAtHub(invocation)).map((persona) => [persona.identity, persona]))
    // A persona that was configured before and is gone at the hub is being removed; its settings follow.
    const leaving = Object.keys(personas).filter(
      (name) => !at_hub.has(name) && this.configured.has(name) && !this.refused.has(name),
    )
    this.refused.clear()
    for (const [identity, settings] of Object.entries(personas)) {
      if (at_hub.has(identity) || leaving.includes(identity)) continue
      const added = await addOrReason(invocation, identity, settings)
      if (typeof added === 'string') this.refused.set(identity, added)
      else at_hub.set(identity, added)
    }
    this.configured = new Set(Object.keys(personas))
    return { at_hub, leaving }
  }

  /** Starts a daemon that is missing or was requested again, and restarts one with outdated settings. */
  private async keepUp(identity: string, now: StartedWith, config_fixed: boolean): Promise<void> {
    const { invocation } = this.deps
    if (this.stopping) return
    const daemon = this.daemons.get(identity)
    const before = this.startedWith.get(identity)
    if (daemon === undefined || before === undefined) return this.start(identity, now)
    const { state, ours, pid } = daemon.view()
    const changed = before.settings !== now.settings
    // Wrapped and added again between two calls, or changed by another add.
    const renewed = before.updated_at !== now.updated_at
    switch (state) {
      case 'running':
        if (ours && changed) {
          await stopOwnDaemon(invocation, identity, daemon.release())
          this.start(identity, now)
        } else if (renewed && (await answeringDaemon(invocation, identity)) === pid) {
          // The running daemon belongs to this update, so a later stop is on purpose.
          this.startedWith.set(identity, { ...before, updated_at: now.updated_at })
        }
        return
      case 'stopped':
      case 'failed': {
        const retry = renewed || (state === 'failed' && (changed || config_fixed))
        if (retry || (await answeringDaemon(invocation, identity)) !== null) this.start(identity, now)
        return
      }
      case 'starting':
      case 'waiting':
    }
  }

  private start(identity: string, settings: StartedWith): void {
    if (this.stopping) return
    const { invocation, launch, onChange } = this.deps
    const { home, cli } = invocation
    const { daemon_pid } = invocation.paths(identity)
    this.startedWith.set(identity, settings)
    const daemon = manageProcess({
      name: identity,
      args: ['daemon', '--persona', identity, '--home', home.root],
      find: () => answeringDaemon(invocation, identity),
      leftCleanly: () => !fs.existsSync(daemon_pid),
      launch,
      clock: cli.clock,
      onChange,
    })
    this.daemons.set(identity, daemon)
  }
}

/**
 * Adds a persona at the hub that was configured again after a removal while no hub ran. Returns the persona, or the reason
 * of the refusal.
 */
async function addOrReason(
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

/** Returns the pid of a daemon that answers on its socket. A pid file alone may belong to a daemon that is stopping. */
async function answeringDaemon(invocation: Invocation, identity: string): Promise<number | null> {
  try {
    return (await invocation.control(identity).status()).pid
  } catch (error) {
    if (error instanceof TurnbellError) return null
    throw error
  }
}

const isOver = (daemon: ManagedProcess) =>
  daemon.view().state === 'stopped' || daemon.view().state === 'failed'
