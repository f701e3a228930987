/** Agents that speak the Agent Client Protocol, kept by the daemon: nobody types, and no window is open. */
import fs from 'node:fs'
import path from 'node:path'
import type { ClientWorld } from './client-world.ts'
import { PERSONA } from './client-world.ts'
import { opencodeProgram, openOpencodeWorld } from './opencode-world.ts'

/** The project's place, seen from the home. */
const PROJECT = '../project'

export function openOpencodeAcpWorld(
  options: { asks?: boolean; permissions?: 'reject' | 'allow' } = {},
): Promise<ClientWorld> {
  const { asks = false, permissions } = options
  const acp = { argv: [opencodeProgram(), 'acp'] }
  return openOpencodeWorld({
    asks,
    persona: { project: PROJECT, acp, ...(permissions === undefined ? {} : { permissions }) },
  })
}

/** The agent's process, as the shim notes it. */
export function agentPid(world: ClientWorld): number {
  const file = path.join(world.directory, 'turnbell/run/local', PERSONA, 'acp.pid')
  return (JSON.parse(fs.readFileSync(file, 'utf8')) as { pid: number }).pid
}
