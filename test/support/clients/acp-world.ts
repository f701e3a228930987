/** Agents that speak the Agent Client Protocol and run under the daemon, without a window and without a user. */
import type { ClientWorld } from './client-world.ts'
import { PERSONA } from './client-world.ts'
import { opencodeProgram, openOpencodeWorld } from './opencode-world.ts'
import type { Permissions } from '../../../src/contracts/config.ts'

/** Path of the project, relative to the home. */
const PROJECT = '../project'

export function openOpencodeAcpWorld(
  options: { asks?: boolean; permissions?: Permissions } = {},
): Promise<ClientWorld> {
  const { asks = false, permissions } = options
  const acp = { argv: [opencodeProgram(), 'acp'] }
  return openOpencodeWorld({
    asks,
    persona: { project: PROJECT, acp, ...(permissions === undefined ? {} : { permissions }) },
  })
}

export function shimPid(world: ClientWorld): number {
  const started = world
    .log<{ shim_pid?: number }>(`${PERSONA}.log`)
    .filter(({ shim_pid }) => shim_pid !== undefined)
  return started.at(-1)?.shim_pid as number
}

/** Returns the lines of the shim's log that contain the text. */
function said<T>(world: ClientWorld, what: string): T[] {
  const lines = world.log<{ line?: string }>(`${PERSONA}.log`).map(({ line }) => line ?? '')
  return lines.filter((line) => line.includes(what)).map((line) => JSON.parse(line) as T)
}

/** Returns the permission requests of the agent with their answers. */
export function permissionsAnswered(world: ClientWorld): { own: boolean; decided: string }[] {
  return said<{ own: boolean; decided: string }>(world, '"permission request answered"').map(
    ({ own, decided }) => ({
      own,
      decided,
    }),
  )
}

/** Returns the agent's ids of the sessions that its runs opened. */
export function sessionsOpened(world: ClientWorld): string[] {
  return said<{ session: string }>(world, '"agent session opened"').map(({ session }) => session)
}
