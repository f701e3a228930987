/** The personas of a home, from its files. */
import fs from 'node:fs'
import path from 'node:path'
import { Identity } from '../../contracts/ids.ts'
import type { PersonaPaths } from '../../system/config/home.ts'
import { obstacleAt } from '../../system/files/in-place.ts'
import type { Invocation } from '../cli.ts'

/** Returns the configured personas, and those whose daemon runs or was killed without removing its pid file. */
export function personasOfHome(invocation: Invocation): string[] {
  const { tenant_id, personas } = invocation.config()
  const run = path.join(invocation.home.root, 'run', tenant_id)
  const entries = isDirectory(run) ? fs.readdirSync(run) : []
  const names = entries.filter(
    (name) => Identity.safeParse(name).success && hasTraces(invocation.paths(name)),
  )
  return [...new Set([...Object.keys(personas), ...names])].sort()
}

const isDirectory = (file: string) => obstacleAt(file) === null && fs.existsSync(file)

function hasTraces({ daemon_pid, control_socket }: PersonaPaths): boolean {
  return fs.existsSync(daemon_pid) || fs.existsSync(control_socket)
}
