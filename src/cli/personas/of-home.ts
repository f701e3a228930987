/** The personas that a home has to do with, without asking anybody. */
import fs from 'node:fs'
import path from 'node:path'
import { Identity } from '../../contracts/ids.ts'
import type { PersonaPaths } from '../../system/home.ts'
import type { Invocation } from '../cli.ts'

/** The configured ones and those whose daemon runs, or was killed and left its pid. */
export function personasOfHome(invocation: Invocation): string[] {
  const { tenant_id, personas } = invocation.config()
  const run = path.join(invocation.home.root, 'run', tenant_id)
  const found = fs.existsSync(run) ? fs.readdirSync(run) : []
  const names = found.filter((name) => Identity.safeParse(name).success && hasTraces(invocation.paths(name)))
  return [...new Set([...Object.keys(personas), ...names])].sort()
}

function hasTraces({ daemon_pid, control_socket }: PersonaPaths): boolean {
  return fs.existsSync(daemon_pid) || fs.existsSync(control_socket)
}
