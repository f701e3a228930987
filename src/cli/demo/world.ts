/** The demo's world: a temporary home with a real hub, real daemons and scripted agents. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { runningHub } from '../../system/config/hub-discovery.ts'
import { prepareHome } from '../../system/config/home.ts'
import { type Cli, type Invocation, invocationIn } from '../cli.ts'
import { createLaunch, type Exit, type Launched } from '../up/launch.ts'
import { stopDaemon } from '../stop-daemon.ts'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { startAgent, type Agent, type Turn } from './agent.ts'
import type { Story } from './story.ts'

export interface World {
  invocation: Invocation
  story: Story
  /** Starts the hub and waits until it is ready. */
  startHub(): Promise<{ pid: number; url: string }>
  killHub(): Promise<Exit>
  startDaemon(identity: string): Promise<number>
  attachAgent(identity: string, onRung: (turn: Turn) => void): Promise<Agent>
  /** Stops the daemons as `turnbell shutdown` does, then the hub by SIGTERM. */
  stop(): Promise<{ clean: boolean; detail: string }>
  /** Kills remaining processes and removes the home. */
  clear(keep: boolean): void
}

export const PERSONAS = ['ada', 'bob'] as const

export function createWorld(cli: Cli, story: Story): World {
  const invocation = temporaryHome(cli)
  const { root } = invocation.home
  const launch = createLaunch(cli.node, cli.program, invocation.cli.env)
  const daemons = new Map<string, Launched>()
  const agents: Agent[] = []
  let hub: Launched | null = null

  return {
    invocation,
    story,

    async startHub() {
      const launched = (hub = launch(['hub', '--home', root]))
      return story.until('the hub is ready', async () => {
        if (launched.exit() !== null) throw startFailure('the hub', launched)
        const running = runningHub(invocation.home)
        if (running === null || running.pid !== launched.pid) return null
        return (await invocation.hub().ready()) && { pid: running.pid, url: running.url }
      })
    },

    async killHub() {
      if (hub === null) throw new Error('there is no hub to kill')
      hub.kill('SIGKILL')
      return hub.exited
    },

    async startDaemon(identity) {
      const launched = launch(['daemon', '--persona', identity, '--home', root])
      daemons.set(identity, launched)
      return story.until(`${identity}'s daemon is connected`, async () => {
        if (launched.exit() !== null) throw startFailure(`${identity}'s daemon`, launched)
        return (await isConnected(invocation, identity)) && launched.pid
      })
    },

    async attachAgent(identity, onRung) {
      const session_id = `demo-${identity}`
      const agent = await startAgent({
        identity,
        session_id,
        surface_socket: invocation.paths(identity).surface_socket,
        hub: () => invocation.hub().as(identity, 'agent', session_id),
        onRung,
        onBroken: story.broken,
      })
      agents.push(agent)
      return agent
    },

    async stop() {
      for (const agent of agents) agent.leave()
      const exits: string[] = []
      for (const [identity, launched] of daemons) {
        const { waited_ms } = await stopDaemon(invocation, identity)
        const { code } = await launched.exited
        if (code !== 0) exits.push(`${identity}'s daemon ended with ${code} after ${waited_ms} ms`)
      }
      const exit = hub === null ? null : await terminate(cli, hub)
      if (exit?.code !== 0) exits.push(`the hub ended with ${exit?.code ?? exit?.os_signal ?? 'no exit yet'}`)
      if (fs.existsSync(invocation.home.hub_pid)) exits.push('the hub did not remove its pid file')
      return { clean: exits.length === 0, detail: exits.join(', ') || 'two daemons and a hub ended with 0' }
    },

    clear(keep) {
      for (const launched of [...daemons.values(), hub]) {
        if (launched?.exit() === null) launched.kill('SIGKILL')
      }
      for (const agent of agents) agent.leave()
      // Retries, because a killed process may still hold files for a moment.
      if (!keep) fs.rmSync(root, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}

/** Creates a home without the user's own settings, which must not affect the demo. */
function temporaryHome(cli: Cli): Invocation {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-demo-'))
  const env = Object.fromEntries(Object.entries(cli.env).filter(([name]) => !name.startsWith('TURNBELL_')))
  const invocation = invocationIn({ ...cli, env }, root)
  prepareHome(invocation.home)
  fs.writeFileSync(invocation.home.config, CONFIG, { mode: 0o600 })
  return invocation
}

function startFailure(what: string, launched: Launched): TurnbellError {
  return new TurnbellError('internal', {
    detail: `${what} could not be started: ${launched.output() || 'no output'}`,
    hint: 'Run `turnbell demo --keep` and read the logs of its home.',
  })
}

/** Sends SIGTERM. Resolves with null if the process does not end in time. */
function terminate({ clock }: Cli, launched: Launched): Promise<Exit | null> {
  launched.kill('SIGTERM')
  const timeout = new Promise<null>((resolve) => {
    const timer = clock.after(LIMITS.close_grace_ms, () => resolve(null))
    void launched.exited.then(() => timer.cancel())
  })
  return Promise.race([launched.exited, timeout])
}

export async function isConnected(invocation: Invocation, identity: string): Promise<boolean> {
  try {
    return (await invocation.control(identity).status()).state === 'CONNECTED'
  } catch (error) {
    if (error instanceof TurnbellError) return false
    throw error
  }
}

const CONFIG = `# The home of a demo. Port 0 picks a free port.
hub:
  port: 0
personas:
${PERSONAS.map((name) => `  ${name}:\n    surface: mcp\n`).join('')}`
