/** The command line that starts turnbell from hooks, MCP entries and services, which outlive this installation. */
import fs from 'node:fs'
import { namesVersion, onPath } from '../system/process/node-program.ts'
import type { Cli } from './cli.ts'

export type Starter = Pick<Cli, 'node' | 'program' | 'env' | 'platform'>

/** The command as a person types it, valid on every machine. */
export const BY_NAME = ['turnbell'] as const

/**
 * Returns Node and dist/turnbell.cjs. If the path contains a version (npm below nvm, pnpm), returns the command on PATH
 * that links to this installation, else `turnbell`.
 */
export function startWords(starter: Starter): readonly [string, ...string[]] {
  const { node, program, platform } = starter
  if (!namesVersion(program) || platform === 'win32') return [node, program]
  const commands = commandsOnPath(starter)
  const lasting = commands.find((command) => !namesVersion(command) && leadsTo(command, program))
  if (lasting !== undefined) return [lasting]
  return commands.length > 0 ? BY_NAME : [node, program]
}

/** Returns the commands called `turnbell` on PATH, in the order of PATH. */
export function commandsOnPath({ env, platform }: Pick<Starter, 'env' | 'platform'>): string[] {
  return onPath('turnbell', env, platform)
}

function leadsTo(command: string, program: string): boolean {
  try {
    return fs.realpathSync(command) === fs.realpathSync(program)
  } catch {
    return false
  }
}
