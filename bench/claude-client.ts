/** The real Claude Code on this machine, for benchmarks that drive it. */
import fs from 'node:fs'
import path from 'node:path'
import { claudeProgram } from '../test/support/clients/claude-world.ts'
import { modulesOf } from '../test/support/clients/installed-clients.ts'
import { programOf } from './debian-programs.ts'

const CLIENT = '@anthropic-ai/claude-code'
/** Programs for a terminal and a network namespace, and their Debian packages. */
const PROGRAMS = { tmux: 'tmux', unshare: 'util-linux', nsenter: 'util-linux', ip: 'iproute2' }

/** Returns why this machine cannot run the client without a network, or null. */
export function missingRequirement(): string | null {
  if (process.platform !== 'linux') return 'only Linux has network namespaces'
  for (const [program, debian] of Object.entries(PROGRAMS)) {
    if (programOf(program, debian) === null) return `${program} is missing (Debian package ${debian})`
  }
  try {
    claudeProgram()
    return null
  } catch (error) {
    return (error as Error).message
  }
}

/** Returns the version of the installed client. */
export function clientVersion(): string {
  const manifest = path.join(modulesOf(CLIENT), CLIENT, 'package.json')
  return (JSON.parse(fs.readFileSync(manifest, 'utf8')) as { version: string }).version
}
