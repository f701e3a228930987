/**
 * Keeps the hub and the daemons of a home running, for `up`. Processes that run already are used and keep running at the
 * end; only processes that were started here are stopped here.
 */
import fs from 'node:fs'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { runningHub } from '../../system/config/hub-discovery.ts'
import type { Invocation } from '../cli.ts'
import { DaemonGroup, type DaemonGroupDeps } from './daemon-group.ts'
import { manageProcess, type ManagedProcess, type ProcessView } from './managed-process.ts'
import { stopProcess } from './shutdown.ts'

export interface ProcessGroup {
  hub(): ProcessView
  daemons(): ProcessView[]
  /** Resolves once every daemon runs, was stopped, failed, or waits for its next attempt. */
  settled(): Promise<void>
  /** Returns true if the hub was stopped elsewhere and no daemon runs, so that nothing restarts. */
  isDown(): boolean
  /** Configured personas that are wrapped. */
  wrapped(): string[]
  /** Applies changes of the personas since the last call: added, wrapped, removed, reactivated. */
  follow(): Promise<void>
  /** Stops the daemons over their control sockets, then the hub. Resolves with the names that had to be killed. */
  stop(): Promise<string[]>
  /** Kills the processes that were started here. */
  kill(): void
}

export interface ProcessGroupDeps extends DaemonGroupDeps {
  /** Resolves on a request to stop. */
  stop_requested: Promise<void>
}

/**
 * Resolves once the hub answers and every daemon was started, or on a request to stop. Throws `hub_unreachable` with the
 * hub's output if the hub could not be started.
 */
export async function startProcessGroup(deps: ProcessGroupDeps): Promise<ProcessGroup> {
  const { invocation, stop_requested } = deps
  const hub = startHub(deps)
  const daemons = new DaemonGroup(deps)
  const group = groupOf(hub, daemons, invocation)
  const first = await Promise.race([hub.settled, stop_requested])
  if (first === undefined) return group
  if (first.state !== 'running') {
    hub.release()
    throw new TurnbellError('hub_unreachable', {
      detail: `The hub could not be started: ${first.note ?? first.state}`,
      hint: `Read its log: ${invocation.home.hub_log}`,
    })
  }
  try {
    await Promise.race([daemons.follow(), stop_requested])
  } catch (error) {
    await group.stop()
    throw error
  }
  return group
}

function groupOf(hub: ManagedProcess, daemons: DaemonGroup, { cli }: Invocation): ProcessGroup {
  let stopping = false
  return {
    hub: () => hub.view(),
    daemons: () => daemons.views(),
    settled: () => daemons.settled(),
    isDown: () => !stopping && hub.view().state === 'stopped' && daemons.isIdle(),
    wrapped: () => daemons.wrapped,
    follow: () => daemons.follow(),
    async stop() {
      stopping = true
      const killed = await daemons.stop()
      const grace_ms = LIMITS.close_grace_ms + LIMITS.control_answer_ms
      const hub_ended = await stopProcess(cli.clock, hub.release(), 'SIGTERM', grace_ms)
      return [...killed, ...(hub_ended ? [] : ['hub'])]
    },
    kill() {
      stopping = true
      daemons.kill()
      hub.release()?.kill('SIGKILL')
    },
  }
}

function startHub({ invocation, launch, onChange }: ProcessGroupDeps): ManagedProcess {
  const { home, cli } = invocation
  return manageProcess({
    name: 'hub',
    args: ['hub', '--home', home.root],
    find: async () => {
      const running = runningHub(home)
      // An embedded hub of a bridge ends with its agent, and hands over to the hub that is started here.
      if (running === null || running.stands_in === true) return null
      return (await invocation.hub().ready()) ? running.pid : null
    },
    leftCleanly: () => !fs.existsSync(home.hub_pid),
    launch,
    clock: cli.clock,
    onChange,
  })
}
