/** Starts a detached turnbell process. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { nodeProgram } from './node-program.ts'
import { ensurePrivateDirectory, type Home } from '../config/home.ts'
import { openOutput } from '../files/log-rotation.ts'

/** Path of the output for people, next to the log, which contains only JSON lines. */
export function outputFileOf(log_file: string): string {
  return `${log_file.replace(/\.log$/, '')}.out`
}

/**
 * Runs `node BIN ARGS` detached and appends its output to the file next to its log. Starting a second hub or daemon
 * does no harm, because it reports that and exits.
 */
export function startInBackground(
  bin: string,
  args: readonly string[],
  log_file: string,
  env: NodeJS.ProcessEnv,
): void {
  ensurePrivateDirectory(path.dirname(log_file))
  const output = openOutput(outputFileOf(log_file))
  try {
    const child = spawn(nodeProgram(env), [bin, ...args], {
      detached: true,
      stdio: ['ignore', output, output],
      env,
      windowsHide: true,
    })
    child.on('error', () => {})
    child.unref()
  } finally {
    fs.closeSync(output)
  }
}

/** Removes the visibility setting of one client (`TURNBELL_TOOLS`), because the started hub serves all. */
export function hubEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { TURNBELL_TOOLS: _, ...rest } = env
  return rest
}

/** Starts the hub of a home. */
export function startHubInBackground(bin: string, home: Home, env: NodeJS.ProcessEnv): void {
  startInBackground(bin, ['hub', '--home', home.root], home.hub_log, hubEnvironment(env))
}
