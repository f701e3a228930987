/** Agents that speak the Agent Client Protocol, kept by the daemon: nobody types, and no window is open. */
import type { ClientWorld } from './client-world.ts'
import { PERSONA } from './client-world.ts'
import { opencodeProgram, openOpencodeWorld } from './opencode-world.ts'
import type { Permissions } from '../../src/contracts/config.ts'

/** The project's place, seen from the home. */
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

/** Lines of the shim's log that say this. */
function said<T>(world: ClientWorld, what: string): T[] {
  const lines = world.log<{ line?: string }>(`${PERSONA}.log`).map(({ line }) => line ?? '')
  return lines.filter((line) => line.includes(what)).map((line) => JSON.parse(line) as T)
}

/** What the agent asked leave for, and what it was answered. */
export function leaveAsked(world: ClientWorld): { own: boolean; decided: string }[] {
  return said<{ own: boolean; decided: string }>(world, '"leave was asked"').map(({ own, decided }) => ({
    own,
    decided,
  }))
}

/** The agent's own names for the sessions that its runs opened. */
export function sessionsOpened(world: ClientWorld): string[] {
  return said<{ session: string }>(world, '"the agent has opened its session"').map(({ session }) => session)
}
