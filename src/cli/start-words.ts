/** The words that start turnbell, for what is kept longer than this installation: hooks, MCP entries and services. */
import fs from 'node:fs'
import { namesVersion, onPath } from '../system/node-program.ts'
import type { Cli } from './cli.ts'

export type Starter = Pick<Cli, 'node' | 'program' | 'env' | 'platform'>

/** How a person types it, which holds on every machine. */
export const BY_NAME = ['turnbell'] as const

/**
 * Node and dist/turnbell.cjs. Where a folder on the way to it names a version (npm below nvm, pnpm), the command on
 * PATH that leads there, else `turnbell`.
 */
export function startWords(starter: Starter): readonly [string, ...string[]] {
  const { node, program, platform } = starter
  if (!namesVersion(program) || platform === 'win32') return [node, program]
  const commands = commandsOnPath(starter)
  const lasting = commands.find((command) => !namesVersion(command) && leadsTo(command, program))
  if (lasting !== undefined) return [lasting]
  return commands.length > 0 ? BY_NAME : [node, program]
}

/** The commands called `turnbell` on PATH, the one that a shell starts first. */
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
