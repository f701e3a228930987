/** Starts a turnbell process that outlives us. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { ensurePrivateDirectory } from './home.ts'

/**
 * Runs `node BIN ARGS` detached, its output at the end of a log file. Only one hub and one daemon of a
 * persona can run in a home, so starting a second one does no harm: it says so in the log and ends.
 */
export function startInBackground(
  bin: string,
  args: readonly string[],
  log_file: string,
  env: NodeJS.ProcessEnv,
): void {
  ensurePrivateDirectory(path.dirname(log_file))
  const log = fs.openSync(log_file, 'a', 0o600)
  try {
    const child = spawn(process.execPath, [bin, ...args], {
      detached: true,
      stdio: ['ignore', log, log],
      env,
      windowsHide: true,
    })
    child.on('error', () => {})
    child.unref()
  } finally {
    fs.closeSync(log)
  }
}
