/** Starts a turnbell process that outlives us. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { nodeProgram } from './node-program.ts'
import { ensurePrivateDirectory, type Home } from './home.ts'
import { openOutput } from './long-file.ts'

/** Beside a log, which holds JSON lines and nothing else: what a process prints for people. */
export function outputBeside(log_file: string): string {
  return `${log_file.replace(/\.log$/, '')}.out`
}

/**
 * Runs `node BIN ARGS` detached; what it prints goes to the end of the file beside its log. Only one hub
 * and one daemon of a persona can run in a home, so starting a second one does no harm: it says so there
 * and ends.
 */
export function startInBackground(
  bin: string,
  args: readonly string[],
  log_file: string,
  env: NodeJS.ProcessEnv,
): void {
  ensurePrivateDirectory(path.dirname(log_file))
  const output = openOutput(outputBeside(log_file))
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

/** What one client may see (`TURNBELL_TOOLS`) is not for a hub that happens to be started by it, which is everybody's. */
export function hubEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { TURNBELL_TOOLS: _, ...rest } = env
  return rest
}

/** The hub of a home, for whoever finds none. */
export function startHubInBackground(bin: string, home: Home, env: NodeJS.ProcessEnv): void {
  startInBackground(bin, ['hub', '--home', home.root], home.hub_log, hubEnvironment(env))
}
